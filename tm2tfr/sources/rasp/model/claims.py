"""The language of claims: what weights say of their subspaces and heads, as values.

S-ops and selectors are named by their numbers, ``s12`` and ``c7``; ``s`` alone is the token. A subspace may be claimed to
hold

- ``token``, ``position`` as one-hot vectors, ``1``, ``i``, ``i^2`` as numbers;
- ``value s12``: the value of an s-op; ``value keys C of s3,s4``, ``value queries C of s3``: the label with which the
  subspace's groups pair the text of these values, nothing if there is none;
- ``picked s12``: of an aggregate, the mean of the one-hot vectors of its values over the positions that its head attends
  to; ``mean s12 K L``: the mean of ``K (value - L)`` over them;
- ``steps s12``: for each label ``a..b`` where the number x of ``mean s12 K L`` stands between a and b, from 0 to 1;
- ``share c7 C of s3,s4``: over the positions that the head of a selector attends to, the mean of the 0/1 vectors of the
  labels with which groups pair the text of these values there; ``found c7``: 1 iff the selector selects a position.

A head is claimed to attend to ``c7 none c5,!c6|c4``: the visible positions that satisfy the most clusters, of which each is
a conjunction of selectors; with ``future``, positions after its own are not visible.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tm2tfr.transformer.residual import Subspace

SopNumbers = tuple[int | None, ...]
"""Numbers of s-ops, None in place of the token."""
Literals = tuple[tuple[int, bool], ...]
"""Numbers of selectors, each with whether it has to be true: all of them at once."""
GIVEN = ("token", "position", "1", "i", "i^2")


@dataclass(frozen=True)
class GivenOf:
    """One of `GIVEN`."""

    what: str


@dataclass(frozen=True)
class ValueOf:
    """The value of an s-op."""

    sop: int


@dataclass(frozen=True)
class ClassOf:
    """The class of the values of s-ops, of those that a cluster treats alike in ``keys`` or ``queries``."""

    side: str
    cluster: Literals
    sops: SopNumbers


@dataclass(frozen=True)
class PickedOf:
    """The mean of the one-hot vectors of an aggregate's values."""

    sop: int


@dataclass(frozen=True)
class MeanOf:
    """The mean of `scale` (value - `least`) of an aggregate's values."""

    sop: int
    scale: Fraction
    least: Fraction


@dataclass(frozen=True)
class StepsOf:
    """How far the mean of an aggregate stands between the two numbers of each label."""

    sop: int


@dataclass(frozen=True)
class SharesOf:
    """The shares of classes of values among the positions that the head of a selector attends to."""

    selector: int
    cluster: Literals
    sops: SopNumbers


@dataclass(frozen=True)
class FoundOf:
    """Whether a selector selects a position."""

    selector: int


RaspClaim = (
    GivenOf | ValueOf | ClassOf | PickedOf | MeanOf | StepsOf | SharesOf | FoundOf
)  # fmt: skip


@dataclass(frozen=True)
class Gaze:
    """Where a head looks: at the visible positions that satisfy the most clusters.

    Args:
        selector: the number of the selector that it computes.
        ahead: whether positions after its own are visible.
        clusters: each a conjunction.
    """

    selector: int
    ahead: bool
    clusters: tuple[Literals, ...]

    @property
    def mask(self) -> str:
        """The mask of its head."""
        return "none" if self.ahead else "future"


@lru_cache(maxsize=65_536)
def rasp_claim(text: str) -> RaspClaim | None:  # noqa: PLR0911
    """Return the meaning of a subspace's claim; None if it is invalid."""
    if text in GIVEN:
        return GivenOf(text)
    kind, _, rest = text.partition(" ")
    if kind in _OF_SOP and _SOP.fullmatch(rest):
        return _OF_SOP[kind](int(rest[1:]))
    if kind == "found" and _SELECTOR.fullmatch(rest):
        return FoundOf(int(rest[1:]))
    first, _, of_values = rest.partition(" ")
    if kind == "mean":
        scale, least = map(_rational, of_values.partition(" ")[::2])
        if _SOP.fullmatch(first) is None or scale is None or least is None:
            return None
        return MeanOf(int(first[1:]), scale, least)
    cluster, said, names = of_values.partition(" of ")
    literals, sops = clusters(cluster), s_ops(names)
    if not said or literals is None or len(literals) != 1 or sops is None:
        return None
    if kind == "value" and first in ("keys", "queries"):
        return ClassOf(first, literals[0], sops)
    return SharesOf(int(first[1:]), literals[0], sops) if kind == "share" and _SELECTOR.fullmatch(first) else None


_OF_SOP: Mapping[str, Callable[[int], RaspClaim]] = {"value": ValueOf, "picked": PickedOf, "steps": StepsOf}


def _rational(text: str) -> Fraction | None:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def claim_of(subspace: Subspace) -> RaspClaim | None:
    """Return what the claim of a subspace says; None if it is invalid, or of numbers where there are labels, or not."""
    claim = rasp_claim(subspace.holds)
    number = isinstance(claim, MeanOf | FoundOf) or (isinstance(claim, GivenOf) and claim.what in GIVEN[2:])
    return claim if number == (subspace.labels is None) else None


@lru_cache(maxsize=4096)
def look(claim: str) -> Gaze | None:
    """Return where a head with this claim looks: ``c7 none c5,!c6|c4``; None if the claim is invalid."""
    head, *rest = claim.split(" ")
    if _SELECTOR.fullmatch(head) is None or len(rest) not in (1, 2) or rest[0] not in ("none", "future"):
        return None
    found = clusters(rest[1]) if len(rest) == 2 else ()
    return None if found is None else Gaze(int(head[1:]), rest[0] == "none", found)


def clusters(text: str) -> tuple[Literals, ...] | None:
    """Return clusters of selectors from text: ``c5,!c6|c4``; None if it is invalid."""
    found = []
    for cluster in text.split("|"):
        literals = cluster.split(",")
        if not all(_LITERAL.fullmatch(literal) for literal in literals):
            return None
        found.append(tuple((int(literal.lstrip("!")[1:]), not literal.startswith("!")) for literal in literals))
    return tuple(found)


def s_ops(text: str) -> SopNumbers | None:
    """Return the numbers of s-ops listed in a text, ``s1,s12``, None in place of the token; None if it is invalid."""
    names = text.split(",") if text else []
    if not all(re.fullmatch("s[0-9]{0,9}", name) for name in names):
        return None
    return tuple(int(name[1:]) if name != "s" else None for name in names)


_SELECTOR, _LITERAL, _SOP = re.compile("c[0-9]{1,9}"), re.compile("!?c[0-9]{1,9}"), re.compile("s[0-9]{1,9}")
