"""Where a decoder stops, and where the simulator does: after a verdict, and nowhere else (Definition 8.1).

No weight says so: the stop tokens are a list beside the matrices. A run whose every cell is right goes on for ever if
that list lacks its verdict, and ends too early if it holds anything else.
"""

from __future__ import annotations

from collections.abc import Iterable

from tm2tfr.sources.turing.spec import Machine
from tm2tfr.trace.cause import Cause
from tm2tfr.trace.truth import VERDICT_TOKENS
from tm2tfr.transformer.weights import Decoder

STOP = "stop"
"""What takes the place of a column where the stop tokens are wrong."""


def wrong_ending(decoder: Decoder, machine: Machine, position: int) -> Cause | None:
    """Return what is wrong with the stop tokens of `decoder` as a simulator of `machine`, None if nothing is.

    They have to hold the verdicts that the machine can give; another verdict does no harm, anything else does.

    Args:
        position: the last position of the run, where the difference is reported.
    """
    due = [VERDICT_TOKENS[o] for o in (("accept", "reject") if machine.decides else ("halt",))]
    lacking = [token for token in due if token not in decoder.stop]
    early = [token for token in decoder.stop if token not in VERDICT_TOKENS.values()]
    if not lacking and not early:
        return None
    whys = [f"a run does not end with {token}" for token in lacking[:1]]
    whys += [f"a run ends with {token}, which is not a verdict" for token in early[:1]]
    return Cause(
        position=position,
        layer=len(decoder.layers) + 1,
        layer_name="stop tokens",
        part="stop tokens",
        subspace="the list",
        expected=_listed(due),
        found=_listed(decoder.stop),
        attention=None,
        why=f"the weights are right so far, but {' and '.join(whys)}: compile the machine again",
    )


def _listed(tokens: Iterable[str]) -> str:
    return ", ".join(tokens) or "empty"
