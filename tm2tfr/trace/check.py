"""The check: a decoder's run against the simulator's, cell by cell, and the cause of the first difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from math import isfinite
from typing import Any

from tm2tfr.contract import Column
from tm2tfr.engines.decode import Engine, observable
from tm2tfr.errors import CompileError, EngineError, listing, visible
from tm2tfr.sources.turing.simulator import Result, Simulation
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.trace.cause import Cause, find_cause, unembedding_cause
from tm2tfr.trace.columns import TURING, columns_of, is_turing
from tm2tfr.trace.ending import STOP, wrong_ending
from tm2tfr.trace.rows import CHECKED, AnyRow, Row, rows
from tm2tfr.trace.specification import Specification, known
from tm2tfr.trace.truth import OUTCOME_OF_TOKEN, reference_rows, result_fields
from tm2tfr.transformer.provenance import name, option
from tm2tfr.transformer.soft import temperature_of
from tm2tfr.transformer.weights import Decoder

Progress = Callable[[int, int], None]
"""Called from time to time with the number of positions done and of the machine's steps."""


Sink = Callable[[Sequence[AnyRow]], None]
"""Takes rows as they come."""


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """The first cell that differs: at `position`, in `column`; and the whole rows.

    If every cell agrees but the decoder does not stop where it should, `column` is ``stop`` and `position` the last.
    """

    position: int
    column: str
    expected: Any
    found: Any
    expected_row: Row | None
    found_row: Row | None
    cause: Cause | None

    def __str__(self) -> str:
        """Return the divergence in a few lines."""
        text = f"position {self.position}: {self.column} should be {_shown(self.expected)}, is {_shown(self.found)}"
        if self.column == STOP:
            text = f"the stop tokens should be {self.expected}; the list is {self.found}"
        return text if self.cause is None else f"{text}\ncause: " + str(self.cause).replace("\n", "\n  ")

    def as_dict(self) -> dict[str, Any]:
        """Return the divergence as plain data."""
        cause = self.cause.as_dict() if self.cause else None
        plain = {k: _finite(getattr(self, k)) for k in ("position", "column", "expected", "found")}
        return {**plain, "cause": cause}


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A run of a decoder, and the result of comparing it with the simulator.

    Args:
        machine: the machine's name, or that of the weights.
        input: the word.
        engine, dtype: those that ran the weights.
        rows: the decoder's rows, in order; empty if they were not kept.
        tokens: the number of positions processed.
        answer: the decoder's verdict as an outcome, or the stop token that ended its run if the table is not the
            chapter's; ``limit`` if it gave none.
        T: the number of intermediate steps of Definition 8.1; None if nothing ended the run.
        result: the simulator's result; None if the run was not checked.
        compared: the number of cells compared.
        divergence: the first difference, None if there is none.
        expected: the simulator's rows, as far as the decoder's were kept.
        reach: the largest |h| on the way, as far as the decoder is right.
        soft, temperature: whether the attention is soft, and its temperature, if the weights record it.
        scanned: one line for each head that the fast engine did not recognise and had to scan.
        blank: the machine's blank, for tables with the tape.
        columns: those of the table; every row has one entry for each.
    """

    machine: str
    input: str
    engine: str
    dtype: str
    tokens: int
    answer: str
    T: int | None
    result: Result | None
    compared: int
    divergence: Divergence | None
    reach: int = 0
    scanned: tuple[str, ...] = ()
    soft: bool = False
    temperature: float | None = None
    blank: str = "_"
    columns: tuple[Column, ...] = field(default=TURING, repr=False)
    rows: tuple[Any, ...] = field(default=(), repr=False)
    expected: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def checked(self) -> bool:
        """Whether the run was compared with a simulator."""
        return self.result is not None

    @property
    def agrees(self) -> bool:
        """Whether some cells were compared and all of them agree."""
        return self.result is not None and self.divergence is None and self.compared > 0

    @property
    def has_tape(self) -> bool:
        """Whether the rows tell what is on a tape: those of the chapter's table do."""
        return self.columns == TURING

    @property
    def agreed(self) -> int:
        """The number of rows before the first difference; without a check, the number of rows."""
        gap = self.divergence
        return self.tokens if gap is None or gap.column == STOP else gap.position

    def _repr_html_(self) -> str:
        """Return the chapter's table with the result of the check, for notebooks."""
        from tm2tfr.tables.html import summary  # noqa: PLC0415

        return summary(self)

    def as_dict(self) -> dict[str, Any]:
        """Return the summary of the run as plain data.

        The outcome and what else there is to say of the result are the simulator's. A run of anything but a Turing machine
        has no steps, final tape or ones.
        """
        truth = self.result
        own = result_fields(truth) if self.has_tape else {}
        summary: dict[str, Any] = {
            "machine": self.machine,
            "input": self.input,
            "outcome": truth.outcome if truth else self.answer,
            **{name: own.pop(name) for name in ("steps",) if name in own},
            "tokens": self.tokens,
            "T": self.T,
            "agrees": self.agrees if truth else None,
            "compared": self.compared,
            **own,
            "engine": self.engine,
            "dtype": self.dtype,
        }
        if self.soft:
            summary |= {"attention": "softmax", "temperature": self.temperature}
        if self.scanned:
            summary["scanned"] = list(self.scanned)
        if self.divergence is not None:
            summary["divergence"] = self.divergence.as_dict()
        return summary


