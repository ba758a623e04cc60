"""Reading and writing formulas of about 1,000 nodes, checking the shipped ones: ``python benchmarks/formulas.py``.

Seconds of processor time, the best of several; checked cells a second, batched, what the evaluator takes included.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import tm2tfr
from tm2tfr.runs.batches.labelled import checked_words, every_input
from tm2tfr.sources.logic.library import load, shipped
from tm2tfr.sources.logic.read import read
from tm2tfr.sources.logic.write import texts_of, write

MOST = 0.1
REPEATS = 7
MOST_WORDS = 9_000
"""All words are checked up to the longest length at which there are at most so many."""
CELLS = 1_000_000
"""So many cells a second are the target."""
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


def checked(name: str) -> tuple[int, float]:
    """Return how many cells of a shipped formula's weights were compared, and the processor time.

    Raises:
        RuntimeError: if one of them is wrong.
    """
    program = load(name).program
    decoder, letters = tm2tfr.compile(program), len(program.alphabet)
    longest = max(n for n in range(1, 15) if letters**n <= MOST_WORDS)
    start = time.process_time()
    found = checked_words(decoder, program, every_input(letters, longest))
    if not found.agrees:
        raise RuntimeError(f"{name}: {found.failure}")
    return found.cells, time.process_time() - start


def main() -> None:
    """Print the figures."""
    figures = {name: checked(name) for name in shipped()}
    cells, taken = (sum(each) for each in zip(*figures.values(), strict=True))
    slowest = min(figures, key=lambda name: figures[name][0] / figures[name][1])
    least = figures[slowest][0] / figures[slowest][1]
    print(f"{len(figures)} shipped: {cells:,} cells checked, none wrong, {cells / taken:,.0f} a second (target: {CELLS:,})")
    print(f"  the slowest, {slowest}: {least:,.0f} a second")
    for name, text in TEXTS.items():
        program = read(text, file="x.tl").program
        reading = seconds(lambda text=text: read(text, file="x.tl"))
        writing = seconds(lambda program=program: (write(program), texts_of(program)))
        print(f"{name}: {len(program.nodes):,} nodes read in {reading:.3f} s (target: {MOST}), written in {writing:.3f} s")


if __name__ == "__main__":
    main()
