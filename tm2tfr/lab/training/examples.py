"""Training examples: sequences of token numbers, with those that are scored.

A sequence is fed one token shorter than it is, since its last token is only predicted: at position t the model is fed
``fed[t]`` and has to answer ``wanted[t]``. Where tokens are generated, ``wanted[t]`` is the token that is fed next; where a
word is labelled, it is the label of ``fed[t]``.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.choices import ADDER_ORDERS, AdderOrder
from tm2tfr.base.errors import TrainingError
from tm2tfr.contract.shown import PlainData
from tm2tfr.lab.training.record import REGIMES, Regime, one_of
from tm2tfr.sources.circuit.arithmetic import binary_adder
from tm2tfr.sources.circuit.evaluate import Bits, evaluate_cases
from tm2tfr.sources.circuit.netlist import Circuit

TokenArray = NDArray[np.int64]
TokenFlags = NDArray[np.bool_]


class TokenExample(NamedTuple):
    """One sequence, as tokens.

    Args:
        prompt: the model's input; `target`: the tokens to generate, or the labels of the prompt's tokens.
        scored: of each target, whether it is part of the loss.
        answer: of each target, whether it is part of the answer, which exact match is about.
    """

    prompt: Sequence[str]
    target: Sequence[str]
    scored: Sequence[bool]
    answer: Sequence[bool]


@dataclass(frozen=True, eq=False)
class Sequences:
    """Sequences of one vocabulary, padded to the longest: N of them, L positions.

    Args:
        fed: (N, L) the tokens that are fed; `pad` after the end.
        wanted: (N, L) the tokens to be answered; `pad` where none is.
        scored: (N, L) where the loss is computed.
        answer: (N, L) where the answer is.
        prompt: (N,) the number of tokens that are given: what follows is generated. Of labels, the whole word.

    Raises:
        TrainingError: if their shapes differ, or something is scored where nothing is wanted.
    """

    fed: TokenArray
    wanted: TokenArray
    scored: TokenFlags
    answer: TokenFlags
    prompt: TokenArray
    pad: int

    def __post_init__(self) -> None:
        shapes = {each.shape for each in (self.fed, self.wanted, self.scored, self.answer)}
        if len(shapes) != 1 or self.fed.ndim != 2 or self.prompt.shape != self.fed.shape[:1]:
            raise TrainingError(f"the arrays of sequences have different shapes {sorted(shapes)}: make them alike")
        if np.any((self.scored | self.answer) & (self.wanted == self.pad)):
            raise TrainingError("a position is scored where no token is wanted: score targets only")
        for each in (self.fed, self.wanted, self.scored, self.answer, self.prompt):
            each.setflags(write=False)

    def __len__(self) -> int:
        """Return the number of sequences."""
        return len(self.fed)

    @property
    def longest(self) -> int:
        """The number of positions L."""
        return int(self.fed.shape[1])

    @property
    def first(self) -> int:
        """The first position at which anything is scored."""
        return int(np.argmax(self.scored.any(axis=0))) if self.scored.any() else 0

    def some(self, which: slice | TokenArray) -> Sequences:
        """Return some of them."""
        return Sequences(
            self.fed[which], self.wanted[which], self.scored[which], self.answer[which], self.prompt[which], self.pad
        )


@dataclass(frozen=True, eq=False)
class Examples:
    """The examples that a model is trained and tested on.

    Args:
        name: for people.
        vocabulary: the token of each number; the number after the last one is padding.
        train, test: no prompt of `test` is one of `train`.
        labels: whether each token of a word gets a label; otherwise tokens are generated after a prompt.
        about: where they come from, as plain data: part of the record of a run, and enough to make them again.

    Raises:
        TrainingError: if there is nothing to train on or to test, or a test example is a training example.
    """

    name: str
    vocabulary: tuple[str, ...]
    train: Sequences
    test: Sequences
    labels: bool = False
    about: PlainData = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, some in (("train on", self.train), ("test", self.test)):
            if not len(some) or not some.scored.any():
                raise TrainingError(f"{self.name}: there is nothing to {what}: ask for more inputs")
            if some.pad != len(self.vocabulary):
                raise TrainingError(f"{self.name}: padding must be number {len(self.vocabulary)}, not {some.pad}")
        if _prompts(self.train) & _prompts(self.test):
            raise TrainingError(f"{self.name}: an input is both trained on and tested: use each for one of the two")

    @property
    def longest(self) -> int:
        """The most positions of a sequence."""
        return max(self.train.longest, self.test.longest)

    @cached_property
    def base_rate(self) -> float:
        """The share of the test examples with the most frequent answer: the score of a model that always gives it."""
        some = self.test
        answers = Counter(row[there].tobytes() for row, there in zip(some.wanted, some.answer, strict=True))
        return max(answers.values()) / len(some)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the vocabulary and of all sequences, in order."""
        found = hashlib.sha256("\0".join(self.vocabulary).encode("utf-8", "surrogatepass"))
        for some in (self.train, self.test):
            for each in (some.fed, some.wanted, some.scored, some.answer, some.prompt):
                found.update(f"\n{each.shape}".encode())
                found.update(np.ascontiguousarray(each, dtype="<i8").tobytes())
        return found.hexdigest()

    def as_dict(self) -> dict[str, object]:
        """Return their description in the record of a run."""
        return {
            "name": self.name,
            **self.about,
            "train": len(self.train),
            "test": len(self.test),
            "positions": self.longest,
            "vocabulary": list(self.vocabulary),
            "sha256": self.digest,
        }


