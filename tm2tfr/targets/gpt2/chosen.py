"""The recipe for whatever becomes a GPT-2: a machine, all machines of a size, or a circuit."""

from __future__ import annotations

from typing import Any

from tm2tfr.errors import ExportError
from tm2tfr.targets.common.comparison import Evaluated, Right
from tm2tfr.targets.common.prompted import Prompted
from tm2tfr.targets.gpt2.hidden import fitted_hidden
from tm2tfr.targets.gpt2.limits import fitted
from tm2tfr.targets.gpt2.prompted import fitted_class
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe
from tm2tfr.targets.gpt2.tabled import fitted_circuit
from tm2tfr.transformer.provenance import is_hidden
from tm2tfr.transformer.weights import Decoder


def chosen(decoder: Decoder, truth: Right, **options: Any) -> Gpt2Recipe:
    """Return the recipe; see `fitted`, `fitted_class` and `fitted_circuit`, for options and errors too."""
    if isinstance(truth, Evaluated):
        return fitted_circuit(decoder, truth, **options)
    if isinstance(truth, Prompted):
        return fitted_class(decoder, truth, **options)
    if isinstance(truth, Decoder) and is_hidden(decoder.provenance):
        return fitted_hidden(decoder, **options)
    if isinstance(truth, Decoder):
        raise ExportError("an export to GPT-2 has bounds for programs alone: name the program of these weights")
    return fitted(decoder, truth, **options)
