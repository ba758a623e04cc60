"""How long compiling a universal decoder takes, and how large it gets: ``python benchmarks/universal_sizes.py``.

Then the same for putting a machine into its prompt: the matrices stay as they are, and labels and tokens are renamed.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.run import seconds
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.universal.compiler import compile_universal, renamed
from tm2tfr.sources.turing.universal.program import Universal

SIZES = ((2, 2), (5, 2), (8, 4), (10, 4), (20, 6), (25, 14), (50, 20))
TARGET = "(20, 6) under 1 s"


def main() -> None:
    """Compile decoders of growing sizes and print what came of it."""
    print(f"{'(S, K)':>9} {'vocabulary':>11} {'width':>7} {'weights':>9} {'compiled in':>12}   {TARGET}", flush=True)
    for states, symbols in SIZES:
        universal = Universal(states=states, symbols=symbols)
        decoder, taken = compile_universal(universal), seconds(lambda universal=universal: compile_universal(universal))  # type: ignore[misc]
        size = f"{len(decoder.vocabulary):11,} {decoder.layout.width:7,} {decoder.nonzero:9,}"
        print(f"{f'({states}, {symbols})':>9} {size} {taken:10.3f} s", flush=True)
    every = Universal(states=8, symbols=4)
    decoder, machine = compile_universal(every), load("chapter")
    taken = seconds(lambda: renamed(decoder, every.holding(machine)))
    print(f"the chapter's machine into the prompt of (8, 4): {taken:.3f} s", flush=True)


if __name__ == "__main__":
    main()
