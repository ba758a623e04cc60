"""The specification of a data set or a sweep: programs, inputs, forms of supervision, splits."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, product
from typing import Any, ClassVar, Literal, TypedDict, Unpack

from tm2tfr.base.choices import AUTO
from tm2tfr.base.errors import CompileError, counted, plural, visible
from tm2tfr.base.text.words import InputSpace, number_of
from tm2tfr.lab.datasets.balance import UNJUDGED, Judged, balanced, judged, most_drawn
from tm2tfr.lab.datasets.shard import (
    Failure,
    How,
    Making,
    Piece,
    PieceJob,
    ShardMaker,
    ShardSweeper,
    Splitting,
    Tally,
    divided,
)
from tm2tfr.lab.line.manifest import json_lines

# ── Inputs: either listed, all up to a length, or random.
MOST_WORDS = 10_000_000
"""More inputs than this for one program are refused: they are kept in memory."""


@dataclass(frozen=True)
class Random:
    """`count` different random words with lengths from `shortest` to `longest`, all lengths being equally likely.

    Where all inputs have one length, they have that, and all are equally likely.

    Args:
        first: the token that every word begins with, and that occurs nowhere else in it; empty: any token.
        balanced: whether each outcome of the reference has the same number of words.
    """

    count: int
    shortest: int
    longest: int
    seed: str
    first: str = ""
    balanced: bool = False


@dataclass(frozen=True)
class Inputs:
    """The inputs of each program.

    Args:
        words: as people write them.
        up_to: the length up to which every word is taken, -1 for none.
    """

    words: tuple[str, ...] = ()
    up_to: int = -1
    random: tuple[Random, ...] = ()

    def number(self, symbols: int) -> int:
        """Return an upper bound on the number of words over this many symbols: some may be counted twice."""
        every = number_of(symbols, 0, self.up_to) if self.up_to >= 0 else 0
        return len(self.words) + every + sum(r.count for r in self.random)

    @property
    def balanced(self) -> bool:
        """Whether some inputs are balanced by outcome, and so depend on the program."""
        return any(source.balanced for source in self.random)

    def over(self, alphabet: Sequence[str], judged: Judged = UNJUDGED) -> tuple[str, ...]:
        """Return the different words over an input alphabet, in the order listed, all, random.

        Args:
            judged: the program whose outcomes balance random words.

        Raises:
            InputError: if random words cannot be balanced.
        """
        return tuple(dict.fromkeys(self._each(alphabet, judged)))

    def of(self, space: InputSpace, judged: Judged = UNJUDGED) -> tuple[str, ...]:
        """Return the different inputs of a program, in the order listed, all, random.

        Args:
            space: what they are made of.
            judged: see `over`.

        Raises:
            InputError: if a listed word is not one of its inputs, or random ones cannot be balanced.
        """
        judged = judged._replace(written=space.written)
        if (length := space.length) is None:
            words = replace(self, words=(), random=tuple(self._lettered(space))).over(space.letters, judged)
            drawn: Iterable[str] = (word for word in words if len(word) >= space.shortest)
        else:
            every = map("".join, product(space.letters, repeat=length)) if length <= self.up_to else ()
            drawn = chain(
                every, *(_chosen(source, partial(_drawn_bits, length=length), 2**length, judged) for source in self.random)
            )
        return tuple(dict.fromkeys([*map(space.read, self.words), *map(space.written, drawn)]))

    def _lettered(self, space: InputSpace) -> Iterator[Random]:
        """Yield the sources of random words with their first token as the letter that stands for it."""
        letters = {space.written(letter): letter for letter in space.letters} if any(r.first for r in self.random) else {}
        for source in self.random:
            yield replace(source, first=letters[space.read(source.first)]) if source.first else source

    def _each(self, alphabet: Sequence[str], judged: Judged) -> Iterator[str]:
        yield from self.words
        for length in range(self.up_to + 1 if alphabet else min(self.up_to, 0) + 1):
            yield from map("".join, product(alphabet, repeat=length))
        for source in self.random:
            given = int(bool(source.first))
            there = number_of(len(alphabet) - given, max(0, source.shortest - given), source.longest - given)
            yield from _chosen(source, partial(_drawn, alphabet=alphabet), there, judged)


def _chosen(source: Random, drawn: Callable[[Random], Iterator[str]], there: int, judged: Judged) -> Iterable[str]:
    """Return the words of a source; drawn: source -> its words, without balancing; there: the number of all words."""
    if not source.balanced:
        return drawn(source)
    more = replace(source, count=min(most_drawn(source.count), there))
    return balanced(judged, drawn(more), source.count)


def _drawn(source: Random, alphabet: Sequence[str]) -> Iterator[str]:
    """Yield different words; the reader has checked that there are enough."""
    chance, found = random.Random(f"{source.seed} over {''.join(alphabet)}"), set[str]()
    letters, given = [letter for letter in alphabet if letter != source.first], len(source.first)
    left = {n: number_of(len(letters), n - given, n - given) for n in range(source.shortest, source.longest + 1)}
    lengths = [n for n, number in left.items() if number]
    while len(found) < source.count:
        length = chance.choice(lengths)
        word = source.first + "".join(chance.choices(letters, k=length - given))
        if word in found:
            continue
        found.add(word)
        yield word
        left[length] -= 1
        if not left[length]:  # every word of this length has been drawn
            lengths.remove(length)


def _drawn_bits(source: Random, length: int) -> Iterator[str]:
    """Yield different inputs of that many bits; the reader has checked that there are enough."""
    chance, found = random.Random(f"{source.seed} over {length} bits"), set[int]()
    while len(found) < source.count:
        number = chance.getrandbits(length)
        if number not in found:
            found.add(number)
            yield f"{number:0{length}b}"


Supervision = Literal["answer", "steps shown", "steps scored"]
FORMS: tuple[Supervision, ...] = ("answer", "steps shown", "steps scored")
"""Weak, medium and strong supervision: the contents of a training example, and the part on which the loss is computed.

