"""Any masked UHAT as average-hard weights without ties, and under softmax, against Definition 2 and nothing of ours."""

from __future__ import annotations

import dataclasses
import itertools
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.engines.labellers import with_heads
from tests.handmade import normed
from tests.transformer.test_unique import leftmost
from tests.transformer.uhats import by_definition_2, uhat
from tm2tfr import compile, load_weights, save_weights, soften
from tm2tfr.api.softness import measure_labels, softened
from tm2tfr.base.errors import CompileError
from tm2tfr.cli import main
from tm2tfr.engines import engine
from tm2tfr.engines.decode import observe_all, run_whole
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.transformer.attention import softmax
from tm2tfr.transformer.listing import summary
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.occurring import occurring
from tm2tfr.transformer.unique import tieless
from tm2tfr.transformer.weights import Decoder, Layer, LayerLoop, digest, matrices, replaced

SHORT = [list(itertools.product((0, 1), repeat=n)) for n in range(1, 7)]
"""All words over two letters of up to 6 tokens, by length."""


def random_words(seed: int, number: int, length: int) -> list[tuple[int, ...]]:
    made = random.Random(seed)
    return [tuple(made.randrange(2) for _ in range(length)) for _ in range(number)]


def wrong(decoder: Decoder, right: Decoder, words: list[tuple[int, ...]]) -> int:
    """How many numbers, of all positions of the words, are not the whole number that they have to be, within 1/4."""
    found = DenseDecoder(decoder).run(words).logits.transpose(1, 2, 0)
    return int((abs(found - by_definition_2(right, words)) > 0.25).sum())


def same(seed: int) -> None:
    decoder = uhat(seed)
    tried = [*SHORT, random_words(seed, 50, 60)]
    for made in (
        tieless(decoder).decoder,
        soften(decoder, length=60),
        soften(decoder, temperature="per-position"),
    ):
        assert [wrong(made, decoder, words) for words in tried] == [0] * len(tried)


@pytest.mark.slow
@pytest.mark.similar
@pytest.mark.parametrize("seed", range(300))
def test_any_uhat_under_softmax(seed: int) -> None:
    same(seed)


@pytest.mark.parametrize("seed", [0, 7])
def test_a_few_of_them(seed: int) -> None:
    same(seed)


def test_they_are_of_all_kinds() -> None:
    made = [uhat(seed) for seed in range(300)]
    assert {len(each.layers) for each in made} == {1, 2, 3}
    assert {len(layer.heads) for each in made for layer in each.layers} == {1, 2, 3}
    kinds = {(head.mask, head.weighting) for each in made for layer in each.layers for head in layer.heads}
    assert kinds == set(itertools.product(("future", "past", "none"), ("leftmost", "rightmost")))
    assert max(tieless(each).decoder.hidden for each in made[:10]) > 50


def test_long_words_under_a_temperature_per_position() -> None:
    decoder = uhat(7)
    made = soften(decoder, temperature="per-position")
    assert made.provenance["temperature"] == "per-position"
    assert wrong(made, decoder, random_words(0, 2, 400)) == 0
    assert wrong(soften(decoder, temperature=1.0), decoder, random_words(0, 2, 400)) > 0


def test_a_wrong_construction_is_noticed() -> None:
    """Ties broken the other way, or nothing rounded at all, give wrong answers."""
    decoder = uhat(7)
    made = tieless(decoder).decoder
    turned = with_heads(made, lambda head: dataclasses.replace(head, query=_last_turned(head.query)))
    assert wrong(turned, decoder, SHORT[4]) > 0
    soft = soften(decoder, length=60)
    blunt = dataclasses.replace(soft, layers=tuple(map(_unrounded, soft.layers)))
    assert wrong(blunt, decoder, SHORT[4]) > 0


def _last_turned(query: Matrix) -> Matrix:
    return Matrix(query.shape, query.rows, query.columns, np.where(query.rows == query.shape[0] - 1, -1, 1) * query.values)


def _unrounded(layer: Layer) -> Layer:
    return dataclasses.replace(layer, feed_forward=None) if layer.heads else layer


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 7, 144, 157])
def test_what_occurs_is_among_what_can_occur(seed: int) -> None:
    decoder = uhat(seed)
    known = occurring(decoder)
    for word in random_words(seed, 12, 9):
        for seen in observe_all(decoder, ["ab"[n] for n in word], engine=engine("exact")):
            for (n, k), (scores, _) in seen.heads.items():
                head, compared, stream = decoder.layers[n].heads[k], known[n].heads[k], seen.streams[n]
                lower = [score for score in scores if score < max(scores)]
                if lower:
                    assert compared.gap is not None
                    assert max(scores) - max(lower) >= compared.gap
                for c, value in head.value.times(stream).items():
                    assert c not in compared.carried or value in compared.carried[c]


