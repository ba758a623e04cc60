"""One position of a run as a slide: the tape, the tokens with arcs to where heads look, what each layer adds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import cos, pi, sin
from typing import NamedTuple

from tm2tfr.base.errors import counted, visible
from tm2tfr.base.text import svg
from tm2tfr.base.text.tex import typeset
from tm2tfr.contract.source import BOTTOM
from tm2tfr.sources.turing.columns import OUTCOME_OF_TOKEN
from tm2tfr.web.explorer.moments import LayerMoment, Looked, Moment, Moments
from tm2tfr.web.slides.scene import HEADS, HIGH, MARGIN, WIDE, Caption, Drawable, Frame, Slide, Stroke, arc, fitted, tip

MOST_CELLS = 15
"""The most cells of the tape on a slide."""
_CELL, _GAP = 72, 26
_ROW, _LOWEST = 30, 25
_HIGHEST, _SMALLEST, _LARGEST = 44, 20, 27.9
"""The height of a line in which a layer's text stands, at most and at least, and the largest letters."""


def slide(run: Moments, position: int) -> Slide:
    """Return the slide of a position.

    Raises:
        EngineError: if the run has no such position.
    """
    moment = run.at(position)
    tape = run.trace.has_tape
    shapes = [
        Frame(0, 0, WIDE, HIGH, "page"),
        *_header(run, position),
        *(_tape(run, moment) if tape else ()),
        *_said(run, moment, 294 if tape else 128),
        *_tokens(run, moment, 432 if tape else 330),
        *_layers(moment, 506 if tape else 430),
    ]
    return Slide(alt_text(run, position), tuple(shapes))


def alt_text(run: Moments, position: int) -> str:
    """Return in words what the slide of a position shows."""
    moment = run.at(position)
    said = (
        f"{run.trace.machine} on {run.trace.input or 'the empty word'}, {step_of(run, position)}: {sentence(run, moment)}"
    )
    if moment.tape is not None:
        cells = "".join(f"[{a}]" if n == moment.tape.head else a for n, a in enumerate(moment.tape.cells))
        said += f". Tape: {cells}"
    looked = [
        f"layer {layer.number}, {typeset(str(each))}"
        for layer in moment.layers
        for each in layer.looked
        if not each.uniform
    ]
    return said + (f". Heads: {'; '.join(looked)}" if looked else "") + "."


def step_of(run: Moments, position: int) -> str:
    """Return which step, gate or position that is, and of how many."""
    if run.trace.labels:
        return f"position {position} of {len(run) - 1}"
    if run.names:
        return f"gate {position - run.first + 1} of {len(run) - run.first}"
    steps = len(run) - 1 - run.first - (stuck := _stuck(run))
    if stuck and position == len(run) - 1:
        return f"after {counted(steps, 'step')}"
    return f"step {position - run.first} of {steps}"


def _stuck(run: Moments) -> bool:
    """Return whether a machine halts for lack of a rule, so that its last answer is not a step."""
    if not run.trace.has_tape or run.trace.result is None or run.trace.result.stuck is None:
        return False
    cells = run.lines[-1].cells
    return [cells["q"], cells["a"]] == [visible(part) for part in run.trace.result.stuck]


def sentence(run: Moments, moment: Moment) -> str:
    """Return what is answered at a position, in a line."""
    cells, answer = moment.cells, moment.cells[run.answers]
    if run.trace.has_tape:
        if cells["q"] == BOTTOM:
            return f"the input has been read; the answer is {answer}"
        if moment.position == len(run) - 1 and _stuck(run):
            return f"no rule for {cells['a']} in {cells['q']} → {answer}"
        return f"δ({cells['q']}, {cells['a']}) → {answer}"
    if run.trace.labels:
        return _outputs(run, moment)[0]
    name = _name(run, moment.position + 1)
    if "gate" in cells:
        used = "abc"[: run.operands[moment.position + 1]] if run.operands else "abc"
        bits = ", ".join(f"{_name(run, int(cells[p]))}={cells[f'x_{p}']}" for p in used if cells[p].isdecimal())
        return f"{name} = {cells['gate']}({bits}) = {answer}"
    return f"{name} = {answer}" if run.names else f"the answer is {answer}"


