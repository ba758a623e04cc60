"""A decoder in the middle of a sequence, run by the compiled kernel: its arrays, and how they grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import EngineError
from tm2tfr.base.native.function import Caller
from tm2tfr.engines.decode import Watch
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.fast import arrays as k
from tm2tfr.engines.fast import fresh as made
from tm2tfr.engines.fast import straight
from tm2tfr.engines.fast.arrays import Buffers
from tm2tfr.engines.fast.expressions import Tables
from tm2tfr.engines.fast.fresh import KEPT, Snapshot, pools_of, refuse_damaged, saved_of, scanned_of
from tm2tfr.engines.fast.plan import plan
from tm2tfr.engines.overflow import beyond_the_table, reach, too_large
from tm2tfr.engines.recognise import Recognition, recognise
from tm2tfr.transformer.matrix import AnyArray
from tm2tfr.transformer.parts import NO_BOS, TABLE, refuse_parts
from tm2tfr.transformer.weights import Decoder

MOST_POSITIONS = 2**31 - 1
LOOK_AFTER = 4_096
"""After this many positions straight-line code that was compiled another time is worth loading: some milliseconds."""
SPECIALISE_AFTER = 500_000
"""After this many positions, those of earlier runs included, it is worth compiling, which takes about a second."""
MOST_PATIENCE = 2**20
"""The most positions that the kernel runs before straight-line code that did not get far is tried again."""
TOLD_BY_DENSE = 20_000
"""Up to this position the dense engine explains a refusal: it must run that far."""
REASONS = {
    k.NOT_SQUARE: "a key is not an integer (below a billion) and its square",
    k.NOT_CONCAVE: "a score is not concave, or its maximum lies beyond all keys",
    k.MANY_KEYS: "its key takes too many values to group positions by it",
    k.SHARED: "several keys share the attention, and their values cannot be added up in any order",
}
Short = tuple[Caller, Tables, NDArray[np.float64]]


@dataclass(frozen=True)
class Chunk:
    """Positions `start`, `start` + 1, …

    Args:
        tokens, answers: (n,) the tokens fed and answered.
        codes: (n, labels) the place of the 1 of each one-hot probe, -1 for the zero vector, -2 for anything else.
        numbers: (n, numbers) the values of the number probes.
        stopped: whether the last answer is a stop token.
    """

    start: int
    tokens: NDArray[np.int32]
    answers: NDArray[np.int32]
    codes: NDArray[np.int32]
    numbers: NDArray[np.float64]
    stopped: bool


class FastSession:
    """The session; see `tm2tfr.engines.fast` for what it does.

    Args:
        labels, numbers: the slices and directions that `extend` reads off the stream after the last layer.
    """

    def __init__(self, decoder: Decoder, *, labels: Sequence[tuple[int, int]] = (), numbers: Sequence[int] = ()) -> None:
        refuse_parts(decoder, "the fast engine", "use the dense engine", known=(TABLE, NO_BOS))
        for layer in decoder.layers:
            for head in layer.heads:
                if head.weighting != "average-hard":
                    problem = f"head {head.name!r}: the fast engine runs average-hard attention, not {head.weighting}"
                    raise EngineError(f"{problem}: use the dense engine")
        self._decoder, self._labels, self._numbers = decoder, tuple(labels), tuple(numbers)
        self._found = self._recognised = recognise(decoder)
        self._advance = made.advance()
        self._given = np.zeros(0, dtype=np.int32)
        self._control = np.zeros(len(k.PLACES), dtype=np.int64)
        self._stopped = False
        self._plain = reach(decoder).everything
        """Whether no number can get too large for floats: the straight-line code does not check."""
        self._short: Short | Literal[False] | None = None
        """The straight-line code of the plan and its table; False if there can be none, None before it is written."""
        self._ready = self._looked = False
        """Whether the straight-line code is used from now on; whether the cache was searched for it."""
        self._ran = 0
        """The number of positions that have been run, since the session was built, in all runs."""
        self.hurried = 0
        """The number of positions that the straight-line code has run, since the session was built."""
        self._build()
        self.residual: NDArray[np.float64] = np.zeros(decoder.layout.width)
        self.logits: NDArray[np.float64] = np.zeros(len(decoder.vocabulary))

    # ── for callers ─────────────────────────────────────────────────────────────────────────────────────────
    @property
    def position(self) -> int:
        """The number of positions run."""
        return int(self._control[k.POSITION])

    @property
    def stopped(self) -> bool:
        """Whether the last answer was a stop token."""
        return self._stopped

    @property
    def refused(self) -> bool:
        """Whether the next position is refused because a number in it is too large."""
        return bool(self._state.overflow[0])

    @property
    def recognised(self) -> tuple[tuple[Recognition, ...], ...]:
        """The kind of each head of each layer, as far as is known by now."""
        return self._found

    def report(self) -> list[str]:
        """Return one line for each head: its kind, or why it is scanned."""
        return [
            f"layer {n}, head {head.name!r}: {found.kind}: {found.why}"
            for n, (layer, kinds) in enumerate(zip(self._decoder.layers, self._found, strict=True), start=1)
            for head, found in zip(layer.heads, kinds, strict=True)
        ]

    def prompt(self, tokens: Sequence[int]) -> None:
        """Set the tokens that `extend` feeds at the first positions; after them it feeds its own answers.

        Raises:
            EngineError: for a number that is not a token.
        """
        self._check(tokens)
        self._given = np.array(tokens, dtype=np.int32)

    def restart(self) -> None:
        """Go back to position 0, without a prompt, and keep what was computed from the weights alone.

        That is the plan, its straight-line code, and the tail's answers, which are a function of their key, unless there is
        no room for more of them: from here on the session computes what a new one would.
        """
        self._stopped = False
        self._given = np.zeros(0, dtype=np.int32)
        if self._found is not self._recognised:  # a head had to be scanned: that belongs to the previous run
            self._found = self._recognised
            self._build()
            return
        state, kept = self._state, self._control[[k.ENTRIES, k.HITS]]
        if kept[0] == len(state.memo_token):
            state.memo_slot[:], kept[0] = -1, 0
        made.forgotten(self._pools, int(self._control[k.EARLY]))
        self._control[:] = 0
        self._control[[k.ENTRIES, k.HITS]] = kept
        for slot, (first, last, zero) in enumerate(state.span.tolist()):
            state.group_position[slot, first + zero : last + zero + 1] = -1  # nothing, where no key was stored
        state.span[:, 0], state.span[:, 1] = made.NO_SPAN
        state.sums[:] = 0.0
        state.x[:] = 0.0
        state.overflow[0] = 0

    def feed(self, token: int, watch: Watch | None = None) -> int:
        """Run the next position on `token` and return the first token with the largest logit.

        Raises:
            EngineError: for a number that is not a token; for numbers that are too large for floats, in the words of the
                dense engine; beyond the end of the position table; with a `watch`: the kernel cannot be watched.
        """
        self._check((token,))
        if watch is not None:
            raise EngineError("the fast engine cannot be watched from the inside: use the dense engine")
        self._left(1)
        self._control[k.NEXT] = token
        self._given, given = np.zeros(0, dtype=np.int32), self._given
        chunk = self._run(1, whole=True)
        self._given = given
        if self.refused:
            raise self._refusal()
        self.residual, self.logits = self._state.x.copy(), self._state.logits.copy()
        self._state.x[:] = 0.0
        return int(chunk.answers[0])

    def room(self, positions: int) -> Buffers:
        """Return arrays for this many positions."""
        return Buffers.of(positions, len(self._labels), len(self._numbers))

    def extend(self, most: int, room: Buffers | None = None) -> Chunk:
        """Run at most `most` positions and return them: none from a refused one on or after a stop token.

        Args:
            room: arrays that the returned ones are made of; None: new ones, which nothing changes later.

        Raises:
            EngineError: if the very next position is refused, see `feed`.
        """
        most = 0 if self._stopped else self._left(most)
        chunk = self._run(0 if self.refused else most, whole=False, room=room)
        if most and self.refused and not len(chunk.tokens):
            raise self._refusal()
        return chunk

    def _left(self, most: int) -> int:
        """Return the number of positions in the position table, at most `most`; raise EngineError if it is 0."""
        left = most if self._decoder.positions is None else self._decoder.positions - self.position
        if most and not left:
            raise beyond_the_table(self.position)
        return min(most, left)

    def _refusal(self) -> EngineError:
        """Return the dense engine's refusal of this position."""
        if self.position <= TOLD_BY_DENSE:
            dense = Dense().start(self._decoder)
            try:
                for token in self._state.tokens[: self.position + 1].tolist():
                    dense.feed(token)
            except EngineError as error:
                return error
        return too_large("the fast engine", self.position, "a number", "float64")

    def _check(self, tokens: Sequence[int]) -> None:
        last = len(self._decoder.vocabulary) - 1
        if wrong := [token for token in tokens if not 0 <= token <= last]:
            raise EngineError(f"there is no token number {wrong[0]}: use 0 to {last}")

    # ── arrays ──────────────────────────────────────────────────────────────────────────────────────────────
    def _run(self, most: int, *, whole: bool, room: Buffers | None = None) -> Chunk:
        control, start = self._control, self.position
        if start + most > MOST_POSITIONS:
            raise EngineError(f"the fast engine runs at most {MOST_POSITIONS:,} positions: use the dense or exact engine")
        control[k.COUNT] = control[k.RESUME] = 0
        self._room(start + most)
        into = self.room(most) if room is None else room
        answers, codes, numbers = into.answers[:most], into.codes[:most], into.numbers[:most]
        patience = 1
        while True:
            limit = most
            if not whole and self._specialise(into, most):
                if (rest := len(self._given) - self.position) > 0:
                    patience = rest
                elif control[k.RESUME] == 0:
                    ran, status = self._hurry(into, most)
                    if status == k.STOPPED or int(control[k.COUNT]) == most:
                        break
                    patience = 1 if ran > 32 * patience else min(2 * patience, MOST_PATIENCE)
                limit = min(most, int(control[k.COUNT]) + patience)
            status = self._advance(
                self._plan, self._state, self._pools, control, self._given, answers, codes, numbers, limit, whole
            )
            if status == k.GROW:
                self._widen(int(control[k.WANTED]))
                self._room(start + most)  # it may have started to scan, with new arrays
            elif status == k.GUARD:
                self._scan_instead(int(control[k.HEAD]), REASONS[int(control[k.REASON])])
                self._room(start + most)
            elif status in (k.STOPPED, k.OVERFLOW) or int(control[k.COUNT]) == most:
                break
        self._remember_more()
        n = int(control[k.COUNT])
        self._stopped = status == k.STOPPED or (self._stopped and not n)
        self._ran += n
        tokens = self._state.tokens[start : start + n].astype(np.int32)
        return Chunk(start, tokens, answers[:n], codes[:n], numbers[:n], self._stopped)

    def _specialise(self, into: Buffers, most: int) -> bool:
        """Return whether there is straight-line code for the next position; it is written once many positions have run.

        It is used as soon as it is written if it was compiled another time, and otherwise later.
        """
        past = max(self._ran, self.position)
        if not self._plain or (past + most < LOOK_AFTER and past < SPECIALISE_AFTER):
            return False
        if self._short is None:
            written = straight.written(self._plan)
            self._short = (made.straight_line(written[0]), *written[1:]) if written else False
        if self._short and not self._ready:
            self._ready = past >= SPECIALISE_AFTER
            if not self._ready and not self._looked:
                given = self._given_to_short(into, 0)
                self._looked, self._ready = True, self._short[0].kept(*given)
        return self._ready

    def _given_to_short(self, into: Buffers, most: int) -> tuple[object, ...]:
        """Return the arguments of the straight-line code."""
        _, table, places = self._short or (None, None, None)
        flat = (into.answers, into.codes.reshape(-1), into.numbers.reshape(-1))
        given = (self._state, self._pools, self._control, *flat, most)
        return (*given, table, self._plan.heads, places)

    def _hurry(self, into: Buffers, most: int) -> tuple[int, int]:
        """Run the straight-line code as far as it goes; return the number of positions and the status."""
        if not self._short:
            return 0, k.DONE
        before = self.position
        status = self._short[0](*self._given_to_short(into, most))
        self.hurried += self.position - before
        return self.position - before, status

    def _build(self) -> None:
        """Make the plan and the arrays anew, at position 0."""
        self._plan = plan(self._decoder, self._found, self._labels, self._numbers)
        self._short, self._ready, self._looked, self.hurried = None, False, False, 0
        self._control[:] = 0
        self._scans = bool((self._plan.heads.kind == made.SCAN).any())
        ends = set(self._decoder.stop)
        stop = np.array([token in ends for token in self._decoder.vocabulary], dtype=np.bool_)
        self._fill(stop)

    def _fill(self, stop: NDArray[np.bool_]) -> None:
        """Make the arrays of the plan; stop: (vocabulary,) whether a token ends the run."""
        self._state = made.fresh(self._plan, self._decoder.layout.width, stop)
        self._pools = made.fresh_pools(self._plan)

    def _remember_more(self) -> None:
        """Make the memo larger once it is full, if it can be."""
        state, control = self._state, self._control
        if int(control[k.ENTRIES]) == len(state.memo_token) and len(state.memo_slot) < 4 * made.MEMO:
            made.forgotten_early(self._pools, int(control[k.EARLY]))
            control[[k.ENTRIES, k.EARLY]] = 0
            self._state = made.with_large_memo(state, self._plan)

    def _room(self, positions: int) -> None:
        """Make room for this many positions."""
        state, had = self._state, len(self._state.tokens)
        if positions <= had:
            return
        row = state.tokens.itemsize + 8 * state.hist.shape[1] + 16 * self._scans
        size = made.roomier(positions, had, row, MOST_POSITIONS)
        changed: Snapshot = {"tokens": made.longer(state.tokens, size)}
        changed["hist"] = made.longer(state.hist, size) if state.hist.shape[1] else np.zeros((size, 0))
        if self._scans:
            changed["winners"], changed["scores"] = np.zeros(size, dtype=np.int64), np.zeros(size)
        self._state = state._replace(**changed)
        self._advance = made.advance()  # a caller keeps the arrays of its last call, which may have been long ago

    def _widen(self, wanted: int) -> None:
        """Make room for the key `wanted`, or for more groups; if the keys are too sparse for that, scan."""
        state, head = self._state, int(self._control[k.HEAD])
        if self._plan.heads.pool[head] >= 0:
            self._pools = made.more_groups(self._pools, self._plan.heads)
            return
        span = state.span[int(self._plan.heads.slot[head])]
        low, high = min(int(span[0]), wanted), max(int(span[1]), wanted)
        if high - low > 64 * (self.position + 1024):
            self._scan_instead(head, "its keys are too sparse")
            return
        margin = max(1024, (high - low) // 2)
        slots, had = state.group_position.shape
        size, here = max(had, high - low + 1 + 2 * margin), int(self._plan.heads.slot[head])
        position = np.full((slots, size), -1, dtype=np.int64)
        token = np.zeros((slots, size), dtype=np.int32)
        value = np.zeros((slots, size, state.group_value.shape[2]))
        for slot, (first, last, zero) in enumerate(state.span.tolist()):
            at = margin - low if slot == here else zero  # each head has its own place for key 0
            if first <= last:
                old, new = slice(first + zero, last + zero + 1), slice(first + at, last + at + 1)
                position[slot, new], token[slot, new] = state.group_position[slot, old], state.group_token[slot, old]
                value[slot, new] = state.group_value[slot, old]
            state.span[slot, 2] = at
        winners = state.winners if len(state.winners) >= size else np.zeros(size, dtype=np.int64)
        self._state = state._replace(group_position=position, group_token=token, group_value=value, winners=winners)

    def _scan_instead(self, head: int, why: str) -> None:
        """Start again with this head scanned, and run up to the session's position."""
        position, count, following = (int(self._control[n]) for n in (k.POSITION, k.COUNT, k.NEXT))
        given, tokens = self._given, self._state.tokens[:position].astype(np.int32)
        why = f"{why}, at position {position}"
        self._found = _without(self._found, head, why)
        self._build()
        self._given = tokens
        self._run(position, whole=False)
        self._given = given
        self._control[k.COUNT], self._control[k.NEXT], self._control[k.RESUME] = count, following, 0

    # ── to a file and back ──────────────────────────────────────────────────────────────────────────────────
    def save(self) -> Snapshot:
        """Return all that is needed to resume later: copies, which a later `extend` does not change."""
        scanned = [f.kind == "scan" for layer in self._found for f in layer]
        arrays = saved_of(self._state, self._pools, self._control, self._given)
        return {**arrays, "scanned": np.array(scanned, dtype=bool)}

    def restore(self, saved: Mapping[str, AnyArray]) -> None:
        """Resume from what `save` returned, for the same decoder and probes.

        Raises:
            CheckpointError: if an array cannot belong to a session of this decoder; the session is then at position 0.
        """
        self._found = recognise(self._decoder)  # a head that is scanned now may not have been then
        flat = [f for layer in self._found for f in layer]
        for head, (found, scanned) in enumerate(zip(flat, scanned_of(saved, len(flat)), strict=True)):
            if scanned and found.kind != "scan":
                self._found = _without(self._found, head, "a condition failed before the checkpoint")
        self._build()
        refuse_damaged(saved, self._state, self._pools, min(MOST_POSITIONS, self._decoder.positions or MOST_POSITIONS))
        n, following = len(saved["tokens"]), int(saved["next"])
        self._control[[k.POSITION, k.NEXT]] = n, following
        self._given = saved["given"].copy()
        self._stopped = 0 < n >= len(self._given) and bool(self._state.stop[following])
        self._state = self._state._replace(**{name: saved[name].copy() for name in KEPT})
        if self._state.group_position.shape[1] > len(self._state.winners):
            self._state = self._state._replace(winners=np.zeros(self._state.group_position.shape[1], dtype=np.int64))
        self._pools = pools_of(saved, self._pools, self._plan.heads)


def _without(found: tuple[tuple[Recognition, ...], ...], head: int, why: str) -> tuple[tuple[Recognition, ...], ...]:
    """Return `found` with head number `head` scanned."""
    numbered, changed = 0, []
    for layer in found:
        kinds = []
        for recognition in layer:
            is_it = numbered == head
            kinds.append(Recognition("scan", why, recognition.components) if is_it else recognition)
            numbered += 1
        changed.append(tuple(kinds))
    return tuple(changed)
