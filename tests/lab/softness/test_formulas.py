"""Formulas under softmax: exact at the local bounds, which are not far from what is needed, and grow as claimed."""

from __future__ import annotations

import json
import statistics
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.test_commands import tm2tfr_here
from tests.sources.logic.random_formulas import random_programs
from tests.strategies import tries
from tm2tfr.base.errors import CompileError
from tm2tfr.cli import main
from tm2tfr.contract.options import LogicOptions
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.engines.reading import right_answers
from tm2tfr.lab.softness import temperature as needed
from tm2tfr.lab.softness.temperature import (
    Needed,
    all_words,
    growth,
    growth_exponent,
    local_exponent,
    needed_at,
    sampled_words,
    softened_by,
)
from tm2tfr.sources.logic.compiler import compile_program
from tm2tfr.sources.logic.library import load
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.read import formula, read
from tm2tfr.sources.logic.truth import LogicLabels
from tm2tfr.transformer.soft import any_length, bounded, local_temperature, locally_softened, softened
from tm2tfr.transformer.weights import Decoder


@cache
def compiled(text: str, alphabet: str = "ab", **options: Any) -> tuple[Decoder, LogicLabels]:
    program = formula(text, alphabet=tuple(alphabet))
    decoder = compile_program(program, LogicOptions(**options))
    return decoder, LogicLabels(program, decoder)


def right(decoder: Decoder, labels: LogicLabels, words: Any) -> bool:
    """Whether every output at every position of some words is right; (words, n)."""
    logits = DenseDecoder(decoder).run(labels.fed(words)).logits
    return bool(right_answers(decoder, logits, labels(words)[1]).all())


def right_up_to(decoder: Decoder, labels: LogicLabels, n: int) -> bool:
    return all(right(decoder, labels, all_words(labels.letters, length)) for length in range(1, n + 1))


# ── random formulas at the local bound ──────────────────────────────────────────────────────────────────────
LONGEST = 5


def judged(program: LogicProgram) -> float | None:
    """Return how many times colder than needed the local bound is, after all is right at it; None: there is none."""
    decoder = compile_program(program, LogicOptions())
    if not bounded(decoder):
        return None
    labels = LogicLabels(program, decoder)
    words = all_words(labels.letters, LONGEST)
    positions = labels.fed(words).shape[1]
    for soft in (
        locally_softened(decoder, positions),
        softened(decoder, local_temperature(decoder, positions)),
    ):
        assert right_up_to(soft, labels, LONGEST), program.name
    found = needed_at(decoder, labels, words, every=True)
    return found.times(found.local)


@pytest.mark.slow
def test_random_formulas_are_right_at_the_local_bound_which_is_within_twice_what_is_needed() -> None:
    count = tries(1_000)
    times = [judged(program) for program in random_programs(count if count == 1_000 else 60)]
    known = [each for each in times if each is not None]
    assert len(known) > len(times) / 2
    assert statistics.median(known) <= 2
    assert min(known) >= 1


def test_every_random_formula_has_local_bounds() -> None:
    for program in random_programs(60):
        decoder = compile_program(program, LogicOptions())
        heads = [head for layer in decoder.layers for head in layer.heads]
        assert bounded(decoder) or all(head.uniform for head in heads), program.name


def test_a_number_that_is_compared_needs_more_in_longer_words() -> None:
    program = load("dyck-1-by-depth").program
    decoder = compile_program(program, LogicOptions())
    labels = LogicLabels(program, decoder)
    assert any(head.claim is not None and head.claim.degree for layer in decoder.layers for head in layer.heads)
    n = 8
    words = all_words(labels.letters, n)
    assert right(softened_by(decoder, "auto", n + 1), labels, words)
    found = [local_temperature(decoder, positions) * positions for positions in (100, 10**14)]
    assert 1.3 < found[0] / found[1] < 2  # of order N log N in the end
    with pytest.raises(CompileError, match="so softmax needs a temperature: use local, with the length of the runs"):
        locally_softened(decoder, None)


