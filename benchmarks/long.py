"""Long runs: the fast engine beside four simulators and the dense engine, in one run: ``python benchmarks/long.py``.

Every token is compared with the simulator's, all seven cells of its row. Three of the simulators beside it only make
steps (`benchmarks.simulators`), the fourth is our own reference. They take turns with the engine; figures are medians of
these rounds. ``--short`` stops the busy beaver after five million steps. ``--billion`` instead makes the first 10⁹ steps of
the machine with three states and three symbols that runs longest of those known, once.
"""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.machines import five_states, large, three_by_three
from benchmarks.run import line, positions_a_second
from benchmarks.simulators import Steps, with_c, with_dict, with_numba
from tm2tfr.engines.fast import Fast
from tm2tfr.runs.comparison import Trace
from tm2tfr.runs.long_run import LongRun
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.proof.prove import limit
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine

WHOLE = 50_000_000
SHORT = 5_000_000
BILLION = 1_000_000_000
ROUNDS = 3
SIMULATORS = {
    "dict": "ten lines of Python, a dict",
    "Numba": "the same, compiled by Numba",
    "C": "the same in C, cc -O2",
    "reference": "ours, the reference, plain Python",
}


def carried_out(machine: Machine, steps: int, watch: Callable[[LongRun], None] = lambda _: None) -> Trace:
    """Compile `machine`, run the decoder from the blank tape for at most `steps`, and compare every row."""
    run = LongRun(compile_machine(machine), "", machine=machine, max_steps=steps)
    to_the_end(run, watch)
    return checked(run)


def to_the_end(run: LongRun, watch: Callable[[LongRun], None] = lambda _: None) -> None:
    """Carry out the rest of a run; `watch` is called after each block."""
    while not run.done:
        run.advance()
        watch(run)


def checked(run: LongRun) -> Trace:
    """Return what a run that has ended was."""
    trace = run.trace(Fast())
    if not trace.agrees:
        raise RuntimeError(f"the run does not agree with the simulator: {trace.divergence}")
    return trace


def timed(job: Callable[[], object]) -> float:
    """Return the seconds that `job` takes."""
    started = time.perf_counter()
    job()
    return time.perf_counter() - started


