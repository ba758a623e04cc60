"""What each claim of subspaces and heads means, position by position, on one word; what cannot be interpreted."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tm2tfr.contract.specification import vector
from tm2tfr.sources.logic.model.claims import head_claim, subspace_claim
from tm2tfr.sources.logic.model.specification import LogicSpecification
from tm2tfr.sources.logic.nodes import (
    AllOf,
    Always,
    AtKey,
    AtQuery,
    Build,
    Comparison,
    CountLeft,
    CountRight,
    Equal,
    Input,
    Node,
    OneOf,
    Or,
    Place,
    Retrieve,
    Since,
    Sum,
    Until,
)
from tm2tfr.transformer.residual import Residual, Subspace

F, T = False, True
WORD = ("a", "b", "b", "a")


def values() -> dict[Node, tuple[object, ...]]:
    """The nodes s0, s1, … and what each is on `WORD`."""
    make = Build()
    rows: dict[Node, tuple[object, ...]] = {}

    def row(node: Node, *there: object) -> Node:
        rows[node] = there
        return node

    token = row(make(Input), *WORD)
    a = row(make(OneOf, of=token, values=("a",)), T, F, F, T)
    b = row(make(OneOf, of=token, values=("b",)), F, T, T, F)
    left = row(make(CountLeft, of=a), 1, 1, 1, 2)
    right = row(make(CountRight, of=a), 2, 1, 1, 1)
    row(make(Sum, terms=((2, left), (-3, b)), constant=-2), 0, -3, -3, 2)
    row(make(Place), 1, 2, 3, 4)
    either = row(make(Or, parts=(a, b)), T, T, T, T)
    row(make(Since, left=either, right=b), F, T, T, T)
    row(make(Until, left=either, right=b), T, T, T, F)
    row(make(Comparison, left=left, relation=">", right=right), F, F, F, T)
    score = AllOf((AllOf((AtKey(b),)), AtQuery(a)))
    row(make(Retrieve, choice="latest", sight="<", score=score, values=token, default=token), "a", "b", "b", "b")
    row(make(Retrieve, choice="earliest", sight="any", score=Equal(left, right), values=a, default=a), T, T, T, T)
    always = row(make(Always, value=True), T, T, T, T)
    score = AllOf((AtQuery(always), AtKey(b)))
    row(make(Retrieve, choice="latest", sight="any", score=score, values=token, default=token), "b", "b", "b", "b")
    return rows


def specification(*subspaces: Subspace, heads: tuple[str | None, ...] = (), eos: bool = True) -> LogicSpecification:
    return LogicSpecification(WORD, values(), eos, Residual(subspaces), heads)  # type: ignore[arg-type]


HOLDS = {
    "1": [1, 1, 1, 1, 1, 1],
    "i": [0, 1, 2, 3, 4, 5],
    "i^2": [0, 1, 4, 9, 16, 25],
    "1/(i+1)": [1, Fraction(1, 2), Fraction(1, 3), Fraction(1, 4), Fraction(1, 5), Fraction(1, 6)],
    "i mod 2 = 1": [0, 1, 0, 1, 0, 1],
    "i mod 3 = 0": [1, 0, 0, 1, 0, 0],
    "prime(i)": [0, 0, 1, 1, 0, 1],
    "square(i)": [1, 1, 0, 0, 1, 0],
    "power of 2(i)": [0, 1, 1, 0, 1, 0],
    "(-1)^i": [1, -1, 1, -1, 1, -1],
    "bos": [1, 0, 0, 0, 0, 0],
    "eos": [0, 0, 0, 0, 0, 1],
    "early": [1, 1, 0, 0, 0, 0],
    "is never": [0, 0, 0, 0, 0, 0],
    "at least 0 s10": [0, 0, 1, 1, 1, 1],
    "at least 1 s10": [0, 0, 0, 0, 1, 1],
    "at least -1 s10": [0, 1, 1, 1, 1, 1],
    "within number s4": [0, 2, 1, 1, 1, 0],
    "within rounded at back: at least 0 s10": [0, 0, 0, 1, 1, 0],
    "equal s12 0 at earliest none s12 0": [1, 1, 1, 1, 1, 1],
    "equal s12 0 at earliest past s12 0": [1, 1, 1, 1, 0, 0],
    "equal s12 0 at back": [0, 0, 1, 1, 1, 0],
    "is": [0, 1, 1, 1, 1, 0],
    "is s1": [0, 1, 0, 0, 1, 0],
    "is !s1": [0, 0, 1, 1, 0, 0],
    "is s1 !s8": [0, 1, 0, 0, 0, 0],
    "is s1 !s8 | s2 s10 | s10": [0, 1, 0, 0, 1, 0],
    'is s0="a"': [0, 1, 0, 0, 1, 0],
    'is !s0="a"': [0, 0, 1, 1, 0, 0],
    'is !s0="a" s9 | s11="a"': [0, 1, 1, 1, 0, 0],
    'is s0=" | s1"': [0, 0, 0, 0, 0, 0],
    r'is !s0="\""': [0, 1, 1, 1, 1, 0],
    "number s3": [0, 1, 1, 1, 2, 2],
    "number s4": [2, 2, 1, 1, 1, 0],
    "number s5": [-2, 0, -3, -3, 2, 2],
    "number s6": [0, 1, 2, 3, 4, 5],
    "square s5": [4, 0, 9, 9, 4, 4],
    "positive s5": [0, 0, 0, 0, 2, 2],
    "negative s5": [2, 0, 3, 3, 0, 0],
    "positive square s5": [0, 0, 0, 0, 4, 4],
    "negative square s5": [4, 0, 9, 9, 0, 0],
    "found s11": [0, 0, 0, 0, 1, 0],
    "found s12": [0, 1, 1, 1, 1, 0],
    "over i+1: number s3": [0, Fraction(1, 2), Fraction(1, 3), Fraction(1, 4), Fraction(2, 5), Fraction(1, 3)],
    "at all future: is s1": [0, Fraction(1, 2), Fraction(1, 3), Fraction(1, 4), Fraction(2, 5), Fraction(1, 3)],
    "at all past: eos": [Fraction(1, 6), Fraction(1, 5), Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), 1],
    "at all none: bos": [Fraction(1, 6)] * 6,
    "at back: is s1": [0, 0, 1, 0, 0, 1],
    "at ahead: is s1": [1, 0, 0, 1, 0, 0],
    "rounded at ahead: is s1": [1, 0, 0, 1, 0, 0],
    "at back: at back: number s4": [2, 2, 2, 2, 1, 1],
    "over i+1: at back: number s6": [0, 0, Fraction(1, 3), Fraction(1, 2), Fraction(3, 5), Fraction(2, 3)],
    "at latest future s11 0|1 shifted back: number s6": [0, 0, 1, 2, 3, 3],
    "at earliest none s12 0 shifted ahead: number s6": [4, 4, 1, 1, 1, 1],
}
"""What a subspace holds at BOS, the four positions of the word, and EOS."""


@pytest.mark.parametrize("claim", HOLDS)
def test_what_a_subspace_holds(claim: str) -> None:
    subspace = Subspace("x", holds=claim, since=(1, "attention"))
    there = specification(subspace)
    assert there.covers(there.layout)
    found = [there.values(i)[claim] for i in range(6)]
    assert found == HOLDS[claim]
    assert all(isinstance(value, int | Fraction) for value in found)
    assert [there.stream(there.layout, i, 1, "attention") for i in range(6)] == [[value] for value in found]
    assert [there.stream(there.layout, i, 0, "feed_forward") for i in range(6)] == [[0]] * 6
    assert [there.holds(claim, 1, part) for part in ("attention", "feed_forward")] == [True, True]
    assert not there.holds(claim, 0, "feed_forward")
    if claim.startswith(("1", "i", "bos", "early", "number s3", "at back", "at all future", "at latest")):
        without = specification(subspace, eos=False)
        assert [without.values(i)[claim] for i in range(5)] == HOLDS[claim][:5], "no position after it is in sight"


LABELS = {
    "token": ["BOS", "a", "b", "b", "a", "EOS"],
    "label s0": [None, "a", "b", "b", "a", None],
    "label s11": [None, "a", "b", "b", "b", None],
    "at back: label s0": [None, None, "a", "b", "b", "a"],
    "rounded at ahead: label s0": ["a", "b", "b", "a", None, None],
    "within at ahead: label s0": [None, "b", "b", "a", None, None],
    "at latest future s11 0|1 shifted back: label s0": [None, None, "a", "b", "b", "b"],
}


@pytest.mark.parametrize("claim", LABELS)
def test_what_a_subspace_with_labels_holds(claim: str) -> None:
    subspace = Subspace("x", ("BOS", "EOS", "b", "a"), holds=claim)
    there = specification(subspace)
    assert there.covers(there.layout)
    found = [vector(subspace, there.values(i)[claim]) for i in range(6)]
    assert found == [vector(subspace, label) for label in LABELS[claim]]


def test_a_mean_of_labels_is_a_vector() -> None:
    subspace = Subspace("x", ("b", "a"), holds="at all past: over i+1: label s0")
    there = specification(subspace)
    assert there.values(2)[subspace.holds] == {"b": Fraction(1, 12) + Fraction(1, 16), "a": Fraction(1, 20)}


ATTENDS: dict[str, list[list[int]]] = {
    "all future": [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5]],
    "all past": [[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5], [2, 3, 4, 5], [3, 4, 5], [4, 5], [5]],
    "all none": [[0, 1, 2, 3, 4, 5]] * 6,
    "back": [[0], [0], [1], [2], [3], [4]],
    "ahead": [[1], [2], [3], [4], [5], [5]],
    "parity 0": [[0], [0], [2], [2], [4], [4]],
    "parity 1": [[0], [1], [1], [3], [3], [5]],
    "lookup future number s5": [[0], [0], [0], [0], [2], [2]],
    "lookup none number s3": [[0], [1], [1], [1], [2], [2]],
    "lookup past negative s5": [[2], [1], [3], [3], [4], [5]],
    "lookup future positive s5": [[0], [0], [0], [0], [2], [2]],
    "lookup past number s6": [[0], [1], [2], [3], [4], [5]],
    "since s8": [[0], [0], [2], [3], [3], [5]],
    "until s9": [[0], [2], [2], [3], [5], [5]],
    "sign 1 s10": [[0], [1], [1], [1], [0], [0]],
    "sign 0 s10": [[0], [1], [0], [0], [0], [0]],
    "sign -1 s10": [[0], [0], [0], [0], [0], [0]],
    "latest future s11 0,1 shifted back": [[0], [1], [2], [3], [4], [5]],
    "latest future s11 0|1 shifted back": [[0], [1], [2], [3], [4], [4]],
    "latest future s11 0": [[0], [1], [2], [3], [3], [3]],
    "latest future s11 -": [[0], [1], [2], [3], [4], [4]],
    "latest past s11 0|-": [[3], [3], [3], [3], [4], [5]],
    "latest none s11 - shifted ahead": [[3], [3], [3], [3], [3], [3]],
    "latest past s11 0,1 shifted ahead": [[5], [2], [5], [5], [5], [5]],
    "latest past s14 0,1": [[3], [3], [3], [3], [5], [5]],
    "latest past s14 0": [[4], [4], [4], [4], [4], [5]],
    "earliest none s12 0": [[4], [4], [1], [1], [1], [0]],
    "earliest none s12 -": [[1]] * 6,
    "earliest past s12 0": [[4], [4], [2], [3], [4], [5]],
}


@pytest.mark.parametrize("claim", ATTENDS)
def test_where_a_head_looks(claim: str) -> None:
    there = specification(heads=(claim,))
    assert there.covers(there.layout)
    assert [list(there.attended(claim, i)) for i in range(6)] == ATTENDS[claim]


@pytest.mark.parametrize(
    "claim",
    [
        *("", "x", "tokens", "i^x", "i mod 0 = 0", "i mod 2", "late ", "BOS"),
        *("is ", "is s1 ", "is s1|s2", "is s1 | ", "is  s1", "is s99", "is s0", 'is s1="a"', "is s3", "is s01", "is !!s1"),
        *('is s0="a', "is s0=a", 'is s0="\n"'),
        *("number", "number s1", "number s99", "number s0", "square s0", "found s8", "found s99"),
        *("positive s1", "label s0"),
        *("at least", "at least s10", "at least 1 s9", "within", "within s1", "equal s12 1 at back", "equal s11 0 at back"),
        *("equal s12 0", "equal s12 0 at", "equal s12 0 at s1", "equal s12 0 at since s1", "is never s1"),
        *("at", "at back", "at back:", "at back: s1", "at back: is s99", "at nowhere: is s1", "at since s1: is s1"),
        *("over i+1", "over i+1: ", "over i+1: label s0", "rounded", "rounded s1", "token"),
    ],
)
def test_a_claim_of_a_number_that_cannot_be_interpreted_is_not_covered(claim: str) -> None:
    there = specification(Subspace("x", holds=claim))
    assert not there.covers(there.layout)
    assert there.values(1) == {claim: None}
    assert there.stream(there.layout, 1, 0, "attention") == [0]


@pytest.mark.parametrize(
    "claim", ["is s1", "number s3", "label s1", "label s3", "label s99", "at back: is s1", "i", "within is s1"]
)
def test_a_claim_of_labels_that_cannot_be_interpreted_is_not_covered(claim: str) -> None:
    there = specification(Subspace("x", ("a", "b"), holds=claim))
    assert not there.covers(there.layout)


@pytest.mark.parametrize(
    "claim",
    [
        *("", "everywhere", "all", "all over", "parity 2", "parity", "back ", "ahead none"),
        *("lookup number s3", "lookup future square s3"),
        *("lookup future number s1", "lookup none number s99", "lookup past positive s1", "since s9"),
        *("until s8", "since s99"),
        *("sign 1 s3", "sign", "sign s10", "latest future s11 0|", "latest future s11 0,-", "latest future s12 0"),
        *("earliest none s11 0", "latest future s11", "latest future s11 2"),
        *(
            "latest future s11 0,",
            "latest s11 0",
            "latest future s8 0",
            "latest future s11 0 shifted",
            "latest future s99 -",
        ),
    ],
)
def test_a_head_that_looks_nowhere_known_is_not_covered(claim: str) -> None:
    there = specification(heads=("all future", claim))
    assert not there.covers(there.layout)
    assert there.attended(claim, 1) == ()
    assert not specification(heads=("back", None)).covers(there.layout)


def test_what_is_fed() -> None:
    assert specification().tokens == ("BOS", "a", "b", "b", "a", "EOS")
    assert specification(eos=False).tokens == ("BOS", "a", "b", "b", "a")
    assert (specification().remark("i", 1), specification().about(1)) == (None, None)


def test_claims_are_read_alike_whatever_they_are_part_of() -> None:
    assert subspace_claim("rounded at back: is s1") == subspace_claim("at back: is s1")
    found = head_claim("latest none s12 3,1|0 shifted ahead")
    assert found is not None
    assert (found.kind, found.mask, found.node, found.clusters, found.shift) == ("latest", "none", 12, ((3, 1), (0,)), 1)
