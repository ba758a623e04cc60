"""How long a command takes from the shell and back: ``python benchmarks/startup.py``.

Seconds of processor time (user and system) of the whole process, the best of many: what waits for other jobs on the
machine does not count. Beside it the same for Python alone and for ``import numpy``, below which no run can be.
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
LINES: tuple[tuple[str, list[str], float | None], ...] = (
    ("python, nothing", ["-c", "pass"], None),
    ("import numpy", ["-c", "import numpy"], None),
    ("tm2tfr --help", ["-m", "tm2tfr", "--help"], 0.15),
    ("tm2tfr trace --help", ["-m", "tm2tfr", "trace", "--help"], 0.15),
    ("tm2tfr trace --input 11", ["-m", "tm2tfr", "trace", "--input", "11"], 0.35),
    ("tm2tfr check palindromes", ["-m", "tm2tfr", "check", "palindromes"], None),
    ("tm2tfr graph", ["-m", "tm2tfr", "graph"], None),
)


def seconds(arguments: list[str]) -> float:
    """Return the processor time of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, *arguments], cwd=ROOT, env=env, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the figures."""
    for name, arguments, most in LINES:
        best = min(seconds(arguments) for _ in range(RUNS))
        print(f"{name:<28}{best:>8.3f} s{'' if most is None else f'  at most {most} s'}", flush=True)


if __name__ == "__main__":
    main()
