"""The certificate for a class of machines: its extent for several sizes and tapes, and what it says."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

import tm2tfr
from tests.sources.turing.universal.cases import EVERY, compiled
from tm2tfr.certificates.kit import Questions
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.proof.prove import limit as machine_limit
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.proof.attention import Description
from tm2tfr.sources.turing.universal.proof.prove import limit, prove
from tm2tfr.transformer.weights import Decoder, digest, replaced

PROOF = prove(compiled(), EVERY)
EXTENT = {("dense", "float32"): 161, ("dense", "float64"): 131_072, ("fast", "float64"): 21_221_686}
"""(engine, dtype) -> the largest N for |h| ≤ N - 1: the same for all sizes, since the latest write and lookups bind."""


@pytest.mark.parametrize(
    ("states", "symbols", "tape"),
    [
        *((s, k, tape) for (s, k), tape in product([(1, 1), (1, 3), (3, 1), (5, 2)], ["both", "one-way", "two-way"])),
        (8, 4, "both"),
    ],
)
def test_every_size_is_certified_as_far_as_a_single_machine(states: int, symbols: int, tape: str) -> None:
    universal = Universal(states=states, symbols=symbols, tape=tape)  # type: ignore[arg-type]
    decoder = compiled(universal)
    assert prove(decoder, universal).refusals == ()
    assert {pair: limit(decoder, universal, *pair) for pair in EXTENT} == EXTENT
    assert limit(decoder, universal, "exact") is None


@pytest.mark.parametrize("name", ["chapter", "busy-beaver-4", "palindromes"])
@pytest.mark.parametrize("head", [None, 1, 10, 500, 12_289])
def test_the_class_goes_at_least_half_as_far_as_one_of_its_machines(name: str, head: int | None) -> None:
    machine = load(name)
    for pair in EXTENT:
        alone = machine_limit(compile_machine(machine), machine, *pair, max_head=head) or 0
        among_others = PROOF.largest(*pair, head) or 0
        assert alone / 2 <= among_others <= alone, (pair, alone, among_others)


@pytest.mark.slow
def test_a_large_class_is_certified() -> None:
    universal = Universal(states=20, symbols=6)
    assert {pair: limit(compiled(universal), universal, *pair) for pair in EXTENT} == EXTENT


def test_the_five_state_busy_beaver_in_the_prompt_is_certified_on_the_fast_engine_to_its_end() -> None:
    found = PROOF.certificate("fast", positions=47_176_872 + 21, max_head=12_289)
    assert found.granted
    assert found.positions == 2**31 - 1
    assert found.statement == (
        "for every machine with at most 8 states with rules and 4 symbols, every input and every run with at most "
        "47,176,893 positions and |h| ≤ 12,289, fast in float64 generates exactly the simulator's tokens"
    )


@pytest.mark.parametrize(
    ("universal", "every"),
    [
        (Universal(states=1, symbols=1), "every machine with at most 1 state with rules and 1 symbol, every input"),
        (
            Universal(states=2, symbols=2, tape="one-way"),
            "every machine with a one-way tape, at most 2 states with rules and 2 symbols, every input",
        ),
        (
            Universal(states=2, symbols=2, tape="two-way"),
            "every machine with a two-way tape, at most 2 states with rules and 2 symbols, every input",
        ),
    ],
)
def test_what_it_is_for(universal: Universal, every: str) -> None:
    assert prove(compiled(universal), universal).certificate("dense").every == every


def test_weights_with_a_machine_in_the_prompt_have_the_certificate_of_the_class_in_its_names() -> None:
    held = EVERY.holding(load("palindromes"))
    proof = tm2tfr.certify(held)
    assert proof.refusals == ()
    assert proof.certificate("dense").machine == "palindromes"
    assert proof.certificate("dense").statement == PROOF.certificate("dense").statement
    assert prove(compiled(), held).refusals == (), "weights with canonical names, and a machine"
    assert (proof.lead, PROOF.lead) == (len(held.description), 2 * 8 * 4 + 1)


def test_the_same_weights_have_the_same_digest_whichever_machine_is_in_the_prompt(tmp_path: Path) -> None:
    """In certificates, those of saved weights too, and as data sets name them: that of the names of the class."""
    due = digest(compiled())
    for name in ("palindromes", "chapter"):
        held = EVERY.holding(load(name))
        tm2tfr.save_weights(tm2tfr.compile(held), tmp_path / f"{name}.safetensors")
        assert tm2tfr.certify(held).certificate("dense").weights == due
        assert tm2tfr.certify(tmp_path / f"{name}.safetensors").certificate("dense").weights == due
    assert PROOF.certificate("dense").weights == due
    path, matrix = "layers.6.heads.0.query", compiled().layers[5].heads[0].query
    row, column, value = next(matrix.entries())
    changed = replaced(tm2tfr.compile(held), {path: matrix.with_entry(row, column, 2 * value)})
    assert prove(changed, held).certificate("dense").weights != due


def test_names_decide_nothing_but_claims() -> None:
    decoder = compiled(Universal(states=2, symbols=2))
    assert prove(decoder, Universal(states=3, symbols=2)).refusals != ()
    machine = load("busy-beaver-2")
    refused = [str(refusal) for refusal in prove(compile_machine(machine), Universal(states=2, symbols=2)).refusals]
    assert refused[0] == "layout: the construction has seven layers: this decoder has 6"


def test_the_report() -> None:
    found = PROOF.report(Questions(max_head=12_289)).text().splitlines()
    assert found == [
        f"universal-8-4, weights {PROOF.digest[:16]}",
        "the weights are right in exact arithmetic; largest N such that for every machine with at most 8",
        "states with rules and 4 symbols, every input and every run with at most N positions (prompt, BOS,",
        "steps + 1) the engine generates exactly the simulator's tokens:",
        "",
        "engine  dtype     |h|           largest N  binding condition",
        "dense   float32   ≤ N - 1             161  latest write: 2·u·N·(H² + 1/2) < 1/2",
        "dense   float32   ≤ 12,289            161  latest write: 2·u·N·(H² + 1/2) < 1/2",
        "dense   float64   ≤ N - 1         131,072  latest write: 2·u·N·(H² + 1/2) < 1/2",
        "dense   float64   ≤ 12,289     14,910,653  latest write: 2·u·N·(H² + 1/2) < 1/2",
        "fast    float64   ≤ N - 1      21,221,686  cell h_{i-1}+: about 20·H²·u < 1",
        "fast    float64   ≤ 12,289  2,147,483,647  positions: N ≤ 2,147,483,647",
        "exact   rational  ≤ N - 1        no limit  -",
        "exact   rational  ≤ 12,289       no limit  -",
    ]


def test_the_answer_to_a_question() -> None:
    every = "every machine with at most 8 states with rules and 4 symbols, every input"
    questions = Questions(dtype="float32", steps=90, symbols=3)
    found = PROOF.report(questions).text().splitlines()
    assert found[1:3] == [
        "asked: runs of at most 90 steps on every input of at most 3 symbols: 160 positions "
        "(65 tokens for the machine, 3 symbols, BOS, 90 steps + 1)",
        f"certified: for {every} and every run with at most 160 positions, "
        "dense in float32 generates exactly the simulator's tokens",
    ]
    assert not PROOF.report(Questions(dtype="float32", steps=92, symbols=3)).granted
    whole = json.loads(PROOF.report(questions).json())
    assert (whole["machine"], whole["granted"]) == ("universal-8-4", True)
    assert whole["runs"] == {"steps": 90, "symbols": 3, "positions": 160, "lead": 65}


def test_the_conditions_that_a_single_machine_does_not_have() -> None:
    single = [tm2tfr.certify(name).conditions("dense", "float32") for name in ("chapter", "busy-beaver-4")]
    known = {(c.layer, c.claim) for conditions in single for c in conditions}
    found = [(c.layer, c.part, c.where, c.claim, c.formula) for c in PROOF.conditions("dense", "float32")]
    keys, no_rule = ("attention", "last key"), "where there is no rule, the answer still has the largest logit"
    highest = "the score of position h + k is the highest after rounding"
    assert [c for c in found if (c[0], c[3]) not in known] == [
        (2, "feed_forward", "r_q[q0]", "every sum of this layer is exact", "3 + 0·H ≤ 16,777,216"),
        (2, *keys, "no tie-break lifts another token to the score of a key", "2·u < 1 - 1/2"),
        (2, *keys, "the last key scores highest after rounding", "2·u·N·(1 + 1/2) < 1/2"),
        (3, "attention", "input symbol", highest, "about 20·(H + 65)²·u < 1"),
        (7, "feed_forward", "logits", no_rule, "3,976·u < 1"),
        (8, "unembedding", "logits", "every sum of this layer is exact", "1 + 0·H ≤ 16,777,216"),
    ]


def test_a_tie_break_has_to_be_smaller_than_the_gap() -> None:
    with pytest.raises(ValueError, match="'last key': the tie-break must be positive and at most the gap"):
        Description("last key", 2 * PROOF.description.ratio * 2, None, "rule")  # type: ignore[union-attr]


def test_no_proof_depends_on_a_decoder_of_another_class() -> None:
    small: Decoder = compiled(Universal(states=2, symbols=2, tape="one-way"))
    refused = prove(small, Universal(states=2, symbols=2, tape="two-way")).refusals
    assert [refusal.part for refusal in refused if refusal.layer == 0][:1] == ["layout"]
