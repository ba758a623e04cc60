"""The same prompts for many decoders that share all parts but their first layers, one decoder after the other.

What a decoder runs on follows from its own weights: those of the first layer are read off its matrices, and everything
else is shared with the one whose plan it is, which is the same objects. Nothing is remembered from one decoder to the next.
Where that cannot be, a decoder is left out: it needs a session of its own, `tm2tfr.engines.fast.many.ManyRuns`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.dependence import sources
from tm2tfr.engines.fast import kept
from tm2tfr.engines.fast import state as k
from tm2tfr.engines.fast.many import ManyRuns, RowsInTurn
from tm2tfr.engines.fast.state import InTurn
from tm2tfr.engines.overflow import is_finite
from tm2tfr.engines.same import WIDEST, Same
from tm2tfr.engines.siblings.first_layers import FirstLayers, first_layers
from tm2tfr.engines.siblings.plans import Plans, can_be_template, sizes_of
from tm2tfr.native.loading import places, words
from tm2tfr.transformer.matrix import Ints
from tm2tfr.transformer.weights import Decoder

WhatIsRead = tuple[tuple[tuple[int, int], ...], tuple[int, ...]]
"""What is read at every position: labels and numbers, see `tm2tfr.engines.fast.session.FastSession`."""
MOST_KEPT = 128
"""The number of sessions that a thread keeps for later calls; each has about a megabyte."""


class Sibling(ManyRuns):
    """A session for many runs that goes on to other decoders of its kind; see `ManyRuns` for its arguments."""

    def __init__(self, decoder: Decoder, read: WhatIsRead) -> None:
        super().__init__(decoder, labels=read[0], numbers=read[1])
        self._caller, self._places = kept.advance_many(), ()
        tail = self._plan.tail.first
        known = sources(decoder)
        self._entry = known.layers[tail].before if tail < len(known.layers) else known.after
        self.fits = self._plain and can_be_template(self._plan, len(decoder.vocabulary))
        self._at: Any = None  # the places of the words of a call, once there was one

    def certain(self, first: FirstLayers, some: Ints) -> bool:
        """Return whether every number of these decoders is certain to be finite, so that heads are of the same kinds."""
        return bool(first.fine[some].all()) and is_finite(self._decoder, first.bounds[some].max(axis=0))

    def plans(self, first: FirstLayers, some: Ints) -> Plans:
        """Return the plans of these decoders."""
        return Plans(first, some, self._plan, self._entry)

    def begin(self, most: int) -> None:
        """Make room for so many positions."""
        if len(self._state.tokens) < most:
            self._room(most)
            self._at = None

    def words(self, plans: Plans, n: int, given: tuple[Any, ...]) -> tuple[Ints, Ints] | None:
        """Return the places and the words in which calls differ, of all `plans`; None: there is no machine code.

        Args:
            n: the decoder of a call that is made in order to find them, of no position.
            given: what is given to it besides.
        """
        if self._at is None:
            self._begin(0)
            arguments = (plans.plan(n), self._state, self._pools, self._control, *given)
            self._caller(*arguments)
            self._at = places(arguments)
        if not self._caller.by_words:
            return None
        where, own = plans.words(self._at[0])
        return np.concatenate([where, np.arange(self._at[4], self._at[4] + len(words(given)))]), own

    def make(self, count: int, at: Ints, its: Ints) -> int:
        """Make the runs of a decoder from row `count` on, by the words of its call; return the status."""
        self._state.memo_slot[:] = -1  # another decoder's answers
        self._control[k.ENTRIES] = 0
        self._begin(count)
        return self._caller.again(at, its)

    def rows(self, status: int) -> int:
        """Return the number of rows after a call with this status."""
        count = int(self._control[k.COUNT])
        if status == k.OVERFLOW:  # the arrays cannot be used any more
            self._build()
            self._at = None
        return count


def run_siblings(
    decoders: Sequence[Decoder], read: Sequence[WhatIsRead], given: NDArray[np.int32], start: Ints, most: Ints
) -> tuple[RowsInTurn, NDArray[np.bool_]]:
    """Run each of N decoders on R prompts, and return the rows, those of decoder n behind those of n - 1; and which ran.

    A decoder that did not run has no rows.

    Args:
        read: what is read of each decoder; none runs of which there are more or fewer labels or numbers than of the first.
        given, start: the prompts, of numbers that are tokens of all decoders; see `ManyRuns.run`.
        most: (N, R) the most positions of each run.
    """
    number, runs = most.shape
    total, most = int(most.sum()), np.ascontiguousarray(most, dtype=np.int64)
    row, how = np.zeros(number * runs + 1, dtype=np.int64), np.zeros((number, runs), dtype=np.int64)
    at, ran = np.zeros((number, 1), dtype=np.int64), np.zeros(number, dtype=np.bool_)
    labels, numbers = (len(each) for each in read[0])
    answers, codes = np.empty(total, dtype=np.int32), np.empty((total, labels), dtype=np.int32)
    said = np.empty((total, numbers))
    shared = (given, InTurn(start, most[0], row[: runs + 1], how[0], at[0]), answers, codes, said, 0)
    own = _own_words(shared, most, row, how, at, total)
    turns: list[tuple[Sibling, Ints, Ints] | None] = [None] * number
    alive = []  # arrays whose addresses are among the words
    for session, some, plans in _families(decoders, read):
        session.begin(int(most[some].max()))
        alive.append(plans)
        if (found := session.words(plans, 0, shared)) is not None:
            where, its = found[0], np.hstack([found[1], own[some]])
            for n, words_of in zip(some.tolist(), its, strict=True):
                turns[n] = session, where, words_of
    count = 0
    for n, turn in enumerate(turns):
        first_run = n * runs
        if turn is not None:
            session, where, its = turn
            status = session.make(count, where, its)
            ran[n] = status <= k.STOPPED and int(at[n, 0]) == runs
            after = session.rows(status)
        if ran[n]:
            count = after
        else:
            row[first_run + 1 : first_run + runs + 1] = count
    return RowsInTurn(row, how.reshape(-1), answers[:count], codes[:count], said[:count]), ran


def _own_words(shared: tuple[Any, ...], most: Ints, row: Ints, how: Ints, at: Ints, total: int) -> Ints:
    """Return the words for what a call is given besides the session's arrays, of each decoder: (N, words)."""
    number, runs = most.shape
    found, where = np.tile(np.array(words(shared), dtype=np.int64), (number, 1)), places(shared)
    for place, array, step in (
        (where[1].most, most, most.strides[0]),
        (where[1].row, row, runs * row.itemsize),
        (where[1].how, how, how.strides[0]),
        (where[1].at, at, at.strides[0]),
    ):
        found[:, place] = array.__array_interface__["data"][0] + np.arange(number) * step
    found[:, where[-1]] = total
    return found


