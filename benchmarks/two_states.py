"""All 20,736 machines with two states, two symbols and one halting state: ``python benchmarks/two_states.py``.

The shipped sweep ``two-states``, timed: each of the four rules writes one of two symbols, moves left or right, and goes
to one of the two states or halts: (2·2·3)⁴ machines. Each runs from the blank tape and from every input of length ≤ 3
over its one input symbol, 100 steps at most, in the decoder and in the simulator, and all cells of all rows are compared.

Each machine has a decoder of its own; with ``--universal`` one decoder runs them all, and each is put into its prompt.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tm2tfr.api.datasets import sweep
from tm2tfr.dataset.pool import cores
from tm2tfr.dataset.report import sweep_report


def main() -> None:
    """Run them all and print what came of it."""
    started = time.perf_counter()
    found = sweep("two-states", universal=(2, 2) if "--universal" in sys.argv else None)
    taken = time.perf_counter() - started
    spent = sum(os.times()[:4])  # of this process and of those that it has waited for
    print(f"{sweep_report(found)}, in {taken:.0f} s, {spent:.0f} s of processor time, with {cores()} processes", flush=True)
    sys.exit(found.failure is not None)


if __name__ == "__main__":
    main()
