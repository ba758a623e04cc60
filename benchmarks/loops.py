"""Programs with loops: right answers on all lengths to 200; sizes and speed beside ALTA, for the same problems in one run.

``python benchmarks/loops.py [ALTA]``: ALTA is a checkout of google-deepmind/alta; README.md has the environment. Without it
the lengths alone are tried. What is right is a sum in Python.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import tm2tfr
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.sources.rasp.evaluate import evaluate
from tm2tfr.transformer.weights import Decoder

LONGEST, EACH = 200, 20
"""The longest inputs, and how many are tried of each length."""
SIZES = (40, 200)
"""The longest inputs that weights are compiled for, where sizes are compared."""
SPEEDS = (20, 80, 200)
"""The lengths of inputs whose time is taken."""


def compiled(name: str, length: int) -> Decoder:
    """Return the weights of a shipped program for inputs of up to so many tokens."""
    return tm2tfr.compile(tm2tfr.load(name), max_length=length)


def parity_word(n: int, rng: random.Random) -> tuple[str, list[int]]:
    """Return a word of n bits, and its running parity."""
    word = "".join(rng.choices("01", k=n))
    return word, [word[: i + 1].count("1") % 2 for i in range(n)]


def sum_word(n: int, rng: random.Random) -> tuple[str, list[int]]:
    """Return a sum of two numbers, n tokens with its +, and its n digits; one in four has carries all along."""
    plus = rng.randrange(n)
    left, right = ("".join(rng.choices("0123456789", k=k)) for k in (plus, n - 1 - plus))
    if n > 2 and rng.random() < 0.25:
        left, right = "9" * plus, f"{'0' * (n - 2 - plus)}1"[: n - 1 - plus]
    total = int(left or "0") + int(right or "0")
    return f"{left}+{right}", [int(digit) for digit in str(total).zfill(n)]


PROBLEMS: dict[str, Callable[[int, random.Random], tuple[str, list[int]]]] = {
    "looped-parity": parity_word,
    "looped-addition": sum_word,
}


def answers(decoder: Decoder, logits: Any) -> Any:
    """Return what the first output says: (inputs, n)."""
    output = decoder.outputs[0]
    if output.labels is None:
        return logits[0]
    return np.array([int(label) for label in output.labels])[logits[: len(output.labels)].argmax(axis=0)]


def lengths() -> None:
    """Print how many inputs of lengths 1 to 200 are answered wrong."""
    for name, make in PROBLEMS.items():
        start = time.perf_counter()
        decoder = compiled(name, LONGEST)
        print(f"{name}: {decoder!r}, compiled in {time.perf_counter() - start:.1f} s", flush=True)
        for dtype in ("float64", "float32"):
            dense, rng, wrong, cells = DenseDecoder(decoder, dtype), random.Random(1), 0, 0  # type: ignore[arg-type]
            start = time.perf_counter()
            for n in range(1, LONGEST + 1):
                words, right = zip(*(make(n, rng) for _ in range(EACH)), strict=True)
                tokens = [[decoder.numbers[token] for token in word] for word in words]
                found = answers(decoder, dense.run(tokens).logits)
                wrong += int((found != np.array(right)).any(axis=1).sum())
                cells += found.size
            took = time.perf_counter() - start
            what = f"{LONGEST * EACH:,} inputs of 1 to {LONGEST} tokens, {cells:,} answers"
            print(f"  {dtype}: {what}, {wrong} inputs wrong ({took:,.0f} s)", flush=True)


def least(job: Callable[[], object], repeats: int = 3) -> float:
    """Return the least time of `job` in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return min(times)


