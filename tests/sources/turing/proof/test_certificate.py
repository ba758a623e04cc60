"""Certificates: every shipped machine has one, of the extent that is known, and they say what they are."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings

from benchmarks.machines import large
from tests.strategies import machines
from tm2tfr.certificates.kit import ENGINES, Questions
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.sources.turing.proof.certificate import MachineCertificate
from tm2tfr.sources.turing.proof.prove import limit, prove
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import matrices, replaced

BEAVER = load("busy-beaver-5")
DECODER = compile_machine(BEAVER)
PROOF = prove(DECODER, BEAVER)
EXTENT = {("dense", "float32"): 161, ("dense", "float64"): 131_072, ("fast", "float64"): 21_221_686}
"""(engine, dtype) -> the largest N for |h| ≤ N - 1: the same for all machines, since their heads are."""


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_every_shipped_machine_is_certified(name: str) -> None:
    machine = load(name)
    decoder = compile_machine(machine)
    assert prove(decoder, machine).refusals == ()
    assert {pair: limit(decoder, machine, *pair) for pair in EXTENT} == EXTENT
    assert limit(decoder, machine, "exact") is None


@pytest.mark.slow
@settings(max_examples=40)
@given(machines())
def test_every_machine_is_certified(machine: Machine) -> None:
    assert prove(compile_machine(machine), machine).refusals == ()


def test_the_five_state_busy_beaver_is_certified_on_the_fast_engine_to_its_end() -> None:
    found = PROOF.certificate("fast", positions=47_176_872, max_head=12_289)
    assert found.granted
    assert found.positions == 2**31 - 1
    assert min(bound.slack for bound in found.bounds) > 0.9
    assert not PROOF.certificate("dense", positions=47_176_872, max_head=12_289).granted
    assert not PROOF.certificate("fast", positions=47_176_872).granted, "|h| could be larger then"


@pytest.mark.slow
def test_a_large_machine_and_a_small_one_are_quick() -> None:
    machine = large(states=300)
    decoder = compile_machine(machine)
    assert len(decoder.vocabulary) > 2000
    assert prove(decoder, machine).refusals == ()
    started = time.perf_counter()
    assert limit(DECODER, BEAVER, "fast", max_head=100) == 2**31 - 1
    assert time.perf_counter() - started < 2, "some milliseconds, on a machine that does nothing else"


def test_a_weight_that_is_no_float32_number_has_no_certificate_in_float32() -> None:
    path = "unembedding"
    old = matrices(DECODER)[path]
    uneven = replaced(DECODER, {path: Matrix(old.shape, old.rows, old.columns, old.values * (1 + 2.0**-40))})
    proof = prove(uneven, BEAVER)
    assert [proof.largest("dense", dtype) for dtype in ("float32", "float64")] == [0, 131_072]
    found = proof.certificate("dense", "float32")
    assert not found.granted
    assert "all weights are representable in the dtype" in [bound.claim for bound in found.bounds if bound.slack < 0]


def test_sums_that_are_too_large_for_floats_have_no_certificate_in_them() -> None:
    path = "unembedding_bias"
    tiny = replaced(DECODER, {path: matrices(DECODER)[path].with_entry(0, 0, 2.0**-60)})
    assert [prove(tiny, BEAVER).largest(engine) for engine in ("dense", "exact")] == [0, None]
    assert prove(tiny, BEAVER).certificate("dense").bounds[0].where == "logits"
    fine = {"layers.5.feed_forward.input": 2.0**-30, "layers.5.feed_forward.input_bias": 2.0**-30}
    fine |= {"layers.5.feed_forward.output": 2.0**30}
    change = {p: Matrix(m.shape, m.rows, m.columns, m.values * fine[p]) for p, m in matrices(DECODER).items() if p in fine}
    proof = prove(replaced(DECODER, change), BEAVER)
    assert proof.largest("dense") == 0
    assert proof.certificate("dense").bounds[0].layer == 5
    assert proof.largest("exact") is None


def test_a_certificate_covers_runs_inside_it() -> None:
    given_head, any_head = PROOF.certificate("dense", max_head=100), PROOF.certificate("dense")
    assert given_head.covers(given_head.positions or 0, 100)
    assert not given_head.covers(given_head.positions or 0, 101)
    assert not given_head.covers((given_head.positions or 0) + 1, 100)
    assert any_head.covers(131_072, 131_071)
    assert not any_head.covers(131_073, 0)
    assert PROOF.certificate("exact", max_head=3).covers(10**12, 10**9)


# ── words ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_table_of_one_engine_or_dtype() -> None:
    assert [(c.engine, c.dtype) for c in PROOF.report(Questions()).certificates] == [
        (e, d) for e, ds in ENGINES.items() for d in ds
    ]
    assert [(c.engine, c.dtype) for c in PROOF.report(Questions(dtype="float64")).certificates] == [
        ("dense", "float64"),
        ("fast", "float64"),
    ]
    assert [c.dtype for c in PROOF.report(Questions(engine="dense")).certificates] == ["float32", "float64"]


def test_the_answers() -> None:
    fast = PROOF.report(Questions(engine="fast", positions=10**12)).text().splitlines()
    assert fast[2].endswith("are certified; use the exact engine, or state a smaller bound on |h| with max_head")
    wrong = prove(DECODER, load("chapter")).report(Questions()).text().splitlines()
    assert len(wrong) > 2


def test_json_is_the_certificates_as_data() -> None:
    found = json.loads(PROOF.report(Questions(engine="fast", positions=1000, max_head=20)).json())
    assert {k: found[k] for k in ("machine", "weights", "granted", "refusals")} == {
        "machine": "busy-beaver-5",
        "weights": PROOF.digest,
        "granted": True,
        "refusals": [],
    }
    (row,) = found["certificates"]
    assert {k: row[k] for k in ("engine", "dtype", "positions", "max_head", "asked", "unlimited", "granted")} == {
        "engine": "fast",
        "dtype": "float64",
        "positions": 2**31 - 1,
        "max_head": 20,
        "asked": 1000,
        "unlimited": False,
        "granted": True,
    }
    assert set(row["bounds"][0]) == {"layer", "part", "where", "claim", "formula", "slack"}
    refused = json.loads(prove(DECODER, load("chapter")).report(Questions()).json())
    assert refused["granted"] is False
    assert set(refused["refusals"][0]) == {"layer", "layer_name", "part", "what", "witness"}


def test_the_digest_is_that_of_the_weights() -> None:
    entry = matrices(DECODER)["unembedding_bias"].with_entry(0, 0, -1.0)
    other = prove(replaced(DECODER, {"unembedding_bias": entry}), BEAVER)
    assert len({PROOF.digest, other.digest, prove(compile_machine(BEAVER), BEAVER).digest}) == 2
    assert isinstance(PROOF.certificate("dense"), MachineCertificate)
