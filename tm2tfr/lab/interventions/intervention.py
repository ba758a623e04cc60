"""One intervention: what there is without it, what must come out, and what the patched weights answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from tm2tfr.base.text.shown import aligned
from tm2tfr.contract.model import ModelVariable
from tm2tfr.contract.modelled import CausalRun, CausalValue, Settings
from tm2tfr.contract.source import shown
from tm2tfr.contract.specification import vector
from tm2tfr.engines.decode import Engine, Patch, generate, prompted, run_whole
from tm2tfr.engines.reading import answered, plain_number
from tm2tfr.lab.labels.patches import subspace_of
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder

UNKNOWN = "?"
"""An answer of which nothing is known, as it is printed."""
MOST_ROWS, MOST_CELLS = 20, 12
"""The most rows and cells that are printed."""


@dataclass(frozen=True)
class VariableSetting:
    """A variable that is set at a position.

    Args:
        variable: what its subspace holds; `asked`: what it was called.
        position: where, from 0.
        value: what it is set to.
        before: what it is without that.
        origin: of an interchange, the input and the position that the value is from; otherwise None.
        meant: the requested value, where `variable` is one of those that set the requested one; empty: it is set itself.
    """

    variable: str
    asked: str
    position: int
    value: CausalValue
    before: CausalValue
    origin: tuple[str, int] | None = None
    meant: str = ""

    def __str__(self) -> str:
        if self.meant:
            return f"{self.asking}, by {self.variable} = {text_of_cell(self.value)}"
        named = self.variable if self.asked == self.variable else f"{self.asked} ({self.variable})"
        return f"{named} at {self.position} = {text_of_cell(self.value)}{self._taken}"

    @property
    def asking(self) -> str:
        """The requested setting, where other variables set it."""
        return f"{self.asked} at {self.position} = {self.meant}{self._taken}"

    @property
    def _taken(self) -> str:
        return "" if self.origin is None else f", as in {self.origin[0]!r} at {self.origin[1]}"

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        plainly = {"variable": self.variable, "position": self.position}
        plainly |= {"value": plain(self.value), "before": plain(self.before)}
        source, at = self.origin or (None, None)
        return {**plainly, "source": source, "source_position": at}


@dataclass(frozen=True)
class Cell:
    """A variable at a position, with two values: of `changed`, without the intervention and expected with it."""

    position: int
    variable: str
    before: CausalValue
    after: CausalValue


@dataclass(frozen=True)
class Intervention:
    """An intervention on a run.

    Args:
        subject, input: what was run.
        engine: that which ran the weights.
        settings: what was set.
        without, expected: tokens and answers of the causal model, without the intervention and with it.
        patched: those of the weights, their subspaces overwritten.
        wrong: cells in which the weights hold something else than expected: `before` is what is expected, `after` is held.
        changed: the cells that are expected to differ from those without it, as far as both runs go.
        explained: what is not known of the weights, since nothing like it occurs in any run, with why; not compared.
        why: why nothing that is answered differs from what is answered without it; None: something does.
        broken: how the weights differ from the reference without any intervention, in words; empty: they do not.
    """

    subject: str
    input: str
    engine: str
    settings: tuple[VariableSetting, ...]
    without: CausalRun
    expected: CausalRun
    patched_tokens: tuple[str, ...]
    patched_answers: tuple[object, ...]
    wrong: tuple[Cell, ...]
    changed: tuple[Cell, ...]
    explained: tuple[str, ...]
    why: str | None
    broken: str = ""

    @property
    def agrees(self) -> bool:
        """Whether the patched weights feed, answer and hold what is expected, but for what is explained.

        Weights that are not right without any intervention do not.
        """
        same = self.expected.tokens == self.patched_tokens and len(self.expected.answers) == len(self.patched_answers)
        return same and not self.wrong and not self.wrong_answers and not self.broken

    @property
    def known(self) -> bool:
        """Whether every answer that must come out is known."""
        return not self.expected.unanswered

    @property
    def wrong_answers(self) -> tuple[int, ...]:
        """The positions at which the patched weights answer something else than expected, where that is known."""
        return tuple(
            i
            for i, (due, found) in enumerate(zip(self.expected.answers, self.patched_answers, strict=False))
            if not same_answers(due, found, self.expected.unanswered.get(i, {}))
        )

    @property
    def first(self) -> int | None:
        """The first position that answers something else than without the intervention; None: none does.

        Positions of whose outputs any is not known do not count, as `known` says in data.
        """
        return first_difference(self.without, self.expected)

    @property
    def causal(self) -> bool:
        """Whether an answer that is known differs from what is answered without the intervention."""
        return self.first is not None

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return {
            "subject": self.subject,
            "input": self.input,
            "engine": self.engine,
            "set": [each.as_dict() for each in self.settings],
            "without": {"tokens": list(self.without.tokens), "answers": plain(self.without.answers)},
            "expected": {
                "tokens": list(self.expected.tokens),
                "answers": plain(known_answers(self.expected, None)),
                "unknown": [{"position": i, "outputs": list(each)} for i, each in self.expected.unanswered.items()],
            },
            "patched": {"tokens": list(self.patched_tokens), "answers": plain(self.patched_answers)},
            "agrees": self.agrees,
            "first": self.first,
            "changed": [_cell(each) for each in self.changed],
            "wrong": [_cell(each) for each in self.wrong],
            "explained": list(self.explained),
            "why": self.why,
            "broken": self.broken,
        }

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def first_difference(without: CausalRun, expected: CausalRun) -> int | None:
    """Return the first position at which `expected` is known and answers something else than `without`; None: none does."""
    before, after, unknown = without.answers, expected.answers, expected.unanswered
    pairs = enumerate(zip(before, after, strict=False))
    differing = (i for i, (a, b) in pairs if i not in unknown and not same_answers(b, a, {}))
    return next(differing, None if len(before) == len(after) else min(len(before), len(after)))


def same_answers(expected: Any, found: Any, unanswered: Mapping[int, str]) -> bool:
    """Return whether the answers at a position are the same, but for the outputs of which nothing is known."""
    if not isinstance(expected, tuple) or not isinstance(found, tuple) or len(expected) != len(found):
        return bool(expected == found)
    return all(
        n in unanswered or due == got or (isinstance(got, float) and due == Fraction(got).limit_denominator(10**6))
        for n, (due, got) in enumerate(zip(expected, found, strict=True))
    )


def known_answers(run: CausalRun, unknown: str | None) -> list[object]:
    """Return the answers of a run, with `unknown` in the place of unknown answers."""
    found = list(run.answers)
    for i, outputs in run.unanswered.items():
        found[i] = tuple(unknown if n in outputs else each for n, each in enumerate(found[i]))
    return found


def text_of_cell(value: CausalValue) -> str:
    """Return a value as it is shown: ⊥ for nothing, shares of labels as a sum."""
    if isinstance(value, Mapping):
        return " + ".join(label if share == 1 else f"{share}·{label}" for label, share in value.items()) or shown(None)
    return ", ".join(map(str, value)) if isinstance(value, tuple) else shown(value)


def _change(before: CausalValue, after: CausalValue) -> str:
    """Return a change as it is shown: of sets of labels that overlap, such as a thermometer's, the difference alone."""
    if isinstance(before, Mapping) and isinstance(after, Mapping) and {1} == {*before.values(), *after.values()}:
        lost, new = [each for each in before if each not in after], [each for each in after if each not in before]
        if len(lost) < len(before):
            parts = [f"{word} {' + '.join(labels)}" for word, labels in (("no longer", lost), ("also", new)) if labels]
            return " and ".join(parts)
    return f"{text_of_cell(before)} → {text_of_cell(after)}"


