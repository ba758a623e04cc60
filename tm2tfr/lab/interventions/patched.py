"""The same intervention on weights: the subspace of a variable is overwritten in the residual stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from tm2tfr.contract.causality import CausalValue, Settings
from tm2tfr.contract.model import ModelVariable
from tm2tfr.contract.specification import vector
from tm2tfr.engines.decode import Engine, generate, prompted, run_whole
from tm2tfr.engines.layers import Patch
from tm2tfr.engines.reading import answered, plain_number
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder


class PatchedRun(NamedTuple):
    """What came out of weights: tokens fed and answered, and the stream after the last layer, position by position."""

    tokens: tuple[str, ...]
    answers: tuple[Any, ...]
    streams: tuple[Any, ...]
    """(positions) streams, (width,) each."""


def coordinates(variable: ModelVariable, value: CausalValue, position: int) -> Mapping[str, list[Any]]:
    """Return what the subspaces of a variable hold where it has this value: what each holds -> its coordinates.

    A number that is kept as a share is divided by i+1, one that is kept twice with both signs is negated in the mirror.
    """
    if variable.kind == "label":
        return {variable.name: [value]}
    number = Fraction(value, position + 1) if variable.share else value
    return {variable.name: [number], **{mirror: [-number] for mirror in variable.mirrors}}


def subspace_of(layout: Residual, variable: ModelVariable, holds: str) -> Subspace:
    """Return the subspace of a variable, or the one that holds its mirror."""
    return layout.subspace(variable.subspace) if variable.subspace else layout.holder(holds)


def patches_of(layout: Residual, variables: Mapping[str, ModelVariable], settings: Settings) -> dict[int, list[Patch]]:
    """Return the patches that set these variables, by position; each after the stage at which the variable is written."""
    found: dict[int, list[Patch]] = {}
    for (name, position), value in settings.items():
        variable = variables[name]
        for holds, (held,) in coordinates(variable, value, position).items():
            subspace = subspace_of(layout, variable, holds)
            numbers = tuple(vector(subspace, held))
            patch = Patch(*variable.since, layout[subspace.name].start, numbers)
            found.setdefault(position, []).append(patch)
    return found


def patched_run(
    decoder: Decoder,
    prompt: Sequence[str],
    patches: Mapping[int, Sequence[Patch]],
    *,
    engine: Engine,
    max_positions: int,
) -> PatchedRun:
    """Run weights with these patches; a decoder is fed its own answers, up to so many positions.

    Raises:
        EngineError: for a prompt or a patch that does not fit, and an engine that cannot be patched.
    """
    if decoder.labeller:
        given = prompted(decoder, prompt)
        passed = run_whole(decoder, given, engine=engine, patches=patches)
        answers = tuple(answered(decoder, each.logits) for each in passed)
        return PatchedRun(tuple(decoder.vocabulary[n] for n in given), answers, tuple(each.residual for each in passed))
    steps = list(generate(decoder, prompt, engine=engine, max_positions=max_positions, patches=patches))
    _, tokens, answers, streams, _ = zip(*steps, strict=True)
    return PatchedRun(tokens, answers, streams)


def wrong_cells(
    layout: Residual, variables: Iterable[ModelVariable], expected: Sequence[Mapping[str, CausalValue]], run: PatchedRun
) -> list[tuple[int, ModelVariable, Any]]:
    """Return the cells of a run of weights that are not as expected: position, variable, and what is held instead."""
    wrong = []
    every = list(variables)
    for i, (cells, stream) in enumerate(zip(expected, run.streams, strict=False)):
        for variable in every:
            for holds, (held,) in coordinates(variable, cells[variable.name], i).items():
                subspace = subspace_of(layout, variable, holds)
                found = stream[layout[subspace.name]]
                if not _close(vector(subspace, held), found, variable.tolerance):
                    wrong.append((i, variable, _shown(variable, subspace.labels, list(found), i)))
                    break
    return wrong


def _close(expected: Sequence[Any], found: Sequence[Any], tolerance: float) -> bool:
    """Return whether numbers are as expected: rationals exactly, floats up to rounding."""
    if isinstance(found, list):
        return list(expected) == found
    return all(
        abs(float(due) - value) <= max(tolerance, 1e-9 * max(1.0, abs(float(due))))
        for due, value in zip(expected, found, strict=True)
    )


def _shown(variable: ModelVariable, labels: tuple[str, ...] | None, found: Sequence[Any], position: int) -> Any:
    """Return what is held in a subspace, as it is shown: a label, shares of labels, or a number."""
    if labels is None:
        number = found[0] * (position + 1) if variable.share else found[0]
        return plain_number(number if isinstance(number, int | Fraction) else float(number))
    held = {label: plain_number(float(v)) for label, v in zip(labels, found, strict=True) if v}
    return next(iter(held)) if len(held) == 1 and 1 in held.values() else held or None
