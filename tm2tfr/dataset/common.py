"""What specs of all kinds of programs say in the same words, read from YAML."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import isclose
from pathlib import Path
from typing import Any

from tm2tfr.dataset.spec import FORMATS, FORMS, MOST_WORDS, Inputs, Random
from tm2tfr.text.nodes import Map, Node, Scalar
from tm2tfr.text.reading import Reading, Section

_SPLIT = re.compile(r"\w{1,60}", re.ASCII)
_LENGTHS = re.compile(r"([0-9]{1,6})(?: to ([0-9]{1,6}))?")
_SHARE = re.compile(r"[01]|[01]?\.[0-9]{1,15}")


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

    @property
    def seed(self) -> int:
        """The seed for everything without one of its own."""
        return self.top.number("seed", 0, least=0)

    def common(self, text: str, name: str, split_by: tuple[str, ...]) -> dict[str, Any]:
        """Return the fields of a `CommonSpec`."""
        top = self.top
        top.text("description", "")
        values: dict[str, Any] = {
            "text": text,
            "name": top.text("name", name),
            "seed": self.seed,
            "forms": top.choices("supervision", FORMS),
            "split_by": top.choice("split by", split_by),
            "shard_size": top.number("shard size", 10_000, least=1, most=MOST_WORDS),
            "formats": top.choices("formats", FORMATS),
        }
        if values["split_by"] == "length":
            return values | self.by_length()
        return values | {"splits": self.splits()} if "splits" in top else values

    def by_length(self) -> dict[str, Any]:
        """Return the splits and the lengths of their words."""
        example = "{train: 1 to 20, test: 21 to 80}"
        value, found = self.top.found["splits"][1] if "splits" in self.top else None, dict[str, tuple[int, int]]()
        if not isinstance(value, Map) or not value.pairs:
            place = self.top.place("split by")
            self.reading.error(place, "the splits have no lengths", f"add a line 'splits: {example}'")
            return {}
        for name, lengths in self.reading.entries(value, "split"):
            if not _SPLIT.fullmatch(name.text):
                self.reading.error(name, f"{name.text!r} cannot be the name of a split", "use letters, digits and _")
            said = _LENGTHS.fullmatch(lengths.text) if isinstance(lengths, Scalar) else None
            shortest, longest = (int(said[1]), int(said[2] or said[1])) if said else (1, 0)
            if shortest > longest:
                self.reading.error(lengths, f"{name.text!r} has no lengths", f"write for example {example}")
            elif any(shortest <= most and least <= longest for least, most in found.values()):
                self.reading.error(lengths, f"{name.text!r} has lengths of another split", f"write for example {example}")
            found[name.text] = shortest, longest
        return {"splits": tuple((name, 0.0) for name in found), "lengths": tuple((n, *each) for n, each in found.items())}

    def words(self, node: Node) -> tuple[str, ...]:
        """Return listed words."""
        items = self.reading.scalars(node, "a word") or []
        for item in items:
            self.listed.setdefault(item.text, item)
            if item.empty:
                self.reading.error(item, "the word is missing", "write '' for the empty word")
        return tuple(item.text for item in items)

    def splits(self) -> tuple[tuple[str, float], ...]:
        """Return the splits and their shares."""
        value, found = self.top.found["splits"][1], dict[str, float]()
        example = "{train: 0.9, test: 0.1}"
        if not isinstance(value, Map) or not value.pairs:
            self.reading.error(self.top.place("splits"), "there are no splits", f"write for example {example}")
            return ()
        for name, share in self.reading.entries(value, "split"):
            if not _SPLIT.fullmatch(name.text):
                self.reading.error(name, f"{name.text!r} cannot be the name of a split", "use letters, digits and _")
            if not isinstance(share, Scalar) or not _SHARE.fullmatch(share.text):
                self.reading.error(
                    share, f"the share of {name.text!r} is not a number from 0 to 1", f"write for example {example}"
                )
            else:
                found[name.text] = float(share.text)
        if len(found) == len(value.pairs) and not isclose(sum(found.values()), 1.0, abs_tol=1e-9):
            what = f"the shares add up to {sum(found.values()):g}"
            self.reading.error(value, what, f"they must add up to 1, as in {example}")
        return tuple(found.items())


@dataclass
class WordsReader(CommonReader):
    """Reads inputs that are words over an alphabet."""

    sources: dict[Random, Map] = field(default_factory=dict)
    """The sources of random words, each with its place."""

    def inputs(self) -> Inputs:
        """Return the inputs."""
        value = self.top.found["inputs"][1]
        if not isinstance(value, Map):
            return Inputs(self.words(value))
        within = Section.of(self.reading, "'inputs'", value, ("words", "up to", "random"))
        if not within.found:
            self.reading.error(self.top.found["inputs"][0], "there are no inputs", "add 'words', 'up to' or 'random'")
        sources = within.sections("random", ("count", "length", "seed"), "{count: 100, length: 1 to 10}")
        drawn = [r for place, s in enumerate(sources) if (r := self.random(s, place)) is not None]
        words = self.words(within.found["words"][1]) if "words" in within else ()
        return Inputs(words, within.number("up to", -1, least=0), tuple(drawn))

    def random(self, section: Section, place: int) -> Random | None:
        """Return a source of random words."""
        section.needs("count", "100")
        section.needs("length", "1 to 10")
        count, seed = section.number("count", 1, least=1, most=MOST_WORDS), section.number("seed", self.seed, least=0)
        if "length" not in section:
            return None
        shown = section.text("length", "1")
        lengths = _LENGTHS.fullmatch(shown)
        shortest, longest = (int(lengths[1]), int(lengths[2] or lengths[1])) if lengths else (1, 0)
        if shortest > longest:
            self.reading.error(
                section.place("length"), f"the length is {shown!r}", "write a number, or a range such as '1 to 10'"
            )
            return None
        source = Random(count, shortest, longest, f"inputs {place}, seed {seed}")
        self.sources[source] = section.node
        return source
