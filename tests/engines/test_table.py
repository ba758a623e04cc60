"""A table of positions: what each engine adds, where the table ends, and runs without BOS and stop tokens."""

from __future__ import annotations

import dataclasses
import re

import pytest

from tests.engines.lookups import looked, looking, random_looks
from tests.handmade import shifted, tabled
from tm2tfr.engines import engine, generate
from tm2tfr.errors import EngineError
from tm2tfr.transformer.matrix import Matrix

NAMES = ("dense", "exact")


@pytest.mark.parametrize("name", NAMES)
def test_each_position_gets_its_column(name: str) -> None:
    steps = list(generate(tabled(6), ["0"], engine=engine(name)))
    assert [(step.position, step.token, step.output) for step in steps] == [
        (0, "0", "0"),
        (1, "0", "1"),
        (2, "1", "0"),
        (3, "0", "0"),
        (4, "0", "0"),
        (5, "0", "1"),
    ]
    bit = tabled(6).layout.index("bit")
    assert [step.residual[bit] for step in steps] == [0, 1, 1, 0, 0, 1]


@pytest.mark.parametrize("name", NAMES)
def test_the_table_comes_on_top_of_the_features(name: str) -> None:
    made = shifted()
    place = made.layout.index("place")
    table = Matrix.from_entries((made.layout.width, 3), {(place, 1): 0.5, (place, 2): -2.0})
    steps = list(generate(dataclasses.replace(made, position_table=table), ["1"], engine=engine(name)))
    assert [float(step.residual[place]) for step in steps] == [0.0, 1.5, 0.0]


@pytest.mark.parametrize("name", NAMES)
def test_bits_are_looked_up_by_the_places_in_the_table(name: str) -> None:
    looks = random_looks(60, seed=3)
    prompt = [1, 0, 1, 1]
    steps = list(generate(looking(looks), list(map(str, prompt)), engine=engine(name)))
    assert [int(step.output) for step in steps] == looked(looks, prompt)


@pytest.mark.parametrize(("positions", "there"), [(1, "1 position"), (1200, "1,200 positions")])
@pytest.mark.parametrize("name", NAMES)
def test_there_is_no_position_beyond_the_table(name: str, positions: int, there: str) -> None:
    session = engine(name).start(tabled(positions))
    for _ in range(positions):
        session.feed(0)
    for _ in range(2):
        with pytest.raises(
            EngineError, match=f"^{re.escape(f'position {positions:,}: these weights have {there}: stop before it')}$"
        ):
            session.feed(0)


@pytest.mark.parametrize("name", NAMES)
def test_a_prompt_must_fit_and_must_not_be_empty(name: str) -> None:
    made = tabled(3)
    for prompt, words in (
        ([], "the prompt is empty, and these weights have no BOS to start with: give at least one token"),
        (["0"] * 4, "the prompt has 4 tokens, and these weights have 3 positions: give a shorter one"),
    ):
        with pytest.raises(EngineError, match=f"^{words}$"):
            list(generate(made, prompt, engine=engine(name)))
    assert len(list(generate(made, ["0"] * 3, engine=engine(name)))) == 3
