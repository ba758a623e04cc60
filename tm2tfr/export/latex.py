r"""A trace's table as LaTeX: a ``tabular`` in the chapter's notation that needs no package but booktabs.

It compiles with pdfLaTeX whatever characters the symbols and states contain: characters that pdfLaTeX's default fonts
lack are written with LaTeX's own commands, or by number, ``U+25B6``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from tm2tfr.compiler.turing.vocabulary import parsed
from tm2tfr.trace.rows import COLUMNS
from tm2tfr.trace.sheet import HEADER, NUMBERS, Gap, Line, Stretch

_HEADS = {
    "i": "$i$",
    "tape": "tape",
    "x": "$x^{(i)}$",
    "q": "$q^{(i)}$",
    "b": "$b^{(i-1)}$",
    "m": "$m^{(i-1)}$",
    "h": "$h^{(i)}$",
    "a": "$a^{(i)}$",
    "y": "$y^{(i)}$",
}
_SIGNS = {
    **{sign: f"\\{sign}" for sign in "_#{}%&"},
    "$": r"\texttt{\char36}",  # \$ and a few others would need a font that not everyone has
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\texttt{\char34}",
    **{sign: f"{sign}{{}}" for sign in "-,'`!?"},  # so that two of them, or ?`, do not form a ligature
    "␣": r"\textvisiblespace{}",
    "…": r"\dots{}",
    "ß": r"\ss{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "œ": r"\oe{}",
    "Œ": r"\OE{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
    "ı": r"\i{}",
    "□": r"\framebox[1.4ex]{\rule{0pt}{0.8ex}}",
}
_MATHS = {
    **{"⊥": "bot", "⊤": "top", "⊢": "vdash", "⊣": "dashv", "⊔": "sqcup", "⊓": "sqcap", "∅": "emptyset"},
    **{"→": "to", "←": "leftarrow", "↑": "uparrow", "↓": "downarrow", "↔": "leftrightarrow", "⋮": "vdots"},
    **{"▷": "triangleright", "◁": "triangleleft", "△": "triangle", "▽": "bigtriangledown", "◇": "diamond"},
    **{"★": "star", "•": "bullet", "◦": "circ", "○": "bigcirc", "∗": "ast", "·": "cdot", "×": "times"},
    **{"±": "pm", "−": "mathord{-}", "¬": "neg", "≠": "neq", "≤": "leq", "≥": "geq", "∞": "infty", "∈": "in"},
    **{"⟨": "langle", "⟩": "rangle", "⊕": "oplus", "⊗": "otimes", "∧": "wedge", "∨": "vee"},
    **{"♠": "spadesuit", "♣": "clubsuit", "♥": "heartsuit", "♦": "diamondsuit", "♯": "sharp", "♭": "flat"},
    **{"§": "S", "¶": "P", "†": "dagger", "‡": "ddagger", "£": "pounds", "÷": "div"},
}
_ACCENTS = dict(
    zip("\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327", "`'^~=u.\"rHvc", strict=True)
)
_GREEK = re.compile(
    r"GREEK (?:SMALL LETTER (ALPHA|BETA|GAMMA|DELTA|EPSILON|ZETA|ETA|THETA|IOTA|KAPPA|LAMDA|MU|NU|XI|PI|RHO|"
    r"SIGMA|TAU|UPSILON|PHI|CHI|PSI|OMEGA)|"
    r"CAPITAL LETTER (GAMMA|DELTA|THETA|LAMDA|XI|PI|SIGMA|UPSILON|PHI|PSI|OMEGA))"
)
_INDEXED = re.compile(r"([A-Za-z])_?([0-9]+)")
_TOP = r"% needs \usepackage{booktabs} in the preamble, and nothing else"


def latex(sheet: Iterable[Line | Gap], caption: str | None) -> str:
    """Return a ``tabular``, inside a ``table`` if there is a `caption`."""
    columns = "".join("r" if c in NUMBERS else "l" for c in HEADER)
    rows = [_TOP, rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    rows += [rf"{' & '.join(_HEADS[c] for c in HEADER)} \\", r"\midrule", *map(_row, sheet)]
    rows += [r"\bottomrule", r"\end{tabular}"]
    if caption:
        rows[1:] = [r"\begin{table}", r"\centering", rf"\caption{{{text(caption)}}}", *rows[1:], r"\end{table}"]
    return "\n".join([*rows, ""])


def text(plain: str) -> str:
    """Return any text as LaTeX for use in a paragraph."""
    return "".join(_sign(sign) for sign in " ".join(plain.split("\n")))


def _sign(sign: str) -> str:
    if sign in _SIGNS:
        return _SIGNS[sign]
    if sign.isascii() and sign.isprintable():
        return sign
    if (command := _command(sign)) is not None:
        return f"${command}$"
    letter, accent = (*unicodedata.normalize("NFD", sign), "")[:2]
    if unicodedata.normalize("NFC", letter + accent) == sign and letter.isascii() and accent in _ACCENTS:
        return rf"\{_ACCENTS[accent]}{{{letter}}}"
    return rf"\texttt{{U+{ord(sign):04X}}}"


def _command(name: str) -> str | None:
    r"""Return the math command for a character, ``\alpha``, or None if it has none."""
    if name in _MATHS:
        return rf"\{_MATHS[name]}"
    greek = _GREEK.fullmatch(unicodedata.name(name, "")) if len(name) == 1 else None
    if greek is None:
        return None
    small, capital = greek.groups()
    return "\\" + (small.lower() if small else capital.capitalize()).replace("amda", "ambda")


def _row(line: Line | Gap) -> str:
    if isinstance(line, Gap):
        count, plural = f"{line.rows:,}".replace(",", r"\,"), "s" if line.rows > 1 else ""
        return rf"\multicolumn{{{len(HEADER)}}}{{l}}{{$\vdots$ ({count} row{plural})}} \\"
    first, *rest = (_marked(line, c) for c in COLUMNS)
    first = rf"$\triangleright$ {first}" if line.differs else first
    return rf"{' & '.join([first, _tape(line.tape), *rest])} \\"


def _marked(line: Line, column: str) -> str:
    found = _cell(line.cells[column])
    return rf"\textbf{{!}} {found} $\neq$ {_cell(line.wrong[column])}" if column in line.wrong else found


def _cell(shown: str) -> str:
    r"""Return a cell as the chapter prints it: ``$(q_{0}, 1, +1)$``, ``$\bot$``, ``$-1$``, ``ACC``."""
    triple = parsed(shown)
    if triple is not None:
        sign = "+" if triple.move > 0 else ""
        return f"$({maths(triple.state)}, {maths(triple.symbol)}, {sign}{triple.move})$"
    return text(shown) if shown.isalpha() and len(shown) > 1 else f"${maths(shown).rstrip()}$"


def _tape(tape: Stretch | None) -> str:
    if tape is None:
        return ""
    cells = [rf"\underline{{{maths(a)}}}" if k == tape.head else maths(a) for k, a in enumerate(tape.cells)]
    left, between = r"\dots " if tape.cut else "", r"\,"  # apart, so that blanks do not form one long line
    return rf"${left}{between.join(cells)} \dots$"


def maths(name: str) -> str:
    """Return a state, a symbol or a number for use in formulas."""
    if re.fullmatch(r"[A-Za-z]|[+-]?[0-9]+", name):
        return name
    if (indexed := _INDEXED.fullmatch(name)) is not None:
        return f"{indexed[1]}_{{{indexed[2]}}}"
    if (command := _command(name)) is not None:
        return f"{command} "
    return r"\_" if name == "_" else rf"\texttt{{{text(name)}}}"
