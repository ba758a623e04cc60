"""The words of a claim about renamed weights: of roles and variables, none of which quotes the source.

The heads and the subspaces of a formula or a program are called by parts of it: ``since s5``, ``is !s2 s3``, ``look up
count(u)``. Where tokens are renamed, such a name is a kind and a number instead: ``since-1``, ``is-2``. Those of a kind are
numbered in the order in which the original has them, layer by layer. Names of roles and variables of machines and circuits
belong to the construction, are the same for all sources, and stay.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from tm2tfr.transformer.weights import Decoder, Head

SELECT, OTHER_HEAD, OTHER_VARIABLE = "select", "head", "variable"
ROLE_KINDS: Mapping[str, str] = {
    SELECT: "the positions that a selector selects",
    "since": "the latest position that decides a 'since' or a 'once'",
    "lookup": "the position with a given number",
    "back": "the previous position",
    "ahead": "the next position",
    "all": "all positions that the mask allows",
    "latest": "the latest position where something holds",
    "earliest": "the earliest position where something holds",
    "sign": "positions by the sign of a comparison",
    "parity": "positions by whether their number is even",
    OTHER_HEAD: "",
}
"""Kind of role -> what such heads attend to."""
VARIABLE_KINDS = frozenset(["at", "found", "is", "label", "mean", "number", "picked", "share", "steps", "value", "within"])
KEPT = frozenset(("token", "position"))
_SELECTOR = re.compile(r"c\d+")


def role_of(head: Head) -> str:
    """Return the role of a head in words: the positions that it attends to, by its claim; without one, its name."""
    return head.claim.attends if head.claim is not None and head.claim.attends else head.name


def neutral_roles(original: Decoder) -> dict[str, str]:
    """Return role of the original -> its neutral name; of machines and circuits, empty."""
    heads = [head for layer in original.layers for head in layer.heads] if original.labeller else []
    return _numbered(map(role_of, heads), _role_kind)


def neutral_variables(original: Decoder) -> dict[str, str]:
    """Return variable of the original -> its neutral name, tokens and position features as they are; see above."""
    subspaces = original.layout.subspaces if original.labeller else ()
    kept = KEPT | set(original.features)
    return _numbered((name for each in subspaces if (name := each.holds or each.name) not in kept), _variable_kind)


def meaning(role: str) -> str:
    """Return what heads with a neutral role attend to."""
    return ROLE_KINDS[role.rpartition("-")[0]]


def _role_kind(role: str) -> str:
    word = role.partition(" ")[0]
    return SELECT if _SELECTOR.fullmatch(word) else word if word in ROLE_KINDS else OTHER_HEAD


def _variable_kind(name: str) -> str:
    word = name.partition(" ")[0]
    return word if word in VARIABLE_KINDS else OTHER_VARIABLE


def _numbered(names: Iterable[str], kind_of: Callable[[str], str]) -> dict[str, str]:
    """Return name -> its kind and number, each name once."""
    counts, found = Counter[str](), dict[str, str]()
    for name in dict.fromkeys(names):
        counts[kind := kind_of(name)] += 1
        found[name] = f"{kind}-{counts[kind]}"
    return found
