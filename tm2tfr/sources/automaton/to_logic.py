"""A star-free automaton as a B-RASP program, and as a formula of past temporal logic: definitions for each level.

Level k of the cascade is what the latest position says at which it was set: ``latest_j [j <= i, …] set_k(j)``, an attention
to the latest such position, and in temporal logic a since.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tm2tfr.base.text.words import written
from tm2tfr.sources.automaton.automaton import ACCEPTS, STATE, Automaton
from tm2tfr.sources.automaton.cascade import CascadeLevel, Image, Images
from tm2tfr.sources.logic.printer import STYLES

KEEP = "-"
"""The symbol of a level that is not set at a position."""
_ASCII = STYLES["ascii"]
_DEFINED = re.compile(r"\b(?:set|level|within)_\d[\d_]*\b")
"""The names of definitions in formulas."""
Occasion = tuple[Image | None, int, Image | None]
"""When a level is set: the image above it before the token, the token, the image above it now; None: whatever it is."""


def headers(automaton: Automaton) -> list[str]:
    """Return the comments that programs begin with: title, alphabet, examples."""
    plain = all(len(token) == 1 and not token.isspace() for token in automaton.alphabet)
    tokens = written(automaton.alphabet) if plain else json.dumps(list(automaton.alphabet), ensure_ascii=False)
    title = " ".join(automaton.title.split())
    return [*([f"# title: {title}"] if title else []), f"# alphabet: {tokens}", ""]


def needed_of(level: CascadeLevel) -> dict[Occasion, int | None]:
    """Return the value that a level is set to, from as little as possible: the token, or the image above, now or before."""
    every = level.done.items()
    for of_before, of_now in ((False, False), (False, True), (True, False)):
        found: dict[Occasion, int | None] = {}
        if all(
            found.setdefault((before if of_before else None, token, now if of_now else None), value) == value
            for (before, token, now), value in every
        ):
            return found
    return {(before, token, now): value for (before, token, now), value in every}


@dataclass(frozen=True)
class Together:
    """Rules with one consequence: any of these tokens, with any of these images before and now; None: whatever it is."""

    before: tuple[Image, ...] | None
    tokens: tuple[int, ...]
    now: tuple[Image, ...] | None


def together(rules: Iterable[Occasion]) -> list[Together]:
    """Return rules as few conjunctions: tokens are taken together first, then images."""
    tokens: dict[tuple[Image | None, Image | None], list[int]] = {}
    for before, token, now in rules:
        tokens.setdefault((before, now), []).append(token)
    befores: dict[tuple[tuple[int, ...], Image | None], list[Image]] = {}
    free: set[tuple[tuple[int, ...], Image | None]] = set()
    for (before, now), some in tokens.items():
        key = (tuple(sorted(some)), now)
        befores.setdefault(key, [])
        if before is None:
            free.add(key)
        else:
            befores[key].append(before)
    nows: dict[tuple[tuple[int, ...], tuple[Image, ...] | None], list[Image]] = {}
    anyhow: set[tuple[tuple[int, ...], tuple[Image, ...] | None]] = set()
    for key, images in befores.items():
        chosen = None if key in free else tuple(sorted(images, key=sorted))
        nows.setdefault((key[0], chosen), [])
        if key[1] is None:
            anyhow.add((key[0], chosen))
        else:
            nows[key[0], chosen].append(key[1])
    return [
        Together(before, some, None if (some, before) in anyhow else tuple(sorted(images, key=sorted)))
        for (some, before), images in nows.items()
    ]


@dataclass
class _Writer:
    """What both languages have in common: the levels that do something, and the names of images."""

    automaton: Automaton
    images: Images = field(init=False)
    levels: tuple[CascadeLevel, ...] = field(init=False)
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.images = Images(self.automaton)
        self.levels = self.images.levels()

    def label(self, image: Image) -> str:
        """Return the name of an image: its state, or its states in braces."""
        names = [self.automaton.labels[self.automaton.reachable[q]] for q in sorted(image)]
        return names[0] if len(names) == 1 else f"{{{','.join(names)}}}"

    def token(self, number: int) -> str:
        """Return a token by its place in the alphabet."""
        return self.automaton.alphabet[number]

    def accepting(self) -> list[str]:
        """Return the reachable accepting states."""
        known = set(self.automaton.accepting)
        return [state for state in self.automaton.reachable if state in known]


# ── B-RASP ──────────────────────────────────────────────────────────────────────────────────────────────────
class _BRasp(_Writer):
    def text(self) -> str:
        after = {place for table in self.automaton.table for place in table}
        if len(after) == 1:  # a constant would be no output
            self.levels, every = (), self._among("in(i)", self.automaton.alphabet)
            self.lines.append(f"{STATE}(i) = {every} ? {self._image(frozenset(after))} : {self._quoted(KEEP)}")
        active = [level for level in self.levels if level.done]
        above: str | None = None  # what says the image above a level; None while that is all states
        initial, number = self.images.whole, 0
        for level in self.levels:
            if level.done:
                number += 1
                above = self._level(level, number, above, initial, last=level is active[-1])
            initial = level.initial
        good = self.accepting()
        labels = [self.automaton.labels[state] for state in good or self.automaton.reachable]
        verdict = self._among(f"{STATE}(i)", labels)  # the state is an output if the verdict is made of it
        self.lines.append(f"{ACCEPTS}(i) = {verdict}" if good else f"{ACCEPTS}(i) = !({verdict})")
        return "\n".join([*headers(self.automaton), *self.lines, ""])

    @cached_property
    def _names(self) -> dict[Image, str]:
        """The symbol of each image; where two would look the same, the later one has a number behind it."""
        found: dict[Image, str] = {}
        taken: set[str] = {KEEP}
        for image in sorted(self.images.all, key=lambda each: (len(each), sorted(each))):
            name, again = self.label(image), 2
            while name in taken:
                name, again = f"{self.label(image)} #{again}", again + 1
            taken.add(name)
            found[image] = name
        return found

    def _level(self, level: CascadeLevel, number: int, above: str | None, initial: Image, *, last: bool) -> str:
        """Write a level and return the name of what says the image below it."""
        rules, symbols = needed_of(level), self._symbols(level)
        if any(before is not None for before, _, _ in rules) and above is not None:
            self.lines.append(f"before_{number}(i) = latest_j [j < i, true] {above}(j) : {self._image(initial)}")
        ways: dict[str, list[Together]] = {}
        for value in [None, *symbols]:
            some = [rule for rule, what in rules.items() if what == value]
            if some:
                ways[KEEP if value is None else symbols[value]] = together(some)
        otherwise = KEEP if KEEP in ways else next(reversed(ways))
        cases = {
            symbol: [self._condition(one, number, above) for one in ones]
            for symbol, ones in ways.items()
            if symbol != otherwise
        }
        choice = _cases(cases, self._quoted(otherwise), self._quoted)
        idle = any(self.images.height[image] < level.height for image in self._above(level))
        same = all(self._names[image] == symbols.get(n) for (_, n), image in level.below.items())
        name = STATE if last and same and not idle else f"level_{number}"
        if None in rules.values():
            self.lines.append(f"set_{number}(i) = {choice}")
            start = KEEP if level.start is None else symbols[level.start]
            latest = f"latest_j [j <= i, set_{number}(j) != {self._quoted(KEEP)}] set_{number}(j)"
            self.lines.append(f"{name}(i) = {latest} : {self._quoted(start)}")
        else:
            self.lines.append(f"{name}(i) = {choice}")
        if same and not idle:
            return name
        within = STATE if last else f"within_{number}"
        self.lines.append(f"{within}(i) = {self._within(level, name, above, symbols, same=same, idle=idle)}")
        return within

    def _symbols(self, level: CascadeLevel) -> dict[int, str]:
        """Return the symbol of each tile of a level: its image, where it is the same one in every image above."""
        values = sorted({value for value in (*level.done.values(), level.start) if value is not None})
        images = {value: {image for (_, n), image in level.below.items() if n == value} for value in values}
        return {v: self._names[next(iter(some))] if len(some) == 1 else f"#{v + 1}" for v, some in images.items()}

    def _within(
        self, level: CascadeLevel, name: str, above: str | None, symbols: Mapping[int, str], *, same: bool, idle: bool
    ) -> str:
        """Return what says the image below a level, by that above it and by its tile."""
        nows = list(dict.fromkeys(now for _, _, now in level.done))
        if same:
            return f"{self._among(f'{above}(i)', [self._names[now] for now in nows])} ? {name}(i) : {above}(i)"
        cases: dict[str, list[str]] = {}
        for (now, n), image in level.below.items():
            if now in nows:
                left = f"{above}(i) = {self._image(now)} & " if len(nows) > 1 or idle else ""
                cases.setdefault(self._names[image], []).append(f"{left}{name}(i) = {self._quoted(symbols[n])}")
        if idle:
            return _cases(cases, f"{above}(i)", self._quoted)
        *first, otherwise = cases
        return _cases({image: cases[image] for image in first}, self._quoted(otherwise), self._quoted)

    def _above(self, level: CascadeLevel) -> set[Image]:
        """Return the images above a level after some token."""
        place = self.levels.index(level)
        if place == 0:
            return {self.images.whole}
        upper = self.levels[place - 1]
        return set(upper.below.values()) | ({now for now in self._above(upper) if self.images.height[now] < upper.height})

    def _condition(self, one: Together, number: int, above: str | None) -> str:
        parts = []
        if len(one.tokens) < len(self.automaton.alphabet):
            parts.append(self._among("in(i)", [self.token(a) for a in one.tokens]))
        if one.before is not None and above is not None:
            parts.append(self._among(f"before_{number}(i)", [self._names[image] for image in one.before]))
        if one.now is not None and above is not None:
            parts.append(self._among(f"{above}(i)", [self._names[image] for image in one.now]))
        return " & ".join(parts) or "true"

    def _among(self, left: str, labels: Sequence[str]) -> str:
        if len(labels) == 1:
            return f"{left} = {self._quoted(labels[0])}"
        return f"{left} in {{{', '.join(map(self._quoted, labels))}}}"

    def _image(self, image: Image) -> str:
        return self._quoted(self._names[image])

    def _quoted(self, label: str) -> str:
        return _ASCII.label(label)


def _cases(cases: Mapping[str, Sequence[str]], otherwise: str, quoted: Callable[[str], str]) -> str:
    """Return a choice between symbols: each with the ways in which it is the right one."""
    return "".join(f"{' | '.join(ways)} ? {quoted(symbol)} : " for symbol, ways in cases.items()) + otherwise


def to_brasp(automaton: Automaton) -> str:
    """Return a star-free automaton as a B-RASP program, whose definitions `STATE` and `ACCEPTS` are the last two."""
    return _BRasp(automaton).text()


# ── past temporal logic ─────────────────────────────────────────────────────────────────────────────────────
class _Past(_Writer):
    def text(self) -> str:
        within: dict[Image, str] = {self.images.whole: "true"}
        initial, number = self.images.whole, 0
        for level in self.levels:
            if level.done:
                number += 1
                within = self._level(level, number, within, initial)
            initial = level.initial
        good = [within.get(frozenset([self.automaton.reachable.index(q)]), "false") for q in self.accepting()]
        every = len(good) == len(self.automaton.reachable)
        self.lines.append(f"{ACCEPTS} := {'true' if every else _any(good)}")
        return "\n".join([*headers(self.automaton), *self._used(), ""])

    def _used(self) -> list[str]:
        """Return the definitions that the last one needs."""
        needed, kept = {ACCEPTS}, list[str]()
        for line in reversed(self.lines):
            name, _, text = line.partition(" := ")
            if name in needed:
                kept.append(line)
                needed |= set(_DEFINED.findall(text))
        return kept[::-1]

    def _level(self, level: CascadeLevel, number: int, above: Mapping[Image, str], initial: Image) -> dict[Image, str]:
        """Write a level: for each tile whether it is set, and whether it is the latest one that was."""
        rules = needed_of(level)
        values = sorted({value for value in (*level.done.values(), level.start) if value is not None})
        sets: dict[int, str] = {}
        keeps = None in rules.values()

        def before(images: Iterable[Image]) -> str:
            parts = [
                f"prev {_inner(above.get(image, 'false'))}" for image in images if above.get(image, "false") != "false"
            ]
            return _any([*(["first"] if initial in images else []), *parts])

        for value in values:
            some = [rule for rule, what in rules.items() if what == value]
            if not some:
                continue
            ways = [self._condition(one, before, above) for one in together(some)]
            sets[value] = f"set_{number}_{value + 1}"
            self.lines.append(f"{sets[value]} := {_any(ways)}")
        at: dict[int, str] = {}
        if keeps:
            anything = next(iter(sets.values())) if len(sets) == 1 else f"set_{number}"
            if len(sets) > 1:
                self.lines.append(f"{anything} := {_any(list(sets.values()))}")
            for value in values:
                ways = [f"(!{anything}) S {sets[value]}"] if value in sets else []
                ways += [f"!once {anything}"] if value == level.start else []
                at[value] = f"level_{number}_{value + 1}"
                self.lines.append(f"{at[value]} := {_any(ways)}")
        else:
            at = sets
        results: dict[Image, list[str]] = {}
        active = {now for _, _, now in level.done}
        for (now, n), image in level.below.items():
            if n in at and now in active:
                results.setdefault(image, []).append(_all([above[now], at[n]]))
        for image, name in above.items():
            if image not in active and self.images.height[image] < level.height:
                results.setdefault(image, []).append(name)
        found: dict[Image, str] = {}
        for image, ways in results.items():
            if len(ways) == 1 and ways[0].isidentifier():
                found[image] = ways[0]
                continue
            found[image] = f"within_{number}_{len(found) + 1}"
            self.lines.append(f"{found[image]} := {_any(ways)}")
        return found

    def _condition(self, one: Together, before: Callable[[Iterable[Image]], str], above: Mapping[Image, str]) -> str:
        parts = []
        if len(one.tokens) < len(self.automaton.alphabet):
            parts.append(_any([_ASCII.letter(self.token(a)) for a in one.tokens]))
        if one.before is not None and set(above) != {self.images.whole}:
            parts.append(before(one.before))
        if one.now is not None:
            parts.append(_any([above[image] for image in one.now]))
        return _all(parts)


def _any(parts: Sequence[str]) -> str:
    """Return a disjunction as text."""
    some = [part for part in parts if part != "false"]
    if "true" in some:
        return "true"
    return " | ".join(_inner(part) if " " in part and len(some) > 1 else part for part in some) or "false"


def _all(parts: Sequence[str]) -> str:
    """Return a conjunction as text."""
    some = [part for part in parts if part != "true"]
    if "false" in some:
        return "false"
    return " & ".join(_inner(part) if " " in part and len(some) > 1 else part for part in some) or "true"


def _inner(part: str) -> str:
    """Return a text in brackets, unless it is one word."""
    return f"({part})" if " " in part else part


def to_formula(automaton: Automaton) -> str:
    """Return a star-free automaton as a formula of past temporal logic with definitions; the last one is `ACCEPTS`."""
    return _Past(automaton).text()
