"""Memory and time of whole commands on large inputs: ``python benchmarks/memory.py [WORD …] [--epfl FOLDER]``.

Each command runs in a process of its own; printed are its processor seconds and the most memory that it had, and the
command itself, as rows of a table in Markdown. Words choose the rows that contain one of them. ``--epfl`` names a clone of
github.com/lsils/benchmarks, whose circuit `hyp` has 214,335 gates. Code for long runs is compiled once: run it twice.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
BEAVER = "check busy-beaver-5 --input ''"
DENSE = "check binary-counter --input 1 --engine dense"
ROWS = (
    ("machine, dense", "10,000 steps", f"{DENSE} --max-steps 10000"),
    ("machine, dense", "20,000 steps", f"{DENSE} --max-steps 20000"),
    ("machine, fast", "10⁶ steps", f"{BEAVER} --max-steps 1000000"),
    ("machine, fast", "10⁷ steps", f"{BEAVER} --max-steps 10000000"),
    ("machine, fast", "47,176,870 steps", f"{BEAVER} --max-steps 100000000"),
    ("circuit", "SHA-256, one block", "check sha256 --input abc"),
    ("circuit", "random, 200,000 gates, 1 input", "check random --inputs 64 --gates 200000 --random 1"),
    ("circuit", "random, 200,000 gates, 10 inputs", "check random --inputs 64 --gates 200000 --random 10"),
    ("circuit", "EPFL's `hyp`, 100 inputs", "check hyp.aig"),
    ("formula", "1,000 comparisons", "check flat-1000.tl --input abab"),
    ("formula", "4,000 comparisons", "check flat-4000.tl --input abab"),
    ("formula", "200 definitions, each of the one before", "check chain-200.tl --input abab"),
    ("RASP, `reverse`", "N = 200", "compile reverse --max-length 200 -o out.safetensors"),
    ("RASP, `reverse`", "N = 800", "compile reverse --max-length 800 -o out.safetensors"),
    ("RASP, `sort`", "N = 200", "compile sort --max-length 200 -o out.safetensors"),
    ("RASP, `dyck-2`", "N = 60", "compile dyck-2 --max-length 60 -o out.safetensors"),
)
"""What is measured: the kind of source, its size, and the command after ``tm2tfr``."""


def measured(command: str, folder: Path) -> tuple[float, float]:
    """Return the processor seconds and the megabytes of a command that is run in a folder.

    Raises:
        RuntimeError: if it fails.
    """
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPATH"] = str(ROOT)
    arguments = [sys.executable, "-m", "tm2tfr", *shlex.split(command)]
    process = subprocess.Popen(arguments, cwd=folder, env=env, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, STOPPED):
        raise RuntimeError(f"tm2tfr {command}: exit code {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


STOPPED = 4
"""The exit code of a run that was stopped after the steps that were asked for."""


def write_formulas(folder: Path) -> None:
    """Write the files of formulas that are measured."""
    for many in (1000, 4000):
        text = " & ".join(f"(count(Q[a]) != {number})" for number in range(1, many + 1))
        (folder / f"flat-{many}.tl").write_text(f"# alphabet: ab\n{text}\n", encoding="utf-8")
    steps = [f"x{n} := prev x{n - 1} & (Q[a] | once x{n - 1}) since Q[b]" for n in range(1, 200)]
    (folder / "chain-200.tl").write_text("\n".join(["# alphabet: ab", "x0 := Q[a]", *steps, "x199", ""]), encoding="utf-8")


def main() -> None:
    """Measure and print a table in Markdown."""
    parser = argparse.ArgumentParser(description="Memory and time of whole commands.")
    parser.add_argument("words", nargs="*", help="measure the rows that contain one of these words")
    parser.add_argument("--epfl", type=Path, help="a clone of github.com/lsils/benchmarks")
    asked = parser.parse_args()
    print("| source | size | s | MB | command |", "|---|---|---|---|---|", sep="\n")
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_formulas(folder)
        if asked.epfl is not None:
            (folder / "hyp.aig").write_bytes((asked.epfl / "arithmetic" / "hyp.aig").read_bytes())
        for kind, size, command in ROWS:
            here = not asked.words or any(word in f"{kind} {size} {command}" for word in asked.words)
            if here and (asked.epfl is not None or "hyp.aig" not in command):
                seconds, megabytes = measured(command, folder)
                print(f"| {kind} | {size} | {seconds:.1f} | {megabytes:.0f} | `tm2tfr {command}` |", flush=True)


if __name__ == "__main__":
    main()
