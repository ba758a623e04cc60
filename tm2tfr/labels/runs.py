"""Runs of one subject, compared with the reference, and their labels: some inputs at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.decode import prompted
from tm2tfr.engines.whole import WholeDense
from tm2tfr.errors import CompileError, visible
from tm2tfr.labels.of_circuit import CircuitVariables, joined
from tm2tfr.labels.of_logic import LogicVariables
from tm2tfr.labels.of_rasp import LabelledWords, RaspVariables
from tm2tfr.labels.of_turing import RawRows, TuringVariables, recoded
from tm2tfr.labels.of_universal import UniversalVariables
from tm2tfr.labels.variables import HeadColumn, LabelRows, Ragged, Scheme
from tm2tfr.runs.batches.checked import checked_inputs
from tm2tfr.runs.batches.given import of_labeller
from tm2tfr.runs.batches.labelled import first_wrong
from tm2tfr.runs.options import RunOptions
from tm2tfr.runs.run import carried_out
from tm2tfr.runs.truths import truth_of
from tm2tfr.sources.circuit.evaluate import evaluate_cases
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.circuit.truth import CircuitTruth
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.rasp.program import Program
from tm2tfr.sources.registry import of_program
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.trace.check import Trace
from tm2tfr.transformer.matrix import Ints
from tm2tfr.transformer.weights import Decoder


# ── Runs of machines as columns: each compared with the simulator's, cell by cell, by the fast engine or row by row.
@dataclass(frozen=True)
class Differs:
    """The first of some runs that differs from the reference's, and how; agreed: the number of runs before it."""

    word: str
    why: str
    agreed: int


@dataclass(frozen=True)
class RunsInColumns:
    """The runs of one machine; see `tm2tfr.labels.runs.LabelledRuns`."""

    decoder: Decoder
    program: Any
    engine: str
    max_steps: int

    def on(self, words: Sequence[str]) -> tuple[RawRows, tuple[str, ...], Differs | None, int]:
        """Return the rows of the runs up to the first that differs, what came out of each, what differs, and the cells."""
        if self.engine == "fast":
            return self._batch(words)
        parts: list[RawRows] = []
        outcomes: list[str] = []
        cells, differs = 0, None
        for word in words:
            raw, trace = self._by_row(word)
            if trace.divergence is not None or not trace.agrees:
                differs = Differs(word, str(trace.divergence or f"{trace.tokens} tokens, {trace.result}"), len(parts))
                break
            parts.append(raw)
            outcomes.append(trace.answer)
            cells += trace.compared
        return _joined(parts), tuple(outcomes), differs, cells

    def _batch(self, words: Sequence[str]) -> tuple[RawRows, tuple[str, ...], Differs | None, int]:
        """Return the same, of all runs in one call of compiled code."""
        from tm2tfr.runs.batches.carried import batch_of  # noqa: PLC0415  (it needs Numba, which is optional)

        batch = batch_of(self.decoder, self.program, words, checked=True, max_steps=self.max_steps, workers=1)
        wrong = np.flatnonzero((batch.differs >= 0) | (batch.compared == 0))
        agreed, differs = len(batch), None
        if len(wrong):
            agreed = int(wrong[0])
            differs = Differs(words[agreed], str(batch.divergence(agreed) or batch.trace(agreed).result), agreed)
        rows = int(batch.offsets[agreed])
        own = {name: batch.columns[name][:rows].astype(np.int32) for name in ("q", "b", "m", "h", "a")}
        sizes = np.array([len(word) for word in words[:agreed]], dtype=np.int64)
        raw = RawRows(batch.offsets[: agreed + 1], sizes, batch.tokens[:rows], batch.answers[:rows], **own)
        return raw, tuple(batch.outcomes[:agreed].tolist()), differs, int(batch.compared[:agreed].sum())

    def _by_row(self, word: str) -> tuple[RawRows, Trace]:
        trace = carried_out(self.decoder, word, self.program, RunOptions(engine=self.engine, max_steps=self.max_steps))
        holder, numbers = self.decoder.layout.holder, self.decoder.numbers
        columns = {"y": np.array([numbers.get(row.y, -1) for row in trace.rows], dtype=np.int32)}
        for name in "qba":
            names = tuple(str(getattr(row, name)) for row in trace.rows)
            columns[name] = recoded(names, holder(f"e_{name}").labels)
        for name in "mh":
            columns[name] = np.array([int(getattr(row, name)) for row in trace.rows], dtype=np.int32)
        return self._raw(word, columns), trace

    def _raw(self, word: str, columns: dict[str, NDArray[np.int32]]) -> RawRows:
        rows = len(columns["y"])
        construction = of_program(self.program)
        given = None if construction is None or construction.fed is None else construction.fed
        prompt = word if given is None else given(self.program, word, self.decoder)
        fed = np.array(prompted(self.decoder, prompt), dtype=np.int32)
        tokens = np.concatenate([fed, columns["y"][len(fed) - 1 : -1]])[:rows].astype(np.int32)
        own = {name: columns[name] for name in ("q", "b", "m", "h", "a")}
        return RawRows(np.array([0, rows]), np.array([len(word)]), tokens, columns["y"], **own)


