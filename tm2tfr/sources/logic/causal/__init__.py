"""The causal model of a formula's run, or of a B-RASP or S-RASP program's: what weights claim, as equations.

Weights say of every subspace what it holds, a claim about nodes (`tm2tfr.sources.logic.specification.claims`), and the
pattern of their entries that are not 0 says from which others it is computed (`tm2tfr.transformer.listing`). A variable's
equation is its claim, in which a node has the value that what is read holds of it; a node of which nothing that is read
says anything is computed by its definition from those that it is made of. So what is set is seen by all that read its
subspace, and not by what is computed past it.

A cell has a doubt, and so has all that is computed from it, where what is read does not settle what a node is (heads that
look past other heads, counts to the right), where a number is not a whole one, and where bits and labels come together that
do in none of some hundred runs. BOS and EOS stay where they are.

Nothing here is taken from the compiler.
"""

from tm2tfr.sources.logic.causal.model import LogicCausal, causal_model

__all__ = ["LogicCausal", "causal_model"]
