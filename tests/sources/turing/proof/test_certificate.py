"""Certificates: every shipped machine has one, of the extent that is known, and they say what they are."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings

from benchmarks.machines import large
from tests.strategies import machines
from tm2tfr.base.errors import EngineError
from tm2tfr.certificates.kit import ENGINES, Questions
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.sources.turing.proof.attention import Retrieval
from tm2tfr.sources.turing.proof.certificate import MachineCertificate, MachineReport
from tm2tfr.sources.turing.proof.domain import Domain
from tm2tfr.sources.turing.proof.feed_forward import Sums
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
    assert found.statement == (
        "for every input and every run with at most 47,176,872 positions and |h| ≤ 12,289, "
        "fast in float64 generates exactly the simulator's tokens"
    )
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
    assert found.statement == "nothing is certified for the engine dense in float32"


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


def test_a_certificate_checks_itself() -> None:
    refusal = prove(DECODER, load("chapter")).refusals
    good = PROOF.certificate("dense")
    with pytest.raises(ValueError, match="refused weights are certified for no position, not for 131072"):
        replace(good, refusals=refusal)
    with pytest.raises(ValueError, match="the tie-break must be positive"):
        Retrieval("latest write", 0, 2 * PROOF.retrieval.ratio * 2)  # type: ignore[union-attr]
    with pytest.raises(
        ValueError, match="busy-beaver-5: a two-way tape has no left boundary, so it cannot have a flag for it"
    ):
        Domain(BEAVER, flagged=True)
    with pytest.raises(ValueError, match="a bound on absolute values cannot be negative"):
        Sums(5, "feed_forward", -1, 0, "e_a[0]")
    with pytest.raises(ValueError, match="a report needs at least one certificate: name an engine"):
        MachineReport(certificates=())


@pytest.mark.parametrize(
    ("engine", "dtype", "said"),
    [
        ("fats", None, r"unknown engine 'fats' \(did you mean 'fast'\?\): use one of dense, fast, exact"),
        ("fast", "float32", "the fast engine does not compute in 'float32': omit the dtype"),
        ("dense", "rational", "the dense engine does not compute in 'rational': use float32 or float64, or omit it"),
    ],
)
def test_unknown_engines_and_dtypes(engine: str, dtype: str | None, said: str) -> None:
    for ask in (PROOF.largest, PROOF.certificate):
        with pytest.raises(EngineError, match=said):
            ask(engine, dtype)
    with pytest.raises(EngineError, match=said):
        PROOF.report(Questions(engine=engine, dtype=dtype))


# ── words ───────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_table() -> None:
    found = PROOF.report(Questions(max_head=12_289)).text().splitlines()
    assert found[0] == f"busy-beaver-5, weights {PROOF.digest[:16]}"
    assert found[4:] == [
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
    yes = PROOF.report(Questions(dtype="float32", positions=161)).text().splitlines()
    assert yes[1] == (
        "certified: for every input and every run with at most 161 positions, "
        "dense in float32 generates exactly the simulator's tokens"
    )
    no = PROOF.report(Questions(dtype="float32", positions=162, max_head=161)).text().splitlines()
    assert no[1:3] == [
        "NOT certified: runs with at most 162 positions and |h| ≤ 161 on dense in float32",
        "at most 161 positions are certified; use a wider dtype, the fast engine or the exact engine, "
        "or state a smaller bound on |h| with --max-head",
    ]
    fast = PROOF.report(Questions(engine="fast", positions=10**12)).text().splitlines()
    assert fast[2].endswith("are certified; use the exact engine, or state a smaller bound on |h| with --max-head")
    exact = PROOF.report(Questions(engine="exact", positions=10**9)).text().splitlines()
    assert exact[2] == "rational numbers are not rounded: there is no bound on positions or head"
    wrong = prove(DECODER, load("chapter")).report(Questions()).text().splitlines()
    assert wrong[1] == "NOT certified: the weights could not be proved right"
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
