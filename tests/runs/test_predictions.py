"""Probabilities in the table of a run, of whole runs, and runs whose tokens are drawn."""

from __future__ import annotations

import json
from fractions import Fraction
from math import exp, log, prod, sqrt

import numpy as np
import pytest

import tm2tfr
from tm2tfr.base.errors import EngineError, UsageError
from tm2tfr.engines import engine, generate
from tm2tfr.runs.predictions import MOST_FORCED
from tm2tfr.transformer.changes import with_weight

PLAIN = tm2tfr.Sampling()
SUBJECTS = [("chapter", "11"), ("palindromes", "abba"), ("full-adder", "101"), ("binary-adder", "1" * 16)]


def exact_softmax(name: str, word: str, temperature: float) -> list[tuple[str, list[tuple[float, str]]]]:
    """The token answered at each position, and every token with its probability, from the exact engine's logits."""
    subject = tm2tfr.Subject.of(name)
    found = []
    for step in generate(subject.decoder, subject.prompt(word), engine=engine("exact")):
        powers = np.exp(np.array([float(Fraction(each)) for each in step.logits]) / temperature)
        found.append((step.output, list(zip((powers / powers.sum()).tolist(), subject.decoder.vocabulary, strict=True))))
    return found


@pytest.mark.parametrize(("name", "word"), SUBJECTS)
@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_they_are_the_softmax_of_the_exact_engines_logits(name: str, word: str, temperature: float) -> None:
    trace = tm2tfr.check(name, word, sampling=tm2tfr.Sampling(temperature=temperature))
    right = exact_softmax(name, word, temperature)
    assert trace.agrees
    assert len(trace.rows) == len(right)
    for row, (answer, shares) in zip(trace.rows, right, strict=True):
        p, other, p_other = row[-3:]
        assert p == pytest.approx(next(share for share, token in shares if token == answer), rel=1e-12)
        rest = [(share, token) for share, token in shares if token != answer]
        assert p_other == pytest.approx(max(rest)[0], rel=1e-12)
        assert p_other == pytest.approx({token: share for share, token in rest}[other], rel=1e-12)
        assert sum(share for share, _ in shares) == pytest.approx(1)


def test_of_16_tokens_whose_logits_are_0_and_one_is_1_it_is_e_in_e_and_15() -> None:
    trace = tm2tfr.check("chapter", "11", sampling=PLAIN)
    assert [row.p_y for row in trace.rows] == pytest.approx([exp(1) / (exp(1) + 15)] * 9)
    assert trace.right is not None
    assert (trace.right.tokens, trace.right.position) == (7, 2)
    assert trace.right.probability == pytest.approx((exp(1) / (exp(1) + 15)) ** 7)
    assert trace.likelihood == trace.right


@pytest.mark.parametrize(("name", "word"), SUBJECTS)
def test_a_whole_run_has_the_product_of_its_tokens(name: str, word: str) -> None:
    trace = tm2tfr.check(name, word, sampling=tm2tfr.Sampling(temperature=0.5))
    assert trace.right is not None
    generated = trace.rows[-trace.right.tokens :]
    assert trace.right.probability == pytest.approx(prod(row.p_y for row in generated))
    assert trace.right.least == min(row.p_y for row in generated)


@pytest.mark.parametrize("name", ["dense", "exact", "fast"])
def test_engines_predict_the_same(name: str) -> None:
    one, other = (tm2tfr.check("chapter", "11", engine=each, sampling=PLAIN).rows for each in ("dense", name))
    assert [row.p_y for row in one] == pytest.approx([row.p_y for row in other])


def test_changed_weights_predict_something_else() -> None:
    decoder = tm2tfr.compile("chapter")
    louder = with_weight(decoder, "unembedding", "ACC", "e_y[ACC]", 3)
    rows, changed = (tm2tfr.check(each, "11", sampling=PLAIN).rows for each in (decoder, louder))
    assert [a.p_y == b.p_y for a, b in zip(rows, changed, strict=True)] == [True] * 8 + [False]
    assert changed[-1].p_y == pytest.approx(exp(3) / (exp(3) + 15))


