"""Speed and size, as ratios of two things measured in one run: ``python benchmarks/run.py``.

The machine that this runs on is named at the top of the output; absolute figures belong to it alone.
"""

from __future__ import annotations

import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np

from benchmarks.machines import five_states, large, runner
from tm2tfr.engines.decode import generate
from tm2tfr.engines.dense import Dense
from tm2tfr.runs.comparison import check
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine

POSITIONS = 10_000


def seconds(job: Callable[[], object], repeats: int = 3) -> float:
    """Return the median time of `job`."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def positions_a_second(machine: Machine, positions: int, dtype: str = "float64") -> float:
    """Return how many tokens a second the dense engine generates over a run of `positions`."""
    decoder = compile_machine(machine)

    def job() -> None:
        done = sum(1 for _ in generate(decoder, "", engine=Dense(dtype), max_positions=positions))  # type: ignore[arg-type]
        if done != positions:
            raise RuntimeError(f"the run ended after {done} positions")

    return positions / seconds(job)


def line(what: str, value: str, against: str = "") -> None:
    """Print one figure."""
    print(f"{what:<58} {value:>18}  {against}", flush=True)


def speed() -> None:
    """Tokens a second of the dense engine, and what they are to compare with."""
    machine = five_states()
    simulator = 200_000 / seconds(lambda: result(machine, "", max_steps=200_000))
    two_way = positions_a_second(machine, POSITIONS)
    line(f"dense float64, {POSITIONS:,} positions, two-way (6 heads)", f"{two_way:,.0f} tokens/s", "at least 5,000")
    one_way = runner("one-way")
    rate = positions_a_second(one_way, POSITIONS)
    line(f"dense float64, {POSITIONS:,} positions, one-way (4 heads)", f"{rate:,.0f} tokens/s", "at least 5,000")
    half = positions_a_second(machine, POSITIONS, "float32")
    line("float32 ÷ float64, tokens/s", f"{half / two_way:.2f}")
    short = positions_a_second(machine, POSITIONS // 10)
    line("1,000 positions ÷ 10,000 positions, tokens/s", f"{short / two_way:.2f}", "the quadratic part")
    decoder = compile_machine(machine)
    checked = POSITIONS / seconds(
        lambda: check(decoder, "", machine=machine, engine=Dense(), max_steps=POSITIONS), repeats=1
    )
    line("checked run ÷ unchecked run, time", f"{two_way / checked:.2f}")
    line("simulator, steps/s", f"{simulator:,.0f}")
    line("simulator ÷ dense", f"{simulator / two_way:,.0f}")


def compiling() -> None:
    """Time and memory of the compiler."""
    machine = five_states()
    line("compile a 5-state machine", f"{1000 * seconds(lambda: compile_machine(machine), 21):.1f} ms", "under 20 ms")
    code = "from benchmarks.run import compile_large; compile_large()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1]
    )
    print(done.stdout, end="")


def compile_large() -> None:
    """Compile 1,000 states × 10 symbols in this process and print time and peak memory."""
    machine = large()
    taken = seconds(lambda: compile_machine(machine), 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    line("compile 1,000 states × 10 symbols", f"{taken:.1f} s", "under 10 s")
    line("  peak memory of the process", f"{peak:,.0f} MB", "under 1,024 MB")
    decoder = compile_machine(machine)
    line("  non-zero weights", f"{decoder.nonzero:,}", f"of {decoder.parameters:,}")


if __name__ == "__main__":
    print(
        f"{platform.processor() or platform.machine()}, {platform.system()}, Python {platform.python_version()}, "
        f"numpy {np.__version__}"
    )
    compiling()
    speed()
