"""How long a command takes from the shell and back: ``python benchmarks/startup.py``.

Seconds of processor time (user and system) of the whole process, the best of many: what waits for other jobs on the
machine does not count. Beside it the same for Python alone and for ``import numpy``, below which no run can be. All take
turns, so that a machine that is slower for a while is so for all.
The code is compiled once and kept, as an installed program's is.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
RUNS = 25
PYTHON, NUMPY = ("python, nothing", ["-c", "pass"]), ("import numpy", ["-c", "import numpy"])
BESIDE_NUMPY = 0.1
"""The seconds of a short run beside those of ``import numpy``."""
LINES: tuple[tuple[str, list[str], float | None], ...] = (
    ("tm2tfr --help", ["-m", "tm2tfr", "--help"], 0.2),
    ("tm2tfr trace --help", ["-m", "tm2tfr", "trace", "--help"], 0.2),
    ("tm2tfr list", ["-m", "tm2tfr", "list"], 0.3),
    ("tm2tfr trace --input 11", ["-m", "tm2tfr", "trace", "--input", "11"], BESIDE_NUMPY),
    ("tm2tfr check palindromes", ["-m", "tm2tfr", "check", "palindromes"], None),
    ("tm2tfr graph", ["-m", "tm2tfr", "graph"], None),
)
"""Commands, and the most seconds that each may take, `BESIDE_NUMPY` beside those of ``import numpy``; None: no limit."""


def seconds(arguments: list[str]) -> float:
    """Return the processor time of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, *arguments], cwd=ROOT, env=env, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the figures."""
    rows = [*((*each, None) for each in (PYTHON, NUMPY)), *LINES]
    best = [min(times) for times in zip(*([seconds(row[1]) for row in rows] for _ in range(RUNS)), strict=True)]
    for (name, _, most), took in zip(rows, best, strict=True):
        limit = best[1] + BESIDE_NUMPY if most == BESIDE_NUMPY else most
        print(f"{name:<28}{took:>8.3f} s{'' if limit is None else f'  at most {limit:.3f} s'}", flush=True)


if __name__ == "__main__":
    main()
