"""How operators, names and tokens are written: in ASCII, in the signs of Yang et al. (2025), in LaTeX."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from tm2tfr.text import tex

StyleName = Literal["ascii", "paper", "latex"]
"""Of these, ``ascii`` and ``paper`` read back."""


def escaped(text: str, quote: str = "'") -> str:
    """Return a text as it stands between quotes."""
    breaks = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", quote: f"\\{quote}"}
    return "".join(breaks.get(sign, sign) for sign in text)


@dataclass(frozen=True)
class Style:
    """A way of writing.

    Args:
        name: see `StyleName`.
        signs: operators of ASCII -> what is written instead.
        usual: whether ``once``, ``historically``, ``S``, … are written where a node is what they stand for.
    """

    name: StyleName
    signs: dict[str, str] = field(default_factory=dict)
    usual: bool = True

    def sign(self, operator: str) -> str:
        """Return what is written for an operator of ASCII."""
        return self.signs.get(operator, operator)

    def word(self, name: str) -> str:
        """Return a name."""
        if self.name != "latex":
            return name
        return rf"\mathit{{{tex.text(name)}}}" if len(name) > 1 else name

    def label(self, value: str) -> str:
        """Return a label, in quotes."""
        if self.name == "latex":
            return rf"\textrm{{`{tex.text(value)}'}}"
        return f"'{escaped(value)}'"

    def letter(self, token: str) -> str:
        """Return Q_σ."""
        if self.name == "latex":
            return f"Q_{{{tex.maths(token)}}}"
        if self.name == "paper" and re.fullmatch(r"\w+|[^\s\w\"'()\[\]{},;]", token):
            return f"Q_{token}"
        plain = re.fullmatch(r"[^\s\"']|[^\s\"'\[\](){}&|!,;]+", token) and token.isprintable()
        quoted = escaped(token, quote='"')
        return f"Q[{token}]" if plain else f'Q["{quoted}"]'

    def called(self, function: str, *arguments: str) -> str:
        """Return a function with arguments in brackets."""
        counts = {"count": self.sign("count"), "count_right": self.sign("count_right")}
        if counts.get(function, function) != function:
            return f"{counts[function]}[{', '.join(arguments)}]"
        shown = function if self.name != "latex" else rf"\mathrm{{{tex.text(function)}}}"
        return f"{shown}({', '.join(arguments)})"


STYLES: dict[StyleName, Style] = {
    "ascii": Style("ascii"),
    "paper": Style(
        "paper",
        {
            "!": "¬", "&": "∧", "|": "∨", "prev": "⊖", "next": "⊕", "<=": "≤", ">=": "≥", "!=": "≠", "true": "⊤",
            "false": "⊥", "in": "∈", "latest": "▶_j", "earliest": "◀_j", "count": "#←", "count_right": "#→",
        },
        usual=False,
    ),
    "latex": Style(
        "latex",
        {
            "!": r"\lnot ", "&": r"\land", "|": r"\lor", "prev": r"\ominus ", "next": r"\oplus ", "<=": r"\leq",
            ">=": r"\geq", "!=": r"\neq", "true": r"\top", "false": r"\bot", "in": r"\in", "*": r" \cdot ",
            "since": r"\mathbin{\mathbf{since}}", "until": r"\mathbin{\mathbf{until}}", "S": r"\mathbin{\mathbf{S}}",
            "U": r"\mathbin{\mathbf{U}}", "once": r"\mathbf{once}\ ", "historically": r"\mathbf{historically}\ ",
            "eventually": r"\mathbf{eventually}\ ", "always": r"\mathbf{always}\ ", "first": r"\mathit{first}",
            "last": r"\mathit{last}", "position": r"\mathit{position}", "if": r"\ \textrm{if}\ ",
            "else": r"\ \textrm{else}\ ", "latest": r"\blacktriangleright_j",
            "earliest": r"\blacktriangleleft_j", "{": r"\{", "}": r"\}",
            "count": r"\overleftarrow{\#}", "count_right": r"\overrightarrow{\#}",
        },
    ),
}  # fmt: skip
