"""A run of any length: blocks of the fast engine against blocks of the compiled simulator, cell by cell.

The same comparison as `check`, of x, q, b, m, h, a and y at every position, without keeping the rows. A run can be
stopped between two blocks, saved, and resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import CheckpointError
from tm2tfr.contract.blocks import BlockReference, FoundRows, LongReference
from tm2tfr.contract.source import AnyRow, Truth
from tm2tfr.engines.decode import prompted
from tm2tfr.engines.fast import Fast
from tm2tfr.engines.fast.arrays import Buffers
from tm2tfr.engines.fast.fresh import array_of, damaged
from tm2tfr.engines.fast.session import Chunk, FastSession
from tm2tfr.runs.blocks import Arrays, Labels, RowBlock, as_rows, probes_of
from tm2tfr.runs.choose import NamedProgram, blocks_of, cores, truth_of
from tm2tfr.runs.comparison import Divergence, Trace, difference, ending_divergence, ends_of
from tm2tfr.runs.rows import Readout, columns_of
from tm2tfr.transformer import provenance
from tm2tfr.transformer.matrix import AnyArray, Ints
from tm2tfr.transformer.parts import refuse_parts
from tm2tfr.transformer.weights import Decoder

BLOCK = 2**15
"""The number of positions at a time: few enough to wait for after Ctrl-C."""
FIRST_BLOCK = 2**10
BESIDE, LARGE_BLOCK = 64, 2**17
"""The number of blocks that two threads run until all are compared, and their positions; after each, one thread waits."""
CAUSE_WITHIN = 20_000
"""The cause of a divergence is looked for up to this position: the dense engine must run that far."""

BlockSink = Callable[[RowBlock], None]


@dataclass(frozen=True)
class Standing:
    """The progress of a run: positions done, steps of the machine done, cells compared, the largest |h| so far."""

    positions: int
    steps: int
    compared: int
    reach: int


class ColumnsOfReference(Protocol):
    """The reference's rows of a block, by column."""

    @property
    def h(self) -> Ints: ...
    @property
    def y(self) -> NDArray[np.int32]: ...