def text_of_unknown(run: CausalRun) -> str:
    """Return the positions at which the expected answer is not known."""
    places = [str(i) for i in run.unanswered]
    shown_places = ", ".join(places[:MOST_CELLS]) + (", …" if len(places) > MOST_CELLS else "")
    return f"the expected answer at {shown_places} is not known"


def plain(value: Any) -> Any:
    """Return a value as plain data: fractions as numbers, or as text where no number is exact."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else str(value)
    return value


def _cell(cell: Cell) -> dict[str, object]:
    return {"position": cell.position, "variable": cell.variable, "before": plain(cell.before), "after": plain(cell.after)}


# ── as text ─────────────────────────────────────────────────────────────────────────────────────────────────
def _lines(found: Intervention) -> list[str]:
    lines = [f"{found.subject} on {found.input!r}: set {'; '.join(_set(found.settings))}", ""]
    lines += aligned(_table(found))
    lines.append("")
    if found.first is not None:
        lines.append(f"shows first at position {found.first}")
    elif found.why:
        lines.append(f"changes no answer{'' if found.known else ' that is known'}: {found.why}")
    if found.changed:
        cells = [f"{c.variable}@{c.position}: {_change(c.before, c.after)}" for c in found.changed]
        more = f", and {len(cells) - MOST_CELLS} more" if len(cells) > MOST_CELLS else ""
        lines.append(f"cells that change: {', '.join(cells[:MOST_CELLS])}{more}")
    lines += [f"not compared: {each}" for each in found.explained[:MOST_CELLS]]
    if found.agrees:
        limits = " in every cell that is compared" if found.explained and found.known else ""
        limits = limits if found.known else f" elsewhere; {text_of_unknown(found.expected)}, and not compared"
        lines.append(f"the patched weights ({found.engine}) do what is expected{limits}")
    elif found.broken:
        lines.append(f"without any intervention, the weights ({found.engine}) already differ from the reference:")
        lines += [f"  {line}" for line in found.broken.splitlines()]
    else:
        lines.append(f"the patched weights ({found.engine}) differ from what is expected")
    if not found.agrees:
        lines += [
            f"  {c.variable} at {c.position}: expected {text_of_cell(c.before)}, found {text_of_cell(c.after)}"
            for c in found.wrong[:MOST_CELLS]
        ]
    return lines


def _set(settings: Sequence[VariableSetting]) -> Iterator[str]:
    """Yield what is set in words; what is set by several variables is said once."""
    for n, each in enumerate(settings):
        again = n > 0 and bool(each.meant) and settings[n - 1].asking == each.asking
        if again:
            continue
        own = [other for other in settings[n + 1 :] if each.meant and other.asking == each.asking]
        yield " and ".join([str(each), *(f"{other.variable} = {text_of_cell(other.value)}" for other in own)])


def _table(found: Intervention) -> list[list[str]]:
    longest = max(map(len, (found.without.answers, found.expected.answers, found.patched_answers)))
    first = min((each.position for each in found.settings), default=0)
    rows = [["i", "without it", "expected", "patched"]]
    shown_rows = range(min(first, max(0, longest - 1)), longest)
    columns = (
        (found.without.tokens, found.without.answers),
        (found.expected.tokens, known_answers(found.expected, UNKNOWN)),
        (found.patched_tokens, found.patched_answers),
    )
    for i in shown_rows[:MOST_ROWS]:
        cells = [f"{tokens[i]} → {text_of_cell(answers[i])}" if i < len(answers) else "" for tokens, answers in columns]
        mark = "▸" if i == found.first else " "
        rows.append([f"{mark}{i}", *cells])
    if len(shown_rows) > MOST_ROWS:
        rows.append([" …", *(["…"] * 3)])
    return rows


def changed_cells(without: CausalRun, expected: CausalRun, names: Sequence[str]) -> list[Cell]:
    """Return the cells of two runs that are not the same, as far as both go and the expected ones are known."""
    pairs = enumerate(zip(without.cells, expected.cells, strict=False))
    return [
        Cell(i, name, a[name], b[name])
        for i, (a, b) in pairs
        for name in names
        if a[name] != b[name] and (name, i) not in expected.doubts
    ]


# ── The same intervention on weights: the subspace of a variable is overwritten in the residual stream.
class PatchedRun(NamedTuple):
    """What came out of weights: tokens fed and answered, and the stream after the last layer, position by position."""

    tokens: tuple[str, ...]
    answers: tuple[object, ...]
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
    """Run weights with these patches; a decoder is fed its own answers, up to `max_positions` positions.

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
    """Return the cells of a run of weights that are not as expected: position, variable, and the value there."""
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
    """Return the contents of a subspace as they are shown: a label, shares of labels, or a number."""
    if labels is None:
        number = found[0] * (position + 1) if variable.share else found[0]
        return plain_number(number if isinstance(number, int | Fraction) else float(number))
    held = {label: plain_number(float(v)) for label, v in zip(labels, found, strict=True) if v}
    return next(iter(held)) if len(held) == 1 and 1 in held.values() else held or None
