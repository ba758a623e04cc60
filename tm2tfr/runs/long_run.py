"""A run of any length: blocks of the fast engine against blocks of the compiled simulator, cell by cell.

The same comparison as `check`, of x, q, b, m, h, a and y at every position, without keeping the rows. A run can be
stopped between two blocks, saved, and resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.decode import observable, prompted
from tm2tfr.engines.fast import Fast
from tm2tfr.engines.fast.session import Chunk, FastSession
from tm2tfr.engines.fast.snapshot import array_of, damaged
from tm2tfr.engines.fast.state import Buffers
from tm2tfr.errors import CheckpointError
from tm2tfr.runs.blocks import Labels, ReferenceBlocks, as_rows, read_from
from tm2tfr.runs.choose import cores
from tm2tfr.runs.expected import RowBlock, RowsAhead, rows_of
from tm2tfr.runs.saved import Arrays
from tm2tfr.runs.truths import AnyMachine, machine_truth_of
from tm2tfr.sources.turing.columns import CHECKED, OUTCOME_OF_TOKEN, Row
from tm2tfr.sources.turing.simulator import Result
from tm2tfr.specification import Specification
from tm2tfr.trace.cause import Cause, find_cause, unembedding_cause
from tm2tfr.trace.check import Divergence, Trace, ending_divergence
from tm2tfr.trace.rows import Readout
from tm2tfr.transformer import provenance
from tm2tfr.transformer.parts import refuse_parts
from tm2tfr.transformer.weights import Decoder

BLOCK = 2**15
"""The number of positions at a time: few enough to wait for after Ctrl-C."""
FIRST_BLOCK = 2**10
BESIDE, LARGE_BLOCK = 16, 2**16
"""The number of blocks for which a second thread is started, and their positions: at each, one waits for the other."""
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
        machine: AnyMachine | None,
        fed: Sequence[str] | None = None,
        max_steps: int | None = None,
        saved: Arrays | None = None,
    ) -> None:
        refuse_parts(decoder, "a long run", "use the dense engine")
        self._decoder, self._max_steps = decoder, max_steps
        self._truth = None if machine is None else machine_truth_of(machine, word, decoder, max_steps)
        self.labels = Labels.of(decoder)
        self._begin(word, fed)
        self._session = _session(decoder, self._prompt)
        self._rooms: tuple[Buffers, Buffers] | None = None
        if saved is not None:
            self._resume(saved)
        self._reference: ReferenceBlocks | None = None
        if self._truth is not None:
            most = max_steps if max_steps is None or not self._done else max(max_steps, self.standing.steps)
            self._reference = ReferenceBlocks(decoder, self._truth, max_steps=most)
            if saved is not None:
                self._catch_up(self._reference, saved["engine.tokens"])

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

    def _catch_up(self, reference: ReferenceBlocks, tokens: NDArray[np.int32]) -> None:
        """Have the simulator make the rows of a resumed run again, and compare the saved tokens with them.

        So nothing of the simulator has to be believed: a checkpoint cannot say that a run on another input agrees. It
        takes a few percent of the time that the decoder took.
        """
        fed = len(prompted(self._decoder, self._prompt))
        answers, self._reach = np.append(tokens[1:], self._answer), 0
        for start in range(0, self._position, LARGE_BLOCK):
            stop = min(start + LARGE_BLOCK, self._position)
            at = start
            for part in reference.ahead(stop - start, again=True).parts:
                here = slice(max(at, fed - 1), at + part.size)
                if not np.array_equal(answers[here], part.y[here.start - at :]):
                    break
                at, self._reach = at + part.size, max(self._reach, int(abs(part.h).max(initial=0.0)))
            if at != stop:
                raise damaged("engine.tokens", f"the tokens after position {at:,} are not the simulator's")
        self._compared = len(CHECKED) * self._position

    def restart(self, word: str, machine: AnyMachine | None = None) -> None:
        """Start a run on another word, reusing what was computed from the weights and the machine for the last one.

        Args:
            machine: another one, in the prompt of the same weights, with their names; None: the same machine.

        Raises:
            InputError, EngineError: as for a new run.
        """
        if machine is not None:
            self._truth = machine_truth_of(machine, word, self._decoder, self._max_steps)
            self._reference = ReferenceBlocks(self._decoder, self._truth, max_steps=self._max_steps)
        elif self._reference is not None and self._truth is not None:
            self._truth = self._truth.on(word)
            self._reference.restart(self._truth)
        prompt = prompted(self._decoder, word if self._truth is None else self._truth.prompt)
        self._session.restart()
        self._session.prompt(prompt)
        self._begin(word)

    def _begin(self, word: str, fed: Sequence[str] | None = None) -> None:
        self._word = word
        self._prompt = self._truth.prompt if self._truth is not None else word if fed is None else fed
        self._limit = None if self._max_steps is None else len(self._prompt) + self._max_steps + 2
        self._compared = self._reach = 0
        self._answer, self._done = -1, False
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
        self._settle(expected, chunk, None if expected is None else expected.alike(chunk), sink)

    def _advance_beside(self, expected: RowsAhead, sink: BlockSink | None) -> None:
        waiting: tuple[RowsAhead, Chunk] | None = None
        rooms = self._rooms_for(sink)
        with ThreadPoolExecutor(1) as worker:
            for left in reversed(range(BESIDE)):
                job = worker.submit(self._beside, waiting, self._session.position + expected.size if left else None)
                rooms = rooms[::-1]
                chunk = self._extend(expected, rooms[0])
                alike, following = job.result()
                if waiting:
                    self._settle(*waiting, alike, sink)
                if self._done:
                    return
                waiting = expected, chunk
                if following is None or len(chunk.tokens) < expected.size:
                    break
                expected = following
        if waiting:
            self._settle(*waiting, waiting[0].alike(chunk), sink)

    def _rooms_for(self, sink: BlockSink | None) -> tuple[Buffers | None, Buffers | None]:
        """Return arrays for two blocks, which are used again if no row of them goes anywhere."""
        if sink is not None or not self._brisk:
            return None, None
        if self._rooms is None:
            self._rooms = self._session.room(LARGE_BLOCK), self._session.room(LARGE_BLOCK)
        return self._rooms

    def _beside(
        self, waiting: tuple[RowsAhead, Chunk] | None, position: int | None
    ) -> tuple[tuple[int, float] | None, RowsAhead | None]:
        """Return how far a block agrees, and what is expected from `position` on."""
        alike = None if waiting is None else waiting[0].alike(waiting[1])
        return alike, None if position is None else self._ahead(position, LARGE_BLOCK)

    def _ahead(self, position: int, block: int) -> RowsAhead | None:
        """Return what the next block must be, which begins at `position`."""
        return None if self._reference is None else self._reference.ahead(self._most(position, block), again=self._brisk)

    def _most(self, position: int, block: int) -> int:
        most = FIRST_BLOCK if position < FIRST_BLOCK else block
        return most if self._limit is None else min(most, self._limit - position)

    def _extend(self, expected: RowsAhead | None, room: Buffers | None = None) -> Chunk:
        """Run the next block: if the simulator has ended, so has a decoder that agrees with it."""
        before = self._session.hurried
        most = self._most(self._position, BLOCK) if expected is None else expected.size
        chunk = self._session.extend(most, room)
        self._brisk = 2 * (self._session.hurried - before) > len(chunk.tokens)
        return chunk

    def _settle(
        self, expected: RowsAhead | None, chunk: Chunk, alike: tuple[int, float] | None, sink: BlockSink | None
    ) -> None:
        """Take note of a block that has been run and compared."""
        size = len(chunk.tokens)
        self._position = chunk.start + size
        agreed, reach = (size, float(abs(chunk.numbers[:, 1]).max(initial=0.0))) if alike is None else alike
        if expected is not None:
            self._compared += len(CHECKED) * min(agreed + 1, expected.size)
            if agreed < expected.size:
                early = self._at_the_end() if agreed == size else None
                self._divergence = early or self._differs(expected.rows, rows_of(chunk), agreed)
        if agreed == size and self._divergence is None and self._session.refused:
            self._session.extend(1)  # which raises
        if agreed:
            self._answer = int(chunk.answers[agreed - 1])
            self._reach = max(self._reach, int(reach))
        if sink is not None and agreed:
            sink(rows_of(chunk).part(0, agreed))
        ended = chunk.stopped or self._divergence is not None or size == 0 or self._position == self._limit
        if ended and self._divergence is None:
            self._divergence = self._at_the_end()
        self._done = ended

    def trace(self, engine: Fast) -> Trace:
        """Return the run as a `Trace` without rows."""
        truth: Result | None = None
        if self._reference is not None:
            truth = self._reference.result()
        tokens = self._position
        if self._divergence is not None:
            tokens = min(tokens, self._divergence.position + 1)  # it may have stopped before the row that differs
        answer = OUTCOME_OF_TOKEN.get(self._decoder.vocabulary[self._answer] if self._answer >= 0 else "", "limit")
        if self._divergence is not None:
            row = self._divergence.found_row
            answer = OUTCOME_OF_TOKEN.get(row[-1] if row and tokens > len(self._prompt) else "", "limit")
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

    def save(self) -> dict[str, NDArray[Any]]:
        """Return all that is needed to resume: the engine's state, and the largest |h|; the simulator runs again."""
        engine = {f"engine.{name}": array for name, array in self._session.save().items()}
        return {"reach": np.array(self._reach, dtype=np.int64), **engine}

    def _at_the_end(self) -> Divergence | None:
        """Return what is wrong with the stop tokens, at the last position."""
        last = self._position - 1
        if self._truth is None or self._truth.ending(self._decoder) is None:
            return None
        return ending_divergence(self._decoder, self._truth, last, self._row(last) if last <= CAUSE_WITHIN else None)

    # ── comparing ───────────────────────────────────────────────────────────────────────────────────────────
    def _differs(self, expected: RowBlock, found: RowBlock, at: int) -> Divergence:
        """Return the difference at index `at` of the block, with its cause."""
        vocabulary, position = self._decoder.vocabulary, int(expected.i[at])
        truth = self._truth if position <= CAUSE_WITHIN else None
        in_codes = as_rows(expected.part(at, at + 1), self.labels, vocabulary)
        reference = [] if truth is None else truth.rows_upto(position)
        want = reference[position] if len(reference) > position else in_codes[0]
        row = self._row(position) if at < found.size else None
        column = next((c for c in CHECKED if getattr(want, c) != getattr(row, c, None)), "y")
        return Divergence(
            position=position,
            column=column,
            expected=getattr(want, column),
            found=getattr(row, column, None),
            expected_row=want,
            found_row=row,
            cause=None if truth is None else self._cause(truth.specification(position), column, want, row),
        )

    def _row(self, position: int) -> Row:
        """Return the decoder's row at `position`, read off its whole residual stream: run again up to there."""
        session = _session(self._decoder, self._prompt)
        prompt = prompted(self._decoder, self._prompt)
        token = prompt[0]
        while (missing := position - session.position) > 0:
            chunk = session.extend(min(missing, BLOCK))
            token = int(chunk.answers[-1])
        if position < len(prompt):
            token = prompt[position]
        fed, answer = (self._decoder.vocabulary[number] for number in (token, session.feed(token)))
        row: Row = Readout(self._decoder).row(position, fed, answer, session.residual)
        return row

    def _cause(self, specification: Specification, column: str, want: Row, row: Row | None) -> Cause | None:
        if not specification.covers(self._decoder.layout):
            return None
        cause = find_cause(self._decoder, specification, want.i, engine=observable(Fast()))
        if cause is None and row is not None and column == "y":
            return unembedding_cause(self._decoder, want.i, want.y, row.y, specification.about(want.i))
        return cause


