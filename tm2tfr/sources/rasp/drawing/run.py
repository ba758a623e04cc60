"""A run of a program as a picture, layer by layer, as the drawings of the authors' interpreter have it.

The input is at the top. Each layer is a box with its heads, and below them a row for each s-op that is computed at the
positions one by one. What is drawn, and how it is called, the flow says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tm2tfr.errors import OutputError, counted, visible
from tm2tfr.files import write_bytes
from tm2tfr.sources.rasp.drawing.flow import Flow, flow
from tm2tfr.sources.rasp.drawing.panels import (
    CELL,
    GAP,
    LABEL,
    PAD,
    STYLE,
    Run,
    Weights,
    cell_width,
    cells,
    head_panel,
    named,
    shown_value,
    tokens,
)
from tm2tfr.sources.rasp.evaluate import evaluate, shown_word
from tm2tfr.sources.rasp.program import Program, Word, shown_atom
from tm2tfr.sources.rasp.sops import Atom, SOp
from tm2tfr.text.svg import Picture, box, over, page, stacked, taken_by, text, wrapped

MOST_POSITIONS = 40
"""Of an input that is drawn: a matrix has a row and a column for each."""
WIDE = 1500.0
"""How wide the heads of a layer get before the next one is put below them."""


def drawn_run(
    program: Program | SOp,
    word: Iterable[Atom],
    *,
    attention: Mapping[tuple[int, int], Weights] | None = None,
    name: str = "",
    places: Mapping[tuple[int, int], tuple[int, int]] | None = None,
) -> Run:
    """Return a run of a program's chosen s-op, or of an s-op of a program called `name`, to be drawn.

    Args:
        attention: (layer, head), both from 0 and as the flow has them -> where that head looks in compiled weights, (n, n).
        places: see `Flow`.

    Raises:
        OutputError: if there are more than `MOST_POSITIONS` positions.
        InputError, Undefined: see `evaluate`.
    """
    given: Word = tuple(word)
    made = flow(program, name=name, places=places)
    if len(given) > MOST_POSITIONS:
        what = f"drawing {visible(made.title)}: the input has {counted(len(given), 'position')}"
        raise OutputError(f"{what}, and at most {MOST_POSITIONS} can be drawn legibly: use a shorter input")
    return Run(made, evaluate(made.sop, given), dict(attention or {}))


def run_svg(*runs: Run) -> str:
    """Return runs as SVG, one below the other."""
    title = "; ".join(_title(run) for run in runs)
    return page(stacked([picture(run) for run in runs], 3 * PAD), title=title, style=STYLE, scope="rasp")


def save_run(path: str | Path, *runs: Run) -> None:
    """Write runs into an .svg file, which appears whole or not at all.

    Raises:
        OutputError: if the file has another ending, or cannot be written.
    """
    if Path(path).suffix.lower() != ".svg":
        what = f"{path}: a run of a RASP program is drawn as .svg"
        raise OutputError(f"{what}: use {Path(path).stem}.svg, or omit the input to draw the flow alone")
    write_bytes(path, run_svg(*runs).encode())


def _title(run: Run) -> str:
    answer = run.stages.values[run.flow.sop]
    shown = [shown_atom(value) for value in answer]
    text = "".join(shown) if all(len(value) == 1 for value in shown) else f"[{', '.join(shown)}]"
    word = shown_word(run.stages.word)
    quoted = word if word.startswith("[") else f'"{word}"'
    return f"{run.flow.names[run.flow.sop.number]}({quoted}) = {text}"


def picture(run: Run) -> Picture:
    """Return the picture of a run."""
    drawn = run.flow
    heads = drawn.analysis.heads
    about = f"{counted(len(heads), 'attention layer')}, {counted(sum(heads), 'head')}"
    first = _rows(run, 0, drawn.base, drawn.embedding)
    parts = [
        text(0, CELL / 2, _title(run), kind="bold", size=15),
        text(0, CELL / 2, f"{drawn.program}: {about}" if drawn.program else about, kind="note"),
        _boxed("input", first),
    ]
    for number, layer in enumerate(drawn.layers):
        panels = wrapped([head_panel(run, number, place) for place in range(len(layer.heads))], WIDE, PAD)
        content = [panels, *([_rows(run, number + 1, (), layer.elementwise)] if layer.elementwise else [])]
        parts.append(_boxed(drawn.heading(number + 1), stacked(content, PAD)))
    return stacked(parts, GAP + 2)


def _boxed(title: str, content: Picture) -> Picture:
    inside = stacked([text(0, CELL / 2, title, kind="note"), content], GAP).moved(PAD, GAP)
    wide, high = inside.wide + PAD, inside.high + PAD
    return over([box(0, 0, wide, high, kind="layer", round=8), inside])


def _rows(run: Run, here: int, base: Sequence[SOp], made: Sequence[SOp]) -> Picture:
    """Return a row of values for each s-op, with its name before it and, of those that are made, how behind it."""
    rows = [*base, *made]
    values = [run.values(sop) for sop in rows]
    word = [shown_value(token) for token in run.stages.word]
    wide = cell_width([word, *values])
    left = max(min(LABEL, taken_by(run.flow.named(sop))) for sop in rows) + GAP
    parts = [] if base else [tokens(left, 0, word, wide)]
    for n, (sop, shown) in enumerate(zip(rows, values, strict=True)):
        y = (n + (not base)) * CELL
        kind = "answer" if sop is run.flow.sop else "cell"
        parts += [named(left, y, run.flow.named(sop)), cells(left, y, shown, kind, wide)]
        if n >= len(base):
            parts.append(text(left + len(shown) * wide + GAP, y + CELL / 2, f"= {_made(run.flow, sop, here)}", kind="note"))
    return over(parts)


def _made(drawn: Flow, sop: SOp, here: int) -> str:
    """Return how an s-op is made, and from which earlier layers its parts come."""
    earlier = [
        f"{drawn.named(part)} from {drawn.layer(drawn.depth(part))}"
        for part in drawn.sources(sop)
        if 0 < drawn.depth(part) < here
    ]
    return drawn.expression(sop) + (f"   ({', '.join(earlier)})" if earlier else "")
