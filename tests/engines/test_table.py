"""A table of positions: what each engine adds, where the table ends, and runs without BOS and stop tokens."""

from __future__ import annotations

import dataclasses
import random
import re

import numpy as np
import pytest

from tests.engines.lookups import looked, looking, random_looks
from tests.engines.test_fast import followed
from tests.engines.test_fast_sabotage import fast, slow
from tests.engines.test_honest import nameless, sabotaged
from tests.engines.test_straight import as_python, at_once
from tests.handmade import decoder as by_hand
from tests.handmade import shifted, tabled
from tm2tfr.base.errors import EngineError
from tm2tfr.engines import ENGINES, engine, generate
from tm2tfr.engines.fast import Fast, arrays
from tm2tfr.engines.fast.arrays import FEATURES
from tm2tfr.engines.fast.jit import feature as kernel_feature
from tm2tfr.engines.fast.session import FastSession
from tm2tfr.engines.overflow import reach
from tm2tfr.transformer.gadgets import head
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.positions import POSITION_FEATURES
from tm2tfr.transformer.residual import Residual, Subspace, at
from tm2tfr.transformer.weights import Decoder, Layer

NAMES = ("dense", "exact", "fast")
LOOKS = random_looks(90, seed=5)
PROMPT = (1, 0, 1, 1, 0)
__all__ = ["as_python", "at_once"]


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


@pytest.mark.slow
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


# ── the fast engine ─────────────────────────────────────────────────────────────────────────────────────────
def started(positions: int = 90) -> FastSession:
    session = Fast().start(looking(LOOKS[:positions]), numbers=(4, 9), labels=((0, 2),))
    session.prompt(PROMPT)
    return session


def test_places_in_the_table_are_searched_and_never_taken_for_features() -> None:
    decoder = looking(LOOKS)
    session = followed(decoder, [0, 1] * 45)
    assert [found.kind for found in session.recognised[0]] == ["position"] * 3
    one = decoder.layout.index("square")  # the table changes a direction that keys read
    changed = Matrix.from_entries((decoder.layout.width, 90), {(one, 3): 1.0})
    session = followed(dataclasses.replace(decoder, position_table=changed), [0, 1] * 45)
    assert [found.kind for found in session.recognised[0]] == ["scan"] * 3


@pytest.mark.parametrize("sizes", [[90], [1] * 90, [7] * 13, [500]])
def test_a_run_ends_where_the_table_does(sizes: list[int]) -> None:
    session, answers = started(), list[int]()
    for size in sizes:
        answers += session.extend(size).answers.tolist()
    assert answers == looked(LOOKS, PROMPT)
    assert session.extend(0).answers.tolist() == []
    for refused in (lambda: session.extend(1), lambda: session.feed(0)):
        with pytest.raises(EngineError, match="^position 90: these weights have 90 positions: stop before it$"):
            refused()


def test_a_session_begins_again_and_goes_on_with_its_table() -> None:
    session = started()
    wanted = session.extend(90)
    session.restart()
    session.prompt(PROMPT)
    session.extend(33)
    saved = session.save()
    for other in (started(), session):
        other.restore(saved)
        rest = other.extend(500)
        assert rest.answers.tolist() == wanted.answers[33:].tolist()
        assert rest.numbers.tolist() == wanted.numbers[33:].tolist()
        assert rest.codes.tolist() == wanted.codes[33:].tolist()


@pytest.mark.usefixtures("at_once", "as_python")
def test_straight_line_code_reads_the_table() -> None:
    session = started()
    session.extend(90)
    session.restart()
    session.prompt(PROMPT)
    answers = [*session.extend(9).answers.tolist(), *session.extend(90).answers.tolist()]
    assert answers == looked(LOOKS, PROMPT)
    assert session.hurried > 60


@pytest.mark.slow
@pytest.mark.usefixtures("at_once")
def test_compiled_straight_line_code_reads_the_table() -> None:
    session = started()
    for _ in range(2):
        session.restart()
        session.prompt(PROMPT)
        answers = [*session.extend(9).answers.tolist(), *session.extend(90).answers.tolist()]
        assert answers == looked(LOOKS, PROMPT)
    assert session.hurried > 60


@pytest.mark.usefixtures("at_once", "as_python")
def test_a_table_of_very_many_directions_is_left_to_the_kernel() -> None:
    decoder = shifted()
    wide = dataclasses.replace(decoder, position_table=_identity(decoder.layout.width, 90))
    session = Fast().start(wide)
    session.prompt([0] * 4)
    chunk = session.extend(90)
    assert len(chunk.tokens) == 90


def _identity(width: int, positions: int) -> Matrix:
    return Matrix.from_entries((width, positions), {(i % width, i): 1.0 for i in range(positions)})


