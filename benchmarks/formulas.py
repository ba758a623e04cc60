"""Reading and writing formulas of about 1,000 nodes: ``python benchmarks/formulas.py``.

Seconds of processor time, the best of several.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from tm2tfr.sources.logic.read import read
from tm2tfr.sources.logic.write import texts_of, write

MOST = 0.1
REPEATS = 7
STEPS = 201
TEXTS = {
    "200 definitions": "x0 := Q[a]\n"
    + "".join(f"x{n} := prev x{n - 1} & (Q[a] | once x{n - 1}) since Q[b]\n" for n in range(1, STEPS))
    + f"x{STEPS - 1}\n",
    "500 conjuncts on one line": " & ".join(f"once Q[a{n}]" for n in range(500)) + "\n",
    "55 levels of brackets": "(Q[a] | " * 55 + "Q[b]" + ")" * 55 + "\n",
}


def seconds(job: Callable[[], object]) -> float:
    """Return the processor time of a job."""
    best = float("inf")
    for _ in range(REPEATS):
        start = time.process_time()
        job()
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    """Print the figures."""
    for name, text in TEXTS.items():
        program = read(text, file="x.tl").program
        reading = seconds(lambda text=text: read(text, file="x.tl"))
        writing = seconds(lambda program=program: (write(program), texts_of(program)))
        print(f"{name}: {len(program.nodes):,} nodes read in {reading:.3f} s (target: {MOST}), written in {writing:.3f} s")


if __name__ == "__main__":
    main()
