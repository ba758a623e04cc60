"""MachineHow fast the runs of machines are checked, and made into data sets: ``python benchmarks/dataset.py``.

Rows of the chapter's table (positions) a second, every one compared with the simulator: of one machine on 40,000 inputs
in one call, the same as Parquet, and many machines on few inputs each. Of data sets from the first import of the workers
to the last file on the disk.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import tm2tfr
from tm2tfr.lab.datasets.machines.spec import MachineSpec
from tm2tfr.lab.datasets.make import make
from tm2tfr.lab.datasets.reader import read

ONE_MACHINE = """\
name: one machine
machines: [palindromes]
inputs: {random: {count: 40000, length: 8 to 20}}
shard size: 5000
formats: parquet
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


def timed(work: Callable[[], int]) -> tuple[int, float, float]:
    """Return the rows made, and the seconds that it took: by the clock, and of processors, all processes together."""
    began, used = time.perf_counter(), _processors()
    rows = work()
    return rows, time.perf_counter() - began, _processors() - used


def _processors() -> float:
    """Return the processor time of this process and of those that it has ended, in seconds."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def made(spec: MachineSpec, workers: int) -> int:
    """Make a data set and return the number of its rows."""
    with tempfile.TemporaryDirectory() as folder:
        found = make(spec, Path(folder) / "data", workers=workers)
        assert found.failure is None
        return found.tally.rows


def checked(name: str, words: tuple[str, ...]) -> int:
    """Check a machine on many inputs in one call and return the number of rows."""
    batch = tm2tfr.check_batch(name, words, keep_rows=False)
    assert batch.agrees
    return int((batch.compared // 7).sum())


def told(what: str, measured: tuple[int, float, float], target: str = "") -> None:
    """Print a line."""
    rows, seconds, used = measured
    print(f"  {what:<31}{rows / seconds:>12,.0f} rows/s {rows / used:>12,.0f} per processor second  {target}", flush=True)


def main() -> None:
    """Measure and print."""
    one, many = (read(text, file="spec") for text in (ONE_MACHINE, MANY_MACHINES))
    assert isinstance(one, MachineSpec)
    [(name, machine)] = one.named
    words = one.inputs.over(machine.input_alphabet or ())
    made(read(WARM, file="warm"), 1)  # compiled code is made at its first use, and kept
    checked(name, words)
    found = timed(lambda: checked(name, words))
    print(f"{one.name}: {found[0]:,} rows of {len(words):,} inputs")
    told("check_batch, rows not kept", found, "at least 3,000,000")
    told("Parquet, two processes, start", timed(lambda: made(one, 2)), "at least 1,000,000")
    told("Parquet, one process", timed(lambda: made(one, 1)))
    found = timed(lambda: made(many, 2))
    print(f"{many.name}: {found[0]:,} rows")
    told("two processes, start included", found)
    told("one process", timed(lambda: made(many, 1)))


if __name__ == "__main__":
    main()
