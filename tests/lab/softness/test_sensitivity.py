"""How far one changed symbol moves the logits: heads with a closed form, and the bound on random weights."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tm2tfr
from tests.cli.lines import said
from tests.cli.test_commands import tm2tfr_here
from tests.transformer.test_soft_gadgets import encoder
from tm2tfr.base.errors import CompileError, InputError, UsageError
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.lab.softness.sensitivity_bound import sensitivity_bound
from tm2tfr.lab.softness.sensitivity_report import plot, report
from tm2tfr.transformer.gadgets import head, mean
from tm2tfr.transformer.layers import MASKS, FeedForward, Head, LayerLoop, Norm
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Linear, Residual, Subspace
from tm2tfr.transformer.soft import softened
from tm2tfr.transformer.weights import Decoder, Layer

LAYOUT = Residual(tuple(map(Subspace, ("1", "x", "i", "y"))))
TOKENS: Sequence[Linear] = ({}, {"x": 1.0})


def averaging() -> Decoder:
    """The share of 1s: one symbol moves it by exactly 1/n."""
    found = mean(LAYOUT, "mean", "", [({"x": 1.0}, {"y": 1.0})])
    return encoder(LAYOUT, ("1",), TOKENS, Layer(name="", meaning="", source="", heads=(found,)), "y")


def scored(gain: float) -> Decoder:
    """Softmax with the score ``gain·x_j``, which carries x: with k ones of n, ``k·e^gain / (k·e^gain + n - k)``."""
    query: list[Linear] = [{"1": gain}]
    found = head(LAYOUT, "ones", "", query=query, key=[{"x": 1.0}], carries=[({"x": 1.0}, {"y": 1.0})])
    layer = Layer(name="", meaning="", source="", heads=(found,))
    return softened(encoder(LAYOUT, ("1",), TOKENS, layer, "y"), 1.0)


def test_a_mean_moves_by_exactly_the_bound_which_is_one_over_n() -> None:
    found = tm2tfr.measure_sensitivity(averaging(), length=32)
    for row in found.rows:
        assert row.largest == pytest.approx(1 / row.n, rel=1e-12)
        assert row.mean == pytest.approx(1 / row.n, rel=1e-12)
        assert row.bound == pytest.approx(1 / row.n, rel=1e-12)
    assert found.exponent == pytest.approx(-1)
    assert found.bound_exponent == pytest.approx(-1)
    assert [share.most for share in found.shares] == [1 / 32]
    assert all(premise.broken is None for premise in found.premises)


def test_under_a_future_mask_two_means_lose_a_logarithm() -> None:
    """The mean over i < n of the means over j ≤ i: symbol 0 moves it by (1 + 1/2 + … + 1/n)/n, and so does the bound."""
    layout = Residual(tuple(map(Subspace, ("1", "x", "y", "z"))))
    heads = [mean(layout, "", "", [({a: 1.0}, {b: 1.0})]) for a, b in (("x", "y"), ("y", "z"))]
    made = encoder(layout, ("1",), TOKENS, Layer(name="", meaning="", source="", heads=(heads[0],)), "z")
    made = replace(made, layers=(*made.layers, Layer(name="", meaning="", source="", heads=(heads[1],))))
    for row in tm2tfr.measure_sensitivity(made, length=32).rows:
        due = sum(1 / k for k in range(1, row.n + 1)) / row.n
        assert [row.largest, row.bound] == pytest.approx([due, due], rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("gain", [0.5, 2.0])
def test_softmax_moves_as_its_closed_form_says(gain: float) -> None:
    def share(k: int, n: int) -> float:
        return k * math.exp(gain) / (k * math.exp(gain) + n - k)

    found = tm2tfr.measure_sensitivity(scored(gain), length=64)
    assert found.holds
    assert found.rows[-1].bound / found.rows[-2].bound == pytest.approx(1 / 2, abs=0.06)
    for row in found.rows[:2]:
        due = max(share(k + 1, row.n) - share(k, row.n) for k in range(row.n))
        assert row.largest == pytest.approx(due, rel=1e-9)
        assert due <= row.bound <= 1


def test_of_one_word_each_symbol_is_measured() -> None:
    found = tm2tfr.measure_sensitivity(scored(1.0), "0010")
    by_hand = [abs(k * math.e / (k * math.e + 4 - k) - math.e / (math.e + 3)) for k in (2, 2, 0)]
    assert [s.largest for s in found.symbols] == pytest.approx(by_hand, rel=1e-9)
    assert [(s.place, s.symbol, s.by) for s in found.symbols] == [(1, "0", "1"), (2, "0", "1"), (3, "1", "0")]
    assert found.holds


@pytest.mark.parametrize("gain", [0.3, 1.0, 3.0])
def test_a_changed_score_moves_what_other_positions_bring(gain: float) -> None:
    """The last symbol has the value 0, and the score 0 or `gain`; others have the value 1: it moves their share alone."""
    layout = Residual(tuple(map(Subspace, ("1", "score", "value", "y"))))
    found = head(
        layout,
        "",
        "",
        query=[{"1": gain}],
        key=[{"score": 1.0}],
        carries=[({"value": 1.0}, {"y": 1.0})],
    )
    tokens: Sequence[Linear] = ({}, {"score": 1.0}, {"value": 1.0})
    layer = Layer(name="", meaning="", source="", heads=(found,))
    made = softened(encoder(layout, ("1",), tokens, layer, "y"), 1.0)
    for n in (2, 8, 64):
        allowed = np.zeros((3, n), dtype=np.bool_)
        allowed[2, :-1] = allowed[:2, -1] = True
        bound = float(sensitivity_bound(made, allowed, [n - 1]).logits[0, 0, -1])
        due = (n - 1) / n - (n - 1) / (n - 1 + math.exp(gain))
        assert due <= bound <= min(1.0, gain * math.exp(gain) / n)


def test_hard_attention_moves_as_far_as_its_values_and_breaks_a_premise() -> None:
    query: list[Linear] = [{"1": 1.0}]
    found = head(LAYOUT, "ones", "", query=query, key=[{"x": 1.0}], carries=[({"x": 1.0}, {"y": 1.0})])
    hard = encoder(LAYOUT, ("1",), TOKENS, Layer(name="", meaning="", source="", heads=(found,)), "y")
    measured = tm2tfr.measure_sensitivity(hard, length=8)
    assert [(row.largest, row.bound) for row in measured.rows] == [(1.0, 1.0)] * 2
    assert measured.premises[0].broken == "1 head with hard attention"


def test_hard_attention_whose_scores_no_symbol_changes_moves_with_one_value() -> None:
    query: list[Linear] = [{"1": 1.0}]
    found = head(LAYOUT, "first", "", query=query, key=[{"i": -1.0}], carries=[({"x": 1.0}, {"y": 1.0})])
    hard = encoder(LAYOUT, ("1", "i"), TOKENS, Layer(name="", meaning="", source="", heads=(found,)), "y")
    assert [s.bound for s in tm2tfr.measure_sensitivity(hard, "0000").symbols] == [1, 0, 0]
    assert tm2tfr.measure_sensitivity(hard, "0000").premises[-1].broken == "i"


# ── the bound on random weights ─────────────────────────────────────────────────────────────────────────────
def random_weights(seed: int) -> Decoder:
    """Two layers with two heads each, of any mask and weighting, feed-forward parts, and sometimes a norm."""
    chance = np.random.default_rng(seed)
    width, hidden, letters = 5, 4, 3

    def matrix(*shape: int) -> Matrix:
        return Matrix.from_dense(chance.normal(size=shape) * (chance.random(shape) < 0.6))

    def norm() -> Norm | None:
        return Norm(gain=matrix(width, 1), bias=matrix(width, 1), epsilon=0.1) if chance.random() < 0.3 else None

    def layer() -> Layer:
        heads = tuple(
            Head(
                name=str(k),
                source="",
                query=matrix(2, width),
                key=matrix(2, width),
                value=matrix(2, width),
                output=matrix(width, 2),
                mask=MASKS[chance.integers(3)],
                weighting="softmax" if chance.random() < 0.8 else "average-hard",
            )
            for k in range(2)
        )
        after = FeedForward(
            input=matrix(hidden, width),
            input_bias=matrix(hidden, 1),
            output=matrix(width, hidden),
            output_bias=matrix(width, 1),
            units=tuple(map(str, range(hidden))),
        )
        return Layer(
            name="", meaning="", source="", heads=heads, feed_forward=after, attention_norm=norm(), feed_forward_norm=norm()
        )

    made = encoder(Residual(tuple(map(Subspace, "abcde"))), (), [{}] * letters, layer(), "a")
    return replace(
        made,
        features=("1/(i+1)", "(-1)^i"),
        token_embedding=matrix(width, letters),
        position_embedding=matrix(width, 2),
        layers=(layer(), layer()),
        unembedding=matrix(1, width),
        norm=norm(),
    )


@pytest.mark.parametrize("seed", range(20))
def test_no_change_exceeds_the_bound_on_random_weights(seed: int) -> None:
    decoder, n = random_weights(seed), 7
    chance = np.random.default_rng(seed)
    pairs = np.array([chance.choice(3, 2, replace=False) for _ in range(n)])  # the two tokens that each position may have
    picked = chance.integers(0, 2, (40, n))
    allowed = np.zeros((3, n), dtype=np.bool_)
    allowed[pairs.T, np.arange(n)] = True
    words = pairs[np.arange(n), picked]
    bound = sensitivity_bound(decoder, allowed, range(n)).logits
    dense = DenseDecoder(decoder)
    before = dense.run(words).logits
    for p in range(n):
        changed = words.copy()
        changed[:, p] = pairs[p, 1 - picked[:, p]]
        moved = np.abs(dense.run(changed).logits - before).max(axis=1)
        assert (moved <= bound[:, p] * (1 + 1e-9) + 1e-12).all()
    assert np.isfinite(bound).all()


def test_a_bound_that_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from tm2tfr.lab.softness import sensitivity as module

    def halved(*given: object) -> object:
        found = sensitivity_bound(*given)  # type: ignore[arg-type]
        return type(found)(found.logits / 2, found.shares)

    monkeypatch.setattr(module, "sensitivity_bound", halved)
    found = tm2tfr.measure_sensitivity(averaging(), length=4)
    assert not found.holds
    assert report(found).endswith("WRONG: a measured change exceeds its bound\n")


# ── programs, refusals and forms ────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
def test_softmax_as_asked_and_machines_and_circuits() -> None:
    soft = tm2tfr.measure_sensitivity("odd-ones", length=8, soft=tm2tfr.Soft("softmax"))
    assert soft.attention == "softmax attention at temperature local, for at most 9 positions"
    assert soft.premises[1].broken == "a temperature for at most 9 positions"
    assert tm2tfr.measure_sensitivity("palindromes", length=4).output is None
    assert [row.n for row in tm2tfr.measure_sensitivity("full-adder").rows] == [3]


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(InputError, match="fewer than two different symbols"):
        tm2tfr.measure_sensitivity("chapter")
    with pytest.raises(UsageError, match="omit one of them"):
        tm2tfr.measure_sensitivity("odd-ones", "101", length=3)
    with pytest.raises(UsageError, match="use length=2 to 256"):
        tm2tfr.measure_sensitivity("odd-ones", length=1)
    with pytest.raises(UsageError, match="omit length"):
        tm2tfr.measure_sensitivity("full-adder", length=3)
    with pytest.raises(InputError, match="give a longer input"):
        tm2tfr.measure_sensitivity("odd-ones", "1")
    looped = averaging()
    looped = replace(looped, loops=(LayerLoop(first=1, last=1, times=2),))
    with pytest.raises(CompileError, match="no bound is known"):
        tm2tfr.measure_sensitivity(looped, length=4)


def test_csv_json_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = tm2tfr_here(capsys, "sensitivity", "odd-ones", "--length", "8", "--format", "csv")
    rows = list(csv.DictReader(lines))
    assert [(row["n"], row["largest"], row["bound"]) for row in rows] == [("4", "1.0", "2.0"), ("8", "1.0", "2.0")]
    assert code == 0
    code, (line,) = tm2tfr_here(capsys, "sensitivity", "odd-ones", "--input", "101", "--format", "json")
    found = json.loads(line)
    assert (found["word"], found["holds"], [s["place"] for s in found["symbols"]]) == ("101", True, [1, 2])
    assert said(capsys, "sensitivity", "chapter").endswith("measure another source")


@pytest.mark.slow
def test_it_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for n, found in enumerate(
        (tm2tfr.measure_sensitivity(averaging(), length=8), tm2tfr.measure_sensitivity(averaging(), "01"))
    ):
        plot(found, tmp_path / f"{n}.svg")
        assert "</svg>" in (tmp_path / f"{n}.svg").read_text(encoding="utf-8")


# ── PARITY by Chiang and Cholak ─────────────────────────────────────────────────────────────────────────────
def parities(words: np.ndarray, *, normed: bool) -> np.ndarray:
    """What the encoder answers of words of 0 and 1, at every position but BOS: (words, n)."""
    tokens = np.concatenate([np.zeros((len(words), 1), dtype=np.int64), words + 1], axis=1)
    false, true = DenseDecoder(tm2tfr.parity_encoder(normed=normed)).run(tokens).logits[:, :, 1:]
    found: np.ndarray = true > false
    return found


@pytest.mark.parametrize("normed", [False, True])
@pytest.mark.parametrize("n", range(1, 13))
def test_parity_is_right_on_all_words(n: int, normed: bool) -> None:
    words = np.arange(2**n)[:, None] >> np.arange(n) & 1
    assert (parities(words, normed=normed) == (words.sum(axis=1) % 2 == 1)[:, None]).all()


@pytest.mark.parametrize("normed", [False, True])
def test_parity_is_right_on_long_words(normed: bool) -> None:
    chance = np.random.default_rng(0)
    for n in (50, 101, 300):
        words = (chance.random((12, n)) < chance.random((12, 1))).astype(np.int64)
        words[0], words[1] = 0, 1
        assert (parities(words, normed=normed) == (words.sum(axis=1) % 2 == 1)[:, None]).all()


def test_the_margin_of_parity_is_as_its_docstring_says() -> None:
    for n in (3, 7, 31):  # N = n + 1 is even
        tokens = np.array([[0, 2, *[1] * (n - 1)]])
        logits = DenseDecoder(tm2tfr.parity_encoder()).run(tokens).logits[:, 0, -1]
        assert logits[1] == pytest.approx(2 * math.tanh(1) / (n + 1) ** 2, rel=1e-9)
        assert logits[0] == -logits[1]


@pytest.mark.slow
def test_parity_keeps_every_premise_and_goes_faster_to_0_than_the_bound_and_a_norm_breaks_one() -> None:
    found = tm2tfr.measure_sensitivity(tm2tfr.parity_encoder(), length=32)
    assert all(premise.broken is None for premise in found.premises)
    assert found.holds
    assert found.exponent == pytest.approx(-1.8, abs=0.1)
    assert found.bound_exponent == pytest.approx(-0.8, abs=0.1)
    normed = tm2tfr.measure_sensitivity(tm2tfr.parity_encoder(normed=True), length=16)
    assert [row.largest for row in normed.rows] == pytest.approx([1, 1, 1])
    assert [premise.broken for premise in normed.premises] == [None, None, "layer norms with ε = 0: 1", None]


def test_parity_agrees_with_the_evaluator() -> None:
    assert tm2tfr.check(tm2tfr.parity_encoder(normed=True), "0110100").agrees
    assert not tm2tfr.check(tm2tfr.parity_encoder(), "0110100").agrees, "its logits are not within 1/4 of 0 and 1"


@pytest.mark.slow
def test_every_form_of_a_source_is_measured_alike(tmp_path: Path) -> None:
    """The name, its file, weights as a file and as an object, and a subject."""
    path, text = tmp_path / "w.safetensors", tmp_path / "copy.yaml"
    tm2tfr.save_weights("palindromes", path)
    text.write_text(tm2tfr.load("palindromes").yaml or "", encoding="utf-8")
    forms = ("palindromes", str(text), path, tm2tfr.compile("palindromes"), tm2tfr.Subject.of("palindromes"))
    found = [tm2tfr.measure_sensitivity(form, length=4) for form in forms]
    assert all((each.rows, each.shares) == (found[0].rows, found[0].shares) for each in found)
