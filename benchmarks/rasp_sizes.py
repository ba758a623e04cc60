"""Large RASP programs: seconds and megabytes to compile, against the longest input: ``python benchmarks/rasp_sizes.py``.

Each figure is of a process of its own: its processor time for compiling alone, and the most memory that it had. Programs
are shipped ones, and those of the authors in a clone of github.com/tech-srl/RASP: ``rasp_sizes.py CHECKOUT``.
With ``--package FOLDER`` the package in another folder, such as an older version, is measured in the same run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent.parent
LENGTHS = {
    "reverse": (100, 200, 400, 800),
    "histogram": (100, 200, 400, 800),
    "sort": (50, 100, 200, 300),
    "dyck-2": (20, 40, 60, 80),
    "sort-by-frequency": (20, 40, 60),
    "most-frequent": (20, 40, 60),
    "long-addition": (20, 40, 80),
    "rover.rasp": (8, 16, 24),
}
"""Programs -> the longest inputs that they are compiled for; those whose name ends in ``.rasp`` are the authors'."""
ALPHABETS = {"rover.rasp": "abcxXABC,<:#?"}
ONE = """
import resource, sys, time
from dataclasses import replace
from pathlib import Path
from tm2tfr.base.errors import Tm2tfrError
from tm2tfr.sources.rasp.compiler.lower import lowered
from tm2tfr.sources.rasp.read import read
from tm2tfr.sources.sequence.compiler import compile_graph
file, length, alphabet = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
program = read(file.read_text(encoding="utf-8"), file=str(file), folder=file.parent).program
program = replace(program, alphabet=tuple(alphabet)) if alphabet else program
started = time.process_time()
try:
    decoder = compile_graph(lowered(program, [(program.chosen, program.sop)]), length=length)
except Tm2tfrError as error:
    print(f"refused after {time.process_time() - started:.2f}", "–", "–", "–", sep="\\t")
else:
    seconds, most = time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    units = sum(len(layer.feed_forward.units) for layer in decoder.layers if layer.feed_forward is not None)
    print(f"{seconds:.2f}", f"{most:.0f}", units, decoder.layout.width, sep="\\t")
"""


def measured(package: Path, file: Path, length: int, alphabet: str) -> list[str]:
    """Return seconds, megabytes, hidden units and the width of the residual stream, as texts."""
    command = [sys.executable, "-c", ONE, str(file), str(length), alphabet]
    run = subprocess.run(command, cwd=package, capture_output=True, text=True, check=True)  # ``-c`` imports from there
    return run.stdout.rstrip("\n").split("\t")


def _folder(text: str) -> Path:
    return Path(text).absolute()


def main() -> None:
    """Measure and print a table in Markdown."""
    parser = argparse.ArgumentParser(description="Time and memory of compiling large RASP programs.")
    parser.add_argument("checkout", nargs="?", type=_folder, help="a clone of github.com/tech-srl/RASP")
    parser.add_argument("--package", type=_folder, help="the folder of another version of the package")
    asked = parser.parse_args()
    packages = [HERE] if asked.package is None else [asked.package, HERE]
    names = ("seconds", "MB", "hidden units", "width")
    head = [f"{name}{' before' if package != HERE else ''}" for package in packages for name in names]
    print(f"| program | N | {' | '.join(head)} |", f"|---|---|{'---|' * len(head)}", sep="\n")
    for name, lengths in LENGTHS.items():
        authors = name.endswith(".rasp")
        if authors and asked.checkout is None:
            continue
        file = asked.checkout / name if authors else HERE / "programs" / f"{name}.rasp"
        for length in lengths:
            cells = [cell for package in packages for cell in measured(package, file, length, ALPHABETS.get(name, ""))]
            print(f"| `{name.removesuffix('.rasp')}` | {length} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
