"""Integer equality of S-RASP: numbers of any size and sign, by their squares or by quotients and remainders."""

from __future__ import annotations

import pytest

from tests.sources.logic.compiling import weights
from tests.sources.logic.test_streams import streamed
from tm2tfr.contract.options import LogicOptions
from tm2tfr.runs.streams import checked_streams
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.read import read
from tm2tfr.transformer.local import needed


def matching(key: str, query: str, sight: str = "<=") -> LogicProgram:
    text = f"""# alphabet: ab
a(i) = in(i) in {{'a'}}
b(i) = in(i) in {{'b'}}
na(i) = psum_j [j <= i] a(j)
nb(i) = psum_j [j <= i] b(j)
x(i) = {key}
y(i) = {query}
z(i) = latest_j [j {sight} i, x(j) = y(i)] in(j) : '?'
"""
    return read(text, file="z.srasp").program


def heads(program: LogicProgram) -> list[str]:
    every = (head for layer in weights(program, LogicOptions()).layers for head in layer.heads)
    return [head.claim.attends for head in every if head.claim is not None]


def as_claimed(program: LogicProgram) -> int:
    """Return how many heads have scores that are ahead by what they claim, which all have, but no more than twice that."""
    gaps = checked_streams(weights(program), program, longest=5).gaps
    assert all(gap.holds for gap in gaps)
    return sum(gap.measured <= 2 * gap.claimed for gap in gaps)


SQUARED = [("na(i)", "nb(i) + 1"), ("pos(i)", "2 * na(i)"), ("na(i) - nb(i)", "nb(i)"), ("nb(i) - na(i) + a(i)", "2")]
DIVIDED = [
    ("2*na(i) + nb(i)", "na(i) + 2*nb(i)", "/4"),
    ("na(i) + nb(i) + a(i)", "pos(i) + 1", "/2"),
    ("2*na(i) - 3*nb(i)", "nb(i) - na(i)", "/4-"),
    ("na(i) + 1 - nb(i)", "nb(i) - na(i)", "/2-"),
    ("na(i) - 2*nb(i) + pos(i)", "3 - 2*nb(i)", "/4-"),
]


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize(("key", "query"), SQUARED)
@pytest.mark.parametrize("sight", ["<", "<=", ">="])
def test_keys_with_squares(key: str, query: str, sight: str) -> None:
    program = matching(key, query, sight)
    assert not any("quotient" in head for head in heads(program))
    assert streamed(program, 5) > 1_000
    assert as_claimed(program) > 0


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize(("key", "query", "divided"), DIVIDED)
@pytest.mark.parametrize("sight", ["<", "<="])
def test_quotients_and_remainders(key: str, query: str, divided: str, sight: str) -> None:
    program = matching(key, query, sight)
    found = heads(program)
    assert any(head.split(" shifted")[0].endswith(f" 0{divided}") for head in found)
    assert len([head for head in found if "quotient" in head]) == (4 if divided.endswith("-") else 2)
    assert streamed(program, 5) > 1_000
    assert as_claimed(program) > 2


@pytest.mark.slow
def test_quotients_among_all_positions() -> None:
    assert streamed(matching("2*na(i) - nb(i)", "nb(i)", ">"), 4) > 1_000


def test_one_of_each_kind_on_short_words() -> None:
    assert streamed(matching(*SQUARED[2], "<"), 3) > 500
    assert streamed(matching(*DIVIDED[2][:2], "<"), 3) > 500


def test_every_head_of_a_match_has_a_local_bound_of_order_n_log_n() -> None:
    decoder = weights(matching("2*na(i) - 3*nb(i)", "nb(i) - na(i)", "<"), LogicOptions())
    attending = [head for layer in decoder.layers for head in layer.heads if not head.uniform]
    bounds = {n: max(needed(head, n) for head in attending) for n in (100, 1_000, 10_000)}
    assert bounds[1_000] / bounds[100] < 10 * 1.5
    assert bounds[10_000] / bounds[1_000] < 10 * 1.4