def _session(decoder: Decoder, prompt: Sequence[str]) -> FastSession:
    """Return a session on a prompt that reads q, b, a, m and h off the stream, and x if necessary."""
    given = prompted(decoder, prompt)
    places = [decoder.layout[read_from(decoder, column).name] for column in "qbax"]
    labels = [(place.start, place.stop) for place in places]
    kept = tuple(labels[:3] if shows_its_token(decoder) else labels)
    numbers = [decoder.layout[read_from(decoder, column).name].start for column in "mh"]
    session = Fast().start(decoder, labels=kept, numbers=tuple(numbers))
    session.prompt(given)
    return session


def shows_its_token(decoder: Decoder) -> bool:
    """Return whether e_x is the token's one-hot vector after the last layer: embedded as such and never written."""
    place = decoder.layout[read_from(decoder, "x").name]
    embedding = decoder.token_embedding
    inside = (embedding.rows >= place.start) & (embedding.rows < place.stop)
    rows, columns, values = (a[inside] for a in (embedding.rows, embedding.columns, embedding.values))
    identity = len(rows) == len(decoder.vocabulary) and bool((rows - place.start == columns).all() and (values == 1).all())
    written = [decoder.position_embedding.rows]
    for layer in decoder.layers:
        written += [head.output.rows for head in layer.heads]
        if layer.feed_forward is not None:
            written += [layer.feed_forward.output.rows, layer.feed_forward.output_bias.rows]
    touched = np.concatenate(written)
    return identity and not bool(((touched >= place.start) & (touched < place.stop)).any())


def _part(saved: Arrays, prefix: str) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(prefix): array for name, array in saved.items() if name.startswith(prefix)}
