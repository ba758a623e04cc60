"""Circuits: SHA-256 in the fast and the dense engine, its certificate, a large random circuit, a large file.

``python benchmarks/circuits.py``: one core, about two minutes, most of them for dense. ``--short`` leaves that out.
Every bit of every gate is compared with the evaluator's. Seconds are of processor time, in one thread, to which other jobs
matter less; ratios are between two measurements of one run.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.long import megabytes
from benchmarks.run import line
from tm2tfr.api.checking import check
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.fast import Fast
from tm2tfr.runs.batches.checked import checked_inputs
from tm2tfr.runs.plan import RunOptions
from tm2tfr.sources.circuit.compiler import compile_circuit
from tm2tfr.sources.circuit.evaluate import Bits, evaluate
from tm2tfr.sources.circuit.formats import registry as formats
from tm2tfr.sources.circuit.inputs import random_cases, read_input, shown_outputs
from tm2tfr.sources.circuit.library import load
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.circuit.proof.certificate import CircuitProof
from tm2tfr.transformer.weights import Decoder

TEXT = "abc"
GATES = 200_000
BENCH_GATES = 510_000
MEGABYTE = 1_000_000


def timed(job: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of processor time that `job` takes, and what it returns."""
    started = time.process_time()
    found = job()
    return time.process_time() - started, found


def compared(decoder: Decoder, circuit: Circuit, cases: Bits, engine: Fast | Dense) -> None:
    """Run `decoder` on `cases` and compare every bit."""
    words = ["".join(map(str, case)) for case in cases.tolist()]
    found = checked_inputs(decoder, circuit, words, RunOptions(engine=engine, max_steps=None), tokens_alone=True)
    if not found.agrees:
        raise RuntimeError(f"{circuit.name}: {found.failure}")


def sha256(*, dense: bool) -> None:
    """One block: built, compiled, run, checked and certified."""
    building, circuit = timed(lambda: load("sha256"))
    compiling, decoder = timed(lambda: compile_circuit(circuit))
    tokens = decoder.positions or 0
    bits = read_input(circuit, TEXT)
    case = np.array([[int(bit) for bit in bits]], dtype=np.uint8)
    digest = shown_outputs(circuit, evaluate(circuit, bits).outputs)
    if digest != hashlib.sha256(TEXT.encode()).hexdigest():
        raise RuntimeError(f"the circuit's digest of {TEXT!r} is {digest}")
    line("SHA-256: gates", f"{len(circuit.gates):,}")
    line("  tokens (positions)", f"{tokens:,}")
    line("  building the circuit, compiling it", f"{building:.1f} s, {compiling:.1f} s")
    fast, _ = timed(lambda: compared(decoder, circuit, case, Fast()))
    line("  fast, every bit compared", f"{fast:.2f} s", "at most 5 s")
    rows, trace = timed(lambda: check(decoder, bits, machine=circuit, engine="fast", max_steps=None))
    line(f"  fast, all {trace.compared:,} cells of the table compared", f"{rows:.1f} s", "at most 5 s")
    proving, certificate = timed(lambda: CircuitProof(decoder, circuit).certificate("fast"))
    if not certificate.granted:
        raise RuntimeError(str(certificate))
    line("  certificate for all 2^512 blocks", f"{proving:.1f} s", "at most 10 s")
    line("    ÷ one checked run, fast", f"{proving / fast:.1f}")
    if dense:
        slow, _ = timed(lambda: compared(decoder, circuit, case, Dense("float64")))
        line("  dense float64, every bit compared", f"{slow:.0f} s", "at most 120 s")
        line("    ÷ fast, time", f"{slow / fast:.0f}")


def random_circuit() -> None:
    """Tokens a second of the fast engine, with and without what is done once for a circuit."""
    circuit = load("random", inputs=64, gates=GATES)
    decoder = compile_circuit(circuit)
    cases = random_cases(circuit, 11, seed=0)
    evaluating, _ = timed(lambda: evaluate(circuit, "".join(map(str, cases[0].tolist()))))
    first, _ = timed(lambda: compared(decoder, circuit, cases[:1], Fast()))
    eleven, _ = timed(lambda: compared(decoder, circuit, cases, Fast()))
    each = (eleven - first) / 10
    line(f"random circuit of {GATES:,} gates, fast, one input", f"{GATES / first:,.0f} tokens/s")
    line("  a further input of the same circuit", f"{GATES / each:,.0f} tokens/s", "at least 1,000,000")
    line("  ÷ the evaluator, tokens a second", f"{evaluating / each:.1f}")


def large_file() -> None:
    """Reading a .bench file of 20 MB, beside splitting its lines."""
    circuit = load("random", inputs=64, gates=BENCH_GATES, kinds="two")
    text = str(formats.write(circuit, "bench"))
    del circuit
    size = len(text) / MEGABYTE
    splitting, _ = timed(lambda: sum(1 for row in text.splitlines() for _ in row.split()))
    reading, found = timed(lambda: formats.read(text, file="large.bench", format="bench"))
    line(f"reading a .bench file of {size:.0f} MB, {len(found.circuit.gates):,} gates", f"{reading:.1f} s")
    line("  ÷ splitting its lines into words, time", f"{reading / splitting:.0f}")
    line("  peak memory of the process", f"{megabytes():,.0f} MB")


def warm_up() -> None:
    """Compile the fast engine's code, or load it."""
    circuit = load("full-adder")
    seconds, _ = timed(lambda: compared(compile_circuit(circuit), circuit, random_cases(circuit, 1, seed=0), Fast()))
    line("first use of the fast engine in a process", f"{seconds:.1f} s")


if __name__ == "__main__":
    warm_up()
    sha256(dense="--short" not in sys.argv)
    random_circuit()
    large_file()