def check(
    decoder: Decoder,
    word: str,
    *,
    machine: Machine,
    engine: Engine,
    max_steps: int | None = None,
    keep_rows: bool = False,
    progress: Progress | None = None,
    sink: Sink | None = None,
) -> Trace:
    """Run `decoder` on `word` and compare x, q, b, m, h, a and y at every position with the simulator's.

    Under softmax x and y, which are tokens, are compared exactly, the others as `tm2tfr.trace.rows` rounds them.

    Stops at the first difference; with `keep_rows` it continues until the decoder halts, so that the consequences
    can be seen, and keeps the rows. Stop tokens that are not the machine's verdicts are a difference, too.

    Args:
        max_steps: stop after this many steps of the machine; None: run until it halts. With `keep_rows`, set a limit:
            a decoder that has gone wrong need not halt.
        sink: receives every row that agrees, in batches.

    Raises:
        InputError: if `word` is not over the machine's input alphabet.
        CompileError: if the decoder's stream has nothing to compare with the simulator's rows.
        EngineError: if the decoder's vocabulary lacks one of its symbols.
    """
    comparable(decoder, machine)
    simulation = Simulation(machine, machine.check_input(word), max_steps=max_steps)
    nominal = option(decoder.provenance, "left_boundary") == "chapter"
    expected = reference_rows(machine, word, simulation, nominal=nominal)
    found = rows(decoder, word, engine=engine, max_positions=_positions(word, max_steps))
    pairs = _Pairs(found, expected, keep_rows=keep_rows, heads=True)
    _drain(pairs, len(word), progress, sink)
    divergence = None
    if pairs.differs is None or pairs.differs[1] is None:
        divergence = stop_divergence(decoder, machine, pairs.tokens - 1, pairs.last)
    if pairs.differs is not None and divergence is None:
        specify = partial(_reference, machine, word, max_steps, nominal)
        divergence = _divergence(decoder, machine, word, pairs.differs, specify, engine)
    return replace(_trace(decoder, word, engine, pairs, machine.name, simulation.result(), divergence), blank=machine.blank)


def comparable(decoder: Decoder, machine: Machine) -> None:
    """Check that a decoder's table has the columns of the simulator's.

    Raises:
        CompileError: if it does not.
    """
    lacking = [c.holds for c in TURING if c.holds and c.read_from(decoder.layout) is None]
    if lacking:
        why = f"no subspace of their residual stream holds {listing(lacking, most=3)}"
        what = f"{visible(machine.name)}: these weights cannot be compared with a Turing machine, since {why}"
        raise CompileError(f"{what}: run them without a check")


def run(
    decoder: Decoder,
    word: str,
    *,
    engine: Engine,
    max_steps: int | None = None,
    keep_rows: bool = True,
    progress: Progress | None = None,
    sink: Sink | None = None,
) -> Trace:
    """Run `decoder` on `word` from its weights alone, without a comparison; see `check`.

    Raises:
        EngineError: if the decoder's vocabulary lacks one of the word's symbols.
    """
    found = rows(decoder, word, engine=engine, max_positions=_positions(word, max_steps))
    pairs = _Pairs(found, None, keep_rows=keep_rows, heads=is_turing(decoder.layout))
    _drain(pairs, len(word), progress, sink)
    return _trace(decoder, word, engine, pairs, name(decoder.provenance), None, None)


def _drain(pairs: _Pairs, prompt: int, progress: Progress | None, sink: Sink | None) -> None:
    """Go through the rows, reporting progress and passing rows that agree to `sink`."""
    waiting: list[AnyRow] = []
    for n, row in enumerate(pairs):
        if progress and n % 64 == 63:
            progress(n + 1, max(0, n - prompt))
        if sink is not None and pairs.differs is None:
            waiting.append(row)
            if len(waiting) >= 1024:
                sink(waiting)
                waiting = []
    if sink is not None and waiting:
        sink(waiting)