def test_under_softmax_attention_the_heads_have_one_temperature_and_the_output_layer_another() -> None:
    decoder = tm2tfr.soften("chapter", temperature=2.0**-5)
    hard, soft = (tm2tfr.check(each, "11", sampling=PLAIN) for each in ("chapter", decoder))
    assert hard.agrees
    assert soft.agrees
    assert soft.rows[8].p_y != hard.rows[8].p_y
    assert soft.rows[8].p_y == pytest.approx(hard.rows[8].p_y, rel=0.05)


# ── drawn
def test_the_same_seed_is_the_same_run_and_another_is_another() -> None:
    runs = [tm2tfr.run("chapter", "11", max_steps=30, sampling=tm2tfr.Sampling(seed=seed)).rows for seed in (5, 5, 6)]
    assert runs[0] == runs[1] != runs[2]


def test_a_sampled_run_departs_by_chance_and_that_is_no_fault_of_the_weights() -> None:
    trace = tm2tfr.check("chapter", "11", max_steps=30, sampling=tm2tfr.Sampling(seed=4))
    assert trace.divergence is not None
    assert (trace.by_chance, trace.agrees, trace.divergence.column, trace.divergence.cause) == (True, False, "y", None)
    row = trace.rows[trace.divergence.position]
    assert (row.y, row.other) == (trace.divergence.found, trace.divergence.expected)
    assert row.p_y < row.p_other
    assert trace.right is not None
    assert trace.right.probability == pytest.approx((exp(1) / (exp(1) + 15)) ** 7)


def test_circuits_and_universal_decoders_depart_by_chance_too() -> None:
    every = tm2tfr.Universal(states=8, symbols=4)
    for decoder, word in ((tm2tfr.compile("full-adder"), "101"), (tm2tfr.compile("chapter", universal=every), "11")):
        traces = [tm2tfr.check(decoder, word, max_steps=20, sampling=tm2tfr.Sampling(seed=seed)) for seed in range(8)]
        assert any(trace.by_chance for trace in traces)
        assert all(trace.by_chance or trace.agrees for trace in traces)
        assert len({trace.right for trace in traces}) == 1


def test_a_notebook_says_what_a_sample_is() -> None:
    trace = tm2tfr.check("chapter", "11", max_steps=30, sampling=tm2tfr.Sampling(seed=4))
    assert "a sampled run, which departs by chance: position 2" in trace._repr_html_()
    assert "check failed" not in trace._repr_html_()


def test_wrong_weights_are_no_chance() -> None:
    broken = with_weight(tm2tfr.compile("chapter"), "layers.4.heads.0.query", 1, "1", 1)
    sharp = tm2tfr.Sampling(seed=0, temperature=0.01)
    trace = tm2tfr.check(broken, "11", max_steps=30, sampling=sharp)
    assert trace.divergence is not None
    assert not trace.by_chance
    assert trace.divergence.cause is not None


def test_weights_that_prefer_a_wrong_token_are_no_chance() -> None:
    broken = with_weight(tm2tfr.compile("chapter"), "unembedding", "REJ", "e_y[ACC]", 3)
    trace = tm2tfr.check(broken, "11", max_steps=30, sampling=tm2tfr.Sampling(seed=0, temperature=0.01))
    assert trace.divergence is not None
    assert (trace.divergence.position, trace.divergence.found, trace.by_chance) == (8, "REJ", False)
    assert "unembedding" in str(trace.divergence.cause)


def test_near_temperature_0_a_sample_is_the_run_of_the_largest_logits() -> None:
    for seed in range(5):
        trace = tm2tfr.check("palindromes", "abba", sampling=tm2tfr.Sampling(seed=seed, temperature=0.02))
        assert trace.agrees
        assert trace.right is not None
        assert trace.right.probability > 1 - 1e-15


def test_the_share_of_right_runs_is_their_probability() -> None:
    """Two gates, whose bits have the probability 0.731 each at temperature 1: about 53 % of all samples are right."""
    decoder = tm2tfr.compile("full-adder")
    found = [tm2tfr.check(decoder, "101", sampling=tm2tfr.Sampling(seed=seed)) for seed in range(100)]
    right = found[0].right
    assert right is not None
    assert right.probability == pytest.approx((exp(1) / (exp(1) + 1)) ** 2)
    deviation = sqrt(len(found) * right.probability * (1 - right.probability))
    assert abs(sum(trace.agrees for trace in found) - len(found) * right.probability) < 3 * deviation