@pytest.mark.slow
@pytest.mark.usefixtures("at_once", "as_python")
@pytest.mark.parametrize("block", range(4))
def test_engines_follow_wrong_weights_into_the_same_wrong_bits(block: int) -> None:
    looks = random_looks(40, seed=block)
    decoder, chance, wrong = looking(looks), random.Random(f"tables {block}"), 0
    hurried = 0
    for _ in range(50):
        broken, where = sabotaged(decoder, chance)
        want = slow(broken, PROMPT, most=40)
        got, session = fast(broken, PROMPT, most=40)
        assert got == want, where
        session.restart()
        session.prompt(PROMPT)
        assert [*session.extend(9).answers.tolist(), *session.extend(31).answers.tolist()] == want, where
        hurried += session.hurried > 0
        followed(broken, [*PROMPT, *want[len(PROMPT) - 1 : -1]])
        wrong += want != looked(looks, PROMPT)
    assert wrong > 20
    assert hurried > 20


@pytest.mark.slow
def test_rationals_agree_about_wrong_weights() -> None:
    decoder, chance, wrong = looking(LOOKS[:30]), random.Random("exact tables"), 0
    for _ in range(40):
        broken, where = sabotaged(decoder, chance)
        want = slow(broken, PROMPT, "exact", most=30)
        assert slow(broken, PROMPT, most=30) == want, where
        wrong += want != looked(LOOKS[:30], PROMPT)
    assert wrong > 10


@pytest.mark.parametrize("name", ENGINES)
def test_no_engine_looks_at_a_name(name: str) -> None:
    decoder = nameless(looking(LOOKS))
    bits = [decoder.vocabulary[bit] for bit in PROMPT]
    steps = list(generate(decoder, bits, engine=engine(name)))
    assert [decoder.numbers[step.output] for step in steps] == looked(LOOKS, PROMPT)


def one_hot(positions: int) -> Decoder:
    """Answers with the bit at half the position, read by a head whose keys are the positions as one-hot vectors."""
    numbers = tuple(map(str, range(positions)))
    layout = Residual((Subspace("bit"), Subspace("here", numbers), Subspace("there", numbers), Subspace("seen")))
    looks = head(
        layout,
        "look",
        "",
        query=[{at("there", n): 1.0} for n in numbers],
        key=[{at("here", n): 1.0} for n in numbers],
        carries=[({"bit": 1.0}, {"seen": 1.0})],
    )
    made = by_hand(
        layout,
        [{}, {"bit": 1.0}],
        [Layer(name="", meaning="", source="", heads=(looks,))],
        [{}, {"seen": 2.0}],
        vocabulary=("0", "1"),
        bias=(1.0, 0.0),
    )
    here = {(layout.index(at("here", n)), i): 1.0 for i, n in enumerate(numbers)}
    there = {(layout.index(at("there", numbers[i // 2])), i): 1.0 for i in range(positions)}
    return dataclasses.replace(made, position_table=Matrix.from_entries((layout.width, positions), {**here, **there}))


@pytest.mark.parametrize("name", ENGINES)
def test_one_hot_positions(name: str) -> None:
    bits: list[int] = list(PROMPT)
    for step in generate(one_hot(150), list(map(str, PROMPT)), engine=engine(name)):
        bits = bits[: max(len(PROMPT), step.position + 1)]
        assert int(step.output) == bits[step.position // 2]
        bits = [*bits, int(step.output)] if step.position + 1 >= len(PROMPT) else bits
    assert len(bits) == 151


def test_many_directions_get_a_small_memo_and_no_straight_line_code(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = one_hot(100)
    monkeypatch.setattr(arrays, "FEATURES", ())  # it has none
    session = Fast().start(decoder)
    session.prompt(PROMPT)
    assert len(session.extend(100).answers) == 100
    assert np.isfinite(session.save()["hist"]).all()


# ── position features ───────────────────────────────────────────────────────────────────────────────────────
def test_every_feature_is_known_to_the_kernel_and_to_the_bounds() -> None:
    assert tuple(POSITION_FEATURES) == FEATURES
    for code, feature in enumerate(POSITION_FEATURES.values()):
        for i in (0, 1, 2, 3, 1000):
            above, below = feature(i)
            assert getattr(kernel_feature, "py_func", kernel_feature)(code, i) == above / below
    assert np.isnan(getattr(kernel_feature, "py_func", kernel_feature)(len(FEATURES), 3))
    assert reach(shifted()).everything


def test_a_feature_that_the_kernel_does_not_know_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "FEATURES", ("1/(i+1)", "1", "i"))
    words = "the fast engine does not know the position feature 'i^2': use the dense engine"
    with pytest.raises(EngineError, match=f"^{re.escape(words)}$"):
        Fast().start(shifted())
