"""Names of subspaces and heads as the chapter writes them, as far as Unicode has the signs: h⁺, i², hᵢ₋₁."""

from __future__ import annotations

import re

_LOW = dict(zip("0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", strict=True))
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