def test_a_run_without_a_reference_has_the_probability_of_its_own_tokens() -> None:
    trace = tm2tfr.run("chapter", "11", sampling=PLAIN)
    assert trace.right is None
    assert trace.likelihood is not None
    assert trace.likelihood.log == pytest.approx(7 * log(exp(1) / (exp(1) + 15)))


def test_the_probability_of_a_long_reference_is_not_computed() -> None:
    trace = tm2tfr.check("busy-beaver-5", "", max_steps=MOST_FORCED + 10, engine="dense", sampling=tm2tfr.Sampling(seed=1))
    assert trace.by_chance
    assert trace.right is None


# ── labels
def test_labels_have_probabilities_where_the_output_layer_has_logits() -> None:
    trace = tm2tfr.check("histogram", "abb", sampling=PLAIN)
    assert trace.agrees
    assert trace.labels
    assert [column.name for column in trace.columns][-2:] == ["p(histogram)", "p(frac_with_0)"]
    one = tm2tfr.check(tm2tfr.compile("reverse"), "abc", sampling=PLAIN)
    assert [column.name for column in one.columns][-3:] == ["p(reverse)", "other", "p(other)"]
    labels = next(output.labels for output in tm2tfr.compile("reverse").outputs)
    assert one.rows[0][-3] == pytest.approx(exp(1) / (exp(1) + len(labels or ()) - 1))
    assert (one.likelihood, one.right) == (None, None)


def test_what_labels_generates_nothing_to_sample() -> None:
    with pytest.raises(EngineError, match="generate no tokens to sample: omit sample, or use probabilities"):
        tm2tfr.check("reverse", "abc", sampling=tm2tfr.Sampling(seed=1))


def test_numbers_have_no_probabilities() -> None:
    counted = tm2tfr.compile(tm2tfr.formula("count(Q[a])"), answers="definitions")
    with pytest.raises(EngineError, match="answer with numbers .*, which have no probabilities"):
        tm2tfr.check(counted, "aa", sampling=PLAIN)


# ── refusals, and tables
@pytest.mark.parametrize("seed", [-1, 0.5, True, "1"])
def test_seeds_are_whole_numbers(seed: object) -> None:
    with pytest.raises(EngineError, match="the seed cannot be"):
        tm2tfr.Sampling(seed=seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("temperature", [0, -1.0, float("inf"), float("nan"), "1", True])
def test_the_output_temperature_is_positive(temperature: object) -> None:
    with pytest.raises(EngineError, match="must be a positive number, not .*: use 1 for Eq. 8.3"):
        tm2tfr.Sampling(temperature=temperature)  # type: ignore[arg-type]


def test_a_run_that_is_recorded_and_a_plan_have_none() -> None:
    with pytest.raises(EngineError, match="recorded in files has no probabilities"):
        tm2tfr.check("chapter", "11", out="rows.csv", sampling=PLAIN)
    with pytest.raises(UsageError, match="a sampled run is not a check"):
        tm2tfr.Plan(sampling=PLAIN)
    with pytest.raises(EngineError, match="sampling must be a Sampling, not 3"):
        tm2tfr.check("chapter", "11", sampling=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("format", ["text", "markdown", "latex", "html", "csv", "json", "jsonl"])
def test_every_table_has_them(format: str) -> None:
    text = tm2tfr.table(tm2tfr.check("chapter", "11", sampling=PLAIN), format)
    whole = format in ("csv", "json", "jsonl")
    assert text.count(repr(exp(1) / (exp(1) + 15))[:12] if whole else "0.153") >= 9
    assert "tape" in text or format in ("json", "jsonl")


def test_json_has_the_whole_run_too() -> None:
    found = json.loads(tm2tfr.table(tm2tfr.check("chapter", "11", max_steps=30, sampling=tm2tfr.Sampling(seed=4)), "json"))
    assert (found["output_temperature"], found["seed"], found["by_chance"]) == (1.0, 4, True)
    assert found["right"]["tokens"] == 7
    assert found["generated"]["probability"] == pytest.approx(exp(found["generated"]["log"]))
    assert found["rows"][0]["p(y)"] == pytest.approx(0.1534, abs=1e-4)