class LongRun:
    """A run of `decoder` on `word`, checked against `machine` if there is one.

    Args:
        machine: a machine, or one in the prompt of a universal decoder.
        fed: where there is no machine, the tokens that are fed; None: one for each symbol of `word`.
        max_steps: stop after this many steps of the machine; None: run until it halts.
        saved: what `save` returned; the run is resumed there, after the simulator has run up to there.

    Raises:
        InputError: if `word` is not over the machine's input alphabet.
        EngineError: if `word` is not over the vocabulary, Numba is not installed, or the decoder's table is not the
            chapter's.
        CheckpointError: if `saved` is damaged, from another run, or beyond `max_steps`.
    """

    def __init__(
        self,
        decoder: Decoder,
        word: str,
        *,
        machine: NamedProgram | None,
        fed: Sequence[str] | None = None,
        max_steps: int | None = None,
        saved: Arrays | None = None,
    ) -> None:
        refuse_parts(decoder, "a long run", "use the dense engine")
        Labels.of(decoder)  # which refuses those that have other columns
        self._decoder, self._max_steps, self._machine = decoder, max_steps, machine
        self._probes, self._blocks = probes_of(decoder), self._blocks_of(max_steps)
        self._reference: LongReference | None = None
        self._begin(word, fed)
        self._session = self._new_session()
        self._rooms: tuple[Buffers, Buffers] | None = None
        self._worker: ThreadPoolExecutor | None = None
        if saved is not None:
            self._resume(saved)
        if self._blocks is not None and saved is not None:
            if max_steps is not None and self._done and self.standing.steps > max_steps:
                self._blocks = self._blocks_of(self.standing.steps)
            self._reference = None if self._blocks is None else self._blocks.run(word)
            self._catch_up(saved["engine.tokens"])

    def _blocks_of(self, max_steps: int | None) -> BlockReference | None:
        return None if self._machine is None else blocks_of(self._machine, self._decoder, max_steps)

    def _truth_again(self) -> Truth | None:
        """Return the reference's run row by row, from its beginning."""
        return truth_of(self._machine, self._word, self._decoder, self._max_steps)

    def _resume(self, saved: Arrays) -> None:
        """Put the session where a run was saved, if that is a run on this prompt."""
        reach = array_of(saved, "reach", np.int64, ())
        self._session.restore(_part(saved, "engine."))
        given = prompted(self._decoder, self._prompt)
        self._session.prompt(given)
        self._position, self._answer = self._session.position, int(saved["engine.next"]) if self._session.position else -1
        self._reach, self._done = int(reach), self._session.stopped
        if saved["engine.tokens"][: len(given)].tolist() != given[: self._position]:
            raise damaged("engine.tokens", "its tokens do not begin with those of the input")
        if self._max_steps is not None and not self._done and self.standing.steps > self._max_steps:
            what = f"this run has already done {self.standing.steps:,} steps, more than {self._max_steps:,}"
            raise CheckpointError(f"{what}: use a larger --max-steps")

    def _catch_up(self, tokens: AnyArray) -> None:
        """Have the simulator make the rows of a resumed run again, and compare the saved tokens with them.

        So nothing of the simulator has to be believed: a checkpoint cannot say that a run on another input agrees. It
        takes a few percent of the time that the decoder took.
        """
        if self._reference is None:
            return
        fed = len(prompted(self._decoder, self._prompt))
        self._reach = 0
        for start in range(0, self._position, LARGE_BLOCK):
            stop = min(start + LARGE_BLOCK, self._position)
            right: ColumnsOfReference = self._reference.take(stop - start, again=True)
            answers = tokens[start + 1 : stop + 1]
            if stop == self._position:
                answers = np.append(answers, self._answer)
            first = max(0, fed - 1 - start)  # where prompts are fed, answers are not
            if len(right.y) != stop - start or not np.array_equal(answers[first:], right.y[first:]):
                at = start if len(right.y) == stop - start else start + len(right.y)
                raise damaged("engine.tokens", f"the tokens after position {at:,} are not the simulator's")
            self._reach = max(self._reach, int(abs(right.h).max(initial=0)))
        self._compared = self._cells(self._position)

    def _cells(self, rows: int) -> int:
        return rows * (len(columns_of(self._decoder)) - 1)

    def restart(self, word: str, machine: NamedProgram | None = None) -> None:
        """Start a run on another word, reusing what was computed from the weights and the machine for the last one.

        Args:
            machine: another one, in the prompt of the same weights, with their names; None: the same machine.

        Raises:
            InputError, EngineError: as for a new run.
        """
        if machine is not None:
            self._machine = machine
            self._blocks = self._blocks_of(self._max_steps)
        self._begin(word)
        self._session.restart()
        self._session.prompt(prompted(self._decoder, self._prompt))

    def _begin(self, word: str, fed: Sequence[str] | None = None) -> None:
        self._word = word
        self._truth = self._truth_again()
        self._reference = None if self._blocks is None else self._blocks.run(word)
        self._prompt: Sequence[str] = self._truth.prompt if self._truth is not None else word if fed is None else fed
        self._limit = None if self._max_steps is None else len(self._prompt) + self._max_steps + 2
        self._compared = self._reach = 0
        self._answer = -1
        self._done = False
        self._position = 0
        self._brisk = False  # whether most of the last block was run by straight-line code
        self._divergence: Divergence | None = None

    @property
    def standing(self) -> Standing:
        """The progress of the run."""
        positions = self._position
        return Standing(positions, max(0, positions - len(self._prompt) - 1), self._compared, self._reach)

    @property
    def done(self) -> bool:
        """Whether the run has ended: by a verdict, by the limit, or at a difference."""
        return self._done

    @property
    def diverged(self) -> bool:
        """Whether a difference was found."""
        return self._divergence is not None

    def report(self) -> list[str]:
        """Return one line for each head: how the engine finds the positions it attends to."""
        return self._session.report()

    def advance(self, sink: BlockSink | None = None) -> None:
        """Run and compare one more block, or `BESIDE` of them if they are fast; rows that agree go to `sink`.

        Those are run here, while a second thread compares the block before and has the simulator make the one after.
        """
        if self._done:
            return
        beside = self._reference is not None and self._brisk and cores() > 1
        expected = self._ahead(self._position, LARGE_BLOCK if beside else BLOCK)
        if beside and expected is not None:
            self._advance_beside(expected, sink)
            return
        chunk = self._extend(expected, self._rooms_for(sink)[0])
        self._settle(expected, chunk, None if expected is None else self._alike(expected, chunk), sink)

    def _advance_beside(self, expected: ColumnsOfReference, sink: BlockSink | None) -> None:
        waiting: tuple[ColumnsOfReference, Chunk] | None = None
        rooms = self._rooms_for(sink)
        worker = self._worker = self._worker or ThreadPoolExecutor(1)  # kept: to start a thread takes milliseconds
        for left in reversed(range(BESIDE)):
            job = worker.submit(self._beside, waiting, self._session.position + len(expected.y) if left else None)
            rooms = rooms[::-1]
            chunk = self._extend(expected, rooms[0])
            alike, following = job.result()
            if waiting:
                self._settle(*waiting, alike, sink)
            if self._done:
                return
            waiting = expected, chunk
            if following is None or len(chunk.tokens) < len(expected.y):
                break
            expected = following
        if waiting:
            self._settle(*waiting, self._alike(*waiting), sink)

    def _rooms_for(self, sink: BlockSink | None) -> tuple[Buffers | None, Buffers | None]:
        """Return arrays for two blocks, which are used again if no row of them goes anywhere."""
        if sink is not None or not self._brisk:
            return None, None
        if self._rooms is None:
            self._rooms = self._session.room(LARGE_BLOCK), self._session.room(LARGE_BLOCK)
        return self._rooms

    def _beside(
        self, waiting: tuple[ColumnsOfReference, Chunk] | None, position: int | None
    ) -> tuple[tuple[int, int] | None, ColumnsOfReference | None]:
        """Return the number of rows of a block that agree, and the expected rows from `position` on."""
        alike = None if waiting is None else self._alike(*waiting)
        return alike, None if position is None else self._ahead(position, LARGE_BLOCK)

    def _alike(self, expected: ColumnsOfReference, chunk: Chunk) -> tuple[int, int]:
        """Return (the number of rows before the first that differs, or that only one has; their largest |h|)."""
        offsets = np.array([0, len(chunk.tokens)], dtype=np.int64)
        found = FoundRows(offsets, lambda: chunk.tokens, chunk.answers, chunk.codes, chunk.numbers, {})
        if self._blocks is None:
            return len(chunk.tokens), 0
        differs, reach = self._blocks.differs(found, expected)
        return len(expected.y) if differs[0] < 0 else int(differs[0]), int(reach[0])

    def _ahead(self, position: int, block: int) -> ColumnsOfReference | None:
        """Return the reference's next block, which begins at `position`; None without a reference."""
        return self._next_of_reference(self._most(position, block), again=self._brisk)

    def _next_of_reference(self, n: int, *, again: bool) -> ColumnsOfReference | None:
        return None if self._reference is None else self._reference.take(n, again=again)

    def _most(self, position: int, block: int) -> int:
        most = FIRST_BLOCK if position < FIRST_BLOCK else block
        return most if self._limit is None else min(most, self._limit - position)

    def _extend(self, expected: ColumnsOfReference | None, room: Buffers | None = None) -> Chunk:
        """Run the next block: if the simulator has ended, so has a decoder that agrees with it."""
        before = self._session.hurried
        most = self._most(self._position, BLOCK) if expected is None else len(expected.y)
        chunk = self._session.extend(most, room)
        self._brisk = 2 * (self._session.hurried - before) > len(chunk.tokens)
        return chunk

    def _settle(
        self, expected: ColumnsOfReference | None, chunk: Chunk, alike: tuple[int, int] | None, sink: BlockSink | None
    ) -> None:
        """Take note of a block that has been run and compared."""
        size = len(chunk.tokens)
        self._position = chunk.start + size
        agreed, reach = (size, float(abs(chunk.numbers[:, 1]).max(initial=0.0))) if alike is None else alike
        if expected is not None:
            self._compared += self._cells(min(agreed + 1, len(expected.y)))
            if agreed < len(expected.y):
                early = self._at_the_end() if agreed == size else None
                self._divergence = early or self._differs(expected, chunk, agreed)
        if agreed == size and self._divergence is None and self._session.refused:
            self._session.extend(1)  # which raises
        if agreed:
            self._answer = int(chunk.answers[agreed - 1])
            self._reach = max(self._reach, int(reach))
        if sink is not None and agreed:
            sink(self._rows_of(chunk, agreed))
        ended = chunk.stopped or self._divergence is not None or size == 0 or self._position == self._limit
        if ended and self._divergence is None:
            self._divergence = self._at_the_end()
        self._done = ended

    def trace(self, engine: Fast) -> Trace:
        """Return the run as a `Trace` without rows."""
        truth = None if self._reference is None else self._reference.result()
        tokens = self._position
        if self._divergence is not None:
            tokens = min(tokens, self._divergence.position + 1)  # it may have stopped before the row that differs
        ends = ends_of(self._decoder)
        answer = ends.get(self._decoder.vocabulary[self._answer] if self._answer >= 0 else "", "limit")
        if self._divergence is not None:
            row = self._divergence.found_row
            answer = ends.get(row[-1] if row and tokens > len(self._prompt) else "", "limit")
        return Trace(
            machine=self._truth.name if self._truth else provenance.name(self._decoder.provenance),
            input=self._word,
            engine=engine.name,
            dtype=engine.dtype,
            tokens=tokens,
            answer=answer,
            T=None if answer == "limit" else tokens - len(self._prompt) - 1,
            result=truth,
            compared=self._compared,
            divergence=self._divergence,
            reach=self._reach,
            blank=self._truth.blank if self._truth else "_",
            scanned=tuple(line for line in self.report() if ": scan: " in line),
        )

    def save(self) -> dict[str, NDArray[np.generic]]:
        """Return all that is needed to resume: the engine's state, and the largest |h|; the simulator runs again."""
        engine = {f"engine.{name}": array for name, array in self._session.save().items()}
        return {"reach": np.array(self._reach, dtype=np.int64), **engine}

    def _at_the_end(self) -> Divergence | None:
        """Return the error in the stop tokens, at the last position."""
        last = self._position - 1
        if self._truth is None or self._truth.ending(self._decoder) is None:
            return None
        return ending_divergence(self._decoder, self._truth, last, self._row(last) if last <= CAUSE_WITHIN else None)

    # ── comparing ───────────────────────────────────────────────────────────────────────────────────────────
    def _rows_of(self, chunk: Chunk, n: int) -> RowBlock:
        """Return the first `n` positions of a block as rows."""
        columns: dict[str, Any] = self._probes.columns(chunk.codes, chunk.numbers)
        columns = {"x": chunk.tokens, "y": chunk.answers, **columns}
        return RowBlock(np.arange(chunk.start, chunk.start + n), *(columns[name][:n] for name in RowBlock._fields[1:]))

    def _differs(self, expected: ColumnsOfReference, chunk: Chunk, at: int) -> Divergence:
        """Return the difference at index `at` of the block, with its cause."""
        decoder, position = self._decoder, chunk.start + at
        truth = self._truth_again() if position <= CAUSE_WITHIN else None
        columns = (getattr(expected, name)[at : at + 1] for name in RowBlock._fields[1:])
        [want] = as_rows(RowBlock(np.array([position]), *columns), decoder)
        if truth is not None:
            want = next(islice(truth.rows(columns_of(decoder)), position, None), want)
        return difference(decoder, truth, (want, self._row(position) if at < len(chunk.tokens) else None), Fast())

    def _row(self, position: int) -> AnyRow:
        """Return the decoder's row at `position`, read off its whole residual stream: run again up to there."""
        session = self._new_session()
        prompt = prompted(self._decoder, self._prompt)
        token = prompt[0]
        while (missing := position - session.position) > 0:
            chunk = session.extend(min(missing, BLOCK))
            token = int(chunk.answers[-1])
        if position < len(prompt):
            token = prompt[position]
        fed, answer = (self._decoder.vocabulary[number] for number in (token, session.feed(token)))
        return Readout(self._decoder).row(position, fed, answer, session.residual)

    def _new_session(self) -> FastSession:
        """Return a session on the prompt."""
        session = Fast().start(self._decoder, labels=self._probes.labels, numbers=self._probes.numbers)
        session.prompt(prompted(self._decoder, self._prompt))
        return session


def _part(saved: Arrays, prefix: str) -> dict[str, NDArray[np.generic]]:
    return {name.removeprefix(prefix): array for name, array in saved.items() if name.startswith(prefix)}
