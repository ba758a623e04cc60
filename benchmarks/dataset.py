"""How fast data sets are made: ``python benchmarks/dataset.py``.

Rows of the chapter's table (positions) a second, every one compared with the simulator, from the first import of the
workers to the last file on the disk: of one machine on many inputs, and of many machines on few inputs each.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tm2tfr.dataset.make import make
from tm2tfr.dataset.reader import read
from tm2tfr.dataset.spec import Spec

ONE_MACHINE = """\
name: one machine
machines: [palindromes]
inputs: {random: {count: 40000, length: 8 to 20}}
shard size: 5000
"""
MANY_MACHINES = """\
name: many machines
machines: {random: {states: 3, symbols: 3, count: 2000}}
inputs: {up to: 3}
max steps: 200
unfinished: keep
shard size: 2000
"""
WARM = """\
name: warm
machines: [palindromes]
inputs: {up to: 3}
"""


def timed(spec: Spec, workers: int) -> tuple[int, float]:
    """Return the rows made, and the seconds that it took."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        found = make(spec, Path(folder) / "data", workers=workers)
        assert found.failure is None
        return found.tally.rows, time.perf_counter() - started


def main() -> None:
    """Measure and print."""
    timed(read(WARM, file="warm"), 1)  # compiled code is made at its first use, and kept
    for text, target in ((ONE_MACHINE, "at least 100,000"), (MANY_MACHINES, "")):
        spec = read(text, file="spec")
        rows, two = timed(spec, 2)
        _, one = timed(spec, 1)
        print(f"{spec.name}: {rows:,} rows")
        print(f"  two processes, start included {rows / two:>20,.0f} rows/s  {target}")
        print(f"  one process                   {rows / one:>20,.0f} rows/s")
        print(f"  one ÷ two, time               {one / two:>20.2f}", flush=True)


if __name__ == "__main__":
    main()
