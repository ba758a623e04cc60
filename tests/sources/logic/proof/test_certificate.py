"""Certificates of formulas: granted with the number of tokens up to which they hold, refused for anything else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tm2tfr
from tests.cli.test_commands import tm2tfr as command
from tests.sources.logic.compiling import weights
from tests.sources.logic.random_formulas import EVERYTHING, PAST_LTL, Kinds, random_programs
from tests.sources.logic.test_faults import Runs
from tests.sources.rasp.compiled.faults import faults
from tests.strategies import tries
from tm2tfr.base.errors import CompileError
from tm2tfr.certificates.kit import Questions, Refusal
from tm2tfr.contract.options import LogicOptions
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.sources.logic.library import load, shipped
from tm2tfr.sources.logic.proof.certificate import LogicProof
from tm2tfr.sources.logic.truth import LogicLabels
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.soft import softened
from tm2tfr.transformer.weights import Decoder, FeedForward, Head, Layer

TOKENS = {
    "since-b": [4_095, 94_906_264, None],
    "ends-in-110": [2_363, 54_794_156, None],
    "after-a-until-b": [2_362, 54_794_155, None],
    "more-as-than-bs": [479, 11_129_301, None],
    "dyck-2-by-depth": [17, 15_237, None],
}
"""Up to how many tokens in float32, in float64, and in exact arithmetic."""


@pytest.mark.slow
@pytest.mark.parametrize("name", TOKENS)
def test_up_to_how_many_tokens(name: str) -> None:
    program = load(name).program
    found = LogicProof(weights(program), program).certificates()
    assert [(each.engine, each.dtype) for each in found] == [
        ("dense", "float32"),
        ("dense", "float64"),
        ("exact", "rational"),
    ]
    assert [each.refusals for each in found] == [()] * 3
    assert [each.most_tokens for each in found] == TOKENS[name]


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_shipped_ones_are_certified(name: str) -> None:
    program = load(name).program
    for compare in ("lookup", "sign"):
        proof = LogicProof(weights(program, LogicOptions(compare=compare)), program)
        assert str(proof.certificate()).startswith(f"{name} on dense in float64: certified: tieless, and as in exact"), (
            compare
        )


@pytest.mark.slow
def test_random_formulas_are_certified() -> None:
    kinds = [
        (EVERYTHING, LogicOptions()),
        (EVERYTHING, LogicOptions(compare="sign")),
        (PAST_LTL, LogicOptions(steep=True)),
        (Kinds(size=10, with_any_sums=True), LogicOptions()),
    ]
    certified = 0
    for kind, options in kinds:
        for program in random_programs(tries(30), kind, start=40_000):
            try:
                decoder = weights(program, options)
            except CompileError:
                continue
            assert LogicProof(decoder, program).certificate().refusals == (), program
            certified += 1
    assert certified > tries(100)


def test_words_as_long_as_certified_are_right_in_float32() -> None:
    program = load("more-as-than-bs").program
    decoder = weights(program)
    most = LogicProof(decoder, program).certificate("dense", "float32").most_tokens
    assert most == TOKENS[program.name][0]
    drawn = np.random.default_rng(0).integers(0, 2, (3, most))
    drawn[1], drawn[2] = np.arange(most) % 2, np.arange(most) < most // 2
    labels = LogicLabels(program, decoder)
    fed = labels.fed(drawn)
    narrow, wide = (np.asarray(DenseDecoder(decoder, dtype).run(fed).logits) for dtype in ("float32", "float64"))
    assert (narrow == wide).all()


# ── refusals ────────────────────────────────────────────────────────────────────────────────────────────────
def with_head(decoder: Decoder, layer: int, head: Head) -> Decoder:
    layers = [replace(each, heads=(head, *each.heads[1:])) if n == layer else each for n, each in enumerate(decoder.layers)]
    return replace(decoder, layers=tuple(layers))


def refused(decoder: Decoder, name: str = "since-b") -> Refusal:
    (refusal,) = LogicProof(decoder, load(name).program).certificate().refusals
    return refusal


def test_a_head_that_claims_more_than_is_shown_is_refused() -> None:
    decoder = weights(load("since-b").program)
    place = next(n for n, layer in enumerate(decoder.layers) if layer.heads)
    head = decoder.layers[place].heads[0]
    assert head.claim is not None
    steady = replace(head, claim=replace(head.claim, over="constant"))
    assert "0.5 over the constant is claimed" in refused(with_head(decoder, place, steady)).witness
    assert refused(with_head(decoder, place, replace(head, claim=None))).what == "a head claims nothing"


def test_weights_that_are_not_known_are_refused() -> None:
    program = load("since-b").program
    decoder = weights(program)
    table = Matrix.from_entries((decoder.layout.width, 9), {})
    assert refused(replace(decoder, position_table=table)).what == "the proof knows no position table"
    silent = FeedForward(
        input=Matrix.from_entries((1, decoder.layout.width), {(0, 0): 2.0**200}),
        input_bias=Matrix.from_entries((1, 1), {}),
        output=Matrix.from_entries((decoder.layout.width, 1), {}),
        output_bias=Matrix.from_entries((decoder.layout.width, 1), {}),
        units=("silent",),
    )

    def with_last(part: FeedForward) -> Decoder:
        return replace(decoder, layers=(*decoder.layers, Layer(name="more", meaning="", source="", feed_forward=part)))

    (large,) = LogicProof(with_last(silent), program).certificate("dense", "float32").refusals
    assert str(large) == "rounding: a weight is not a number of float32: layers.3.feed_forward.input"
    nobody = replace(
        silent,
        input=Matrix.from_entries((0, decoder.layout.width), {}),
        input_bias=Matrix.from_entries((0, 1), {}),
        output=Matrix.from_entries((decoder.layout.width, 0), {}),
        output_bias=Matrix.from_entries((decoder.layout.width, 1), {(0, 0): 1}),
        units=(),
    )
    assert str(refused(with_last(nobody))) == "feed-forward, layer 3: something is written at every position: output_bias"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["since-b", "never-behind", "odd-ones-without-predicates"])
def test_a_wrong_weight_that_changes_a_short_word_is_refused(name: str) -> None:
    program = load(name).program
    decoder = weights(program)
    runs, total, others = Runs(program, decoder, 2), 0, 0
    for matrix, faulty in faults(decoder, every=5):
        certificate = LogicProof(faulty, program).certificate()
        if runs.changed(faulty) is not None:
            total += 1
            assert not certificate.granted, matrix
        elif not certificate.granted:
            others += 1
    assert total > 12
    assert others < total


# ── reports ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_report_says_what_is_proved_and_what_is_not(tmp_path: Path) -> None:
    done = command("certify", "since-b", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.splitlines()[1:] == [
        "claim: on every word of up to N tokens the engine answers like exact arithmetic, and every head is",
        "tieless with its claimed gap, if each subspace of the stream has its claimed value",
        "",
        "engine  dtype     certified    tokens N",
        "dense   float32   yes             4,095",
        "dense   float64   yes        94,906,264",
        "exact   rational  yes               any",
        "",
        "proved from the weights, for words of any length: 1 head of 1 with a gap, all others uniform",
        "verified, not proved: the claimed values and the answers, on all 39 words of up to 3 tokens",
    ]


def test_a_number_of_positions_can_be_asked_about(tmp_path: Path) -> None:
    done = command("certify", "since-b", "--dtype", "float32", "--max-positions", "4097", cwd=tmp_path)
    assert (done.returncode, "not as far" in done.stdout) == (1, True)
    assert command("certify", "since-b", "--dtype", "float32", "--max-positions", "4096", cwd=tmp_path).returncode == 0
    assert (
        "takes no steps on a tape: omit --max-steps"
        in command("certify", "since-b", "--max-steps", "3", cwd=tmp_path).stderr
    )
    said = "the fast engine does not run these weights: use one of dense, exact"
    assert said in command("certify", "since-b", "--engine", "fast", cwd=tmp_path).stderr


def test_a_report_as_json() -> None:
    proof = tm2tfr.certify("since-b")
    plain = json.loads(proof.report(Questions(engine="dense")).json())
    assert (plain["granted"], plain["heads"], plain["words"], plain["longest"]) == (True, 1, 39, 3)
    assert [each["most_positions"] for each in plain["certificates"]] == [4_096, 94_906_265]


def test_what_is_refused_is_shown() -> None:
    program = load("since-b").program
    report = LogicProof(softened(weights(program), 0.01), program).report(Questions(engine="exact"))
    assert not report.granted