def _outputs(run: Moments, moment: Moment) -> list[str]:
    """Return the answers of a sequence model, one per output."""
    return [f"{visible(column.name)} = {moment.cells[column.name]}" for column in run.trace.columns[2:]]


def _name(run: Moments, position: int) -> str:
    return run.names[position] if position < len(run.names) else f"{position}"


def _header(run: Moments, position: int) -> Iterator[Drawable]:
    """Yield the name, the input, which step it is, and a line that shows how far the run is."""
    title = f"{visible(run.trace.machine)} on {visible(run.trace.input) or 'the empty word'}"
    yield Caption(MARGIN, 40, title, "title", 30, most=WIDE - 2 * MARGIN - 320)
    yield Caption(WIDE - MARGIN, 40, step_of(run, position), "note", 26, "end")
    wide, last = WIDE - 2 * MARGIN, max(1, len(run) - 1 - run.first)
    yield Frame(MARGIN, 68, wide, 6, "track", 3)
    yield Frame(MARGIN, 68, max(6.0, wide * (position - run.first) / last), 6, "done", 3)


def _tape(run: Moments, moment: Moment) -> Iterator[Drawable]:
    """Yield the cells with their numbers, and the head with its state above its cell."""
    tape = moment.tape
    if tape is None:
        return
    left, top = (WIDE - _CELL * len(tape.cells)) / 2, 148
    if tape.cut:
        yield Caption(left - 14, top + _CELL / 2, "…", "note", 34, "end")
    yield Caption(left + _CELL * len(tape.cells) + 14, top + _CELL / 2, "…", "note", 34)
    order = sorted(range(len(tape.cells)), key=lambda n: n == tape.head)  # the head's cell over its neighbours
    for n in order:
        x, number = left + n * _CELL, moment.first_cell + n
        here, fresh = n == tape.head, number == moment.fresh
        yield Frame(x, top, _CELL, _CELL, "head" if here else "cell")
        size = fitted(tape.cells[n], _CELL - 10, 38)
        yield Caption(x + _CELL / 2, top + _CELL / 2, tape.cells[n], "accent" if fresh else "plain", size, "middle")
        label = f"{number} ✎" if fresh else f"{number}"
        yield Caption(x + _CELL / 2, top + _CELL + 20, label, "accent" if fresh else "note", 17, "middle")
    if tape.head is not None:
        state = moment.cells["q"]
        state = "start" if state == BOTTOM else state
        middle = left + (tape.head + 0.5) * _CELL
        wide = svg.taken_by(state, 26) + 32
        x = min(max(MARGIN, middle - wide / 2), WIDE - MARGIN - wide)
        yield Frame(x, 88, wide, 42, "flag", 8)
        yield Stroke(tip(middle, 147, size=10), "flag")
        yield Caption(x + wide / 2, 109, state, "light", 26, "middle")


def _said(run: Moments, moment: Moment, y: float) -> Iterator[Drawable]:
    """Yield the line that says what is answered; where it is wrong, what would be right."""
    line = sentence(run, moment)
    if line.startswith("the "):
        line = f"T{line[1:]}"
    verdict = OUTCOME_OF_TOKEN.get(moment.cells[run.answers]) if run.trace.has_tape else None
    if verdict is not None:
        line += f": {verdict}"
    kind = {None: "title", "reject": "wrong"}.get(verdict, "good")
    kind = "wrong" if moment.wrong else kind
    size = fitted(line, WIDE - 2 * MARGIN, 32, least=18)
    yield Caption(WIDE / 2, y, line, kind, size, "middle", most=WIDE - 2 * MARGIN)
    if moment.wrong:
        right = f"{run.trace.reference}: " + ", ".join(f"{name} = {value}" for name, value in moment.wrong.items())
        yield Caption(WIDE / 2, y + 30, right, "wrong", 20, "middle", most=WIDE - 2 * MARGIN)
    elif run.trace.labels and len(_outputs(run, moment)) > 1:
        others = ",  ".join(_outputs(run, moment)[1:])
        size = fitted(others, WIDE - 2 * MARGIN, 24, least=16)
        yield Caption(WIDE / 2, y + 46, others, "note", size, "middle", most=WIDE - 2 * MARGIN)


