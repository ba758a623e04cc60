"""Traces to export: the chapter's, one whose every character is a trap, wrong ones, and some made by hand."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tests.runs.checking import check
from tm2tfr.engines import engine
from tm2tfr.runs.comparison import Trace
from tm2tfr.sources.turing.columns import Row
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.spec import Machine, Rule
from tm2tfr.transformer.weights import Decoder, matrices, replaced

GOLDEN = Path(__file__).parent / "golden"
CASES = Path(__file__).parent.parent / "cases"
SUFFIXES = {
    "text": ".txt",
    "markdown": ".md",
    "latex": ".tex",
    "csv": ".csv",
    "json": ".json",
    "jsonl": ".jsonl",
    "html": ".html",
}

NASTY_SYMBOLS = "|#_\\<>\" &%$~^{}*`',;-[]!?é□⊥λŁ漢😀§"
NASTY_STATES = ("a|b", "#1", "under_score", "back\\slash", "<b>", 'say "x"', "a & b", "100%", "{}", "q0", "$x$", "日本")


@cache
def chapter() -> Machine:
    """Return the machine of the chapter's table."""
    return Machine.load("chapter")


@cache
def nasty() -> Machine:
    """Return a machine that goes once over its input, with a new state and a new symbol at each step."""
    states, symbols = (*NASTY_STATES, NASTY_STATES[0]), NASTY_SYMBOLS + NASTY_SYMBOLS[0]
    rules = {
        (q, a): Rule(states[n + 1], symbols[k + 1], +1)
        for n, q in enumerate(NASTY_STATES)
        for k, a in enumerate(NASTY_SYMBOLS)
    }
    ends = {(q, "."): Rule("yes", ".", 0) for q in NASTY_STATES}
    return Machine(name="a & <b>_%", transitions={**rules, **ends}, start="a|b", blank=".", accept=("yes",), yaml="x")


def traced(machine: Machine, word: str, decoder: Decoder | None = None, max_steps: int = 200) -> Trace:
    """Return the checked trace of `machine`, or of the weights `decoder`, with its rows."""
    weights = decoder or compile_machine(machine)
    return check(weights, word, machine=machine, engine=engine(), max_steps=max_steps, keep_rows=True)


def broken() -> Decoder:
    """Return the chapter's decoder with one weight of the wrong sign: a written x is read as a blank minus it."""
    decoder, path = compile_machine(chapter()), "layers.5.feed_forward.output"
    matrix = matrices(decoder)[path]
    row = decoder.layout.index("e_a[x]")
    changed = next((r, c) for r, c, _ in matrix.entries() if r == row)
    return replaced(decoder, {path: matrix.with_entry(*changed, -1.0)})


def made(heads: list[int], prompt: str = "", writes: str = "", expected: tuple[Row, ...] = ()) -> Trace:
    """Return a trace with the given head positions, and the symbols that its tokens carry (default: x)."""
    n = len(prompt)
    before = [Row(i, a, None, None, 0, 0, None, a) for i, a in enumerate(prompt)]
    carried = writes or "x" * len(heads)
    after = [Row(n + 1 + k, "t", "q", b, 0, h, None, "t") for k, (h, b) in enumerate(zip(heads, carried, strict=True))]
    rows = (*before, Row(n, "BOS", None, None, 0, 0, None, "t"), *after)
    return Trace(
        machine="made",
        input=prompt,
        engine="dense",
        dtype="float64",
        tokens=len(rows),
        answer="limit",
        T=None,
        result=None,
        compared=0,
        divergence=None,
        rows=rows,
        expected=expected,
    )