_NOTHING = np.zeros(0, dtype=np.int32)


def _joined(parts: Sequence[RawRows]) -> RawRows:
    """Return the rows of several runs as one."""
    if not parts:
        return RawRows(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64), *[_NOTHING] * 7)
    sizes = np.concatenate([part.sizes for part in parts])
    offsets = np.concatenate([[0], np.cumsum([part.offsets[-1] for part in parts])]).astype(np.int64)
    columns: list[Any] = [np.concatenate(each) for each in list(zip(*parts, strict=True))[2:]]
    return RawRows(offsets, sizes, *columns)


WORDS, PAIRS = 8_192, 1 << 20
"""At most so many words of one length are labelled at once, and at most so many pairs of positions of them."""


@dataclass(frozen=True)
class LabelledRuns:
    """One subject whose runs are labelled.

    Args:
        decoder: the weights that are run; program: what says what is right.
        engine: ``fast``, ``dense`` or ``exact``.
        max_steps: at most this many steps of a machine.
        left_out: the columns of heads that are left out.
    """

    decoder: Decoder
    program: Any
    engine: str
    max_steps: int
    left_out: frozenset[str] = frozenset()

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("decoder", "program", "engine", "max_steps", "left_out")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    @cached_property
    def _finder(self) -> Any:
        """What finds the labels.

        Raises:
            CompileError: if the weights cannot be compared with the program.
        """
        program, decoder = self.program, self.decoder
        if isinstance(program, Universal):
            return UniversalVariables(decoder, program)
        if isinstance(program, Machine):
            return TuringVariables(decoder)
        if isinstance(program, Circuit):
            truth = truth_of(program, "0" * len(program.inputs), decoder, None)
            if isinstance(truth, CircuitTruth):
                return CircuitVariables(decoder, truth.specification(0))
        if isinstance(program, Program):
            return RaspVariables(program, decoder)
        if isinstance(program, LogicProgram):
            return LogicVariables(program, decoder)
        raise CompileError(f"{visible(getattr(program, 'name', str(program)))}: nothing labels its runs: give a program")

    @cached_property
    def scheme(self) -> Scheme:
        """What labels there are."""
        found: Scheme = self._finder.scheme
        return replace(found, heads=tuple(head for head in found.heads if head.column not in self.left_out))

    @property
    def ends(self) -> tuple[str, ...]:
        """The outcomes that are counted: those of machines."""
        return ("accept", "reject", "halt", "limit") if isinstance(self.program, Machine | Universal) else ()

    def labelled(self, words: Sequence[str]) -> tuple[LabelRows, Differs | None, tuple[int, ...]]:
        """Run some inputs and return their labels, up to the first that differs from the reference's.

        Returns:
            The labels; what differs, None if nothing does; the places of the inputs that were left out, on which the
            program is undefined.
        """
        if isinstance(self.program, Machine | Universal):
            return (*self._machine(words), ())
        if isinstance(self.program, Circuit):
            return (*self._circuit(words), ())
        return self._words(words)

    # ── machines ────────────────────────────────────────────────────────────────────────────────────────────
    @cached_property
    def _machine_runs(self) -> RunsInColumns:
        return RunsInColumns(self.decoder, self.program, self.engine, self.max_steps)

    def _machine(self, words: Sequence[str]) -> tuple[LabelRows, Differs | None]:
        raw, outcomes, differs, cells = self._machine_runs.on(words)
        columns, attended = self._finder.labels(raw)
        some = tuple(words[: len(outcomes)])
        return LabelRows(some, raw.offsets, raw.tokens, raw.answers, columns, {}, attended, outcomes, cells), differs

    # ── circuits ────────────────────────────────────────────────────────────────────────────────────────────
    def _circuit(self, words: Sequence[str]) -> tuple[LabelRows, Differs | None]:
        circuit, inputs = self.program, len(self.program.inputs)
        cases = np.frombuffer("".join(words).encode(), dtype=np.uint8).reshape(len(words), inputs) - ord("0")
        options = RunOptions(engine=self.engine, max_steps=None)
        found = checked_inputs(self.decoder, circuit, words, options, tokens_alone=True)
        failed = found.failure is not None
        agreed, differs = found.runs - failed, None
        if found.failure is not None:
            why = str(found.failure.divergence or "the bits of its gates are not the evaluator's after other inputs")
            differs = Differs(words[agreed], why, agreed)
        bits = evaluate_cases(circuit, cases[:agreed])
        columns, attended = self._finder.labels(bits)
        numbers = np.array([self.decoder.numbers[bit] for bit in "01"], dtype=np.int32)
        positions = bits.shape[1] - 1
        outputs = bits[:, [circuit.numbers[net] for _, net in circuit.outputs]]
        outcomes = tuple("".join(map(str, row)) for row in outputs.tolist())
        offsets = np.arange(agreed + 1, dtype=np.int64) * positions
        tokens, answers = numbers[bits[:, :-1]].ravel(), numbers[bits[:, 1:]].ravel()
        cells = agreed * len(circuit.gates)
        return LabelRows(tuple(words[:agreed]), offsets, tokens, answers, columns, {}, attended, outcomes, cells), differs

    # ── what labels words ───────────────────────────────────────────────────────────────────────────────────
    def defined(self, words: Sequence[str]) -> bool:
        """Return whether the program is defined on one of these inputs."""
        return not isinstance(self.program, Program) or any(self._finder.right(p)[0].any() for _, p in self._places(words))

    def _places(self, words: Sequence[str]) -> Iterator[tuple[Ints, NDArray[np.int64]]]:
        """Yield words of one length: their numbers, and their tokens as places in the alphabet, (words, n)."""
        tokens, start = of_labeller(self._finder.right, words)
        for numbers in _of_one_length(np.diff(start)):
            places = tokens[start[numbers][:, None] + np.arange(start[numbers[0] + 1] - start[numbers[0]])]
            yield numbers, places.astype(np.int64)

    @cached_property
    def _engine(self) -> WholeDense:
        return WholeDense(self.decoder, "float64")

    def _words(self, words: Sequence[str]) -> tuple[LabelRows, Differs | None, tuple[int, ...]]:
        """Label words of one length at a time, and put their rows in the order of the words."""
        batches: list[_Batch] = []
        out: list[int] = []
        wrong: list[int] = []
        for numbers, places in self._places(words):
            batch, undefined, first = self._batch(numbers, places)
            out += undefined
            wrong += [] if first is None else [first]
            batches.append(batch)
        if wrong:
            first = min(wrong)
            return self._empty(), Differs(words[first], self._why(words[first]), first - sum(n < first for n in out)), ()
        return self._in_order(words, batches), None, tuple(sorted(out))

    def _batch(self, numbers: Ints, places: NDArray[np.int64]) -> tuple[_Batch, list[int], int | None]:
        found = self._finder(places)
        kept = numbers[found.defined]
        first = first_wrong(self._engine, self.decoder, found.fed, found.wanted) if len(kept) else None
        cells = int(np.count_nonzero(~np.isnan(found.wanted)))
        undefined = numbers[~found.defined].tolist()
        return _Batch(kept, found, cells), undefined, None if first is None else int(kept[first])

    def _why(self, word: str) -> str:
        options = RunOptions(engine="dense", max_steps=None, keep_rows=False)
        trace = carried_out(self.decoder, word, self.program, options)
        return str(trace.divergence or "its values are not the reference's beside other inputs")

    def _empty(self) -> LabelRows:
        nothing = np.zeros(0, dtype=np.int32)
        return LabelRows((), np.zeros(1, dtype=np.int64), nothing, nothing, {}, {}, {}, (), 0)

    def _in_order(self, words: Sequence[str], batches: list[_Batch]) -> LabelRows:
        batches = [batch for batch in batches if len(batch.numbers)] or batches[:1]
        numbers = np.concatenate([batch.numbers for batch in batches])
        sizes = np.concatenate([np.full(len(b.numbers), b.found.fed.shape[1]) for b in batches])
        starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
        order = np.argsort(numbers, kind="stable")
        offsets = np.concatenate([[0], np.cumsum(sizes[order])]).astype(np.int64)
        rows = np.repeat(starts[order] - offsets[:-1], sizes[order]) + np.arange(offsets[-1])
        scheme = self.scheme
        columns, texts = {}, {}
        for variable in scheme.variables:
            grids = [batch.found.columns[variable.name] for batch in batches]
            if variable.kind == "text":  # a list that grows from one batch to the next: the last has all
                texts[variable.name] = batches[-1].found.texts[variable.name]
            columns[variable.name] = np.concatenate([grid.ravel() for grid in grids])[rows]
            if variable.kind == "text":
                columns[variable.name], texts[variable.name] = listed(columns[variable.name], texts[variable.name])
        columns_of: dict[str, list[HeadColumn]] = {}
        for batch in batches:
            for name, part in batch.found.attended(scheme.heads, len(batch.numbers)).items():
                columns_of.setdefault(name, []).append(part)
        attended: dict[str, HeadColumn] = {}
        for name, parts in columns_of.items():
            if isinstance(parts[0], Ragged):
                attended[name] = joined([part for part in parts if isinstance(part, Ragged)]).take(rows)
            else:
                attended[name] = np.concatenate([part for part in parts if isinstance(part, np.ndarray)])[rows]
        answers = np.concatenate([np.nan_to_num(b.found.wanted[0], nan=-1).ravel() for b in batches])[rows]
        kept = tuple(words[n] for n in numbers[order].tolist())
        return LabelRows(
            kept,
            offsets,
            np.concatenate([batch.found.fed.ravel() for batch in batches])[rows].astype(np.int32),
            None if scheme.answers is None else answers.astype(np.int32),
            columns,
            texts,
            attended,
            ("",) * len(kept),
            sum(batch.cells for batch in batches),
        )


@dataclass(frozen=True)
class _Batch:
    """Words of one length: their places, the labels, and the number of cells compared."""

    numbers: Ints
    found: LabelledWords
    cells: int


def _of_one_length(lengths: Ints) -> Iterator[Ints]:
    for length in np.unique(lengths).tolist():
        numbers = np.flatnonzero(lengths == length)
        size = max(1, min(WORDS, PAIRS // (length + 2) ** 2))
        for start in range(0, len(numbers), size):
            yield numbers[start : start + size]


def listed(places: NDArray[np.int32], texts: Sequence[str]) -> tuple[NDArray[np.int32], list[str]]:
    """Return texts that are given as places in a list as places in that of those which occur, in alphabetical order.

    The list in which values were met depends on what the process has labelled before.
    """
    there = np.flatnonzero(np.bincount(places + 1, minlength=len(texts) + 1)[1:])
    order = sorted(there.tolist(), key=lambda place: texts[place])
    to = np.full(len(texts) + 1, -1, dtype=np.int32)
    to[order] = np.arange(len(order))
    return to[places], [texts[place] for place in order]
