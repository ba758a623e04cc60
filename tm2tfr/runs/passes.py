"""The passes of a run of weights with loops: which pass a stage belongs to, and the values expected after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tm2tfr.contract.specification import Specification
from tm2tfr.engines.decode import Observation
from tm2tfr.transformer.weights import Decoder


class Stage(NamedTuple):
    """A stage of a run.

    Args:
        number: its place in `Observation.stages`.
        layer, part: as there.
        made: the pass that it belongs to, from 1; None where no loop runs it.
        specification: the expected values.
    """

    number: int
    layer: int
    part: str
    made: int | None
    specification: Specification


class WrongPasses(NamedTuple):
    """A loop of weights that ends too early or too late.

    Args:
        loop: its number, from 0.
        made: the passes that were made, or that have begun where there are too many.
        due: the passes of the reference.
    """

    loop: int
    made: int
    due: int


def stages(decoder: Decoder, specification: Specification, seen: Observation) -> Iterator[Stage | WrongPasses]:
    """Yield the stages of a run, each with its expected values; a loop that ends in the wrong place ends them.

    Left out are stages without a head in later passes, where the stream is that after the pass before.
    """
    if not decoder.loops:
        for n, (layer, part, _) in enumerate(seen.stages):
            yield Stage(n, layer, part, None, specification)
        return
    loops = {layer: k for k, loop in enumerate(decoder.loops) for layer in range(loop.first - 1, loop.last)}
    made, before = 0, None
    for n, ((layer, part, _), earlier) in enumerate(zip(seen.stages, seen.passes, strict=True)):
        here = loops.get(layer)
        if before is not None and here != before and (wrong := _wrong(specification, before, made, ended=True)):
            yield wrong
            return
        before, made = here, earlier + 1
        if here is None:
            yield Stage(n, layer, part, None, specification)
            continue
        if wrong := _wrong(specification, here, made, ended=False):
            yield wrong
            return
        if part == "feed_forward" or not earlier or decoder.layers[layer].heads:
            yield Stage(n, layer, part, made, specification.in_pass(layer, made))
    if before is not None and (wrong := _wrong(specification, before, made, ended=True)):
        yield wrong


def _wrong(specification: Specification, loop: int, made: int, *, ended: bool) -> WrongPasses | None:
    due = specification.passes(loop)
    if due is None or not (made > due or (ended and made != due)):
        return None
    return WrongPasses(loop, made, due)