@pytest.mark.parametrize("seed", [0, 7])
def test_the_weight_elsewhere_is_at_most_what_the_margin_says(seed: int) -> None:
    made = tieless(uhat(seed)).decoder
    soft = soften(uhat(seed), length=40)
    for word in random_words(seed, 3, 40):
        tokens = ["ab"[n] for n in word]
        for hard, seen in zip(*(observe_all(each, tokens, engine=engine("dense")) for each in (made, soft)), strict=True):
            for (n, k), (scores, attended) in hard.heads.items():
                claim, start = made.layers[n].heads[k].claim, len(tokens) - len(scores)
                assert claim is not None
                assert claim.margin is not None
                assert len(attended) == 1
                (best,) = np.flatnonzero(scores == scores.max())
                assert start >= 0
                assert 1 - softmax(np.asarray(seen.heads[n, k][0]))[best] <= 1 / claim.margin + 1e-12


@pytest.mark.parametrize("made", ["tieless", "soft"])
def test_engines_are_wrong_alike_on_sabotaged_weights(made: str) -> None:
    decoder = tieless(uhat(7)).decoder
    word = [0, 1, 1, 0, 1]
    for path in [path for path, matrix in matrices(decoder).items() if matrix.nonzero][::4]:
        matrix = matrices(decoder)[path]
        broken = replaced(decoder, {path: Matrix(matrix.shape, matrix.rows, matrix.columns, 2 * matrix.values)})
        if made == "tieless":
            dense, exact = (run_whole(broken, word, engine=engine(name)) for name in ("dense", "exact"))
            assert np.allclose([x.logits for x in dense], [list(map(float, x.logits)) for x in exact])
        else:
            soft = with_heads(broken, lambda head: dataclasses.replace(head, weighting="softmax"))
            one = run_whole(soft, word, engine=engine("dense"))
            assert np.array_equal([x.logits for x in one], DenseDecoder(soft).run([word]).logits[:, 0].T)


# ── what cannot be derived ──────────────────────────────────────────────────────────────────────────────────
def placed(feature: str) -> Decoder:
    """A UHAT with this position feature in place of 1."""
    return dataclasses.replace(uhat(9), features=(feature,))


def looping(decoder: Decoder) -> Decoder:
    return dataclasses.replace(decoder, loops=(LayerLoop(first=1, last=1, times=2),))


def mixed() -> Decoder:
    return with_heads(
        uhat(7), lambda head: dataclasses.replace(head, weighting="average-hard") if head.name == "h1" else head
    )


GAP = "give gap, the smallest difference of a best score to a lower one"


@pytest.mark.parametrize(
    ("decoder", "told"),
    [
        (mixed(), f"layer ., head 'h1': average-hard attention brings means of several positions, .* the word is: {GAP}"),
        (leftmost(normed()), "these weights have layer norms, whose mean and variance would be others"),
        (placed("i"), "the position feature 'i' has other values at every position, .* give length, the most positions"),
        (looping(uhat(7)), "these weights have loops, in whose passes the errors of softmax add up"),
    ],
    ids=["mixed", "norms", "position", "loops"],
)
def test_what_no_gap_is_derived_of(decoder: Decoder, told: str) -> None:
    with pytest.raises(CompileError, match=told):
        tieless(decoder)


def test_positions_of_a_length() -> None:
    decoder = placed("i")
    made = soften(decoder, length=8)
    words = [[0, 1, 1, 0, 1, 0, 0, 1]]
    hard, soft = (DenseDecoder(each).run(words).logits for each in (decoder, made))
    assert np.abs(hard - soft).max() < 1e-9
    assert softened(decoder, length=8).tieless is not None


def test_too_many_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tm2tfr.transformer.occurring.MOST", 100)
    with pytest.raises(CompileError, match=f"layer 3: too many different streams can occur there .*: {GAP}"):
        tieless(uhat(144))