def _tokens(run: Moments, moment: Moment, y: float) -> Iterator[Drawable]:
    """Yield the tokens around the position and those that heads look at, with an arc to each from the position."""
    looked = list(enumerate(each for layer in moment.layers for each in layer.looked if not each.uniform))
    shown, wide = _shown(run, moment, [each for _, each in looked])
    answers = not run.trace.labels
    x = (WIDE - len(shown) * wide - _gaps(shown) * _GAP - answers * (wide + 2 * _GAP)) / 2
    centres, boxes, before = dict[int, float](), list[Drawable](), shown[0] - 1
    size = 18 if run.trace.has_tape else 24
    if shown[0] > 0:
        boxes.append(Caption(x - 8, y, "…", "note", 26, "end"))
    for place in shown:
        if place != before + 1:
            boxes.append(Caption(x + _GAP / 2, y, "…", "note", 26, "middle"))
            x += _GAP
        here, before = place == moment.position, place
        kinds = ("here", "title", "accent") if here else ("token", "plain", "note")
        boxes += _token(x, y, wide, run.tokens[place], _name(run, place), kinds, size)
        centres[place] = x + wide / 2
        x += wide
    if answers:
        boxes.append(Caption(x + _GAP, y, "→", "accent", 26, "middle"))
        kinds = ("answer", "wrong" if run.answers in moment.wrong else "title", "note")
        name = _name(run, moment.position + 1)
        boxes += _token(x + 2 * _GAP, y, wide, moment.cells[run.answers], name, kinds, size)
    yield from _arcs(moment, looked, centres, y - 27)
    yield from boxes


def _token(
    x: float, y: float, wide: float, token: str, label: str, kinds: tuple[str, str, str], size: float
) -> Iterator[Drawable]:
    """Yield a token in its box, with its position or its name below; `kinds`: of the box, the token and the label."""
    yield Frame(x + 3, y - 24, wide - 6, 48, kinds[0], 6)
    yield Caption(x + wide / 2, y, token, kinds[1], fitted(token, wide - 14, size, least=10), "middle", wide - 8)
    yield Caption(x + wide / 2, y + 38, label, kinds[2], 16, "middle", wide - 4)


def _shown(run: Moments, moment: Moment, looked: Sequence[Looked]) -> tuple[list[int], float]:
    """Return the positions that there is room for, first those looked at, and how wide each is."""
    longest = max((svg.taken_by(token, 18) for token in run.tokens), default=0) + 22
    wide = min(max(longest, 64.0), 150.0)
    answer = 0 if run.trace.labels else wide + 2 * _GAP
    room = WIDE - 2 * MARGIN - 60 - answer
    wanted = [moment.position, *(place for each in looked if each.count <= 3 for place in each.places)]
    last = len(run) if run.trace.labels else moment.position + 1
    near = sorted(range(last), key=lambda place: (abs(place - moment.position), place))
    chosen: list[int] = []
    for place in dict.fromkeys([*wanted, *near]):
        more = sorted({*chosen, place})
        if place < last and len(more) * wide + _gaps(more) * _GAP <= room:
            chosen = more
    return chosen, wide


def _gaps(shown: Sequence[int]) -> int:
    return sum(b != a + 1 for a, b in pairwise(shown))


def _arcs(moment: Moment, looked: Sequence[tuple[int, Looked]], centres: dict[int, float], y: float) -> Iterator[Drawable]:
    """Yield an arc for each head from the position to each of at most three that it looks at."""
    start = centres[moment.position]
    for n, each in looked:
        colour = n % len(HEADS)
        shift = (n - (len(looked) - 1) / 2) * 9
        for place in each.places if each.count <= 3 else ():
            if place not in centres:
                continue
            end = centres[place] + shift
            far = abs(end - start)
            rise = 30 + 22 * min(1.0, far / 600) + 6 * (n % 3)
            points = arc(start + shift / 2, end, y, rise) if place != moment.position else _loop(end, y, 26 + 6 * (n % 3))
            yield Stroke(points, f"arc{colour}")
            yield Stroke(tip(end, y), f"tip{colour}")


