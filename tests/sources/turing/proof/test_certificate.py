"""Certificates: every shipped machine has one, of the extent that is known, and they say what they are."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings

from benchmarks.machines import large
from tests.strategies import machines
from tm2tfr.api.checking import check
from tm2tfr.certificates.kit import ENGINES, Questions
from tm2tfr.cli import app
from tm2tfr.cli.commands import guarded
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.sources.turing.proof.certificate import CertifiedRuns, MachineCertificate
from tm2tfr.sources.turing.proof.prove import limit, prove
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.storage import save
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


# ── ``tm2tfr certify``: what it prints and writes, and how it exits
def certify(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = guarded(app, ["certify", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_table_of_a_machine(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = certify("chapter", capsys=capsys)
    assert code == 0
    assert "exact   rational  ≤ N - 1    no limit  -" in out


def test_the_question_of_the_five_state_busy_beaver(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["busy-beaver-5", "--engine", "fast", "--max-steps", "47_176_870", "--max-head", "12289"]
    code, out, _ = certify(*asked, capsys=capsys)
    assert code == 0
    assert "asked: runs of at most 47,176,870 steps on the empty input: 47,176,872 positions" in out
    assert "certified: for every input and every run with at most 47,176,872 positions and |h| ≤ 12,289, fast in" in out
    asked = ["busy-beaver-5", "--dtype", "float32", "--max-positions", "162"]
    code, out, _ = certify(*asked, capsys=capsys)
    assert code == 1
    assert "NOT certified: runs with at most 162 positions on dense in float32" in out


def test_a_weight_file_and_the_json_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine = load("parity")
    decoder, good, bad = compile_machine(machine), tmp_path / "good.safetensors", tmp_path / "bad.safetensors"
    save(decoder, good)
    code, _, err = certify(str(good), "-o", str(tmp_path / "good.json"), capsys=capsys)
    assert code == 0
    assert "wrote" in err
    found = json.loads((tmp_path / "good.json").read_text(encoding="utf-8"))
    assert found["granted"] is True
    assert [row["positions"] for row in found["certificates"]] == [161, 131_072, 21_221_686, None]
    path = "layers.5.feed_forward.input_bias"
    save(replaced(decoder, {path: matrices(decoder)[path].with_entry(0, 0, 0.0)}), bad)
    code, out, _ = certify(str(bad), "-o", str(tmp_path / "bad.json"), capsys=capsys)
    assert code == 1
    assert "NOT certified: the weights could not be proved right\n  layer 5 (symbol), feed-forward: e_a[" in out
    assert json.loads((tmp_path / "bad.json").read_text(encoding="utf-8"))["refusals"][0]["layer"] == 5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["chapter", "--engine", "slow"], "--engine: unknown value 'slow': use one of dense, fast, exact"),
        (["chapter", "--engine", "exact", "--dtype", "float32"], "the exact engine does not compute in 'float32'"),
        (["nonesuch"], "nonesuch"),
        (["chapter", "--max-steps", "5", "--max-positions", "9"], "cannot be combined: omit one of them"),
        (["chapter", "--input-length", "5"], "--input-length only applies with --max-steps: add it"),
        (["chapter", "-o", "c.txt"], "c.txt: certificates are written as .json: name the file c.json"),
    ],
)
def test_bad_input(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = certify(*arguments, capsys=capsys)
    assert (code, out) == (2, "")
    assert said in err


def test_steps_are_the_machines_and_positions_are_the_decoders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The chapter's float32 certificate is for 161 positions: n symbols, BOS, and one more than the steps."""
    float32 = ["chapter", "--dtype", "float32"]
    symbols = len(load("chapter").input or "")
    for steps, length, granted in ((159, 0, True), (160, 0, False), (149, 10, True), (150, 10, False)):
        asked = ["--max-steps", str(steps), "--input-length", str(length)]
        code, out, _ = certify(*float32, *asked, capsys=capsys)
        assert (code, f"{steps + length + 2} positions" in out) == (0 if granted else 1, True)
    own, path = 161 - symbols - 2, tmp_path / "c.json"
    code, out, _ = certify(*float32, "--max-steps", str(own), "-o", str(path), capsys=capsys)
    assert (code, f"on every input of at most {symbols} symbols" in out) == (0, True)
    assert json.loads(path.read_text(encoding="utf-8"))["runs"] == {"steps": own, "symbols": symbols, "positions": 161}
    assert certify(*float32, "--max-steps", str(own + 1), capsys=capsys)[0] == 1
    assert certify(*float32, "--max-positions", "161", capsys=capsys)[0] == 0
    assert certify(*float32, "--max-positions", "162", capsys=capsys)[0] == 1


def test_a_run_of_the_steps_asked_for_has_no_more_positions_than_that() -> None:
    machine = load("never-halts")
    for steps in (0, 7, 12):
        trace = check(compile_machine(machine), "", machine=machine, max_steps=steps)
        assert trace.tokens <= CertifiedRuns(steps, 0).positions
    chapter = load("chapter")
    for word in ("", "1", "11", "1111"):
        trace = check(compile_machine(chapter), word, machine=chapter)
        assert trace.result is not None
        assert trace.tokens <= CertifiedRuns(trace.result.steps, len(word)).positions


def test_help_says_what_n_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(app, ["certify", "--help"]) == 0
    found = " ".join(capsys.readouterr().out.replace("│", "").split())
    assert "prompt, BOS, and one more than the machine's steps" in found
