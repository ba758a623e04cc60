"""The check: a decoder's run against the simulator's, cell by cell, and the cause of the first difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import tee
from math import isfinite
from typing import TYPE_CHECKING, Any

from tm2tfr.base.errors import visible
from tm2tfr.contract.source import ANY, AnyRow, Column, Truth
from tm2tfr.engines.decode import Engine, observable
from tm2tfr.runs.predictions import Likelihood, Predictions
from tm2tfr.runs.rows import as_computed, columns_of, is_turing, row_type, rows
from tm2tfr.runs.sampling import Sampling
from tm2tfr.runs.side_by_side import Pairs
from tm2tfr.sources.turing.columns import OUTCOME_OF_TOKEN, TURING, described
from tm2tfr.transformer.provenance import name
from tm2tfr.transformer.soft import temperature_of
from tm2tfr.transformer.weights import Decoder

if TYPE_CHECKING:
    from tm2tfr.contract.shown import PlainData
    from tm2tfr.runs.told import Cause

STOP = "stop"
"""What takes the place of a column where a decoder stops in the wrong place."""
Progress = Callable[[int, int], None]
"""Called from time to time with two counts: positions, inputs or files done, and steps of a machine, or their total."""
Sink = Callable[[Sequence[AnyRow]], None]
"""Takes rows as they come."""


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """The first cell that differs: at `position`, in `column`; and the whole rows.

    If every cell agrees but the decoder does not stop where it should, `column` is ``stop`` and `position` the last.

    Args:
        how: of an export, how it was run: ``generated``.
    """

    position: int
    column: str
    expected: object
    found: object
    expected_row: AnyRow | None = None
    found_row: AnyRow | None = None
    cause: Cause | None = None
    how: str = field(default="", repr=False)

    def __str__(self) -> str:
        """Return the divergence in a few lines."""
        where = f"position {self.position}, {self.how}" if self.how else f"position {self.position}"
        text = f"{where}: {self.column} should be {_shown(self.expected)}, is {_shown(self.found)}"
        if self.column == STOP and self.cause is not None:
            text = f"the {self.cause.layer_name} should be {self.expected}; {self.cause.subspace} is {self.found}"
        return text if self.cause is None else f"{text}\ncause: " + str(self.cause).replace("\n", "\n  ")

    def as_dict(self) -> PlainData:
        """Return the divergence as plain data."""
        cause = self.cause.as_dict() if self.cause else None
        plain = {k: _finite(getattr(self, k)) for k in ("position", "column", "expected", "found")}
        return {**plain, "cause": cause}


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A run of a decoder, and its comparison with the reference.

    Args:
        machine: the name of the program, or of the weights.
        input: the input.
        engine, dtype: the engine and the number type of the run.
        rows: the decoder's rows, in order; empty if they were not kept.
        tokens: the number of positions processed.
        answer: the decoder's verdict as an outcome, or the stop token that ended its run if the table is not the
            chapter's; ``end`` where its position table ends, or the sequence that it labels; ``limit`` without an answer.
        T: the number of intermediate steps of Definition 8.1, the tokens between BOS and the answer: for a machine its
            number of steps, plus one if it halts for lack of a rule. 0 for a sequence model; None if the run did not end.
        result: the reference's result, a `tm2tfr.contract.source.RunResult`; None without a check.
        compared: the number of cells compared.
        divergence: the first difference, None if there is none.
        expected: the reference's rows, for the rows that were kept.
        reach: the largest |h| before the first difference.
        soft, temperature: whether the attention is soft, and its temperature, if the weights record it (`temperature_of`).
        scanned: one line for each head that the fast engine did not recognise and had to scan.
        blank: the machine's blank, for tables with the tape.
        lead: the number of tokens before the input, which describe a machine in the prompt of a universal decoder.
        noun, reference: what the program and its reference are called: by default a machine and its simulator.
        columns: the columns of the table; every row has one entry per column.
        sampling: how the output layer was read, with its probabilities as the last columns; None: no probabilities.
        by_chance: whether the divergence is a drawn token where the weights prefer the reference's.
        likelihood, right: the likelihood of the generated tokens, and of the reference's; None if not computed.
    """

    machine: str
    input: str
    engine: str
    dtype: str
    tokens: int
    answer: str
    T: int | None
    result: Any
    compared: int
    divergence: Divergence | None
    reach: int = 0
    scanned: tuple[str, ...] = ()
    soft: bool = False
    temperature: float | str | None = None
    blank: str = "_"
    lead: int = field(default=0, repr=False)
    noun: str = field(default="machine", repr=False)
    reference: str = field(default="simulator", repr=False)
    columns: tuple[Column, ...] = field(default=TURING, repr=False)
    sampling: Sampling | None = field(default=None, repr=False)
    by_chance: bool = field(default=False, repr=False)
    likelihood: Likelihood | None = field(default=None, repr=False)
    right: Likelihood | None = field(default=None, repr=False)
    rows: tuple[Any, ...] = field(default=(), repr=False)
    expected: tuple[AnyRow, ...] = field(default=(), repr=False)

    @property
    def checked(self) -> bool:
        """Whether the run was compared with a reference."""
        return self.result is not None

    @property
    def agrees(self) -> bool:
        """Whether cells were compared and all agree."""
        return self.result is not None and self.divergence is None and self.compared > 0

    @property
    def has_tape(self) -> bool:
        """Whether the rows determine the tape, as the chapter's table does."""
        return self.columns[: len(TURING)] == TURING

    @property
    def labels(self) -> bool:
        """Whether the rows are the outputs of a sequence model."""
        return any(column.kind == "output" for column in self.columns)

    @property
    def agreed(self) -> int:
        """The number of rows before the first difference; without a check, the number of rows."""
        gap = self.divergence
        return self.tokens if gap is None or gap.column == STOP else gap.position

    def _repr_html_(self) -> str:
        """Return the chapter's table with the result of the check, for notebooks."""
        from tm2tfr.tables.html import summary  # noqa: PLC0415

        return summary(self)

    def as_dict(self) -> PlainData:
        """Return the summary of the run as plain data.

        Outcome and result are the reference's. Only runs of Turing machines have steps, a final tape and ones.
        """
        truth = self.result
        unknown = dict.fromkeys(("steps", "final_tape", "ones")) if self.has_tape else {}
        own = dict(unknown if truth is None else truth.own)
        summary: PlainData = {
            self.noun: self.machine,
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
        summary |= {"attention": "softmax", "temperature": self.temperature} if self.soft else {}
        if self.scanned:
            summary["scanned"] = list(self.scanned)
        if self.sampling is not None:
            summary |= {"output_temperature": self.sampling.temperature, "seed": self.sampling.seed}
            for name, each in (("generated", self.likelihood), ("right", self.right)):
                summary[name] = None if each is None else {**each._asdict(), "probability": each.probability}
            summary["by_chance"] = self.by_chance
        if self.divergence is not None:
            summary["divergence"] = self.divergence.as_dict()
        return summary


def check(
    decoder: Decoder,
    truth: Truth,
    *,
    engine: Engine,
    max_steps: int | None = None,
    keep_rows: bool = False,
    progress: Progress | None = None,
    sink: Sink | None = None,
    sampling: Sampling | None = None,
) -> Trace:
    """Run `decoder` on the input of `truth` and compare every column of its table at every position with the reference's.

    Under softmax the tokens are compared exactly, the others as `tm2tfr.runs.rows` rounds them.

    Stops at the first difference; with `keep_rows` it continues until the decoder halts, so that the consequences
    can be seen, and keeps the rows. A decoder that would stop in another place than the reference is a difference, too.

    Args:
        max_steps: stop after this many steps, those of `truth`; None: run to the end. With `keep_rows`, set a limit:
            a decoder that has gone wrong need not halt.
        sink: receives every row that agrees, in batches.
        sampling: whether to give probabilities, and to draw tokens.

    Raises:
        CompileError: if the decoder's stream has nothing to compare with the reference's rows.
        EngineError: if the decoder's vocabulary lacks one of the prompt's tokens.
    """
    truth.refuse(decoder.layout)
    columns, prompt = columns_of(decoder), truth.prompt
    expected = truth.rows(columns)
    if decoder.labeller and engine.dtype != "rational":
        expected = (as_computed(row, engine.dtype) for row in expected)
    found, read = _predicted(decoder, prompt, engine, max_steps, sampling)
    expected, again = (expected, iter(())) if read is None else tee(expected)
    pairs = Pairs(found, expected, keep_rows=keep_rows, heads=columns == TURING)
    _drain(pairs, len(prompt), progress, sink)
    divergence = None
    if pairs.differs is None or pairs.differs[1] is None:
        divergence = ending_divergence(decoder, truth, pairs.tokens - 1, pairs.last)
    by_chance = read is not None and pairs.differs is not None and read.departs(*pairs.differs)
    if pairs.differs is not None and divergence is None:
        divergence = difference(decoder, None if by_chance else truth, pairs.differs, engine)
    if read is None or sampling is None:
        return _trace(decoder, prompt, engine, pairs, truth, divergence)
    right = read.likelihood(pairs.tokens) if divergence is None else read.of_reference(again, engine)
    trace = _with_predictions(_trace(decoder, prompt, engine, pairs, truth, divergence), read, sampling)
    return replace(trace, by_chance=by_chance, right=right)


def run(
    decoder: Decoder,
    word: Sequence[str],
    *,
    engine: Engine,
    max_steps: int | None = None,
    keep_rows: bool = True,
    progress: Progress | None = None,
    sink: Sink | None = None,
    sampling: Sampling | None = None,
) -> Trace:
    """Run `decoder` on `word` from its weights alone, without a comparison; see `check`.

    Raises:
        EngineError: if the decoder's vocabulary lacks one of the word's symbols.
    """
    found, read = _predicted(decoder, word, engine, max_steps, sampling)
    pairs = Pairs(found, None, keep_rows=keep_rows, heads=is_turing(decoder.layout))
    _drain(pairs, len(word), progress, sink)
    trace = _trace(decoder, word, engine, pairs, None, None)
    return trace if read is None or sampling is None else _with_predictions(trace, read, sampling)


def _predicted(
    decoder: Decoder, prompt: Sequence[str], engine: Engine, max_steps: int | None, sampling: Sampling | None
) -> tuple[Iterator[AnyRow], Predictions | None]:
    """Return the rows of a run, and what collects its probabilities while they are read, if requested."""
    positions = _positions(decoder, prompt, max_steps)
    if sampling is None:
        return rows(decoder, prompt, engine=engine, max_positions=positions), None
    read = Predictions(decoder, prompt, sampling)
    return rows(decoder, prompt, engine=engine, max_positions=positions, draw=read.draw, see=read.see), read


def _with_predictions(trace: Trace, read: Predictions, sampling: Sampling) -> Trace:
    """Return a trace with the probabilities as the last columns of its table."""
    columns = (*trace.columns, *read.columns)
    row, free = row_type(columns), (ANY,) * len(read.columns)
    return replace(
        trace,
        columns=columns,
        rows=tuple(row(*cells, *more) for cells, more in zip(trace.rows, read.cells(len(trace.rows)), strict=True)),
        expected=tuple(row(*cells, *free) for cells in trace.expected),
        sampling=sampling,
        likelihood=read.likelihood(trace.tokens),
    )


def _drain(pairs: Pairs, fed: int, progress: Progress | None, sink: Sink | None) -> None:
    """Go through the rows, reporting progress (out of the tokens that were fed) and passing rows that agree to `sink`."""
    waiting: list[AnyRow] = []
    for n, row in enumerate(pairs):
        if progress and n % 64 == 63:
            progress(n + 1, max(0, n - fed))
        if sink is not None and pairs.differs is None:
            waiting.append(row)
            if len(waiting) >= 1024:
                sink(waiting)
                waiting = []
    if sink is not None and waiting:
        sink(waiting)


def _trace(
    decoder: Decoder,
    prompt: Sequence[str],
    engine: Engine,
    pairs: Pairs,
    truth: Truth | None,
    gap: Divergence | None,
) -> Trace:
    columns = columns_of(decoder)
    lead = described(prompt) if columns == TURING else 0
    steps = pairs.tokens - len(prompt) + (-1 if decoder.bos is not None else 1)
    if decoder.labeller:
        steps = 0
    said = pairs.last[-1] if pairs.last and pairs.tokens > len(prompt) else ""  # an answer to the prompt ends nothing
    answer = ends_of(decoder).get(said)
    whole = len(prompt) if decoder.labeller else decoder.positions
    if answer is None and pairs.tokens == whole and not decoder.stop:
        answer = "end"
    return Trace(
        machine=name(decoder.provenance) if truth is None else truth.name,
        input="".join(prompt[lead:]) if truth is None else truth.input,
        engine=engine.name,
        dtype=engine.dtype,
        tokens=pairs.tokens,
        answer="limit" if answer is None else answer,
        T=None if answer is None else steps,
        result=None if truth is None else truth.result(),
        compared=pairs.compared,
        divergence=gap,
        reach=pairs.reach,
        soft=decoder.soft,
        temperature=temperature_of(decoder),
        blank="_" if truth is None else truth.blank,
        lead=lead,
        noun="machine" if truth is None else truth.noun,
        reference="simulator" if truth is None else truth.reference,
        columns=columns,
        rows=tuple(pairs.kept),
        expected=tuple(pairs.wanted),
    )


def ends_of(decoder: Decoder) -> Mapping[str, str]:
    """Return the tokens that end a run, each with its outcome."""
    return OUTCOME_OF_TOKEN if columns_of(decoder) == TURING else {token: token for token in decoder.stop}


def _positions(decoder: Decoder, prompt: Sequence[str], max_steps: int | None) -> int | None:
    """Return the most positions that a run of `max_steps` steps needs: prompt, BOS, and one more than the steps.

    Without BOS the last token of the prompt is the one that the first step answers. A sequence model has no steps, and all
    positions of the prompt.
    """
    if max_steps is None or decoder.labeller:
        return None
    return len(prompt) + max_steps + (2 if decoder.bos is not None else -1)


def difference(
    decoder: Decoder, truth: Truth | None, pair: tuple[AnyRow | None, AnyRow | None], engine: Engine
) -> Divergence:
    """Return the first cell that differs between the reference's row and the decoder's, one of which may be missing.

    Args:
        truth: the run of the reference; None: no cause is looked for.
    """
    want, row = pair
    columns = columns_of(decoder)
    cells = list(zip(columns, want or [None] * len(columns), row or [None] * len(columns), strict=True))
    column, expected, found = next((cell for cell in cells[1:] if cell[1] != cell[2]), cells[-1])
    position, cause = int((want or row or (0,))[0]), None
    if want is not None and truth is not None:
        from tm2tfr.runs.cause import find_cause  # noqa: PLC0415  (most runs agree)
        from tm2tfr.runs.told import unembedding_cause  # noqa: PLC0415

        specification = truth.specification(len(truth.prompt) - 1 if decoder.labeller else position)
        if specification.covers(decoder.layout):
            cause = find_cause(decoder, specification, position, engine=observable(engine))
            if cause is None and row is not None and (column is columns[-1] or column.kind == "output"):
                output, about = column.holds or None, specification.about(position)
                cause = unembedding_cause(decoder, position, expected, found, about, output=output)
    return Divergence(
        position=position,
        column=column.name,
        expected=expected,
        found=found,
        expected_row=want,
        found_row=row,
        cause=cause,
    )


def ending_divergence(decoder: Decoder, truth: Truth, position: int, last: AnyRow | None) -> Divergence | None:
    """Return a divergence if a decoder whose rows all agree, up to `last` at `position`, stops at the wrong position."""
    ending = truth.ending(decoder)
    if ending is None:
        return None
    from tm2tfr.runs.told import ending_cause  # noqa: PLC0415

    return Divergence(
        position=position,
        column=STOP,
        expected=ending.expected,
        found=ending.found,
        expected_row=last,
        found_row=last,
        cause=ending_cause(decoder, ending, position),
    )


def _finite(cell: object) -> object:
    """Return a cell, as text if it is a number that JSON does not have."""
    return str(cell) if isinstance(cell, float) and not isfinite(cell) else cell


def _shown(cell: object) -> str:
    return "⊥" if cell is None else visible(str(cell))