def test_a_gap_that_is_given() -> None:
    decoder = uhat(7)
    found = softened(decoder, gap=1, length=12)
    assert "gap of scores: 1, as given; nothing is proved of it" in str(found)
    assert "right for words of up to 12 positions, if that is the gap" in str(found)
    assert wrong(found.decoder, decoder, random_words(0, 20, 12)) == 0
    for gap in (0, -1, float("inf")):
        with pytest.raises(CompileError, match="the gap of scores must be a positive number"):
            soften(decoder, gap=gap)
    with pytest.raises(CompileError, match="a gap is that of leftmost or rightmost heads, and these weights have none"):
        soften("chapter", gap=1)


def test_what_softened_weights_are_right_for_says_its_conditions() -> None:
    equal = "right for words of up to 10 positions, if no two positions after the first layer share the best score"
    assert equal in str(softened("histogram", length=10))
    assert str(softened("chapter", length=10)).endswith("right for words of up to 10 positions")
    assert str(softened("since-b", length=10)).endswith("right for words of up to 10 positions")
    assert str(softened(uhat(7), length=10**18)).endswith("positions, as far as floats hold")


def test_a_gap_is_measured_on_a_word() -> None:
    with pytest.raises(CompileError, match=f"{GAP}; on this word it is [0-9]"):
        measure_labels(mixed(), "abba")
    with pytest.raises(
        CompileError, match="the gap of scores is .* on this word, less than the 100 that is given: give less"
    ):
        measure_labels(uhat(7), "abba", gap=100)
    assert measure_labels(uhat(7), "abba").holds
    assert measure_labels(uhat(7), "abba", gap=1).holds


# ── weights that say what they are ──────────────────────────────────────────────────────────────────────────
def test_names_that_are_taken() -> None:
    decoder = uhat(7)
    spaces = list(decoder.layout.subspaces)
    spaces[0] = dataclasses.replace(spaces[0], name="j of ties")
    layout = dataclasses.replace(decoder.layout, subspaces=tuple(spaces))
    made = tieless(dataclasses.replace(decoder, layout=layout)).decoder
    assert {"j of ties", "j of ties'"} <= set(made.layout.directions)
    assert wrong(made, decoder, SHORT[4]) == 0


def test_it_is_one_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_weights(uhat(7), tmp_path / "uhat.safetensors")
    with pytest.raises(SystemExit) as end:
        main(["soften", str(tmp_path / "uhat.safetensors"), "-o", str(tmp_path / "smat.safetensors"), "--length", "60"])
    assert end.value.code in (0, None)
    told = capsys.readouterr().out
    assert "gaps: proved, from all streams that can occur before each layer in words of up to 60 positions: " in told
    assert "temperature local: right for words of up to 60 positions" in told
    made = load_weights(tmp_path / "smat.safetensors")
    assert digest(made) == digest(soften(uhat(7), length=60))
    assert "leftmost" not in summary(made)
    assert wrong(made, uhat(7), random_words(1, 20, 60)) == 0


@pytest.mark.parametrize("option", [["--input", "ab"], ["--all"], ["--plot", "x.svg"], ["--dtype", "float32"]])
def test_options_of_measurements_do_not_write(
    option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["soften", "since-b", "-o", str(tmp_path / "smat.safetensors"), *option])
    assert end.value.code == 2
    assert (
        f"smat.safetensors is a weight file, and {option[0]} is for measurements: omit {option[0]}"
        in capsys.readouterr().err
    )


def test_exact_numbers() -> None:
    """Weights that are no whole numbers have exact gaps as well."""

    def third(matrix: Matrix) -> Matrix:
        return Matrix(matrix.shape, matrix.rows, matrix.columns, matrix.values / 8)

    decoder = with_heads(uhat(7), lambda head: dataclasses.replace(head, query=third(head.query)))
    whole, eighths = (occurring(each) for each in (uhat(7), decoder))
    gaps: list[list[Any]] = [[head.gap for each in found for head in each.heads] for found in (whole, eighths)]
    assert gaps[1] == [None if gap is None else Fraction(gap) / 8 for gap in gaps[0]]
    assert wrong(soften(decoder, length=60), decoder_times_8(decoder), random_words(2, 20, 60)) == 0


def decoder_times_8(decoder: Decoder) -> Decoder:
    """The same positions win if all scores are 8 times as large, which are whole numbers again."""
    return with_heads(
        decoder,
        lambda head: dataclasses.replace(
            head, query=Matrix(head.query.shape, head.query.rows, head.query.columns, 8 * head.query.values)
        ),
    )


def test_average_hard_weights_are_written_as_well(tmp_path: Path) -> None:
    found = softened(compile("since-b"), length=40)
    assert found.tieless is None
    assert str(found).splitlines()[0] == "since-b: softmax in place of average-hard attention"
