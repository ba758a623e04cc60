"""Simulators that do nothing but steps, to measure others by: Python with a dict, Numba, C.

Each makes at most `most` steps from the blank tape and returns their number: no rows, no comparison, no transformer.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.sources.turing.spec import Machine

CELLS = 2**22
"""The cells of the tape of Numba and C, with the head in the middle."""
C_SOURCE = """
long run(const int *to, const int *write, const int *move, int symbols, int state, unsigned char *tape, long cells,
         long most)
{
    long head = cells / 2, steps = 0;
    while (steps < most) {
        int rule = state * symbols + tape[head];
        if (to[rule] < 0)
            return steps;
        tape[head] = write[rule];
        head += move[rule];
        state = to[rule];
        steps++;
        if (head < 0 || head >= cells)
            return -1;
    }
    return steps;
}
"""

Steps = Callable[[int], int]


def with_dict(machine: Machine) -> Steps:
    """Return what a researcher writes in ten lines: the tape is a dict, a rule is looked up by a pair."""
    rules = {pair: (rule.state, rule.write, rule.move) for pair, rule in machine.transitions.items()}

    def run(most: int) -> int:
        tape: defaultdict[int, str] = defaultdict(lambda: machine.blank)
        state, head, steps = machine.start, 0, 0
        with suppress(KeyError):  # no rule: the machine has stopped
            while steps < most:
                state, tape[head], move = rules[state, tape[head]]
                head += move
                steps += 1
        return steps

    return run


def with_numba(machine: Machine) -> Steps:
    """Return the same on arrays, compiled by Numba, which has done so when this returns."""
    import numba  # noqa: PLC0415  (optional)

    to, write, move, start = _tables(machine)

    @numba.njit
    def steps_of(to: Any, write: Any, move: Any, state: int, tape: Any, most: int) -> int:
        head, steps = len(tape) // 2, 0
        while steps < most:
            symbol = tape[head]
            following = to[state, symbol]
            if following < 0:
                return steps
            tape[head] = write[state, symbol]
            head += move[state, symbol]
            state = following
            steps += 1
            if head < 0 or head >= len(tape):
                return -1
        return steps

    def run(most: int) -> int:
        return _whole(int(steps_of(to, write, move, start, _tape(machine), most)))

    run(1)
    return run


def with_c(machine: Machine) -> Steps | None:
    """Return the same in C, compiled with ``cc -O2``; None if there is no C compiler."""
    cc = shutil.which("cc")
    if cc is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "steps.c"), Path(folder, "steps.so")
        source.write_text(C_SOURCE)
        subprocess.run([cc, "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
        steps_of = ctypes.CDLL(str(library)).run
    steps_of.restype = ctypes.c_long
    to, write, move, start = _tables(machine)

    def run(most: int) -> int:
        tape = _tape(machine)
        places = [ctypes.c_void_p(array.ctypes.data) for array in (to, write, move, tape)]
        numbers = len(machine.tape_alphabet), start, ctypes.c_long(len(tape)), ctypes.c_long(most)
        return _whole(int(steps_of(*places[:3], *numbers[:2], places[3], *numbers[2:])))

    return run


def _tables(machine: Machine) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], int]:
    """Return (next state, written symbol, move) by state and symbol, -1 as the state without a rule; the start state."""
    states, symbols = ({name: n for n, name in enumerate(names)} for names in (machine.states, machine.tape_alphabet))
    to, write, move = (np.full((len(states), len(symbols)), -1, dtype=np.int32) for _ in range(3))
    for (q, a), rule in machine.transitions.items():
        at = states[q], symbols[a]
        to[at], write[at], move[at] = states[rule.state], symbols[rule.write], rule.move
    return to, write, move, states[machine.start]


def _tape(machine: Machine) -> NDArray[np.uint8]:
    return np.full(CELLS, machine.tape_alphabet.index(machine.blank), dtype=np.uint8)


def _whole(steps: int) -> int:
    if steps < 0:
        raise RuntimeError(f"the head has left the tape's {CELLS:,} cells: use more")
    return steps
