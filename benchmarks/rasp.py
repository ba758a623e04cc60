"""RASP programs: time to compile each shipped one, and checked cells a second, many inputs at once.

``python benchmarks/rasp.py``: one core, some minutes. Every s-op that a program names is an output of its model, and every
output is compared at every position with what the interpreter says, which knows nothing of transformers.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, product
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.run import line
from tm2tfr.base.errors import CompileError
from tm2tfr.engines.decode import run_whole
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.engines.exact import Exact
from tm2tfr.sources.rasp.compiler.lower import lowered
from tm2tfr.sources.rasp.evaluate import Undefined, evaluate
from tm2tfr.sources.rasp.program import Program
from tm2tfr.sources.rasp.read import read
from tm2tfr.sources.sequence.compiler import compile_graph
from tm2tfr.sources.sequence.graph import text_of
from tm2tfr.transformer.weights import Decoder

HERE = Path(__file__).parent.parent
BARS = {10: 1.0, 40: 5.0}
"""The longest input -> the most seconds that compiling for it may take."""
UP_TO = 6
"""The check runs all inputs up to this length, or a number of random ones of each length."""
MOST = 729
EXACT_UP_TO = 3
"""Inputs up to this length are run in exact arithmetic as well."""


@dataclass(frozen=True)
class Shipped:
    """A shipped program."""

    program: Program
    file: str
    length: int | None
    mask: Literal["none", "future"]

    def right(self, word: Sequence[Any]) -> tuple[Any, ...]:
        """Return what is right on an input."""
        return evaluate(self.program.sop, word).values[self.program.sop]


def shipped(name: str) -> Shipped:
    """Return a shipped program by name."""
    file = HERE / "programs" / f"{name}.rasp"
    loaded = read(file.read_text(encoding="utf-8"), file=str(file), folder=file.parent)
    return Shipped(loaded.program, str(file), loaded.length, "future" if loaded.mask == "future" else "none")


@dataclass(frozen=True)
class Compiled:
    """A model of some s-ops of a program.

    Args:
        program: the program.
        decoder: its weights.
        seconds: how long reading the program and compiling it took.
    """

    program: Shipped
    decoder: Decoder
    seconds: float

    @cached_property
    def engine(self) -> DenseDecoder:
        """The engine that runs it, ready."""
        return DenseDecoder(self.decoder)

    @cached_property
    def rows(self) -> list[slice]:
        """The rows of the unembedding that answer each output."""
        ends = np.cumsum([0, *(len(output.answers) for output in self.decoder.outputs)]).tolist()
        return [slice(start, end) for start, end in pairwise(ends)]

    def numbers(self, words: Sequence[Sequence[Any]]) -> NDArray[np.int64]:
        """Return inputs of one length as numbers of tokens: (inputs, n)."""
        known = self.decoder.numbers
        return np.array([[known[text_of(token)] for token in word] for word in words])

    def answered(self, tokens: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of each output's answer, or the number that it is: (inputs, n) → (outputs, inputs, n)."""
        found = np.empty((len(self.rows), *tokens.shape), dtype=np.int64)
        for block in self.engine.blocks(tokens):
            for number, answers in enumerate(block.answers()):
                found[number, block.sequences] = answers
        return found

    def answer_of(self, number: int, logits: NDArray[Any]) -> NDArray[Any]:
        """Return what logits of an output say: logits (answers, …) → (…)."""
        is_number = self.decoder.outputs[number].labels is None
        found: NDArray[Any] = logits[0] if is_number else logits.argmax(axis=0)
        return found

    def expected(self, words: Sequence[Sequence[Any]]) -> NDArray[np.int64]:
        """Return the same by the interpreter; -1 where it is no value that the model can answer."""
        by_name = {**self.program.program.library, **self.program.program.sops}
        sops = [by_name[output.name] for output in self.decoder.outputs]
        known = [output.labels and {text: n for n, text in enumerate(output.labels)} for output in self.decoder.outputs]
        found = np.empty((len(sops), len(words), len(words[0])), dtype=np.int64)
        for place, word in enumerate(words):
            values = evaluate(sops, word).values
            for number, sop in enumerate(sops):
                table = known[number]
                found[number, place] = [table.get(text_of(v), -1) if table else int(v) for v in values[sop]]
        return found

    def wrong(self, words: Sequence[Sequence[Any]]) -> int:
        """Return the number of inputs, all of one length, on which anything is wrong."""
        return int((self.answered(self.numbers(words)) != self.expected(words)).any(axis=(0, 2)).sum())


def compiled(program: Shipped, length: int) -> Compiled:
    """Return a program read again and compiled for inputs of up to `length` tokens: its chosen s-op."""
    started = time.process_time()
    again = read(program.program.text, file=program.file, folder=Path(program.file).parent).program
    decoder = compile_graph(lowered(again, [(again.chosen, again.sop)]), length=length, mask=program.mask)
    return Compiled(program, decoder, time.process_time() - started)


