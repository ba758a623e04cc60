"""Whole processes, the second time: ``python benchmarks/whole_process.py``.

The first run of a machine compiles its weights; its code is kept, and every later process loads it. Measured is such a
later one, from the shell and back, beside a dict simulator in a process of its own that does the same steps and checks
nothing; and a run of 10⁶ steps beside one of 10⁷. Rounds are interleaved, figures are medians, ratios those of each round.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parent.parent
ROUNDS = 7
STEPS = 2_358_064
"""As many as a famous machine with five states; the busy beaver is stopped there."""
SHORT, LONG = 10**6, 10**7
DICT = """
from sys import argv
rules = {("A", 0): (1, 1, "B"), ("A", 1): (1, -1, "C"), ("B", 0): (1, 1, "C"), ("B", 1): (1, 1, "B"),
         ("C", 0): (1, 1, "D"), ("C", 1): (0, -1, "E"), ("D", 0): (1, -1, "A"), ("D", 1): (1, -1, "D"),
         ("E", 1): (0, -1, "A")}
tape, head, state, steps, most = {}, 0, "A", 0, int(argv[1])
while steps < most and (rule := rules.get((state, tape.get(head, 0)))):
    tape[head], move, state = rule
    head += move
    steps += 1
print(steps)
"""
IN_PROCESS = """
import sys, time, tm2tfr
tm2tfr.check("busy-beaver-5", "", max_steps=10_000, keep_rows=False)  # imports what is needed
for steps in map(int, sys.argv[1:]):
    begun = time.perf_counter(), time.process_time()
    assert tm2tfr.check("busy-beaver-5", "", max_steps=steps, keep_rows=False).agrees
    print(time.perf_counter() - begun[0], time.process_time() - begun[1])
"""


def measured(arguments: list[str]) -> tuple[float, float, str]:
    """Return the seconds that a process takes, those of processors, and what it prints."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processors = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - begun, processors, done.stdout


def main() -> None:
    """Print the figures: seconds, and seconds of processors, which other jobs do not change as much."""
    check = ["-m", "tm2tfr", "check", "busy-beaver-5", "--input", "", "--max-steps", str(STEPS)]
    measured(check)  # compiles, where nothing is kept
    rounds: list[tuple[list[float], ...]] = []
    for _ in range(ROUNDS):
        whole, rival = measured(check), measured(["-c", DICT, str(STEPS)])
        inside = [line.split() for line in measured(["-c", IN_PROCESS, str(SHORT), str(LONG)])[2].splitlines()]
        rounds.append(tuple([whole[n], rival[n], *(float(each[n]) for each in inside)] for n in (0, 1)))
    for name, column in (("seconds", 0), ("of processors", 1)):
        figures = [each[column] for each in rounds]
        print(f"{name:<15} tm2tfr check, {STEPS:,} steps {median(f[0] for f in figures):8.2f}")
        print(f"{'':<15} dict simulator, the same      {median(f[1] for f in figures):8.2f}")
        ratio = median(f[1] / f[0] for f in figures)
        print(f"{'':<15} speed ÷ the dict simulator's  {ratio:8.2f}  at least 1, aim 3")
        ratio = median(f[3] / LONG / (f[2] / SHORT) for f in figures)
        print(f"{'':<15} 10⁶ ÷ 10⁷ steps, tokens/s     {ratio:8.2f}  at least 0.7, aim 1")


if __name__ == "__main__":
    main()