def megabytes() -> float:
    """Return the largest memory of this process so far; not its parent's, which Linux hands down in getrusage."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(next(line for line in status.read_text().splitlines() if line.startswith("VmHWM")).split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Costs:
    """Time per token around given positions, from the times at which blocks end."""

    def __init__(self) -> None:
        self._marks = [(0, time.perf_counter())]

    def __call__(self, run: LongRun) -> None:
        """Note where the run stands."""
        self._marks.append((run.standing.positions, time.perf_counter()))

    def around(self, position: int) -> float:
        """Return the seconds a token in the blocks around the stretch from half of `position` to it and a half more."""
        first, began = max(mark for mark in self._marks if mark[0] <= position // 2)
        last, ended = min((mark for mark in self._marks if mark[0] >= position * 3 // 2), default=self._marks[-1])
        return (ended - began) / (last - first)


def whole_run(steps: int) -> None:
    """The five-state busy beaver, and the same machine in simulators."""
    machine = five_states()
    carried_out(machine, 200_000)  # compiled code is loaded
    costs, traces = Costs(), list[Trace]()
    rivals: dict[str, tuple[Steps | None, int]] = {
        "dict": (with_dict(machine), SHORT),
        "Numba": (with_numba(machine), steps),
        "C": (with_c(machine), steps),
        "reference": (lambda most: result(machine, "", max_steps=most).steps, SHORT // 5),
    }
    rates: dict[str, list[float]] = {name: [] for name in ("ours", *rivals)}
    by_processor: dict[str, list[float]] = {name: [] for name in rates}
    for turn in range(ROUNDS):
        processor = time.process_time()
        taken = timed(lambda: traces.append(carried_out(machine, steps, costs if turn == 0 else lambda _: None)))  # noqa: B023
        rates["ours"].append(traces[-1].tokens / taken)
        by_processor["ours"].append(traces[-1].tokens / (time.process_time() - processor))
        for name, (run, most) in rivals.items():
            if run is not None:
                started, processor = time.perf_counter(), time.process_time()
                steps_made = run(most)
                rates[name].append(steps_made / (time.perf_counter() - started))
                by_processor[name].append(steps_made / (time.process_time() - processor))
    trace, middle = traces[0], {name: median(found) for name, found in rates.items() if found}
    fast, plain, busy = middle["ours"], middle["dict"], median(by_processor["ours"])
    outcome = trace.result.outcome if trace.result else "?"
    line(f"fast, busy beaver, {trace.tokens:,} tokens ({outcome})", f"{fast:,.0f} tokens/s", "at least 2,000,000")
    line("  the same by processor time, all threads", f"{busy:,.0f} tokens/s")
    line("  seconds, every token checked", f"{trace.tokens / fast:.1f} s")
    line("  cells compared", f"{trace.compared:,}")
    line(
        "  largest |h|, certified",
        f"{trace.reach:,}",
        f"N ≤ {limit(compile_machine(machine), machine, 'fast', None, trace.reach):,}",
    )
    line("  peak memory of the process", f"{megabytes():,.0f} MB", "under 1,536 MB")
    for name in rivals:
        what = f"simulator: {SIMULATORS[name]}"
        line(what, f"{middle[name]:,.0f} steps/s" if name in middle else "missing: no cc")
    line("fast, checked ÷ dict simulator", f"{fast / plain:.2f}", "at least 4, aim 10")
    line("  the same by processor time, of both", f"{busy / median(by_processor['dict']):.2f}")
    for name in rivals:
        if name in middle and name != "dict":
            line(f"fast, checked ÷ {name} simulator", f"{fast / middle[name]:.3g}")
    if trace.tokens > 15_000_000:
        far = costs.around(10**7)
        line("cost per token at 10⁷ ÷ at 10⁵ positions", f"{far / costs.around(10**5):.2f}", "at most 1.3")
        line("  the same at 10⁷ ÷ at 2·10⁶: one kind of code", f"{far / costs.around(2 * 10**6):.2f}", "at most 1.3")


def billion() -> None:
    """10⁹ steps of a machine that halts after 119,112,334,170,342,540, every cell compared."""
    machine = three_by_three()
    carried_out(machine, 1_000_000)  # its code is compiled, and the next process loads it
    decoder, before, processor = compile_machine(machine), megabytes(), time.process_time()
    run = LongRun(decoder, "", machine=machine, max_steps=BILLION)
    taken = timed(lambda: to_the_end(run))
    trace, processor = checked(run), time.process_time() - processor
    line(f"{BILLION:,} steps of {machine.name}", f"{taken:.0f} s", "at most 180 s")
    line("  tokens per second, of processor time", f"{trace.tokens / taken:,.0f}, {trace.tokens / processor:,.0f}")
    line("  cells compared, all agree", f"{trace.compared:,}")
    certified = limit(decoder, machine, "fast", None, trace.reach)
    line("  largest |h|, certified for", f"{trace.reach:,}", f"{certified:,} positions")
    line("  peak memory of the process, before the run", f"{megabytes():,.0f} MB, {before:,.0f} MB", "under 1,536 MB")


def against_dense() -> None:
    """Both engines on 10,000 positions of the same machine."""
    machine = five_states()
    dense = positions_a_second(machine, 10_000)
    decoder = compile_machine(machine)

    def job() -> None:
        session = Fast().start(decoder)
        session.prompt([decoder.vocabulary.index(decoder.bos)])
        done = len(session.extend(10_000).answers)
        if done != 10_000:
            raise RuntimeError(f"the run ended after {done} positions")

    job()
    fast = 10_000 / min(timed(job) for _ in range(5))
    line("dense float64, 10,000 positions", f"{dense:,.0f} tokens/s", "at least 5,000")
    line("fast ÷ dense, 10,000 positions, start included", f"{fast / dense:,.0f}", "at least 100")


def large_machine() -> None:
    """1,000 states × 10 symbols, in a process of its own."""
    code = "from benchmarks.long import run_large; run_large()"
    root = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    print(done.stdout, end="", flush=True)


def run_large() -> None:
    """Compile 1,000 states × 10 symbols and run 100,000 tokens, checked, in this process."""
    machine = large()
    steps = 100_000
    taken = timed(lambda: carried_out(machine, steps))
    line(f"1,000 states × 10 symbols: compile and {steps:,} tokens", f"{taken:.1f} s", "under 10 s")
    line("  peak memory of the process", f"{megabytes():,.0f} MB", "under 1,024 MB")


def main() -> None:
    """Print every figure."""
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    if "--billion" in sys.argv:
        billion()
        return
    whole_run(SHORT if "--short" in sys.argv else WHOLE)
    against_dense()
    large_machine()


if __name__ == "__main__":
    main()
