"""Every machine of a size: ``python benchmarks/two_states.py``.

The shipped sweep ``two-states``, timed: each of the four rules writes one of two symbols, moves left or right, and goes
to one of the two states or halts: (2·2·3)⁴ machines. Each runs from the blank tape and from every input of length ≤ 3
over its one input symbol, 100 steps at most, in the decoder and in the simulator, and all cells of all rows are compared.

With ``three-states`` as an argument it is the sweep of that name: 21,257 machines in tree normal form, from the blank tape.
Each machine has a decoder of its own; with ``--universal`` one decoder runs them all, and each is put into its prompt.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tm2tfr.api.datasets import sweep
from tm2tfr.lab.datasets.make import sweep_report
from tm2tfr.runs.choose import cores


def main() -> None:
    """Run them all and print what came of it."""
    started = time.perf_counter()
    name, sizes = ("three-states", (3, 2)) if "three-states" in sys.argv else ("two-states", (2, 2))
    found = sweep(name, universal=sizes if "--universal" in sys.argv else None)
    taken = time.perf_counter() - started
    spent = sum(os.times()[:4])  # of this process and of those that it has waited for
    each = 1_000 * spent / max(1, found.tally.machines)
    how = f"{spent:.0f} s of processor time, {each:.2f} ms a machine, with {cores()} processes"
    print(f"{sweep_report(found)}\nin {taken:.0f} s, {how}", flush=True)
    sys.exit(found.failure is not None)


if __name__ == "__main__":
    main()