class _Sessions(threading.local):
    """The sessions of a thread, by what decoders share."""

    def __init__(self) -> None:
        self.kept = OrderedDict[Hashable, Sibling]()

    def of(self, key: Hashable, decoder: Decoder, read: WhatIsRead) -> Sibling:
        """Return the session for decoders with this key, of which this is one."""
        found = self.kept.pop(key, None)
        if found is None:
            found = Sibling(decoder, read)
            if len(self.kept) >= MOST_KEPT:
                self.kept.popitem(last=False)
        self.kept[key] = found
        return found


_SESSIONS = _Sessions()


def _families(decoders: Sequence[Decoder], read: Sequence[WhatIsRead]) -> list[tuple[Sibling, Ints, Plans]]:
    """Return sessions with the places of decoders that they run, and the plans of these."""
    embedded = defaultdict[Hashable, list[int]](list)
    for n, decoder in enumerate(decoders):
        if _may_be_one(decoder) and [len(each) for each in read[n]] == [len(each) for each in read[0]]:
            parts = Same(decoder.token_embedding), Same(decoder.position_embedding)
            embedded[(*parts, decoder.features, len(decoder.vocabulary))].append(n)
    found = []
    for members in embedded.values():
        first = first_layers([decoders[n] for n in members])
        for key, some in _alike(decoders, read, members, first).items():
            one, places_of = decoders[members[some[0]]], np.array(some)
            session = _SESSIONS.of(key, one, read[members[some[0]]])
            if session.fits and session.certain(first, places_of):
                found.append((session, np.array(members)[places_of], session.plans(first, places_of)))
    return found


def _may_be_one(decoder: Decoder) -> bool:
    """Return whether the first layer is of the kind that is looked at, and the kernel runs all there is."""
    first = decoder.layers[0] if decoder.layers else None
    plain = first is not None and not first.heads and first.feed_forward is not None and not decoder.normed
    return plain and not decoder.labeller and decoder.position_table is None and decoder.layout.width <= WIDEST


def _alike(
    decoders: Sequence[Decoder], read: Sequence[WhatIsRead], members: Sequence[int], first: FirstLayers
) -> dict[Hashable, list[int]]:
    """Return the places among `members` of decoders that can have one's plan, but for what `Plans` makes of each."""
    found = defaultdict[tuple[Any, ...], list[int]](list)
    after, written = (array.tobytes() for array in (first.after, first.written))
    width = first.after.shape[1]
    for place, (n, sizes) in enumerate(zip(members, sizes_of(first), strict=True)):
        decoder, cut = decoders[n], slice(place * width, (place + 1) * width)
        stop = tuple([decoder.numbers[token] for token in decoder.stop])
        shared = tuple([id(part) for part in _shared(decoder)])
        found[(shared, stop, decoder.features, read[n], after[cut], written[cut], sizes)].append(place)
    return {(tuple(map(Same, _shared(decoders[members[some[0]]]))), *key[1:]): some for key, some in found.items()}


def _shared(decoder: Decoder) -> tuple[object, ...]:
    """Return the parts that have to be the same ones; decoders that differ in one of them are not alike."""
    outer = decoder.unembedding, decoder.unembedding_bias, decoder.token_embedding, decoder.position_embedding
    return (*decoder.layers[1:], *outer)