def _prompts(some: Sequences) -> set[bytes]:
    return {row[:given].tobytes() for row, given in zip(some.fed, some.prompt.tolist(), strict=True)}


def examples_of(
    name: str,
    train: Sequence[TokenExample],
    test: Sequence[TokenExample],
    *,
    labels: bool = False,
    vocabulary: Sequence[str] = (),
    about: PlainData | None = None,
) -> Examples:
    """Return examples given as tokens, without those of `test` whose prompt is trained on; ``about["left_out"]`` of them.

    Args:
        vocabulary: tokens that come first; others follow, sorted.

    Raises:
        TrainingError: see `Examples`.
    """
    known = {tuple(each.prompt) for each in train}
    unseen = [each for each in test if tuple(each.prompt) not in known]
    met = {token for each in (*train, *unseen) for token in (*each.prompt, *each.target)}
    tokens = (*dict.fromkeys(vocabulary), *sorted(met - set(vocabulary)))
    numbers = {token: number for number, token in enumerate(tokens)}
    told = {**(about or {}), "left_out": len(test) - len(unseen)}
    both = [_sequences(some, numbers, labels=labels) for some in (train, unseen)]
    return Examples(name, tokens, both[0], both[1], labels=labels, about=told)


def _sequences(some: Sequence[TokenExample], numbers: Mapping[str, int], *, labels: bool) -> Sequences:
    """Return examples as arrays."""
    pad = len(numbers)
    longest = max((len(e.prompt) + (0 if labels else len(e.target) - 1) for e in some), default=0)
    fed, wanted = (np.full((len(some), longest), pad, dtype=np.int64) for _ in range(2))
    scored, answer = (np.zeros((len(some), longest), dtype=np.bool_) for _ in range(2))
    for row, e in enumerate(some):
        given, target = _numbered(e.prompt, numbers), _numbered(e.target, numbers)
        start = 0 if labels else len(given) - 1
        whole = given if labels else [*given, *target[:-1]]
        here = slice(start, start + len(target))
        fed[row, : len(whole)], wanted[row, here] = whole, target
        scored[row, here], answer[row, here] = e.scored, e.answer
    prompt = np.array([len(e.prompt) for e in some], dtype=np.int64)
    return Sequences(fed, wanted, scored, answer, prompt, pad)


def _numbered(tokens: Iterable[str], numbers: Mapping[str, int]) -> list[int]:
    return [numbers[token] for token in tokens]


# ── The paper's own task: the sum of two numbers of n bits, in three regimes.
TASK = "binary-adder"
Intermediates = Literal["gates", "carries"]
INTERMEDIATES: tuple[Intermediates, ...] = get_args(Intermediates)
MOST_BITS = 512
TRAINED, TESTED = 10_000, 1_000
TEST_SHARE = 4
"""Where there are fewer pairs than requested, one in this many is kept for the test."""


