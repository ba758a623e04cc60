"""The causal model of a RASP program's run: s-ops by what they are made of, at the positions that selectors select.

Weights keep some of a program's s-ops in subspaces of their own, and compute others from those that these are made of:
which is data of the weights, the pattern of their entries that are not 0 (`tm2tfr.transformer.listing`). What is computed
from what is read is said by the program alone. A variable's equation is: its s-op by definition, in which every s-op that
is kept in what is read has the value that is held there, and any other one is computed by its own definition, down to the
tokens. So an s-op that is set is seen by all that read its subspace, and not by what is computed from its parts past it.

The variables are, by what subspaces hold (see `tm2tfr.sources.rasp.specification`): ``token``; ``value s12``, the label of
an s-op, or of the kind that values of several are of; ``picked s12`` and ``mean s12 K L``, what an aggregate brings from
the positions that its head attends to, a label, or K (mean - L); ``found c7``, whether the selector selects anything.
``steps`` and ``share`` are computed from these, can be seen and not set.

Tables of weights have entries for what can occur. So where values come together that do not in any of some hundred runs,
or an s-op has a value that it has in none, or a selector selects nothing that always selects something, what the weights do
is not known: such a cell has a doubt, and so has all that is computed from it.

Nothing here is taken from the compiler.
"""

from tm2tfr.sources.rasp.causal.model import RaspCausal, causal_model

__all__ = ["RaspCausal", "causal_model"]
