"""Every adder of the paper: n bits, both orders, all three variants, every bit of every gate, and where every head looks.

``python benchmarks/adders.py [--from N] [--to N] [--random K] [--variant V]``: all inputs for n ≤ 5, K random ones above,
1,000 by default. It takes about an hour for n up to 48: the paper's own variant runs on the dense engine alone.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from tm2tfr.api.attention import attention_of
from tm2tfr.api.batches import check_many
from tm2tfr.api.subject import Subject
from tm2tfr.base.choices import CIRCUIT_VARIANTS
from tm2tfr.sources.circuit.library import load

ORDERS = ("paper-1", "paper-2")


def looks_right(subject: Subject, inputs: int) -> int:
    """Return the number of rows of attention compared: each has to be shared by the operands of its gate, and no others."""
    circuit, decoder = subject.right, subject.decoder
    numbers, rows = circuit.numbers, 0
    for k, head in enumerate(decoder.layers[0].heads):
        found = attention_of(subject, "0" * inputs, head=k + 1).weights
        for n, gate in enumerate(circuit.gates):
            operands = [numbers[net] for net in gate.operands]
            if len(decoder.layers[0].heads) > 1:
                operands = [operands[min(k, len(operands) - 1)]]
            wanted = np.zeros(found.shape[1])
            np.add.at(wanted, operands, 1 / len(operands))
            row = found[inputs - 1 + n]
            # 1.1e-3 is what the paper's c₁ leaves at n = 1, the shortest sequence
            assert np.abs(row - wanted).max() < 2e-3, (circuit.name, head.name, gate.net)
            rows += 1
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--from", dest="first", type=int, default=1)
    parser.add_argument("--to", dest="last", type=int, default=48)
    parser.add_argument("--random", type=int, default=1000)
    parser.add_argument("--variant", choices=CIRCUIT_VARIANTS)
    asked = parser.parse_args()
    began, runs, bits, rows = time.perf_counter(), 0, 0, 0
    for n in range(asked.first, asked.last + 1):
        for order in ORDERS:
            circuit = load("binary-adder", bits=n, order=order)
            for variant in [asked.variant] if asked.variant else CIRCUIT_VARIANTS:
                subject = Subject.of(circuit, options={"variant": variant})
                found = check_many(subject, None if n <= 5 else asked.random, seed=n)
                assert found.agrees, (n, order, variant, str(found.failure and found.failure.divergence))
                runs, bits, rows = runs + found.runs, bits + found.bits, rows + looks_right(subject, 2 * n)
        passed = time.perf_counter() - began
        print(f"n = {n}: {runs:,} runs, {bits:,} bits and {rows:,} rows of attention so far, {passed:,.0f} s", flush=True)


if __name__ == "__main__":
    main()
