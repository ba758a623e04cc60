"""How far each dtype goes: full runs of the hardest machines, to the first position that is wrong.

``python benchmarks/precision.py [LIMIT]``: the dense engine is quadratic, so float64 is only run up to LIMIT positions.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.machines import rewriter, runner
from tm2tfr.engines.dense import Dense, Float
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.trace.check import check


def first_wrong(machine: Machine, word: str, dtype: Float, limit: int) -> str:
    """Return the first position whose row differs from the simulator's, or that there is none up to `limit`."""
    trace = check(compile_machine(machine), word, machine=machine, engine=Dense(dtype), max_steps=limit - len(word) - 2)
    return f"{trace.divergence.position:,}" if trace.divergence else f"> {trace.tokens:,}"


def main(limit: int) -> None:
    """Print the table of the README."""
    cases = (
        ("runs right for ever (h ≈ i)", runner(), ""),
        ("rewrites cells near 300 for ever", rewriter(), "1" * 300),
        ("rewrites cells near 1,000 for ever", rewriter(), "1" * 1000),
    )
    print("| machine | float32 | float64 |\n|---|---|---|")
    for name, machine, word in cases:
        found = [first_wrong(machine, word, dtype, limit) for dtype in ("float32", "float64")]
        print(f"| {name} | {found[0]} | {found[1]} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
