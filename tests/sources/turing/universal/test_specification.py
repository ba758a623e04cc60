"""What the specification says of every number of the stream and every place of a head is what the exact engine computes."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from tests.sources.turing.universal.cases import compiled, random_programs
from tests.strategies import tries
from tm2tfr.engines.decode import observe_at
from tm2tfr.engines.exact import Exact
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.universal.compiler import renamed
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.truth import UniversalSpecification, UniversalTruth
from tm2tfr.transformer.residual import Residual, Subspace

STEPS = 12
CHAPTER = Universal(states=5, symbols=3, tape="one-way").holding(load("chapter"))
"""The chapter's machine in the prompt of a decoder of its own size."""


def compared(program: Universal, word: str, steps: int = STEPS) -> int:
    """Compare all that can be seen of a run with the specification, and return the number of numbers."""
    decoder = renamed(compiled(program.empty), program)
    rows = list(UniversalTruth(program, word, max_steps=steps).rows())
    specification = UniversalTruth(program, word, max_steps=steps).specification(len(rows))
    assert list(specification.tokens) == [row.x for row in rows]
    assert specification.covers(decoder.layout)
    numbers, claimed = 0, set[str]()
    for i, seen in observe_at(decoder, specification.tokens, range(len(rows)), engine=Exact()):
        for layer, part, residual in seen.stages:
            wanted = specification.stream(decoder.layout, i, layer, part)
            assert list(residual) == wanted, (program, word, i, layer, part)
            numbers += len(wanted)
        for (layer, k), (_, attended) in seen.heads.items():
            claim = decoder.layers[layer].heads[k].claim
            assert claim is not None
            assert list(specification.attended(claim.attends, i)) == list(attended), (program, word, i, claim.attends)
            claimed.add(claim.attends)
    assert {"all", "last key", "rule", "j*", "h+k"} <= claimed
    return numbers


@pytest.mark.slow
@pytest.mark.parametrize("tape", ["both", "one-way", "two-way"])
def test_every_number_of_the_stream_and_every_place_of_a_head_is_exactly_right(tape: str) -> None:
    total = 0
    for states, symbols in ((1, 1), (1, 3), (3, 2), (2, 4)):
        universal = Universal(states=states, symbols=symbols, tape=tape)  # type: ignore[arg-type]
        for program, word in random_programs(random.Random(tape), tries(25), universal):
            total += compared(program, word)
    assert total > 5 * 10**5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "word"),
    [("chapter", "11"), ("palindromes", "ab"), ("busy-beaver-4", ""), ("accept-all", "1"), ("collatz", "11")],
)
def test_shipped_machines_in_the_largest_class(name: str, word: str) -> None:
    machine = load(name)
    word = word if set(word) <= set(machine.input_alphabet or ()) else ""
    assert compared(Universal(states=8, symbols=4).holding(machine), word, 6) > 10**5


# ── by hand ─────────────────────────────────────────────────────────────────────────────────────────────────
def specification(word: str = "11") -> UniversalSpecification:
    return UniversalTruth(CHAPTER, word).specification(99)


def place(token: str, after: int = 0) -> int:
    return specification().tokens.index(token, after)


@pytest.mark.parametrize(
    ("where", "token", "attended"),
    [
        ("last key", "q0,1", ["q0,1"]),
        ("last key", "→(q1,_,+1)", ["q0,1"]),
        ("last key", "BOS", ["q4,_"]),
        ("first", "BOS", ["q0,1"]),
        ("all", "q0,1", ["q0,1"]),
        ("h+k", "BOS", ["1"]),
        ("h+k", "q0,1", ["q0,1"]),
        ("rule", "(q0,1,0)", ["→(q1,_,+1)"]),
        ("rule", "(q1,_,+1)", ["→(q2,x,+1)"]),
        ("nowhere", "BOS", []),
    ],
)
def test_where_heads_must_look(where: str, token: str, attended: Sequence[str]) -> None:
    found = specification()
    assert [found.tokens[j] for j in found.attended(where, place(token))] == attended


def test_a_value_ends_the_rule_of_the_key_before_it() -> None:
    found = specification()
    key, value = found.values(place("q0,1")), found.values(place("q0,1") + 1)
    names = ("[rule]", "[key]", "[value]", "e_q(key)", "e_a(key)", "r_q", "r_a")
    assert [key[name] for name in names] == [1, 1, 0, "q0", "1", None, None]
    assert [value[name] for name in names] == [1, 0, 1, "q0", "1", "q0", "1"]
    bos = found.values(place("BOS"))
    assert [bos[name] for name in names] == [0, 0, 0, "q4", "_", None, None]


def test_what_is_found_and_what_is_said_about_it() -> None:
    found, i = specification(), place("(q0,1,0)")
    values = found.values(i)
    assert (values["r*_q"], values["r*_a"], values["out"]) == ("q0", "1", "→(q1,_,+1)")
    assert (values["[r*_q=q]"], values["[r*_a=a]"], values["[left end]"], values["[one-way]"]) == (1, 1, 1, 0)
    assert found.about(i) == "the rule q0,1 →(q1,_,+1), at position 1"
    assert found.about(place("BOS")) is None
    assert found.remark("h", i) is None


def test_a_subspace_that_claims_something_else_is_not_covered() -> None:
    right = compiled(CHAPTER.empty).layout
    assert specification().covers(right)
    assert not specification().covers(Residual((*right.subspaces, Subspace("[h=0]", holds="[h=0]"))))
    assert not specification().covers(Residual((*right.subspaces, Subspace("more", holds="more"))))