class Theirs:
    """ALTA's example of a problem: its symbolic interpreter, and the transformer that it compiles."""

    def __init__(self, problem: str) -> None:
        examples = import_module("examples.parity" if problem == "looped-parity" else "examples.addition")
        build = (
            (lambda: examples.build_sequential_program_relative(dynamic_halting=True))
            if problem == "looped-parity"
            else examples.build_sparse_program_spec
        )
        self._problem, self._examples, self._spec = problem, examples, build()
        config = import_module("framework.compiler.compiler_config").Config()
        compile_it = import_module("framework.compiler.compiler_utils").compile_transformer
        start = time.perf_counter()
        self.parameters = compile_it(self._spec, config)
        self.seconds = time.perf_counter() - start

    @property
    def size(self) -> str:
        """Its size in words."""
        made = self.parameters
        arrays = [made.embeddings.input_embeddings, made.embeddings.index_embeddings, made.output_transform]
        for head in made.attenion_heads:
            arrays += [head.query_transform, head.key_transform, head.value_transform, head.output_transform]
        for layer in made.feed_forward_layers:
            arrays += [layer.weights, layer.biases]
        found = [np.asarray(array) for array in arrays if array is not None]
        total, nonzero = sum(array.size for array in found), sum(int(np.count_nonzero(array)) for array in found)
        width = np.asarray(made.output_transform).shape[0]
        shape = f"1 layer, {len(made.attenion_heads)} heads, width {width}, {total:,} parameters"
        return f"{shape}, {nonzero:,} not 0, compiled in {self.seconds:.2f} s"

    def tokens(self, word: str) -> list[int]:
        """Return an input as ALTA has it: with a start token, or with operands of one length between two marks."""
        if self._problem == "looped-parity":
            return [2, *map(int, word)]
        left, right = word.split("+")
        found: list[int] = self._examples.preprocess_input(int(left), int(right))
        return found

    def value(self, outputs: Sequence[Any]) -> object:
        """Return what outputs say: running parity, or the sum."""
        if self._problem == "looped-parity":
            return list(outputs[1:])
        return self._examples.process_output(list(outputs))

    def interpreted(self, tokens: list[int]) -> object:
        """Return what the symbolic interpreter answers; it ends when the program halts."""
        begin = import_module("framework.interpreter.program_utils").initialize_activations(self._spec, tokens)
        run = import_module("framework.interpreter.interpreter_utils").run_transformer
        return self.value(run(self._spec, begin, max_layers=None))

    def run(self, tokens: list[int], layers: int) -> object:
        """Return what the compiled transformer answers after so many layers: it has no halting of its own."""
        run = import_module("framework.transformer.transformer_utils").run_transformer
        return self.value(run(self.parameters, None, tokens, max_layers=layers))


class Ours:
    """A shipped program, and its weights for inputs of up to so many tokens."""

    def __init__(self, name: str, length: int) -> None:
        start = time.perf_counter()
        self.decoder, self._program = compiled(name, length), tm2tfr.load(name)
        self.seconds, self._dense = time.perf_counter() - start, DenseDecoder(self.decoder)

    @property
    def size(self) -> str:
        """Its size in words."""
        made = self.decoder
        shape = f"{len(made.layers)} layers, {made.heads} heads, width {made.layout.width}, {made.parameters:,} parameters"
        return f"{shape}, {made.nonzero:,} not 0, compiled in {self.seconds:.2f} s"

    def interpreted(self, word: str) -> list[Any]:
        """Return what the interpreter answers."""
        return list(evaluate(self._program.sop, word).values[self._program.sop])

    def run(self, word: str, times: int = 1) -> list[Any]:
        """Return what the dense engine answers on the word, run in a batch of so many of it."""
        tokens = [[self.decoder.numbers[token] for token in word]] * times
        found: list[Any] = answers(self.decoder, self._dense.run(tokens).logits)[0].tolist()
        return found


def equal_operands(name: str, n: int) -> tuple[str, list[int]]:
    """Return a word of n tokens with its answer; of a sum, with operands of one length, as ALTA has them."""
    rng = random.Random(n)
    word, right = PROBLEMS[name](n, rng)
    while name == "looped-addition" and word.index("+") != (n - 1) // 2:
        word, right = PROBLEMS[name](n, rng)
    return word, right


def timed(what: str, n: int, job: Callable[[], object], wanted: object, sequences: int = 1) -> None:
    """Print the least time of a job for each of its sequences, and whether it answers what is wanted."""
    state = "right" if job() == wanted else "WRONG"
    took = least(job, 2 if n > 100 else 3) / sequences
    print(f"  {n} tokens, {what}: {took * 1000:,.1f} ms a sequence, {state}", flush=True)


def beside(checkout: Path) -> None:
    """Print sizes and times beside those of ALTA."""
    sys.path.insert(0, str(checkout))
    for name in PROBLEMS:
        theirs, every = Theirs(name), [Ours(name, length) for length in SIZES]
        print(f"\n{name}\n  ALTA, any length: {theirs.size}")
        for length, ours in zip(SIZES, every, strict=True):
            print(f"  tm2tfr, up to {length} tokens: {ours.size}", flush=True)
        for n in SPEEDS:
            word, right = equal_operands(name, n)
            tokens, ours = theirs.tokens(word), every[-1]
            parity = name == "looped-parity"
            value: object = right if parity else int("".join(map(str, right)))
            layers = n if parity else n // 2 + 3
            timed("ALTA interpreter", n, partial(theirs.interpreted, tokens), value)
            timed("ALTA transformer", n, partial(theirs.run, tokens, layers), value)
            timed("our interpreter", n, partial(ours.interpreted, word), right)
            timed("our dense engine", n, partial(ours.run, word), right)
            timed("our dense engine, 20 in a batch", n, partial(ours.run, word, 20), right, 20)


if __name__ == "__main__":
    print(f"numpy {np.__version__}, Python {sys.version.split()[0]}")
    if len(sys.argv) > 1:
        beside(Path(sys.argv[1]))
    else:
        lengths()
