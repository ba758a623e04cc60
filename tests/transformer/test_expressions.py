"""Position features that are expressions in i and n, by two evaluators that share nothing; temperatures made of them."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.transformer.test_local import latest_is_a
from tests.transformer.test_positions import telling
from tm2tfr.base.errors import DisguiseError, EngineError, ExportError, ShapeError
from tm2tfr.engines import engine
from tm2tfr.engines.decode import Observation, run_whole
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.lab.hidden.disguise import disguised
from tm2tfr.sources.logic.theta import rule
from tm2tfr.targets.matrices.contents import refuse_export
from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.storage import dumps, loads
from tm2tfr.transformer.tempered import per_position
from tm2tfr.transformer.weights import Decoder, digest

OF_LENGTH = ("i/n", "n", "i*n", "i^2*n", "1/(n-i)", "2*i = n - 1", "n % i = 0")
WRITTEN = (*OF_LENGTH, "i % 5 in {1, 4}", "!(i % 3 = 0) & i < 7 | i = 9", "(i+1)^2", "-i + 3", "i^3 - (2*i + 1)*i")


def random_text(chance: Random, depth: int = 3) -> str:
    """Return a random expression without a division."""
    if depth == 0 or chance.random() < 0.2:
        return chance.choice(("i", "n", str(chance.randrange(8))))
    one, other = random_text(chance, depth - 1), random_text(chance, depth - 1)
    shapes = (
        f"({one} {chance.choice('+-*%')} {other})",
        f"{one} {chance.choice('+-*')} {other}",
        f"({one})^{chance.randrange(4)}",
        f"({one} {chance.choice(('=', '!=', '<', '<=', '>', '>='))} {other})",
        f"({one} {chance.choice('&|')} {other})",
        f"(!{one})",
        f"({one} in {{{', '.join(str(chance.randrange(9)) for _ in range(chance.randrange(1, 4)))}}})",
        f"-{one}" if one.startswith(("(", "i", "n")) else one,
    )
    return chance.choice(shapes)


@pytest.mark.slow
def test_both_evaluators_agree() -> None:
    """The engines' expressions and the reference's rules are two programs; both read what is written, or neither does."""
    chance, compared = Random(1), 0
    for _ in range(600):
        text = random_text(chance)
        for n in (1, 2, 5, 9):
            assert [Fraction(*feature(text)(i, n)) for i in range(n)] == [rule(text).at(i, n) for i in range(n)], text
        compared += 1
    assert compared > 400
    for text in WRITTEN:
        for n in (1, 2, 7, 30):
            assert [Fraction(*feature(text)(i, n)) for i in range(n)] == [rule(text).at(i, n) for i in range(n)], text


@pytest.mark.parametrize("text", WRITTEN)
def test_bounds_hold(text: str) -> None:
    known = feature(text)
    values = [Fraction(*known(i, n)) for n in range(1, 13) for i in range(n)]
    low, high = known.bounds(12)
    assert low <= min(values)
    assert float(max(values)) <= high
    assert known.of_length == (text in OF_LENGTH)
    assert known.values != "positive" or min(values) > 0
    assert known.values == "any sign" or min(values) >= 0
    if text in ("i/n", "n", "i*n", "i^2*n", "1/(n-i)"):
        assert known.largest(12) <= max(values) * Fraction(144, 121) * Fraction(
            12, 11
        )  # as large, and no larger, but for n


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1/i", "the position feature '1/i' may divide by 0: divide by what is never 0, such as i\\+1"),
        ("i/(n-2)", "may divide by 0"),
        ("i % (1/(i+1))", "has a remainder of a fraction: divide whole numbers"),
        ("(((i^9)^9)^9)^9", "has numbers of too many digits: use smaller powers"),
        ("(((((1/(i+1))^9)^9)^9)^9)^9", "has numbers of too many digits"),
        *(
            (text, "unknown position feature")
            for text in ("i i", "i^n", "2^i", "i^10", "(i", "i)", "1 < i < 3", "i in {n}")
        ),
        ("(" * 60 + "i" + ")" * 60, "unknown position feature"),
        ("+".join("i" * 700), "unknown position feature"),
    ],
)
def test_what_is_no_expression(text: str, words: str) -> None:
    with pytest.raises(ShapeError, match=words):
        feature(text)


# ── in weights
def test_engines_agree_on_features_of_the_length() -> None:
    decoder = telling(WRITTEN)
    assert (decoder.of_length, decoder.sequential, decoder.looks_ahead) == (True, False, False)
    for n in (1, 2, 9):
        wanted = [[Fraction(rule(name).at(i, n)) for name in WRITTEN] for i in range(n)]
        assert [seen.logits for seen in run_whole(decoder, [0] * n, engine=engine("exact"))] == wanted
        floats = np.array(wanted, dtype=np.float64)
        assert (np.array([seen.logits for seen in run_whole(decoder, [0] * n, engine=engine("dense"))]) == floats).all()
        assert (floats == DenseDecoder(decoder).run(np.zeros((3, n), dtype=np.int64)).logits[:, 1].T).all()


def test_a_file_has_the_definition_and_the_digest_covers_it() -> None:
    decoder = telling(("i/n", "i % 3 = 0"))
    assert loads(dumps(decoder)) == decoder
    assert digest(telling(("i % 3 = 0",))) == digest(telling(("i % 3 = 0",)))
    other = dataclasses.replace(decoder, features=("i/n", "i % 3 = 1"))
    assert digest(other) != digest(decoder)


@pytest.mark.parametrize("name", ["dense", "exact"])
def test_the_length_has_to_be_known(name: str) -> None:
    with pytest.raises(
        EngineError, match="the position feature 'i/n' depends on the length, so these weights cannot run pos"
    ):
        engine(name).start(telling(("i/n",)))


def test_what_does_not_know_them_refuses_them_by_name() -> None:
    with pytest.raises(
        EngineError, match="position features of the length and position features of their own, which the fast"
    ):
        engine("fast").start(telling(("i/n",)))
    with pytest.raises(ExportError, match="these weights have position features of their own, which an export to GPT-2"):
        refuse_export(telling(("i % 3 = 0",)), "GPT-2", known=("no BOS", "outputs by name"))


# ── temperatures
def tempered(inverse: str) -> Decoder:
    """The same weights at 1/τ = 3 times a feature; the head before scores whole numbers and needs none."""
    soft = per_position(latest_is_a())
    heads = tuple(dataclasses.replace(head, inverse_temperature=inverse) for head in soft.layers[0].heads)
    return dataclasses.replace(soft, layers=(dataclasses.replace(soft.layers[0], heads=heads), *soft.layers[1:]))


def test_scores_are_multiplied_at_each_position() -> None:
    """By hand: softmax of the scores times i+1, from the scores at temperature 1."""
    plain, warm = tempered("1"), tempered("i+1")
    tokens = [plain.numbers[x] for x in ("BOS", "a", "c", "b", "c")]
    scores: list[list[NDArray[np.float64]]] = [[], []]
    for decoder, found in zip((plain, warm), scores, strict=True):
        session = engine("dense").start(decoder)
        for token in tokens:
            seen = Observation()
            session.feed(token, seen)
            found.append(np.asarray(seen.heads[0, 0][0]))
    for i, (one, other) in enumerate(zip(*scores, strict=True)):
        assert (one * (i + 1) == other).all()


def test_a_session_and_a_batch_agree() -> None:
    decoder = tempered("i^2+1")
    chance = np.random.default_rng(3)
    tokens = chance.integers(1, 4, (4, 30))
    logits = DenseDecoder(decoder).run(tokens).logits
    for row, word in enumerate(tokens.tolist()):
        session = engine("dense").start(decoder)
        for i, token in enumerate(word):
            session.feed(token)
            assert (session.logits == logits[:, row, i]).all()


def test_a_temperature_of_the_length() -> None:
    decoder = tempered("n")
    assert (decoder.of_length, decoder.tempered) == (True, True)
    with pytest.raises(EngineError, match="the temperature depends on the length"):
        engine("dense").start(decoder)
    assert loads(dumps(decoder)) == decoder
    assert digest(decoder) != digest(tempered("i+1")) != digest(tempered("1"))


def test_a_temperature_checks_itself() -> None:
    hard, soft = latest_is_a().layers[0].heads[0], tempered("1").layers[0].heads[0]
    with pytest.raises(ShapeError, match="head 'latest' has a temperature, and average-hard attention: use softmax, or no"):
        dataclasses.replace(hard, inverse_temperature="i+1")
    for inverse in ("i", "i-1", "(-1)^i", "n - 2"):
        with pytest.raises(ShapeError, match="which may be 0 or less: use a feature that is positive at every position"):
            dataclasses.replace(soft, inverse_temperature=inverse)
    with pytest.raises(ShapeError, match="unknown position feature 'warm'"):
        dataclasses.replace(soft, inverse_temperature="warm")


def test_every_engine_and_export_that_does_not_know_temperatures_refuses_them() -> None:
    with pytest.raises(EngineError, match="temperatures that depend on the position, which the fast engine cannot run"):
        engine("fast").start(tempered("i+1"))
    with pytest.raises(EngineError, match="head 'latest': the exact engine runs hard attention only, and softmax"):
        engine("exact").start(tempered("i+1"))
    known = ("no BOS", "outputs by name")
    with pytest.raises(
        ExportError, match="temperatures that depend on the position, which an export to ONNX does not have"
    ):
        refuse_export(tempered("i+1"), "ONNX", known=known)


def test_weights_with_a_temperature_per_position_are_not_disguised() -> None:
    with pytest.raises(DisguiseError, match="weights with a temperature that depends on the position are not disguised"):
        disguised(tempered("i+1"), None, grade=1, seed=0)  # type: ignore[arg-type]