def named(program: Shipped, length: int, outputs: Sequence[str]) -> Compiled:
    """Return a program compiled with several s-ops as outputs, all of whose values are checked."""
    started = time.process_time()
    by_name = program.program.sops
    graph = lowered(program.program, [(name, by_name[name]) for name in outputs])
    return Compiled(program, compile_graph(graph, length=length, mask=program.mask), time.process_time() - started)


def defined(program: Shipped, outputs: Sequence[str], words: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
    """Return the inputs on which all outputs are defined."""
    sops = [program.program.sops[name] for name in outputs]
    return [word for word in words if _is_defined(sops, word)]


def _is_defined(sops: Sequence[Any], word: Sequence[Any]) -> bool:
    try:
        evaluate(sops, word)
    except Undefined:
        return False
    return True


def compile_times(names: Sequence[str]) -> None:
    """Print how long compiling takes, and where that is more than is allowed."""
    for length, most in BARS.items():
        found: dict[str, float] = {}
        for name in names:
            try:
                found[name] = compiled(shipped(name), length).seconds
            except CompileError as error:
                line(f"{name} at N = {length}", "refused", str(error).splitlines()[0])
        late = {name: taken for name, taken in found.items() if taken > most}
        slowest = max(found, key=lambda name: found[name])
        line(f"compiled at N = {length}", f"{len(found)} of {len(names)}")
        line("  the slowest", f"{found[slowest]:.2f} s", f"{slowest}; at most {most:g} s")
        line("  all together", f"{sum(found.values()):.1f} s")
        for name, taken in late.items():
            line(f"  too slow: {name}", f"{taken:.2f} s")


@dataclass
class Tally:
    """What has been checked, and how long it took."""

    programs: int = 0
    inputs: int = 0
    cells: int = 0
    wrong: int = 0
    exact: int = 0
    seconds: float = 0.0
    reference: float = 0.0
    refused: list[str] = field(default_factory=list)


def checked(names: Sequence[str]) -> Tally:
    """Return what comes of all short inputs of all programs, every named s-op at every position."""
    tally = Tally()
    for name in names:
        program = shipped(name)
        try:
            found = named(program, UP_TO, list(program.program.sops))
        except CompileError:
            tally.refused.append(name)
            found = compiled(program, UP_TO)
        outputs = [output.name for output in found.decoder.outputs]
        tally.programs += 1
        for length in range(1, UP_TO + 1):
            words = defined(program, outputs, _words(program, length))
            if words:
                _check(found, words, tally)
    return tally


def _words(program: Shipped, length: int) -> list[tuple[Any, ...]]:
    alphabet = program.program.alphabet
    if len(alphabet) ** length <= MOST:
        return list(product(alphabet, repeat=length))
    chooser = random.Random(length)
    return [tuple(chooser.choices(alphabet, k=length)) for _ in range(MOST)]


def _check(found: Compiled, words: Sequence[Sequence[Any]], tally: Tally) -> None:
    started = time.process_time()
    right = found.expected(words)
    tally.reference += time.process_time() - started
    tokens = found.numbers(words)
    found.answered(tokens[:1])  # what is done once for a model
    started = time.process_time()
    tally.wrong += int((found.answered(tokens) != right).any(axis=(0, 2)).sum())
    tally.seconds += time.process_time() - started
    tally.inputs, tally.cells = tally.inputs + len(words), tally.cells + right.size
    if len(words[0]) <= EXACT_UP_TO:
        tally.exact += len(words)
        tally.wrong += sum(_exactly(found, given) != known for given, known in zip(tokens, _listed(right), strict=True))


def _exactly(found: Compiled, tokens: NDArray[np.int64]) -> list[list[int]]:
    """Return what the exact engine answers: for each output a number at each position."""
    logits = np.array([passed.logits for passed in run_whole(found.decoder, tokens.tolist(), engine=Exact())], dtype=object)
    listed = [found.answer_of(number, logits[:, rows].T) for number, rows in enumerate(found.rows)]
    return [list(map(int, each)) for each in listed]


def _listed(right: NDArray[np.int64]) -> list[list[list[int]]]:
    listed: list[list[list[int]]] = right.transpose(1, 0, 2).tolist()
    return listed


def main() -> None:
    """Measure and print."""
    names = sorted(path.stem for path in (HERE / "programs").glob("*.rasp"))
    compile_times(names)
    tally = checked(names)
    line("checked: programs", f"{tally.programs}", "at least 30")
    line("  inputs", f"{tally.inputs:,}", "at least 25,000")
    line("  cells: named s-ops at positions", f"{tally.cells:,}", "at least 1,000,000")
    line("  inputs in exact arithmetic as well", f"{tally.exact:,}")
    line("  inputs with anything wrong", f"{tally.wrong}", "0")
    if tally.refused:
        line("  only the chosen s-op is an output", f"{len(tally.refused)}", ", ".join(tally.refused))
    line("  dense, batched and compared, cells a second", f"{tally.cells / tally.seconds:,.0f}", "at least 1,000,000")
    line("  the interpreter, cells a second", f"{tally.cells / tally.reference:,.0f}")


if __name__ == "__main__":
    main()