# ── numbers in a score ──────────────────────────────────────────────────────────────────────────────────────
COUNTED = "a(i) = in(i) in {'a'}\nc(i) = in(i) in {'c'}\nna(i) = psum_j [j <= i] a(j)\nnc(i) = psum_j [j <= i] c(j)\n"


def compared(score: str) -> tuple[Decoder, LogicLabels]:
    text = f"# alphabet: abc\n{COUNTED}z(i) = latest_j [j <= i, {score}] in(j) : '?'\n"
    program = read(text, file="z.srasp").program
    decoder = compile_program(program, LogicOptions())
    return decoder, LogicLabels(program, decoder)


def margin(decoder: Decoder) -> float | None:
    """The margin of the head that compares numbers."""
    (head,) = (
        head for layer in decoder.layers for head in layer.heads if head.claim and head.claim.attends[:6] == "latest"
    )
    return None if head.claim is None else head.claim.margin


@pytest.mark.parametrize(("factor", "due"), [(3, 61), (7, 125), (15, 266)])
def test_keys_on_both_sides_of_a_number_with_the_same_quotient(factor: int, due: float) -> None:
    """On "cb" the number is 1 and the keys are C - 1 and 0: a 24th of the weight on the first of them is too much."""
    decoder, labels = compared(f"{factor} * c(j) = {factor} * na(i) + 1")
    assert margin(decoder) == due
    for n in range(1, 5):
        positions = n + 1
        for soft in (locally_softened(decoder, positions), softened(decoder, local_temperature(decoder, positions))):
            assert right(soft, labels, all_words(3, n))


def test_errors_of_several_equalities_of_a_score_add_up() -> None:
    one, two = compared("na(j) = nc(i)")[0], compared("na(j) = nc(i) & nc(j) = na(i)")[0]
    assert (margin(one), margin(two)) == (24, 24)
    lookups = [
        {h.claim.margin for layer in each.layers for h in layer.heads if h.claim and h.claim.degree} for each in (one, two)
    ]
    assert [2 * most for most in lookups[0]] == [*lookups[1]]
    assert margin(compared("na(j) = nc(i) + 1 & nc(j) = na(i) & na(j) = nc(i) & nc(j) = nc(i)")[0]) == 31


# ── how it grows ────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "alphabet", "grows"),
    [
        ("prev Q[a]", "ab", 0.0),
        ("next Q[a]", "ab", 0.0),
        ("(Q[a] | Q[b]) since Q[b]", "abc", 1.0),
        ("(prev Q[a]) until Q[b]", "ab", 1.0),
        ("odd(count(Q[a]))", "ab", 1.0),
        ("count(Q[a]) <= 2*count(Q[b])", "ab", 1.0),
    ],
)
def test_the_exponent_of_the_temperature_needed(text: str, alphabet: str, grows: float) -> None:
    decoder, labels = compiled(text, alphabet)
    found = growth(decoder, labels)
    assert [at.length for at in found] == [4, 8, 16, 32, 64]
    exponent, proved = growth_exponent(found), local_exponent(found)
    assert exponent == pytest.approx(grows, abs=0.05)
    assert proved == pytest.approx(grows, abs=1e-9)
    times = [at.times(at.local) for at in found]
    assert all(each is not None and 1 <= each < 2 for each in times)
    assert all(at.theorem is not None and at.local is not None and at.local > 10 * at.theorem for at in found)


