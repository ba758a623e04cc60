"""The busy beaver in the prompt of a universal decoder, beside its own decoder: ``python benchmarks/universal.py``.

Processor time of one core; every token is compared with the simulator's, all seven cells of its row. ``--short`` stops
after five million steps.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.long import SHORT, WHOLE, megabytes
from benchmarks.machines import five_states
from benchmarks.run import line
from tm2tfr.engines.fast import Fast
from tm2tfr.runs.comparison import Trace
from tm2tfr.runs.long_run import LongRun
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.universal.compiler import compile_universal
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.transformer.weights import Decoder

SIZES = ((5, 2), (8, 4))
BEFORE = 200_000
"""The positions of a run that loads compiled code."""


def timed(job: Callable[[], object]) -> float:
    """Return the processor's seconds that `job` takes."""
    started = time.process_time()
    job()
    return time.process_time() - started


def carried_out(decoder: Decoder, machine: Machine | Universal, steps: int) -> Trace:
    """Run a decoder from the blank tape for at most `steps`, and compare every row."""
    run = LongRun(decoder, "", machine=machine, max_steps=steps)
    while not run.done:
        run.advance()
    trace = run.trace(Fast())
    if not trace.agrees:
        raise RuntimeError(f"the run does not agree with the simulator: {trace.divergence}")
    return trace


def speed(what: str, decoder: Decoder, machine: Machine | Universal, steps: int, against: str = "") -> float:
    """Print the tokens per second of a whole run, and return them."""
    carried_out(decoder, machine, BEFORE)
    traces: list[Trace] = []
    taken = timed(lambda: traces.append(carried_out(decoder, machine, steps)))
    outcome = traces[0].result.outcome if traces[0].result else "?"
    line(f"{what}: {traces[0].tokens:,} tokens ({outcome})", f"{traces[0].tokens / taken:,.0f} tokens/s", against)
    line("  seconds, every token checked", f"{taken:.1f} s")
    return traces[0].tokens / taken


def main() -> None:
    """Print every figure."""
    steps = SHORT if "--short" in sys.argv else WHOLE
    machine = five_states()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    single = speed("its own decoder", compile_machine(machine), machine, steps)
    for states, symbols in SIZES:
        universal = Universal(states=states, symbols=symbols).holding(machine)
        found: list[Decoder] = []
        line(f"({states}, {symbols}): compile", f"{timed(lambda: found.append(compile_universal(universal))):.2f} s")  # noqa: B023
        rate = speed(f"({states}, {symbols}), in the prompt", found[0], universal, steps, "at least 3,000,000")
        line("  beside its own decoder", f"{rate / single:.2f}")
    line("peak memory of the process", f"{megabytes():,.0f} MB")


if __name__ == "__main__":
    main()
