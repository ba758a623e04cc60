"""The specification of a data set or a sweep: programs, inputs, forms of supervision, splits."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar, Literal

from tm2tfr.dataset.family import Members
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.text.words import number_of

# ── The inputs of machines: words over an input alphabet, either listed, all up to a length, or random.
MOST_WORDS = 10_000_000
"""More inputs than this for one machine are refused: they are kept in memory."""


@dataclass(frozen=True)
class Random:
    """`count` different random words with lengths from `shortest` to `longest`, all lengths being equally likely."""

    count: int
    shortest: int
    longest: int
    seed: str


@dataclass(frozen=True)
class Inputs:
    """The inputs of each machine; `up_to` is the length up to which every word is taken, -1 for none."""

    words: tuple[str, ...] = ()
    up_to: int = -1
    random: tuple[Random, ...] = ()

    def number(self, symbols: int) -> int:
        """Return an upper bound on the number of words over this many symbols: some may be counted twice."""
        every = number_of(symbols, 0, self.up_to) if self.up_to >= 0 else 0
        return len(self.words) + every + sum(r.count for r in self.random)

    def over(self, alphabet: Sequence[str]) -> tuple[str, ...]:
        """Return the different words over an input alphabet, in the order listed, all, random."""
        return tuple(dict.fromkeys(self._each(alphabet)))

    def _each(self, alphabet: Sequence[str]) -> Iterator[str]:
        yield from self.words
        for length in range(self.up_to + 1 if alphabet else min(self.up_to, 0) + 1):
            yield from map("".join, product(alphabet, repeat=length))
        for source in self.random:
            yield from _drawn(source, alphabet)


def _drawn(source: Random, alphabet: Sequence[str]) -> Iterator[str]:
    """Yield different words; the reader has checked that there are enough."""
    chance, found = random.Random(f"{source.seed} over {''.join(alphabet)}"), set[str]()
    left = {n: number_of(len(alphabet), n, n) for n in range(source.shortest, source.longest + 1)}
    lengths = [n for n, number in left.items() if number]
    while len(found) < source.count:
        length = chance.choice(lengths)
        word = "".join(chance.choices(alphabet, k=length))
        if word in found:
            continue
        found.add(word)
        yield word
        left[length] -= 1
        if not left[length]:  # every word of this length has been drawn
            lengths.remove(length)


Supervision = Literal["answer", "steps shown", "steps scored"]
FORMS: tuple[Supervision, ...] = ("answer", "steps shown", "steps scored")
"""Weak, medium and strong supervision: the contents of a training example, and the part on which the loss is computed.

``answer``: the answer directly follows the prompt. ``steps shown``: the intermediate steps come before it, and only the
answer is scored. ``steps scored``: both are scored. Source: *Guiding Transformers to Process in Steps*, Section 5.
"""

FORMATS = ("jsonl", "parquet")
SPLIT_BY = ("run", "machine", "input")
IN_PROMPT_BY = ("machine",)
"""Where machines stand in prompts, no machine is in two splits: the question is what is done with rules never seen."""
UNFINISHED = ("leave out", "keep")
SEEDED = 2**64


@dataclass(frozen=True, kw_only=True)
class CommonSpec:
    """What a data set, or a sweep, of any kind of programs says.

    Args:
        text: the YAML that it was read from.
        forms: those of supervision; of what labels words, the s-ops or nodes whose values are labels.
        splits: name and share of each, in order; the shares add up to 1.
        split_by: what determines the split: the program and its input, one of the two, or the length of the input.
        lengths: by length, the name of each split with the shortest and the longest of its words; their shares are 0.
        shard_size: the number of runs in a shard.
    """

    noun: ClassVar[str]
    """What one of its programs is called."""

    text: str
    name: str
    seed: int = 0
    forms: tuple[str, ...] = FORMS
    splits: tuple[tuple[str, float], ...] = (("train", 0.8), ("validation", 0.1), ("test", 0.1))
    split_by: str = "run"
    lengths: tuple[tuple[str, int, int], ...] = ()
    shard_size: int = 10_000
    formats: tuple[str, ...] = FORMATS


@dataclass(frozen=True, kw_only=True)
class Spec(CommonSpec):
    """A data set, or a sweep, of Turing machines.

    Args:
        named: the named machines, each with the argument that names it.
        families: further machines, made from their numbers.
        max_steps: at most this many steps of a machine.
        keep_unfinished: whether a run that the limit cuts off is an example; it has no answer.
        universal: the class of the universal decoder in whose prompt each machine stands; None: each has its own decoder.
        order: the seed of the order of the rules in the prompt, a new one for each run; None: the machine's own order.
        split_chosen: whether `split_by` is in the text, rather than the default.
    """

    noun: ClassVar[str] = "machine"

    named: tuple[tuple[str, Machine], ...]
    families: tuple[Members, ...]
    inputs: Inputs
    max_steps: int = 1_000
    keep_unfinished: bool = False
    universal: Universal | None = None
    order: int | None = None
    split_chosen: bool = False

    @property
    def fitting(self) -> Iterator[Machine]:
        """Yield machines of which all fit a universal decoder if these do: all members of a family have the same size."""
        yield from (machine for _, machine in self.named)
        yield from (family[0] for family in self.families if len(family))

    @property
    def machines(self) -> tuple[Sequence[Machine], ...]:
        """All machines, the named ones first."""
        named: tuple[Sequence[Machine], ...] = (tuple(machine for _, machine in self.named),)
        return (*named, *self.families) if self.named else self.families


def several_splits(by: str) -> tuple[str, str]:
    """Return why machines in prompts are not split in this way, and what to do."""
    what = f"with 'split by: {by}', a machine would be in several splits"
    return what, "remove it: machines in prompts are split by machine"


@dataclass(frozen=True)
class Splitting:
    """Which split a run belongs to: a function of the seed, the program and the input alone.

    The program counts, not its name: copies of a machine share a split, and so do repeated runs.
    """

    seed: int
    by: str
    splits: tuple[tuple[str, float], ...]
    lengths: tuple[tuple[str, int, int], ...] = ()

    def of(self, program: str, word: str, *, length: int = 0) -> str:
        """Return the split; program: its fingerprint, such as `fingerprint`; length: that of the word, in tokens."""
        if self.lengths:
            return next(name for name, shortest, longest in self.lengths if shortest <= length <= longest)
        parts = {"run": (program, word), "input": ("", word)}.get(self.by, (program, ""))
        digest = hashlib.sha256("\n".join([str(self.seed), *parts]).encode("utf-8", "surrogatepass")).digest()
        place, total = int.from_bytes(digest[:8]) / SEEDED, 0.0
        for name, share in self.splits:
            total += share
            if place < total:
                return name
        return next(name for name, share in reversed(self.splits) if share > 0)


def fingerprint(machine: Machine) -> str:
    """Return a digest of what a machine does, regardless of its name or the order in which it is written."""
    rules = sorted((q, a, *rule) for (q, a), rule in machine.transitions.items())
    ends = [sorted(machine.accept_states), sorted(machine.reject_states)]
    facts = [machine.tape, machine.blank, machine.start, ends, sorted(machine.input_alphabet or ()), rules]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()