@pytest.mark.slow
@pytest.mark.parametrize(("text", "carried"), [("Q[a] since Q[b]", True), ("Q[a] until Q[b]", False)])
def test_the_past_needs_at_each_length_what_it_needs_at_shorter_ones(
    text: str, carried: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoder, labels = compiled(text)
    hard = growth(decoder, labels, (10,))[0]
    monkeypatch.setattr(needed, "sampled_words", lambda _letters, n, _count, **_: np.ones((1, n), dtype=np.int64))
    (easy,), (first, second) = growth(decoder, labels, (13,)), growth(decoder, labels, (10, 13))
    assert hard.found is not None
    assert easy.found is not None
    assert easy.found > hard.found
    assert (first, second) == (hard, replace(easy, found=hard.found) if carried else easy)


def test_words_of_a_length() -> None:
    assert all_words(3, 2).tolist() == [[a, b] for a in range(3) for b in range(3)]
    found = sampled_words(2, 40, 50, seed=1)
    assert (found.shape, found.tolist()) == ((50, 40), sampled_words(2, 40, 50, seed=1).tolist())
    assert {0, 1} == set(np.unique(found).tolist())
    assert any(len(set(word)) == 1 for word in found.tolist())


def test_what_is_needed_of_a_head_that_looks_back() -> None:
    """The weight elsewhere is 1/4 where 1/τ is ln 6 or less: only the nearest of the others count."""
    decoder, labels = compiled("prev Q[a]")
    found = needed_at(decoder, labels, all_words(2, 6), every=True)
    assert isinstance(found, Needed)
    assert (found.length, found.positions, found.words, found.every) == (6, 7, 64, True)
    assert found.local == pytest.approx(1 / np.log(7))
    assert found.found is not None
    assert right(softened(decoder, found.found), labels, all_words(2, 6))
    assert not right(softened(decoder, found.found * 2 ** (1 / 16)), labels, all_words(2, 6))


# ── no temperature ──────────────────────────────────────────────────────────────────────────────────────────
PAST = ("prev Q[a]", "(Q[a] | Q[b]) since Q[b]", "prev ((prev Q[a]) S (Q[b] & !prev prev Q[c]))")


@pytest.mark.slow
@pytest.mark.parametrize("text", PAST)
def test_steep_formulas_about_the_past_need_no_temperature(text: str) -> None:
    decoder, labels = compiled(text, "abc", steep=True)
    assert any_length(decoder)
    soft = softened_by(decoder, "none", 1)
    assert soft == softened_by(decoder, "auto", 17)
    assert soft.provenance["temperature"] == "none"
    assert right_up_to(soft, labels, 5)
    for n, count in ((100, 30), (1_000, 3)):
        assert right(soft, labels, sampled_words(3, n, count, seed=n))


# ── Lemma 9 ─────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@given(st.floats(-1e3, 0.25), st.floats(0.75, 1e3), st.floats(0.25, 0.75))
def test_lemma_9(below: float, above: float, between: float) -> None:
    """The units that round what a head carries: 0 up to 1/4, 1 from 3/4 on, 2x - 1/2 between, and 0 at BOS."""
    decoder, _ = compiled("prev Q[a]")
    layer = next(layer for layer in decoder.layers if layer.heads)
    ffn = layer.feed_forward
    assert ffn is not None
    (head,) = layer.heads
    (column,) = set(head.output.rows.tolist())
    units = [u for u, row in enumerate(ffn.input.by_row()) if column in row]
    (written,) = {row for u in units for row in ffn.output.transposed.by_row()[u]}

    def rounded(x: float) -> float:
        stream = np.zeros(decoder.layout.width)
        stream[column] = x
        hidden = np.maximum(ffn.input.dense() @ stream + ffn.input_bias.dense()[:, 0], 0)
        return float((ffn.output.dense() @ hidden)[written])

    assert rounded(below) == 0
    assert rounded(above) == pytest.approx(1, abs=1e-12)
    assert rounded(between) == pytest.approx(2 * between - 0.5, abs=1e-12)


# ── Formulas under softmax on the command line: the report, and words for temperatures in ``check``.
SINCE = ("--formula", "(Q[a] | Q[b]) since Q[b]", "--alphabet", "abc")
SOFT = ("--attention", "softmax")


@pytest.mark.slow
def test_the_report_has_margins_and_what_is_needed_by_length(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = tm2tfr_here(capsys, "soften", *SINCE, "--temperature", "local")
    assert code == 0
    assert lines[2].startswith(
        "  decision of (Q[a] | Q[b]) since Q[b]  gap at least 0.125; smallest found 0.125; one position has the best score;"
    )
    assert lines[2].endswith("; margin 4: 1/τ ≥ 11.09")
    assert any(line.startswith("0.0901684 ") and line.endswith("all 16 right") for line in lines)  # 1/(8·ln 4)
    assert [line.split() for line in lines[-7:-1]] == [
        ["n", "words", "1/τ", "needed", "local", "bound", "times", "Theorem", "26", "times"],
        ["4", "all", "81", "9.72", "13.9", "1.43", "454", "46.7"],
        ["8", "200", "17.8", "25", "1.4", "901", "50.5"],
        ["16", "200", "33.4", "47.1", "1.41", "1.88e+03", "56.1"],
        ["32", "200", "65.4", "91.5", "1.4", "3.99e+03", "61"],
        ["64", "200", "128", "180", "1.41", "8.56e+03", "66.9"],
    ]
    assert lines[-1] == (
        "over these lengths 1/τ grows like N^1.00 as needed, like N^1.00 by the local bounds, where N counts all positions"
    )


@pytest.mark.slow
def test_the_report_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    _, lines = tm2tfr_here(capsys, "soften", "--formula", "prev Q[a]", "--alphabet", "ab", "--format", "json")
    plain = json.loads(lines[0])
    assert [(head["margin"], round(head["needs"], 3)) for head in plain["heads"]] == [(7.0, 1.946)]
    assert [at["length"] for at in plain["growth"]] == [4, 8, 16, 32, 64]
    assert (round(plain["exponent"], 2), plain["local_exponent"]) == (0.0, 0.0)


@pytest.mark.parametrize("how", [(), ("--temperature", "local"), ("--temperature", "theorem-26")])
def test_check_covers_the_longest_word_that_it_runs(how: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("--all-up-to", "5"), ("--random", "20"), ("--input", "cccccccccccca", "--input", "ab")):
        code, lines = tm2tfr_here(capsys, "check", *SINCE, *SOFT, *how, *words)
        assert code == 0, lines
    code, lines = tm2tfr_here(capsys, "trace", *SINCE, *SOFT, *how, "--input", "abcccccc")
    (engine,) = [line for line in lines if line.startswith("engine: ")]
    said = " at temperature 0.000" if "theorem-26" in how else ", temperature local, for at most 10 positions"
    assert (code, said in engine) == (0, True), engine


def test_no_temperature_is_for_steep_queries(capsys: pytest.CaptureFixture[str]) -> None:
    none = ("--temperature", "none", "--random", "20")
    assert tm2tfr_here(capsys, "check", *SINCE, "--steep", *SOFT, *none)[0] == 0
    _, lines = tm2tfr_here(capsys, "trace", *SINCE, "--steep", *SOFT, "--input", "abba")
    assert "engine: dense, float64, 5 positions; softmax, temperature none" in lines
    with pytest.raises(SystemExit) as end:
        main(["check", *SINCE, *SOFT, *none])
    assert end.value.code == 2
    refused = "decision of (Q[a] | Q[b]) since Q[b]': its gap shrinks with the position, so softmax needs a temperature"
    assert f"{refused}: use" in capsys.readouterr().err


def test_what_cannot_be_local(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["check", "reverse.rasp", *SOFT, "--temperature", "local", "--all-up-to", "3"])
    assert "has no local bound under softmax, since what it carries is not rounded: use the temperature theorem-26, or" in (
        capsys.readouterr().err
    )
    for words in ("local", "auto", "theorem-26"):
        code, _ = tm2tfr_here(capsys, "check", "dyck-1-by-depth", *SOFT, "--temperature", words, "--all-up-to", "5")
        assert code == 0
