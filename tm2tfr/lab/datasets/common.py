"""What specs of all kinds of programs say in the same words, read from YAML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isclose
from pathlib import Path
from typing import ClassVar, Protocol, TypedDict, TypeVar

from tm2tfr.base.errors import Tm2tfrError, visible
from tm2tfr.base.text.nodes import Map, Node, Reading, Scalar, Section
from tm2tfr.base.text.words import number_of
from tm2tfr.lab.datasets.shard import BY_TOKENS
from tm2tfr.lab.datasets.spec import FORMATS, FORMS, MOST_WORDS, Inputs, Random

BEGIN, END = ("name", "description", "seed"), ("splits", "split by", "shard size", "formats")
"""The keys that every spec may have."""
BALANCED = "balanced outcomes"
"""The key of random inputs with the same number of inputs for each outcome."""
_SPLIT = re.compile(r"\w{1,60}", re.ASCII)
_LENGTHS = re.compile(r"([0-9]{1,6})(?: to ([0-9]{1,6}))?")
_SHARE = re.compile(r"[01]|[01]?\.[0-9]{1,15}")


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Chosen = TypeVar("_Chosen", bound=_Named)


class CommonFields(TypedDict, total=False):
    """Fields of `tm2tfr.lab.datasets.spec.DatasetSpec`."""

    text: str
    name: str
    seed: int
    forms: tuple[str, ...]
    split_by: str
    shard_size: int
    formats: tuple[str, ...]
    splits: tuple[tuple[str, float], ...]
    lengths: tuple[tuple[str, int, int], ...]


@dataclass
class CommonReader:
    """Reads a spec key by key.

    Args:
        top: the whole document.
        folder: where files of programs are looked for; None: in the current one.
    """

    reading: Reading
    top: Section
    folder: Path | None
    listed: dict[str, Scalar] = field(default_factory=dict)
    """The listed words, each with its first place in the text."""
    sources: dict[Random, Map] = field(default_factory=dict)
    """The sources of random words, each with its place."""

    ways: ClassVar[tuple[str, ...]] = ("words", "up to", "random")
    random_keys: ClassVar[tuple[str, ...]] = ("count", "length", "seed", BALANCED)
    random_example: ClassVar[str] = "{count: 100, length: 1 to 10}"
    examples: ClassVar[Mapping[str, str]] = {
        "machines": "'machines: [palindromes]'",
        "inputs": "'inputs: {up to: 3}', or for the blank tape \"inputs: ['']\"",
    }

    @property
    def seed(self) -> int:
        """The seed for everything without one of its own."""
        return self.top.number("seed", 0, least=0)

    def needs(self, *keys: str) -> None:
        """Report keys that are missing."""
        for key in keys:
            if key not in self.top:
                self.reading.error(None, f"there are no {key}", f"add for example {self.examples[key]}")

    def common(self, text: str, name: str, split_by: tuple[str, ...], *, several: bool = False) -> CommonFields:
        """Return the fields that specs of all kinds have.

        Args:
            split_by: what examples may be split by, the default first.
            several: whether there are several programs, whose examples may have the same tokens.
        """
        top = self.top
        if several and BY_TOKENS in split_by and "split by" not in top:
            split_by = (BY_TOKENS,)
        top.text("description", "")
        values: CommonFields = {
            "text": text,
            "name": top.text("name", name),
            "seed": self.seed,
            "forms": top.choices("supervision", FORMS),
            "split_by": top.choice("split by", split_by),
            "shard_size": top.number("shard size", 10_000, least=1, most=MOST_WORDS),
            "formats": top.choices("formats", FORMATS),
        }
        if values["split_by"] == "length":
            values.update(self.by_length())
        elif "splits" in top:
            values["splits"] = self.splits()
        return values

    def by_length(self) -> CommonFields:
        """Return the splits and the lengths of their words."""
        example = "{train: 1 to 20, test: 21 to 80}"
        value, found = self.top.found["splits"][1] if "splits" in self.top else None, dict[str, tuple[int, int]]()
        if not isinstance(value, Map) or not value.pairs:
            place = self.top.place("split by")
            self.reading.error(place, "the splits have no lengths", f"add a line 'splits: {example}'")
            return {}
        for name, lengths in self.named_splits(value):
            shortest, longest = lengths_of(lengths.text) if isinstance(lengths, Scalar) else (1, 0)
            if shortest > longest:
                self.reading.error(lengths, f"{name!r} has no lengths", f"write for example {example}")
            elif any(shortest <= most and least <= longest for least, most in found.values()):
                self.reading.error(lengths, f"{name!r} has lengths of another split", f"write for example {example}")
            found[name] = shortest, longest
        return {"splits": tuple((name, 0.0) for name in found), "lengths": tuple((n, *each) for n, each in found.items())}

    def splits(self) -> tuple[tuple[str, float], ...]:
        """Return the splits and their shares."""
        value, found = self.top.found["splits"][1], dict[str, float]()
        example = "{train: 0.9, test: 0.1}"
        if not isinstance(value, Map) or not value.pairs:
            self.reading.error(self.top.place("splits"), "there are no splits", f"write for example {example}")
            return ()
        for name, share in self.named_splits(value):
            if not isinstance(share, Scalar) or not _SHARE.fullmatch(share.text):
                what = f"the share of {name!r} is not a number from 0 to 1"
                self.reading.error(share, what, f"write for example {example}")
            else:
                found[name] = float(share.text)
        if len(found) == len(value.pairs) and not isclose(sum(found.values()), 1.0, abs_tol=1e-9):
            what = f"the shares add up to {sum(found.values()):g}"
            self.reading.error(value, what, f"they must add up to 1, as in {example}")
        return tuple(found.items())

    def named_splits(self, value: Map) -> Iterator[tuple[str, Node]]:
        """Yield the name and the text of each split; report names that are impossible."""
        for name, said in self.reading.entries(value, "split"):
            if not _SPLIT.fullmatch(name.text):
                self.reading.error(name, f"{name.text!r} cannot be the name of a split", "use letters, digits and _")
            yield name.text, said

    # ── programs
    def names(self, node: Node, noun: str, example: str) -> list[Scalar]:
        """Return the items of a list of names and files of programs; report a list without any."""
        items = self.reading.scalars(node, f"the name of a {noun} or of its file")
        if items is not None and (not items or items[0].empty):
            remedy = f"write names of {noun}s or files, as in {example}"
            self.reading.error(node, f"no {noun} is named", remedy)
            return []
        return items or []

    def loaded(
        self, items: list[Scalar], noun: str, said_in: str, load: Callable[[Scalar], _Chosen | None]
    ) -> list[_Chosen]:
        """Return the programs of a list of names and files; report those that cannot be loaded, and equal names.

        Args:
            said_in: what in its file says the name of a program.
            load: an item -> its program with its name; None if what is wrong has been reported. Raises Tm2tfrError.
        """
        found: dict[str, _Chosen] = {}
        for item in items:
            if item.text == "-":
                self.reading.error(item, f"a {noun} cannot come from standard input here", "name a file")
                continue
            try:
                chosen = load(item)
            except Tm2tfrError as error:
                said = str(error).splitlines()[0]
                self.reading.error(item, f"this {noun} cannot be loaded ({said})", "fix it, or remove it")
                continue
            if chosen is not None and chosen.name in found:
                what = f"a second {noun} is named {chosen.name!r}"
                self.reading.error(item, what, f"remove one of the two, or change the {said_in} in its file")
            elif chosen is not None:
                found[chosen.name] = chosen
        return list(found.values())

    def argument(self, name: str, *, known: bool) -> str:
        """Return the argument that a name in the spec stands for; files are looked for beside the spec, and come first.

        Args:
            known: whether the name stands for a program without a file.
        """
        beside = name if self.folder is None else str(self.folder / name)
        return name if known and not Path(beside).is_file() else beside

    # ── inputs
    def words(self, node: Node) -> tuple[str, ...]:
        """Return listed words."""
        items = self.reading.scalars(node, "a word") or []
        for item in items:
            self.listed.setdefault(item.text, item)
            if item.empty:
                self.reading.error(item, "the word is missing", "write '' for the empty word")
        return tuple(item.text for item in items)

    def count_and_seed(self, section: Section) -> tuple[int, int]:
        """Return the number of random programs or inputs, and the seed."""
        section.needs("count", "100")
        return section.number("count", 1, least=1, most=MOST_WORDS), section.number("seed", self.seed, least=0)

    def inputs(self) -> Inputs:
        """Return the inputs."""
        key, value = self.top.found["inputs"]
        if not isinstance(value, Map):
            return Inputs(self.words(value))
        cleaned = self.meaningful(value)
        within = Section.of(self.reading, "'inputs'", cleaned, self.ways)
        if not within.found and len(cleaned.pairs) == len(value.pairs):
            *some, last = map(repr, self.ways)
            self.reading.error(key, "there are no inputs", f"add {', '.join(some)} or {last}")
        sections = within.sections("random", self.random_keys, self.random_example)
        drawn = [r for place, section in enumerate(sections) if (r := self.random(section, place)) is not None]
        words = self.words(within.found["words"][1]) if "words" in within else ()
        return Inputs(words, self.up_to(within), tuple(drawn))

    def meaningful(self, inputs: Map) -> Map:
        """Return the inputs without what makes no sense for programs of this kind; report it."""
        return inputs

    def up_to(self, within: Section) -> int:
        """Return the length up to which every word is taken, -1 for none."""
        return within.number("up to", -1, least=0)

    def random(self, section: Section, place: int) -> Random | None:
        """Return a source of random inputs."""
        count, seed = self.count_and_seed(section)
        if (lengths := self.lengths(section)) is None:
            return None
        first = section.text("first", "") if "first" in self.random_keys else ""
        balanced = section.choice(BALANCED, ("false", "true")) == "true"
        source = Random(count, *lengths, f"inputs {place}, seed {seed}", first, balanced)
        self.sources[source] = section.node
        return source

    def lengths(self, section: Section) -> tuple[int, int] | None:
        """Return the shortest and the longest of random words; None if they are missing or wrong, which is reported."""
        section.needs("length", "1 to 10")
        if "length" not in section:
            return None
        shown = section.text("length", "1")
        shortest, longest = lengths_of(shown)
        if shortest > longest:
            remedy = "write a number, or a range such as '1 to 10'"
            self.reading.error(section.place("length"), f"the length is {shown!r}", remedy)
            return None
        return shortest, longest

    def check_numbers(self, name: str, letters: int, inputs: Inputs, *, least: int = 0) -> None:
        """Report requests for more words than exist or fit in memory, or for words with fewer than `least` tokens."""
        for source in inputs.random:
            given = int(bool(source.first))
            most = number_of(letters - given, max(0, source.shortest - given), source.longest - given)
            if source.shortest < least:
                self.reading.error(self.sources[source], "an input has at least one token", "start the lengths at 1")
            elif source.count > most:
                what = f"{source.count:,} different inputs are requested, but {visible(name)} has {most:,} of that length"
                self.reading.error(self.sources[source], what, f"ask for at most {most:,}, or use 'up to'")
        if inputs.number(letters) > MOST_WORDS:
            what = f"these are more than {MOST_WORDS:,} inputs for {visible(name)}"
            self.reading.error(self.top.place("inputs"), what, "ask for fewer")


def lengths_of(text: str) -> tuple[int, int]:
    """Return the shortest and the longest of ``1 to 10``, or of ``5``; if it is neither, the first is larger."""
    said = _LENGTHS.fullmatch(text)
    return (int(said[1]), int(said[2] or said[1])) if said else (1, 0)
