"""All 20,736 machines with two states, two symbols and one halting state: ``python benchmarks/two_states.py``.

Each of the four rules writes one of two symbols, moves left or right, and goes to one of the two states or halts:
(2·2·3)⁴ machines. Each runs from the blank tape and from every input of length ≤ 3 over its one input symbol, 100
steps at most, in the decoder (fast engine) and in the simulator, and all cells of all rows are compared.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tm2tfr.compiler.turing import compile_machine
from tm2tfr.engines.fast import Fast
from tm2tfr.machine.simulator import result
from tm2tfr.machine.spec import Machine
from tm2tfr.trace.check import Trace
from tm2tfr.trace.long_run import LongRun

STATES, SYMBOLS, MOVES, HALT = "AB", "01", (-1, 1), "Z"
WORDS = ("", "1", "11", "111")
STEPS = 100


def machines() -> Iterator[Machine]:
    """Yield the machines, in the order of their tables."""
    rules = list(itertools.product((*STATES, HALT), SYMBOLS, MOVES))
    places = list(itertools.product(STATES, SYMBOLS))
    for number, table in enumerate(itertools.product(rules, repeat=len(places))):
        yield Machine(
            transitions=dict(zip(places, table, strict=True)),
            start="A",
            blank="0",
            states=(*STATES, HALT),
            input_alphabet=("1",),
            name=f"two states, number {number}",
        )


@dataclass
class Sweep:
    """What came of it."""

    machines: int = 0
    runs: int = 0
    cells: int = 0
    halted: int = 0
    wrong: Trace | None = None


def sweep(chosen: Iterator[Machine], words: tuple[str, ...] = WORDS) -> Sweep:
    """Run machines on words and stop at the first one that is not what the simulator says."""
    found = Sweep()
    for machine in chosen:
        decoder = compile_machine(machine)
        found.machines += 1
        run = LongRun(decoder, words[0], machine=machine, max_steps=STEPS)
        for word in words:
            run.restart(word)
            while not run.done:
                run.advance()
            trace = run.trace(Fast())
            found.runs += 1
            found.cells += trace.compared
            found.halted += trace.answer == "halt"
            if not trace.agrees or trace.result != result(machine, word, max_steps=STEPS):
                found.wrong = trace
                return found
    return found


def main() -> None:
    """Run them all and print one line."""
    started = time.perf_counter()
    found = sweep(machines())
    taken = time.perf_counter() - started
    print(
        f"{found.machines:,} machines, {found.runs:,} runs, {found.halted:,} of them halt, {found.cells:,} cells "
        f"compared in {taken:.0f} s: {'no mismatch' if found.wrong is None else found.wrong}",
        flush=True,
    )
    sys.exit(found.wrong is not None)


if __name__ == "__main__":
    main()
