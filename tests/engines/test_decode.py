"""The one generate loop: prompt · BOS, then its own answers, until a stop token or enough positions."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from itertools import islice

import pytest

import tm2tfr
from tm2tfr.base.errors import EngineError
from tm2tfr.engines import ENGINES, engine, generate
from tm2tfr.engines.decode import Engine, Observation, Patch, Step, run_whole
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.exact import Exact
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder

NEXT = {"a": "b", "b": "STOP", "BOS": "a", "STOP": "BOS"}
TOKENS = tuple(NEXT)
PLACES = {token: n for n, token in enumerate(TOKENS)}

# no layers: a token's one-hot vector, and an unembedding that says what comes after it
CHAIN = Decoder(
    layout=Residual((Subspace("e_x", TOKENS), Subspace("i"))),
    vocabulary=TOKENS,
    bos="BOS",
    stop=("STOP",),
    features=("i",),
    token_embedding=Matrix.from_entries((5, 4), {(n, n): 1.0 for n in range(4)}),
    position_embedding=Matrix.from_entries((5, 1), {(4, 0): 1.0}),
    layers=(),
    unembedding=Matrix.from_entries((4, 5), {(PLACES[after], PLACES[t]): 1.0 for t, after in NEXT.items()}),
    unembedding_bias=Matrix.from_entries((4, 1), {}),
)


@pytest.fixture(params=ENGINES)
def runner(request: pytest.FixtureRequest) -> Engine:
    return engine(request.param)


def short(steps: object) -> list[tuple[int, str, str]]:
    return [(s.position, s.token, s.output) for s in steps]  # type: ignore[attr-defined]


def test_the_empty_prompt_begins_with_bos_at_position_0(runner: Engine) -> None:
    steps = short(generate(CHAIN, [], engine=runner))
    assert steps == [(0, "BOS", "a"), (1, "a", "b"), (2, "b", "STOP")]


def test_bos_stands_after_the_prompt_and_answers_before_it_count_for_nothing(runner: Engine) -> None:
    # the answer STOP within the prompt stops nothing, and no answer there is ever fed
    steps = short(generate(CHAIN, ["b", "STOP", "BOS"], engine=runner))
    assert steps == [
        (0, "b", "STOP"),
        (1, "STOP", "BOS"),
        (2, "BOS", "a"),
        (3, "BOS", "a"),
        (4, "a", "b"),
        (5, "b", "STOP"),
    ]


def test_a_stop_right_after_bos(runner: Engine) -> None:
    decoder = dataclasses.replace(CHAIN, stop=("a",))
    assert short(generate(decoder, "b", engine=runner)) == [(0, "b", "STOP"), (1, "BOS", "a")]


def test_any_of_several_stop_tokens_stops(runner: Engine) -> None:
    decoder = dataclasses.replace(CHAIN, stop=("STOP", "b"))
    assert short(generate(decoder, [], engine=runner)) == [(0, "BOS", "a"), (1, "a", "b")]


def test_without_a_stop_token_it_goes_on(runner: Engine) -> None:
    decoder = dataclasses.replace(CHAIN, stop=())
    tokens = [s.token for s in islice(generate(decoder, [], engine=runner), 70)]
    assert tokens == (["BOS", "a", "b", "STOP"] * 18)[:70]


@pytest.mark.parametrize("most", range(7))
def test_max_positions_counts_the_prompt_too(runner: Engine, most: int) -> None:
    whole = short(generate(CHAIN, ["a", "b"], engine=runner))
    assert len(whole) == 5
    assert short(generate(CHAIN, ["a", "b"], engine=runner, max_positions=most)) == whole[:most]


def test_a_step_has_the_residual_stream_of_its_position(runner: Engine) -> None:
    steps = list(generate(CHAIN, ["a"], engine=runner))
    assert [list(s.residual) for s in steps] == [[1, 0, 0, 0, 0], [0, 0, 1, 0, 1], [1, 0, 0, 0, 2], [0, 1, 0, 0, 3]]
    assert isinstance(steps[0], Step)


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        (["a", "BSO"], r"^token 1 of the prompt, 'BSO', is not in the vocabulary \(did you mean 'BOS'\?\): "),
        ("ax", r"^token 1 of the prompt, 'x', is not in the vocabulary: use a, b, BOS, STOP$"),
    ],
)
def test_a_prompt_of_unknown_tokens_is_refused_before_anything_runs(
    runner: Engine, prompt: list[str] | str, words: str
) -> None:
    with pytest.raises(EngineError, match=words):
        next(generate(CHAIN, prompt, engine=runner))


def test_runs_do_not_share_a_cache(runner: Engine) -> None:
    first = generate(CHAIN, ["a"], engine=runner)
    next(first)
    assert short(generate(CHAIN, [], engine=runner)) == [(0, "BOS", "a"), (1, "a", "b"), (2, "b", "STOP")]
    assert short(first) == [(1, "BOS", "a"), (2, "a", "b"), (3, "b", "STOP")]


# ── overwriting the stream on the way: position by position and at once, in floats and in rationals
DECODER = tm2tfr.compile("chapter")
PATCHED_TOKENS = [DECODER.numbers[token] for token in ("1", "1", "BOS", "(q0,1,0)", "(q1,_,+1)")]


@pytest.mark.parametrize("engine", [Dense(), Exact()], ids=["dense", "exact"])
@pytest.mark.parametrize("stage", [(-1, "embedding"), (1, "attention"), (2, "feed_forward")])
def test_the_stream_is_overwritten_from_there_on(engine: Dense | Exact, stage: tuple[int, str]) -> None:
    at = DECODER.layout["h/(i+1)"].start
    patch = Patch(*stage, at, (Fraction(1, 4),))
    session, seen = engine.start(DECODER), Observation()
    for token in PATCHED_TOKENS[:3]:
        session.feed(token)
    session.feed(PATCHED_TOKENS[3], seen, [patch])
    found = {(layer, part): stream[at] for layer, part, stream in seen.stages}
    assert found[stage] == Fraction(1, 4)
    before = [where for where in found if list(found).index(where) < list(found).index(stage)]
    assert all(found[where] != Fraction(1, 4) for where in before)
    session.feed(PATCHED_TOKENS[4])
    whole = run_whole(DECODER, PATCHED_TOKENS, engine=engine, patches={3: [patch]})
    assert list(whole[4].residual) == list(session.residual)
    assert list(whole[4].logits) == list(session.logits)
