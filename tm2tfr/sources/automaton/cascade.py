"""Whether an automaton is star-free, and if so its cascade of identity-reset levels: the holonomy decomposition.

A word maps the set of all states to a set of states, its image. A chain of images, each a maximal one (a tile) within the
one before it, down to one state, says more and more of where a run is: all states, one tile of them, a tile of that, ….
Images that words map onto each other in both directions are of one class. Within a class a letter that maps P onto P' maps
tiles to tiles; with the tiles of both numbered along words from one representative, that is a permutation of the numbers.
The automaton is counter-free (aperiodic) iff all these permutations are the identity, and then every level of the cascade
does one of two things at a token: it keeps its tile, or it is set to a tile that is known from the levels above it.

The level of an image is its height: images of one class have one height, a letter never leads to a higher one, and an
image that is smaller, or is not mapped back, has a smaller one. So a level is idle where the chain skips its height.

Source: Eilenberg, Automata, Languages, and Machines, volume B (1976), chapter II; Maler, On the Krohn-Rhodes Cascaded
Decomposition Theorem (2010); star-free languages are those of aperiodic automata by Schützenberger (1965), and B-RASP has
exactly them by Yang, Chiang and Angluin (2024), who use such cascades.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import networkx as nx

from tm2tfr.sources.automaton.automaton import Automaton

Image = frozenset[int]
"""A set of states, as indices into `Automaton.reachable`."""
MOST_IMAGES = 4_096
"""The most images that are looked at. An automaton of n states has at most 2^n - 1, and most have far fewer."""


class TooManyImagesError(Exception):
    """An automaton has more images than are looked at."""


@dataclass(frozen=True)
class Counter:
    """A word that counts: it permutes some states in a circle, so that the automaton is not aperiodic.

    Args:
        word: the tokens.
        states: a circle of states of at least two: the word leads from each to the next.
    """

    word: tuple[str, ...]
    states: tuple[str, ...]


@dataclass(frozen=True)
class CascadeLevel:
    """One level of a cascade: its action at each token.

    Args:
        height: the height of its images.
        start: its tile before the first token; None: it is idle there.
        initial: the next image of the chain before the first token.
        done: (the image above it before the token, the token, the image above it after the token) -> the tile that it is
            set to, or None: it keeps its tile. Idle where the last of these is a lower one: then there is no entry.
        below: (the image above it, its tile) -> the next image of the chain.
    """

    height: int
    start: int | None
    initial: Image
    done: Mapping[tuple[Image, int, Image], int | None]
    below: Mapping[tuple[Image, int], Image]


class Images:
    """The images of an automaton, their classes and heights.

    Raises:
        TooManyImagesError: if there are more than `MOST_IMAGES`.
    """

    def __init__(self, automaton: Automaton) -> None:
        self.automaton, self._table = automaton, automaton.table
        self.whole: Image = frozenset(range(len(automaton.reachable)))
        self.all = self._found()
        inner = nx.DiGraph((image, after) for image, after in self._steps() if len(after) > 1)
        inner.add_nodes_from(image for image in self.all if len(image) > 1)
        self._parts: nx.DiGraph[int] = nx.condensation(inner)
        self.part: Mapping[Image, int] = self._parts.graph["mapping"]

    def after(self, image: Image, token: int) -> Image:
        """Return the image of an image."""
        table = self._table[token]
        return frozenset(table[q] for q in image)

    def _found(self) -> tuple[Image, ...]:
        found = dict.fromkeys([self.whole])
        waiting = [self.whole]
        for image in waiting:
            for token in range(len(self._table)):
                after = self.after(image, token)
                if after not in found:
                    if len(found) >= MOST_IMAGES:
                        raise TooManyImagesError
                    found[after] = None
                    waiting.append(after)
        return tuple(dict.fromkeys([*found, *(frozenset([q]) for q in self.whole)]))

    def _steps(self) -> Iterator[tuple[Image, Image]]:
        """Yield each image of several states with its image under each letter."""
        for image in self.all:
            if len(image) > 1:
                yield from ((image, self.after(image, token)) for token in range(len(self._table)))

    @cached_property
    def tiles(self) -> Mapping[Image, tuple[Image, ...]]:
        """Image of several states -> the maximal images within it."""
        found: dict[Image, tuple[Image, ...]] = {}
        by_size = sorted(self.all, key=len, reverse=True)
        for image in self.part:
            within: list[Image] = []
            for other in by_size:
                if other < image and not any(other < tile for tile in within):
                    within.append(other)
            found[image] = tuple(sorted(within, key=sorted))
        return found

    @cached_property
    def height(self) -> Mapping[Image, int]:
        """The height of each image: 0 of one state, and otherwise larger than those of its tiles and of lower classes."""
        below: nx.DiGraph[int] = nx.DiGraph(self._parts.edges)
        below.add_nodes_from(self._parts)
        below.add_edges_from(
            (self.part[image], self.part[tile]) for image in self.part for tile in self.tiles[image] if len(tile) > 1
        )
        heights: dict[int, int] = {}
        for part in reversed(list(nx.topological_sort(below))):
            heights[part] = 1 + max((heights[other] for other in below[part]), default=0)
        return {image: 0 if len(image) == 1 else heights[self.part[image]] for image in self.all}

    @cached_property
    def along(self) -> tuple[Mapping[Image, Mapping[int, int]], Mapping[Image, tuple[int, ...]]]:
        """For each image the map from its class's representative onto it, and the word that makes it."""
        maps: dict[Image, dict[int, int]] = {}
        words: dict[Image, tuple[int, ...]] = {}
        for image in self.all:
            if len(image) == 1 or image in maps:
                continue
            maps[image], words[image], waiting = {q: q for q in image}, (), [image]
            for known in waiting:
                for token, table in enumerate(self._table):
                    after = self.after(known, token)
                    if after not in maps and len(after) > 1 and self.part[after] == self.part[known]:
                        maps[after] = {q: table[r] for q, r in maps[known].items()}
                        words[after] = (*words[known], token)
                        waiting.append(after)
        return maps, words

    def counter(self) -> Counter | None:
        """Return a word that counts; None: the automaton is aperiodic."""
        maps, words = self.along
        for image in maps:
            for token, table in enumerate(self._table):
                after = self.after(image, token)
                if len(after) == 1 or self.part[after] != self.part[image]:
                    continue
                if {q: table[r] for q, r in maps[image].items()} != maps[after]:
                    back = self._back(after)
                    return self._circle(((*words[image], token, *back), (*words[after], *back)), frozenset(maps[image]))
        return None

    def _back(self, image: Image) -> tuple[int, ...]:
        """Return a word that maps an image onto its class's representative."""
        root, ways = frozenset(self.along[0][image]), dict[Image, tuple[int, ...]]({image: ()})
        waiting = [image]
        for known in waiting:
            for token in range(len(self._table)):
                after = self.after(known, token)
                if after not in ways and len(after) == len(image):
                    ways[after] = (*ways[known], token)
                    waiting.append(after)
        return ways[root]

    def _circle(self, loops: Sequence[tuple[int, ...]], image: Image) -> Counter:
        """Return a circle of states that one of these words, each of which permutes an image, makes."""
        found: list[Counter] = []
        for word in loops:
            moved: dict[int, int] = {}
            for state in image:
                moved[state] = state
                for token in word:
                    moved[state] = self._table[token][moved[state]]
            for first in sorted(image):
                circle = [first]
                while moved[circle[-1]] != first:
                    circle.append(moved[circle[-1]])
                if len(circle) > 1:
                    tokens, names = self.automaton.alphabet, self.automaton.reachable
                    found.append(Counter(tuple(tokens[a] for a in word), tuple(names[q] for q in circle)))
        return min(found, key=lambda each: (len(each.word), len(each.states)))

    # ── the cascade of an aperiodic automaton ───────────────────────────────────────────────────────────────
    def tile_of(self, image: Image, states: Image) -> int:
        """Return the number of the first tile of an image that some states, another image, are in."""
        onto = self.along[0][image]
        back = {r: q for q, r in onto.items()}
        root = frozenset(onto)
        found = next(tile for tile in self.tiles[image] if states <= tile)
        return self.tiles[root].index(frozenset(back[q] for q in found))

    def tile(self, image: Image, number: int) -> Image:
        """Return a tile of an image by its number, which tiles of all images of a class have in common."""
        onto = self.along[0][image]
        return frozenset(onto[q] for q in self.tiles[frozenset(onto)][number])

    def levels(self) -> tuple[CascadeLevel, ...]:
        """Return the cascade of an aperiodic automaton, from the top: the possible actions at each level."""
        first: Image = self.whole
        reached: dict[tuple[Image, int, Image], None] = {(first, a, first): None for a in range(len(self._table))}
        levels: list[CascadeLevel] = []
        for height in range(self.height[self.whole], 0, -1):
            start = self.tile_of(first, frozenset([0])) if self.height[first] == height else None
            done: dict[tuple[Image, int, Image], int | None] = {}
            steps: dict[Image, list[tuple[Image, int, Image]]] = {}
            for before, token, now in reached:
                inside = (
                    [self.tile(before, n) for n in range(len(self.tiles[before]))] if self.height[before] == height else []
                )
                image = self.after(before, token)
                if self.height[now] == height:
                    done[before, token, now] = None if image == now else self.tile_of(now, image)
                    kept = done[before, token, now]
                for lower in inside or [before]:
                    if self.height[now] < height:
                        after = now
                    else:
                        after = self.after(lower, token) if image == now else self.tile(now, kept)  # type: ignore[arg-type]
                    steps.setdefault(lower, []).append((lower, token, after))
            first = first if start is None else self.tile(first, start)
            reached, met, waiting = {}, {first}, [first]
            for lower in waiting:
                for step in steps.get(lower, ()):
                    reached[step] = None
                    if step[2] not in met:
                        met.add(step[2])
                        waiting.append(step[2])
            tiles = {tile for tile in (start, *done.values()) if tile is not None}
            above = {now for _, _, now in done} | ({self.whole} if not levels else set())
            below = {
                (image, n): self.tile(image, n) for image in above for n in sorted(tiles) if n < len(self.tiles[image])
            }
            levels.append(CascadeLevel(height, start, first, done, below))
        return tuple(levels)
