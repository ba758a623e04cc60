"""A trace's table as LaTeX: a ``tabular`` in the chapter's notation.

It needs no package but booktabs, and amssymb where a heading has the signs of choices; it compiles with pdfLaTeX whatever
characters the symbols and states contain, see `tm2tfr.base.text.tex`.
"""

from __future__ import annotations

from collections.abc import Callable

from tm2tfr.base.text.tex import maths, needs, text
from tm2tfr.runs.predictions import OTHER
from tm2tfr.sources.turing.tokens import ARROW, parsed
from tm2tfr.tables.sheet import TAPE, Gap, Line, Sheet, Stretch


def latex(sheet: Sheet, caption: str | None) -> str:
    """Return a ``tabular``, inside a ``table`` if there is a `caption`."""
    columns = "".join(sheet.with_tape(["r" if c.numeric else "l" for c in sheet.columns], "l"))
    heads = sheet.with_tape([c.tex or text(c.name) for c in sheet.columns], TAPE)
    rows = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    rows += [rf"{' & '.join(heads)} \\", r"\midrule", *(_row(sheet, line) for line in sheet.lines)]
    rows += [r"\bottomrule", r"\end{tabular}"]
    if caption:
        rows = [r"\begin{table}", r"\centering", rf"\caption{{{text(caption)}}}", *rows, r"\end{table}"]
    body = "\n".join([*rows, ""])
    return f"{needs(body, 'booktabs')}\n{body}"


def _row(sheet: Sheet, line: Line | Gap) -> str:
    if isinstance(line, Gap):
        count = f"{line.rows:,}".replace(",", r"\,")
        return rf"\multicolumn{{{len(sheet.header)}}}{{l}}{{$\vdots$ ({count} {line.what})}} \\"
    tokens = {"x", "y", OTHER} if sheet.tape else set()
    first, *rest = (_marked(line, c.name, _rule if c.name in tokens else _cell) for c in sheet.columns)
    first = rf"$\triangleright$ {first}" if line.differs else first
    return rf"{' & '.join(sheet.with_tape([first, *rest], _tape(line.tape)))} \\"


def _marked(line: Line, column: str, cell: Callable[[str], str]) -> str:
    found = cell(line.cells[column])
    return rf"\textbf{{!}} {found} $\neq$ {cell(line.wrong[column])}" if column in line.wrong else found


def _rule(shown: str) -> str:
    r"""Return a token, also of a rule in a prompt: ``$q_{0}, 1$``, ``$\to$ $(q_{1}, \_, +1)$``."""
    if len(shown) > 1 and shown.startswith(ARROW):
        return f"${maths(ARROW).rstrip()}$ {_cell(shown.removeprefix(ARROW))}"
    if len(shown) > 2 and shown[-2] == ",":
        return f"${maths(shown[:-2]).rstrip()}, {maths(shown[-1]).rstrip()}$"
    return _cell(shown)


def _cell(shown: str) -> str:
    r"""Return a cell as the chapter prints it: ``$(q_{0}, 1, +1)$``, ``$\bot$``, ``$-1$``, ``ACC``."""
    triple = parsed(shown)
    if triple is not None:
        sign = "+" if triple.move > 0 else ""
        return f"$({maths(triple.state)}, {maths(triple.symbol)}, {sign}{triple.move})$"
    return text(shown) if shown.isalpha() and shown.isupper() and len(shown) > 1 else f"${maths(shown).rstrip()}$"


def _tape(tape: Stretch | None) -> str:
    if tape is None:
        return ""
    cells = [rf"\underline{{{maths(a)}}}" if k == tape.head else maths(a) for k, a in enumerate(tape.cells)]
    left, between = r"\dots " if tape.cut else "", r"\,"  # apart, so that blanks do not form one long line
    return rf"${left}{between.join(cells)} \dots$"