def adder_examples(
    *,
    bits: int = 8,
    order: AdderOrder = "paper-2",
    regime: Regime = "strong",
    intermediates: Intermediates = "gates",
    examples: int = TRAINED,
    test_examples: int = TESTED,
    data_seed: int = 0,
) -> Examples:
    """Return pairs of numbers of `bits` bits with their sums; all pairs are equally likely, and each is there once.

    Args:
        bits: n; the sum is modulo 2^n.
        order: the paper's representation 1 or 2.
        intermediates: the bits of all gates, or the carries c_2 … c_{n+1} alone (Section 6: ``c2c3c4e1e2e3`` for n = 3);
            there are none in the regime ``weak``.
        examples, test_examples: their numbers; where there are fewer pairs, a quarter of all of them is tested at most.
        data_seed: of the choice of pairs; the same for all regimes and orders.

    Raises:
        TrainingError: if there is no such task.
    """
    one_of("order", order, ADDER_ORDERS)
    one_of("regime", regime, REGIMES)
    one_of("intermediates", intermediates, INTERMEDIATES)
    numbers = ("bits", bits, MOST_BITS), ("examples", examples, 10**7), ("test examples", test_examples, 10**7)
    for name, number, most in numbers:
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= most:
            raise TrainingError(f"the number of {name} must be from 1 to {most:,}, not {number!r}: use another one")
    circuit = binary_adder(bits=bits, order=order)
    train, test = _pairs(bits, examples, test_examples, data_seed)
    nets = _generated(circuit, bits, regime, intermediates)
    found = (list(_examples(circuit, nets, some, bits, regime)) for some in (train, test))
    about = {
        "task": TASK,
        "bits": bits,
        "order": order,
        "regime": regime,
        "intermediates": intermediates,
        "examples": examples,
        "test_examples": test_examples,
        "data_seed": data_seed,
    }
    return examples_of(f"{TASK} of {bits} bits, {regime}", *found, vocabulary="01", about=about)


def _pairs(bits: int, train: int, test: int, seed: int) -> tuple[Bits, Bits]:
    """Return the inputs of the training and of the test examples, all different: (examples, 2 · bits)."""
    every = 4**bits
    tested = min(test, max(1, every // TEST_SHARE)) if train + test > every else test
    wanted = min(train, every - tested) + tested
    chance = random.Random(f"pairs of {bits} bits, seed {seed}")
    if 2 * wanted > every:
        numbers = list(range(every))
        chance.shuffle(numbers)
    else:
        met = dict[int, None]()
        while len(met) < wanted:
            met[chance.getrandbits(2 * bits)] = None
        numbers = list(met)
    text = "".join(f"{number:0{2 * bits}b}" for number in numbers[:wanted])
    both = np.frombuffer(text.encode(), dtype=np.uint8).reshape(wanted, 2 * bits) - ord("0")
    return both[tested:], both[:tested]


def _generated(circuit: Circuit, bits: int, regime: Regime, intermediates: Intermediates) -> Sequence[str]:
    """Return the nets whose bits follow the inputs, in their order."""
    answer = [f"e{i}" for i in range(1, bits + 1)]
    if regime == "weak":
        return answer
    if intermediates == "carries":
        return [*(f"c{i}" for i in range(2, bits + 2)), *answer]  # c1 is 0 in every sum
    return [gate.net for gate in circuit.gates]


def _examples(circuit: Circuit, nets: Sequence[str], cases: Bits, bits: int, regime: Regime) -> Iterator[TokenExample]:
    values = evaluate_cases(circuit, cases)
    at = [circuit.numbers[net] for net in nets]
    sums = [net.startswith("e") for net in nets]
    scored = [True] * len(nets) if regime == "strong" else sums
    for row in values:
        signs = ["01"[bit] for bit in row.tolist()]
        yield TokenExample(signs[: 2 * bits], [signs[place] for place in at], scored, sums)
