"""How far each dtype goes: full runs of the hardest machines, and of formulas, to the first position that is wrong.

``python benchmarks/precision.py [LIMIT]``: the dense engine is quadratic, so float64 is only run up to LIMIT positions.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np

import tm2tfr
from benchmarks.machines import rewriter, runner
from tm2tfr.base.choices import Float
from tm2tfr.contract.options import LogicOptions
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.sources.logic.compiler import compile_program
from tm2tfr.sources.logic.evaluate_many import ManyWords
from tm2tfr.sources.logic.read import formula
from tm2tfr.sources.turing.spec import Machine


def first_wrong(machine: Machine, word: str, dtype: Float, limit: int) -> str:
    """Return the first position whose row differs from the simulator's, or that there is none up to `limit`."""
    trace = tm2tfr.check(machine, word, engine="dense", dtype=dtype, max_steps=limit - len(word) - 2)
    return f"{trace.divergence.position:,}" if trace.divergence else f"> {trace.tokens:,}"


def first_wrong_of(text: str, word: str, dtype: Float) -> str:
    """Return the first position of a word at which weights say something else of a formula than the evaluator."""
    program = formula(text, "ab")
    weights = compile_program(program, LogicOptions())
    tokens = [weights.numbers[token] for token in ("BOS", *word)]
    false, true = DenseDecoder(weights, dtype).run([tokens]).logits[:2]
    right = ManyWords([program.root], program.alphabet)([word]).values(program.root, 0)
    wrong = np.flatnonzero((true > false)[0, 1:] != np.array(right, dtype=bool))
    return f"{wrong[0] + 1:,}" if wrong.size else f"> {len(word):,}"


def main(limit: int) -> None:
    """Print the tables of docs/limits.md."""
    cases = (
        ("runs right for ever (h ≈ i)", runner(), ""),
        ("rewrites cells near 300 for ever", rewriter(), "1" * 300),
        ("rewrites cells near 1,000 for ever", rewriter(), "1" * 1000),
    )
    print("| machine | float32 | float64 |\n|---|---|---|")
    for name, machine, word in cases:
        found = [first_wrong(machine, word, dtype, limit) for dtype in ("float32", "float64")]
        print(f"| {name} | {found[0]} | {found[1]} |", flush=True)
    formulas = (
        ("prev Q[b]", "ab" * (limit // 2)),
        ("Q[a] S Q[b]", "a" * (limit // 2) + "b" + "a" * (limit // 2 - 1)),
        ("odd(count(Q[a]))", "a" * limit),
        ("count(Q[a]) = count(Q[b])", "ab" * (limit // 2)),
    )
    print("\n| formula | float32 | float64 |\n|---|---|---|")
    for text, word in formulas:
        found = [first_wrong_of(text, word, dtype) for dtype in ("float32", "float64")]
        print(f"| `{text}` | {found[0]} | {found[1]} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
