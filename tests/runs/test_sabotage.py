"""Weights that are wrong are caught; busy beavers and circuits, which are right, agree."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import tm2tfr
from tests.runs.checking import check
from tm2tfr.api.runs import certify
from tm2tfr.engines.decode import generate
from tm2tfr.engines.dense import Dense
from tm2tfr.lab.datasets.make import load_spec, sweep
from tm2tfr.runs.batches.batch import ComparedRuns
from tm2tfr.runs.batches.checked import checked_inputs
from tm2tfr.runs.choose import engines
from tm2tfr.runs.comparison import Trace
from tm2tfr.runs.plan import RunOptions
from tm2tfr.runs.rows import rows
from tm2tfr.sources.circuit.truth import inputs
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.transformer.weights import Decoder, matrices, replaced

CASES = {
    "chapter": ["11", "1111", "111"],
    "palindromes": ["", "abba", "ab"],
    "busy-beaver-4": [""],
    "left-edge": ["11", "1"],
}
PER_MACHINE = 80


def sabotages(decoder: Decoder, seed: int) -> list[tuple[str, Decoder]]:
    """Return decoders with one weight changed each: entries that are there, and entries that were 0."""
    chance = random.Random(seed)
    paths = [path for path, matrix in matrices(decoder).items() if matrix.shape[0] and matrix.shape[1]]
    chosen = []
    for n in range(PER_MACHINE):
        path = paths[n % len(paths)]
        matrix = matrices(decoder)[path]
        entries = list(matrix.entries())
        if entries and chance.random() < 0.7:
            row, column, old = chance.choice(entries)
        else:
            row, column = chance.randrange(matrix.shape[0]), chance.randrange(matrix.shape[1])
            old = matrix.dense()[row, column]
        new = chance.choice([v for v in (0.0, -old, old + 1, old - 1, 2 * old, old + 0.5) if v != old])
        chosen.append((path, replaced(decoder, {path: matrix.with_entry(row, column, new)})))
    return chosen


def checked(decoder: Decoder, machine: Machine, word: str) -> Trace:
    return check(decoder, word, machine=machine, engine=Dense(), max_steps=120)


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_each_sabotage_is_caught_where_it_is_or_changes_nothing(name: str) -> None:
    machine = load(name)
    decoder = compile_machine(machine)
    caught = harmless = 0
    for path, broken in sabotages(decoder, seed=len(name)):
        traces = [checked(broken, machine, word) for word in CASES[name]]
        failed = [t for t in traces if not t.agrees]
        if not failed:
            harmless += 1
            for word in CASES[name]:
                same = [list(rows(d, word, engine=Dense(), max_positions=130)) for d in (decoder, broken)]
                tokens = [
                    [s.output for s in generate(d, word, engine=Dense(), max_positions=130)] for d in (decoder, broken)
                ]
                assert same[0] == same[1]
                assert tokens[0] == tokens[1]
            continue
        caught += 1
        for trace in failed:
            assert trace.divergence is not None
            assert trace.divergence.cause is not None, path
            assert trace.divergence.cause.layer == _layer(path, decoder), f"{path}\n{trace.divergence}"
    assert caught + harmless == PER_MACHINE
    assert caught > PER_MACHINE / 3, "most sabotages should matter"


def _layer(path: str, decoder: Decoder) -> int:
    if path.startswith("layers."):
        return int(path.split(".")[1])
    return 0 if "unembedding" not in path else len(decoder.layers) + 1


ROOT = Path(__file__).parents[2]
RUN = """
import json, sys, tm2tfr
trace = tm2tfr.check("busy-beaver-5", "", engine="fast", max_steps=None, keep_rows=False)
status = open("/proc/self/status").read() if sys.platform == "linux" else "VmHWM: 0 kB"
print(json.dumps({**trace.as_dict(), "reach": trace.reach, "kB": int(status.split("VmHWM:")[1].split()[0])}))
"""


@pytest.mark.slow
def test_all_47_176_870_steps_run_in_the_decoder_and_agree() -> None:
    """Published: 47,176,870 steps, 4,098 ones (Marxen and Buntrock 1990)."""
    done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, encoding="utf-8", check=True, cwd=ROOT)
    said = json.loads(done.stdout)
    assert (said["outcome"], said["steps"], said["ones"], said["tokens"]) == ("halt", 47_176_870, 4_098, 47_176_872)
    assert (said["agrees"], said["compared"]) == (True, 7 * 47_176_872)
    assert said["kB"] < 1_500_000
    most = certify("busy-beaver-5").largest("fast", "float64", said["reach"])
    assert most is not None
    assert most >= said["tokens"]


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_a_sample_of_the_machines_with_two_states(part: int) -> None:
    spec = load_spec("two-states")
    [every] = spec.families
    found = sweep(replace(spec, families=(every[part * 31 :: 61],)), workers=1)
    assert found.failure is None
    assert (found.tally.machines, found.tally.runs) == (340, 1360)
    assert found.tally.outcomes["halt"] > 500


def test_there_are_20_736_of_them() -> None:
    spec = load_spec("two-states")
    assert [len(every) for every in spec.families] == [20_736]
    assert sum(piece.runs for job in spec.jobs() for piece in job.work) == 82_944


CIRCUIT = tm2tfr.load("full-adder")
DECODER = tm2tfr.compile(CIRCUIT)


def checked_bits(decoder: Decoder, words: Sequence[str], name: str) -> ComparedRuns:
    return checked_inputs(decoder, CIRCUIT, words, RunOptions(engine=name, max_steps=None), tokens_alone=True)


def test_a_short_run_of_a_circuit_is_dense_whether_it_is_recorded_or_not() -> None:
    """Its rows are read one by one in any case, and nothing has to be compiled for that."""
    for options in (RunOptions(), RunOptions(out=Path("rows.csv"))):
        assert [found.name for found, _ in engines(DECODER, 3, options)] == ["dense"]


@pytest.mark.parametrize("name", ["dense", "exact"])
def test_all_inputs_agree_bit_by_bit(name: str) -> None:
    found = checked_bits(DECODER, inputs(CIRCUIT, None, 0), name)
    assert (found.runs, found.bits, found.agrees, found.failure) == (8, 16, True, None)
    assert found.as_dict()["engine"] == name


def test_the_first_run_that_differs_is_the_last_and_says_why() -> None:
    path = "layers.1.feed_forward.output"
    wrong = replaced(DECODER, {path: matrices(DECODER)[path].with_entry(18, 7, -1.0)})  # the case 111
    found = checked_bits(wrong, inputs(CIRCUIT, None, 0), "dense")
    assert (found.runs, found.agrees) == (8, False)
    assert found.failure is not None
    assert found.failure.input == "111"
    assert found.failure.divergence is not None
    assert found.failure.divergence.cause is not None
    assert found.failure.divergence.cause.about == "position 2 answers net sum: XOR(a, b, c)"
    cause = found.as_dict()["failure"]["divergence"]["cause"]
    assert cause["about"] == found.failure.divergence.cause.about


def test_no_inputs_agree_with_nothing() -> None:
    found = checked_bits(DECODER, (), "dense")
    assert (found.runs, found.agrees) == (0, False)


def test_the_cause_in_a_machine_has_no_gate() -> None:
    decoder = tm2tfr.compile("chapter")
    path = "layers.1.feed_forward.output"
    first = next(iter(matrices(decoder)[path].entries()))
    wrong = replaced(decoder, {path: matrices(decoder)[path].with_entry(first[0], first[1], 3.0)})
    found = tm2tfr.check(wrong, "1111").divergence
    assert found is not None
    assert found.cause is not None
    assert "about" not in found.cause.as_dict()


def test_a_batch_shows_what_came_out_in_words() -> None:
    pytest.importorskip("numba", reason="the fast engine needs Numba: pip install 'tm2tfr[fast]'")
    batch = tm2tfr.check_batch(tm2tfr.load("binary-adder", bits=4), ["3+5", "15+1"])
    assert batch.shown == ("e = 8, c5 = 0", "e = 0, c5 = 1")
    assert tm2tfr.check_batch("palindromes", ["aba", "ab"]).shown == ("accept", "reject")


def test_compile_takes_the_parameters_of_a_shipped_circuit() -> None:
    assert tm2tfr.compile("parity", bits=100) == tm2tfr.compile(tm2tfr.load("parity", bits=100))
    assert tm2tfr.compile("random", gates=9, seed=3) == tm2tfr.compile(tm2tfr.load("random", gates=9, seed=3))