``answer``: the answer directly follows the prompt. ``steps shown``: the intermediate steps come before it, and only the
answer is scored. ``steps scored``: both are scored. Source: *Guiding Transformers to Process in Steps*, Section 5.
"""

FORMATS = ("jsonl", "parquet")


class HowOptions(TypedDict, total=False):
    """Options of `DatasetSpec.how`; see `tm2tfr.compile` for all but the limit of steps."""

    max_steps: int | None
    left_boundary: str | None
    universal: object
    tape: str | None
    seed: int | None


PROMPT_OPTIONS = ("universal", "tape", "seed")
"""The options that put machines into the prompt of one universal decoder; `seed` is the seed of the orders of all rules."""


@dataclass(frozen=True, kw_only=True)
class DatasetSpec(ABC):
    """A data set, or a sweep, of programs of one kind: what it says, and what follows from it.

    Args:
        text: the YAML that it was read from.
        inputs: those of each program.
        forms: those of supervision; of what labels words, the s-ops or nodes whose values are labels.
        splits: name and share of each, in order; the shares add up to 1.
        split_by: what determines the split: the program and its input, one of the two, or the length of the input.
        lengths: by length, the name of each split with the shortest and the longest of its words; their shares are 0.
        shard_size: the number of runs in a shard.
        keep_unfinished: whether a run that the limit cuts off is an example; it has no answer.
    """

    noun: ClassVar[str]
    """What one of its programs is called."""
    per_position: ClassVar[bool] = False
    """Whether an example has a target for each token of its prompt, rather than tokens that follow the prompt."""

    text: str
    name: str
    seed: int = 0
    forms: tuple[str, ...] = FORMS
    inputs: Inputs = Inputs()
    splits: tuple[tuple[str, float], ...] = (("train", 0.8), ("validation", 0.1), ("test", 0.1))
    split_by: str = "run"
    lengths: tuple[tuple[str, int, int], ...] = ()
    shard_size: int = 10_000
    formats: tuple[str, ...] = FORMATS
    keep_unfinished: bool = False

    # ── its runs
    @abstractmethod
    def pieces(self) -> list[Piece]:
        """Return all runs, in order."""

    @property
    def several(self) -> bool:
        """Whether there are several programs."""
        return False

    @property
    def may_share_tokens(self) -> bool:
        """Whether examples of two splits may have the same tokens: those of several programs that prompts do not name."""
        return self.several and self.vocabulary is None and self.split_by in ("run", self.noun)

    def judged(self, program: Any) -> Judged:
        """Return one of its programs as one by whose outcomes random inputs are balanced."""
        return judged(program)

    def jobs(self, size: int | None = None) -> Iterator[PieceJob]:
        """Yield its jobs: `size` runs each (`shard_size`), fewer where another program would exceed it."""
        return divided(self.pieces(), size or self.shard_size)

    @abstractmethod
    def how(self, engine: str = AUTO, **options: Unpack[HowOptions]) -> How:
        """Return how its runs are made.

        Raises:
            CompileError: for an option that does not apply, or a machine that does not fit its universal decoder.
            EngineError: if fast is requested and Numba is not installed.
            DatasetError: if an engine is requested where no weights are run.
            WeightFileError: if weights cannot be read.
        """

    def refuse_prompts(self, options: Mapping[str, object]) -> None:
        """Raise CompileError if an option puts its programs into prompts."""
        for option in PROMPT_OPTIONS:
            if options.get(option) is not None:
                what = "only machines stand in the prompt of a universal decoder"
                raise CompileError(f"{visible(self.name)}: {what}, not a {self.noun}: omit the {option} option")

    @property
    @abstractmethod
    def maker(self) -> ShardMaker:
        """The function that makes the files of a job."""

    @property
    @abstractmethod
    def sweeper(self) -> ShardSweeper:
        """The function that checks the runs of a job.

        Raises:
            CompileError: if a sweep does not apply.
        """

    def prompted(self, how: Any, options: Mapping[str, Any]) -> DatasetSpec:
        """Return the spec of a data set whose programs stand in prompts as options say; its text says so as well.

        Args:
            how, options: what `how` has returned for them.

        Raises:
            DatasetError: if the spec says so itself, or a machine would be in several splits.
        """
        return self

    def making(self, how: How, shards: int = 1) -> Making[Any]:
        """Return how its runs become the files of `shards` shards."""
        splitting = Splitting(self.seed, self.split_by, self.splits, self.lengths)
        return Making(how, tuple(self.columns), self.forms, self.keep_unfinished, splitting, self.formats, shards)

    def netlists(self) -> tuple[Any, ...]:
        """Return the circuits whose gates its examples generate, one after the other, if that is what they do."""
        return ()

    def again(self, failure: Failure, how: Any) -> str:
        """Return a command that reproduces a failure; empty if no run can fail."""
        return ""

    # ── its files
    @property
    @abstractmethod
    def columns(self) -> Mapping[str, str]:
        """The columns of the examples, in order, and what they contain."""

    @abstractmethod
    def listed(self) -> Iterator[Mapping[str, object]]:
        """Yield what the data set says of each program, as plain data."""

    @property
    def listing(self) -> str:
        """A line of JSON for each program, the contents of `listing_file`."""
        return json_lines(self.listed())

    @property
    def listing_file(self) -> str:
        """The name of the file with its programs."""
        return f"{plural(self.noun)}.jsonl"

    @property
    def vocabulary(self) -> tuple[str, ...] | None:
        """The tokens of all examples, by their numbers, if all programs stand in the prompt of one decoder; or None."""
        return None

    # ── descriptions
    @abstractmethod
    def about(self, tally: Tally, made: str) -> str:
        """Return what the examples are, for the README of the data set; made: by whom."""

    @property
    def notes(self) -> str:
        """What the README says below the columns."""
        return _FORMS_DIFFER

    @abstractmethod
    def summed(self, tally: Tally) -> str:
        """Return the numbers of runs and of comparisons."""

    def result(self, tally: Tally) -> str:
        """Return the numbers of a finished data set."""
        return f"{self.summed(tally)}, all agree"

    def records(self, tally: Tally) -> str:
        """Return a line about the records that a sweep has found, or an empty text."""
        return ""

    def left_out(self, number: int) -> str:
        """Return why `number` runs are not examples."""
        return f"{counted(number, 'run')} that did not end within the limit"


_FORMS_DIFFER = (
    "The forms differ in the supervision: the answer alone; the intermediate steps and the answer, "
    "of which only the answer is scored; both, where all tokens are scored. "
)