class _Pairs:
    """Two streams of rows side by side, the decoder's and the simulator's; `heads`: whether they are the chapter's."""

    def __init__(self, found: Iterator[Any], expected: Iterator[Row] | None, *, keep_rows: bool, heads: bool) -> None:
        self._found, self._expected, self._keep, self._heads = found, expected, keep_rows, heads
        self.kept: list[Any] = []
        self.wanted: list[Row] = []
        self.tokens = self.compared = 0
        self.last: Any = None
        self.reach = 0
        self.differs: tuple[Row | None, Row | None] | None = None

    def __iter__(self) -> Iterator[Any]:
        """Yield the decoder's rows: to the end of the simulator's if they agree, otherwise see `check`."""
        going = self._expected is not None
        while True:
            want = next(self._expected, None) if self._expected else None
            if going and want is None and self.differs is None:
                return  # the simulator is at its end, and so is a decoder that agrees with it
            row = self._next()
            if want is not None and self._keep:
                self.wanted.append(want)
            if want is not None and self.differs is None:
                self.compared += len(CHECKED)
                if row != want:
                    self.differs = (want, row)
            if row is None:
                return
            self.last, self.tokens = row, row[0] + 1
            if self._heads and self.differs is None and isinstance(row.h, int):
                self.reach = max(self.reach, abs(row.h))
            if self._keep:
                self.kept.append(row)
            yield row
            if self.differs is not None and not self._keep:
                return

    def _next(self) -> Any:
        """Return the decoder's next row; after a difference, a position that the engine refuses ends the run."""
        try:
            return next(self._found, None)
        except EngineError:
            if self.differs is None:
                raise
            return None


def _trace(
    decoder: Decoder,
    word: str,
    engine: Engine,
    pairs: _Pairs,
    name: str,
    truth: Result | None,
    gap: Divergence | None,
) -> Trace:
    said = pairs.last[-1] if pairs.last and pairs.tokens > len(word) else ""  # an answer to the prompt ends nothing
    columns = columns_of(decoder.layout)
    ends = OUTCOME_OF_TOKEN if columns == TURING else {token: token for token in decoder.stop}
    answer = ends.get(said)
    return Trace(
        machine=name,
        input=word,
        engine=engine.name,
        dtype=engine.dtype,
        tokens=pairs.tokens,
        answer="limit" if answer is None else answer,
        T=None if answer is None else pairs.tokens - len(word) - 1,
        result=truth,
        compared=pairs.compared,
        divergence=gap,
        reach=pairs.reach,
        soft=decoder.soft,
        temperature=temperature_of(decoder),
        columns=columns,
        rows=tuple(pairs.kept),
        expected=tuple(pairs.wanted),
    )


def _positions(word: str, max_steps: int | None) -> int | None:
    """Return the most positions that a run of `max_steps` steps needs: prompt, BOS, and one more than the steps."""
    return None if max_steps is None else len(word) + max_steps + 2


def _reference(machine: Machine, word: str, max_steps: int | None, nominal: bool, upto: int) -> list[Row]:
    simulation = Simulation(machine, word, max_steps=max_steps)
    return list(islice(reference_rows(machine, word, simulation, nominal=nominal), upto + 1))


def _divergence(
    decoder: Decoder,
    machine: Machine,
    word: str,
    pair: tuple[Row | None, Row | None],
    reference: Callable[[int], list[Row]],
    engine: Engine,
) -> Divergence:
    want, row = pair
    position = (want or row or Row(0, None, None, None, 0, 0, None, "")).i
    column = next((c for c in CHECKED if getattr(want, c, None) != getattr(row, c, None)), "y")
    cause = None
    if known(decoder.layout) and want is not None:
        specification = Specification(machine, word, reference(position))
        cause = find_cause(decoder, specification, position, engine=observable(engine))
        if cause is None and row is not None and column == "y":
            cause = unembedding_cause(decoder, want, row)
    return Divergence(
        position=position,
        column=column,
        expected=getattr(want, column, None),
        found=getattr(row, column, None),
        expected_row=want,
        found_row=row,
        cause=cause,
    )


def stop_divergence(decoder: Decoder, machine: Machine, position: int, last: Row | None) -> Divergence | None:
    """Return what is wrong with the stop tokens, after a run whose every row agrees, up to `last` at `position`."""
    cause = wrong_ending(decoder, machine, position)
    if cause is None:
        return None
    return Divergence(
        position=position,
        column=STOP,
        expected=cause.expected,
        found=cause.found,
        expected_row=last,
        found_row=last,
        cause=cause,
    )


def _finite(cell: Any) -> Any:
    """Return a cell, as text if it is a number that JSON does not have."""
    return str(cell) if isinstance(cell, float) and not isfinite(cell) else cell


def _shown(cell: Any) -> str:
    return "⊥" if cell is None else visible(str(cell))