def _loop(x: float, y: float, rise: float) -> tuple[tuple[float, float], ...]:
    """Return a loop from a token to itself that arrives at `x`."""
    turns = [pi * n / 16 for n in range(17)]
    return tuple((x + 11 + 11 * cos(t) * (1 + 0.5 * sin(t)), y - rise * sin(t) ** 0.8) for t in turns)


class _Row(NamedTuple):
    """A layer as it is drawn: its name, where its heads look, and the lines about what it writes.

    The first of these is beside the heads, from `beside` on, and empty if there is no room for any of it.
    """

    layer: LayerMoment
    beside: float
    lines: tuple[str, ...]


def _layers(moment: Moment, top: float) -> Iterator[Drawable]:
    """Yield a row for each layer that does anything here: its name, where its heads look, and what it writes."""
    layers = [layer for layer in moment.layers if layer.looked or layer.written]
    room = int((HIGH - top - 4) // _LOWEST)
    shown, number = layers if len(layers) <= room else layers[: room - 1], 0
    high, size, rows = _fitting(shown, HIGH - top - 4, len(shown) < len(layers))
    indent, second = _columns(shown, size)
    yield Stroke(((MARGIN, top), (WIDE - MARGIN, top)), "rule")
    y = top + 0.6 * high
    for layer, beside, lines in rows:
        if layer.number:
            yield Caption(MARGIN, y, f"{layer.number}", "note", size)
        yield Caption(MARGIN + indent, y, layer.name, "accent", size, most=260)
        x = second
        for each in layer.looked:
            kind = "note" if each.uniform else f"head{number % len(HEADS)}"
            number += not each.uniform
            if WIDE - MARGIN - x > 60:
                yield Caption(x, y, typeset(str(each)), kind, size, most=WIDE - MARGIN - x)
                x += svg.taken_by(typeset(str(each)), size) + 24
        for n, line in enumerate(lines):
            if line:
                left = second if n else beside
                yield Caption(left, y + n * high, line, "plain", size, most=WIDE - MARGIN - left)
        y += max(1, len(lines)) * high
    if len(shown) < len(layers):
        more = f"and {counted(len(layers) - len(shown), 'more layer')}"
        yield Caption(MARGIN + indent, y, more, "note", size)


def _fitting(layers: Sequence[LayerMoment], room: float, more: bool) -> tuple[float, float, list[_Row]]:
    """Return how high a line is, the size of its letters, and the rows: as large as there is room for.

    Args:
        more: whether a line is needed for what is left out.
    """
    for high in range(_HIGHEST, _SMALLEST - 1, -1):
        size = min(_LARGEST, 0.68 * high)
        rows = [_row(layer, size, _columns(layers, size)[1], wrapped=True) for layer in layers]
        if (sum(max(1, len(row.lines)) for row in rows) + more) * high <= room:
            return high, size, rows
    tight = room / max(len(layers) + more, 1)
    size = min(_LARGEST, 19 * tight / _ROW)
    return tight, size, [_row(layer, size, _columns(layers, size)[1], wrapped=False) for layer in layers]


def _columns(layers: Sequence[LayerMoment], size: float) -> tuple[float, float]:
    """Return how far the names of layers are indented, and where what they do begins."""
    indent = svg.taken_by(f"{layers[-1].number if layers else 0}", size) + 18
    widest = max((svg.taken_by(layer.name, size) for layer in layers), default=0)
    return indent, MARGIN + indent + min(widest, 260.0) + 24


def _row(layer: LayerMoment, size: float, second: float, *, wrapped: bool) -> _Row:
    """Return a layer's row; if not `wrapped`, what it writes is in one line, which is cut where it is too long."""
    beside = second + sum(svg.taken_by(typeset(str(each)), size) + 24 for each in layer.looked)
    written = [f"{typeset(change.name)} = {change.value}" for change in layer.written]
    left = WIDE - MARGIN - beside
    if not wrapped:
        return _Row(layer, beside, (", ".join(written),) if written and left > 120 else ())
    lines = [""]
    for n, each in enumerate(written):
        part = each + ("," if n + 1 < len(written) else "")
        longer = f"{lines[-1]} {part}".lstrip()
        if svg.taken_by(longer, size) <= (left if len(lines) == 1 else WIDE - MARGIN - second):
            lines[-1] = longer
        else:
            lines.append(part)
    return _Row(layer, beside, tuple(lines))
