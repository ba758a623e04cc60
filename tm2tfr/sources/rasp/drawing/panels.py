"""A head of a run as a picture: its selector as a matrix, with keys above, queries and results beside, and values below.

Rows are query positions and columns key positions, as in the slides of "Thinking Like Transformers". A filled cell is
selected. To the right of each row is what the head gives there: the mean of the values that are selected in the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tm2tfr.base.errors import OutputError, counted, visible
from tm2tfr.base.text.svg import Picture, box, over, page, path, stacked, taken_by, text, wrapped
from tm2tfr.sources.rasp.drawing.flow import Flow, FlowHead, flow
from tm2tfr.sources.rasp.evaluate import Stages, evaluate, shown_word
from tm2tfr.sources.rasp.program import Program, Word, shown_atom
from tm2tfr.sources.rasp.sops import Atom, SOp

CELL, WIDEST = 22.0, 64.0
"""The height of a cell, which is the least width as well, and the most."""
GAP, PAD = 6.0, 10.0
LABEL = 250.0
"""The most that a label left of a row takes."""
SMALL = 10.0

Weights = Sequence[Sequence[float]]
"""The attention of a head of weights: (n, n), what position q gives to position k."""

STYLE = """
.rasp{font-family:'DejaVu Sans Mono',Menlo,Consolas,'Liberation Mono',monospace;fill:#212529}
.rasp .page{fill:#fff}
.rasp .note{fill:#868e96}
.rasp .bold{font-weight:bold}
.rasp .layer{fill:#fafbfc;stroke:#ced4da}
.rasp .head{fill:#fff;stroke:#adb5bd}
.rasp .cell{stroke:#dee2e6;fill:#fff}
.rasp .off{stroke:#dee2e6;fill:#f1f3f5}
.rasp .on{stroke:#364fc7;fill:#4c6ef5}
.rasp .share{stroke:#dee2e6;fill:#0b7285}
.rasp .key{stroke:#bac8ff;fill:#e5ebfd}
.rasp .query{stroke:#ffd8c2;fill:#fdebe0}
.rasp .value{stroke:#b2dfb5;fill:#e2f3e2}
.rasp .result{stroke:#2b8a3e;fill:#d3f0d5}
.rasp .default{stroke:#adb5bd;fill:#fff;stroke-dasharray:3 2}
.rasp .answer{stroke:#2b8a3e;fill:#d3f0d5;stroke-width:2}
.rasp .line{stroke:#adb5bd;fill:none}
.rasp .light{fill:#fff}
""".replace("\n", "")


@dataclass(frozen=True)
class Run:
    """A run that is drawn: the flow of a computation with its values on an input.

    Args:
        attention: (layer, head), both from 0 -> the attention of that head in compiled weights, drawn beside its selector.
    """

    flow: Flow
    stages: Stages
    attention: dict[tuple[int, int], Weights]

    def values(self, sop: SOp) -> list[str]:
        """Return the values of an s-op as they are drawn."""
        return [shown_value(value) for value in self.stages.values[sop]]

    def label(self, sop: SOp, here: int) -> str:
        """Return an s-op as it is referred to in a layer, with its own layer if that is an earlier one."""
        depth = self.flow.depth(sop)
        return self.flow.named(sop) + (
            f" ({self.flow.layer(depth)})" if sop.number in self.flow.names and 0 < depth < here else ""
        )


def shown_value(value: Atom) -> str:
    """Return a value as a cell shows it: blanks are visible."""
    text = shown_atom(value)
    return text.replace(" ", "␣") if isinstance(value, str) else text


def cell_width(rows: Sequence[Sequence[str]]) -> float:
    """Return how wide the cells of a grid are that shows these values."""
    widest = max((taken_by(value) for row in rows for value in row), default=0.0)
    return min(WIDEST, max(CELL, float(round(widest + 8))))


def cells(
    x: float, y: float, values: Sequence[str], kind: str | Sequence[str], wide: float, *, down: bool = False
) -> Picture:
    """Return a row of cells, or a column, from (x, y) on; `kind`: the class of all cells, or of each."""
    drawn = []
    for n, value in enumerate(values):
        left, top = (x, y + n * CELL) if down else (x + n * wide, y)
        drawn.append(box(left, top, wide, CELL, kind=kind if isinstance(kind, str) else kind[n]))
        drawn.append(text(left + wide / 2, top + CELL / 2, value, anchor="middle", most=wide - 2))
    return over(drawn)


def named(x: float, y: float, label: str) -> Picture:
    """Return the label of a row of cells that begins at (x, y)."""
    return text(x - GAP, y + CELL / 2, label, anchor="end", most=LABEL)


def tokens(x: float, y: float, word: Sequence[str], wide: float, *, down: bool = False) -> Picture:
    """Return the tokens of the input as a heading of columns, or of rows, without boxes."""
    places = [
        (x + wide / 2, y + n * CELL + CELL / 2) if down else (x + n * wide + wide / 2, y + CELL / 2)
        for n in range(len(word))
    ]
    return over(
        [text(*at, each, kind="note", anchor="middle", most=wide - 2) for at, each in zip(places, word, strict=True)]
    )


def head_panel(run: Run, layer: int, number: int) -> Picture:
    """Return the picture of a head; `layer` and `number` count from 0."""
    head, here = run.flow.layers[layer].heads[number], layer + 1
    called = f"head {run.flow.head(here, number + 1)}"
    title = f"{called}: {head.name}" if head.name else called
    grid = _grid(run, head, here)
    weights = run.attention.get((layer, number))
    if weights is not None:
        compared = _attention(run, weights).moved(grid.wide + 3 * PAD, _above(head))
        grid = over([grid, compared])
    lines = [text(0, CELL / 2, title, kind="bold")]
    for said in (head.text, *(f"{name} = {made}" for name, made in head.parts)):
        lines += [text(0, 0.4 * CELL, line, size=SMALL) for line in _folded(said, max(grid.wide, 280))]
    content = stacked([stacked(lines, 3), grid], GAP).moved(PAD, PAD)
    wide, high = content.wide + PAD, content.high + PAD
    return over([box(0, 0, wide, high, kind="head", round=6), content])


def _folded(content: str, most: float) -> list[str]:
    """Return a text in lines that are at most `most` wide, broken at its blanks."""
    lines = [""]
    for word in content.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and taken_by(longer, SMALL) > most:
            lines.append(f"  {word}")
        else:
            lines[-1] = longer
    return lines


def _above(head: FlowHead) -> float:
    """Return how far below its top a grid has the matrix: tokens, keys, and a line for each query and result."""
    return (1 + len(head.keys) + max(len(head.queries), len(head.carried))) * CELL


def _grid(run: Run, head: FlowHead, here: int) -> Picture:
    """Return the matrix of a head with everything around it."""
    word = [shown_value(token) for token in run.stages.word]
    keys, queries = ([run.values(sop) for sop in sops] for sops in (head.keys, head.queries))
    values = [run.values(each.result.values) for each in head.carried]
    results = [run.values(each.result) for each in head.carried]
    wide = cell_width([word, *keys, *values])
    asked, given = cell_width([word, *queries]), cell_width(results)
    labels = [run.label(sop, here) for sop in head.keys]
    carried = [run.label(each.result.values, here) for each in head.carried]
    asking = [run.label(sop, here) for sop in head.queries]
    above = asked * (len(head.queries) + 1)  # the tokens and the queries, left of the matrix
    needed = [min(LABEL, taken_by(label)) + GAP for label in (*labels, *carried)]
    needed += [min(LABEL, taken_by(label)) + asked * (len(asking) - place) for place, label in enumerate(asking)]
    left = max([above, *needed])
    top = _above(head)
    n = len(word)
    parts = [tokens(left, 0, word, wide), tokens(left - above, top, word, asked, down=True)]
    for row, (label, shown) in enumerate(zip(labels, keys, strict=True), start=1):
        y = row * CELL
        parts += [named(left, y, label), cells(left, y, shown, "key", wide)]
    for place, (label, shown) in enumerate(zip(asking, queries, strict=True)):
        x = left - asked * (len(asking) - place)
        y = top - (place + 0.5) * CELL
        parts += _flag(x + asked / 2, y, label, top, before=True)
        parts.append(cells(x, top, shown, "query", asked, down=True))
    matrix = run.stages.matrices[head.selector]
    parts += [
        box(left + k * wide, top + q * CELL, wide, CELL, kind="on" if entry else "off")
        for q, row in enumerate(matrix)
        for k, entry in enumerate(row)
    ]
    right, bottom = left + n * wide + GAP, top + n * CELL + GAP
    many = len(head.carried)
    for place, (each, shown) in enumerate(zip(head.carried, results, strict=True)):
        x, y = right + place * given, top - (many - place - 0.5) * CELL
        parts += _flag(x + given / 2, y, f"{each.name} (default {each.default})", top, before=False)
        kinds = [("answer" if each.result is run.flow.sop else "result") if any(row) else "default" for row in matrix]
        parts.append(cells(x, top, shown, kinds, given, down=True))
    for place, (label, shown) in enumerate(zip(carried, values, strict=True)):
        y = bottom + place * CELL
        parts += [named(left, y, label), cells(left, y, shown, "value", wide)]
        parts.append(text(right, y + CELL / 2, f"→ {head.carried[place].name}", kind="note"))
    return over(parts)


def _flag(x: float, y: float, label: str, top: float, *, before: bool) -> list[Picture]:
    """Return a label at height y with a line down to the column at x: the label ends there, or starts there."""
    line = path([(x, y + CELL * 0.35), (x, top)], kind="line")
    at = x + (SMALL / 2 if before else -SMALL / 2)
    return [line, text(at, y, label, anchor="end" if before else "start", most=LABEL)]


def _attention(run: Run, weights: Weights) -> Picture:
    """Return the attention of a compiled head as a matrix, the more the darker, from its first row at (0, 0) on."""
    word = [shown_value(token) for token in run.stages.word]
    wide = max(CELL + 4, cell_width([word]))
    parts = [
        text(0, -1.5 * CELL, "attention of the weights", kind="note"),
        tokens(wide, -CELL, word, wide),
        tokens(0, 0, word, wide, down=True),
    ]
    for q, row in enumerate(weights):
        for k, share in enumerate(row):
            x, y = wide * (k + 1), q * CELL
            parts.append(box(x, y, wide, CELL, kind="share", opacity=share))
            if share:
                kind = "light" if share > 0.5 else ""
                parts.append(text(x + wide / 2, y + CELL / 2, share_text(share), kind=kind, size=SMALL, anchor="middle"))
    return over(parts)


def share_text(share: float) -> str:
    """Return a share of attention in at most three characters: ``1``, ``.33``, ``<.01``."""
    if share >= 0.995:
        return "1"
    rounded = f"{float(Fraction(share).limit_denominator(10**6)):.2f}"
    return "~0" if rounded == "0.00" else rounded[1:]


# ── A run of a program as a picture, layer by layer, as the drawings of the authors' interpreter have it.
#
# The input is at the top. Each layer is a box with its heads, and below them a row for each s-op that is computed at the
# positions one by one. What is drawn, and how it is called, the flow says.
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
    about = f"depth {len(heads)}, {counted(sum(heads), 'head')}"
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
