r"""Text for pdfLaTeX: in a paragraph, and as a name in a formula.

It compiles whatever characters it contains: those that pdfLaTeX's default fonts lack are written with LaTeX's own commands,
or by number, ``U+25B6``.

Why not pylatexenc: of 4,066 characters tried, 101 do not compile with those fonts (``\cyrzh``); ``--``, ``?`{}`` and ``|``
come out as other signs; ``▷``, ``★`` and ``♠`` have no command there.
"""

from __future__ import annotations

import re
import unicodedata

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
    "²": r"$^{2}$",
    "□": r"\framebox[1.4ex]{\rule{0pt}{0.8ex}}",
}
_MATHS = {
    **{"⊥": "bot", "⊤": "top", "⊢": "vdash", "⊣": "dashv", "⊔": "sqcup", "⊓": "sqcap", "∅": "emptyset"},
    **{"→": "to", "←": "leftarrow", "↑": "uparrow", "↓": "downarrow", "↔": "leftrightarrow", "⋮": "vdots"},
    **{"▷": "triangleright", "◁": "triangleleft", "△": "triangle", "▽": "bigtriangledown", "◇": "diamond"},
    **{"★": "star", "•": "bullet", "◦": "circ", "○": "bigcirc", "∗": "ast", "·": "cdot", "×": "times"},
    **{"±": "pm", "−": "mathord{-}", "¬": "neg", "≠": "neq", "≤": "leq", "≥": "geq", "∞": "infty", "∈": "in"},
    **{"⟨": "langle", "⟩": "rangle", "⊕": "oplus", "⊖": "ominus", "⊗": "otimes", "∧": "wedge", "∨": "vee"},
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

_AMSMATH, _AMSSYMB = r"\begin{align", r"\blacktriangle"


def needs(body: str, *packages: str) -> str:
    """Return the comment that names the packages that some LaTeX needs: some that are given, and those of AMS it uses."""
    ours = {"amsmath": _AMSMATH in body, "amssymb": _AMSSYMB in body}
    names = ",".join([*packages, *(name for name, used in ours.items() if used)])
    return rf"% needs \usepackage{{{names}}} in the preamble, and nothing else"


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


def maths(name: str) -> str:
    """Return a state, a symbol or a number for use in formulas."""
    if re.fullmatch(r"[A-Za-z]|[+-]?[0-9]+", name):
        return name
    if (indexed := _INDEXED.fullmatch(name)) is not None:
        return f"{indexed[1]}_{{{indexed[2]}}}"
    if (command := _command(name)) is not None:
        return f"{command} "
    return r"\_" if name == "_" else rf"\texttt{{{text(name)}}}"


# ── Names of subspaces and heads as the chapter writes them, as far as Unicode has the signs: h⁺, i², hᵢ₋₁.
_LOW = dict(zip("0123456789+-=()*aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎⁎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", strict=True))
_HIGH = dict(zip("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", strict=True))
_EMBEDDED = re.compile(r"e_(\w)(?:\((.+)\))?")
"""``e_q`` is q, and ``e_x(h+)`` is x at h⁺."""
_SIGNED = re.compile(r"(?<!\w)([a-z](?:_\{[^{}]*\})?)([+-])(?=[/)\s]|$)")
"""One of the two parts of a signed number: ``h+``, ``h_{i-1}-``."""
_LOWERED = re.compile(r"_\{([^{}]+)\}")
_RAISED = re.compile(r"\^([0-9]+)")


def typeset(name: str) -> str:
    """Return a name with subscripts and superscripts; a subscript that Unicode has no signs for stays as it is."""
    found = _EMBEDDED.fullmatch(name)
    if found:
        name = f"{found[1]}_{{{found[2]}}}" if found[2] else found[1]
    name = _SIGNED.sub(lambda match: match[1] + _HIGH[match[2]], name)
    name = _RAISED.sub(lambda match: "".join(_HIGH[sign] for sign in match[1]), name)
    return _LOWERED.sub(lambda match: _lowered(match[1]) or match[0], name)


def _lowered(text: str) -> str:
    """Return a text as a subscript; "" if a sign of it has none."""
    return "".join(_LOW[sign] for sign in text) if all(sign in _LOW for sign in text) else ""
