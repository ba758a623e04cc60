"""Runs of one subject, compared with the reference, and their labels, some inputs at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import CompileError, visible
from tm2tfr.contract.labelling import HeadColumn, LabelledWords, RunRows, Scheme, joined, offsets_of, recoded, taken
from tm2tfr.contract.source import Source
from tm2tfr.engines import engine as engine_named
from tm2tfr.engines.decode import Engine
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.lab.datasets.shard import Failure
from tm2tfr.runs.batches.given import of_labeller
from tm2tfr.runs.batches.labelled import first_wrong
from tm2tfr.runs.choose import blocks_of, for_cases
from tm2tfr.runs.comparison import Trace
from tm2tfr.runs.plan import MAX_STEPS, RunOptions
from tm2tfr.runs.run import carried_out
from tm2tfr.sources.registry import of_program
from tm2tfr.transformer.matrix import Ints
from tm2tfr.transformer.weights import Decoder

WORDS, PAIRS = 8_192, 1 << 20
"""At most this many words of one length are labelled at once, and at most this many pairs of their positions."""


@dataclass(frozen=True)
class LabelRows:
    """The labels of some runs that agree with the reference.

    Args:
        words: the input of each run.
        offsets: (runs + 1,): the rows of run r are ``offsets[r]:offsets[r + 1]``.
        tokens: (rows,), their numbers in the vocabulary.
        answers: (rows,), the place of the answer among those of the decoder, or its first output's; None: it is a number.
        columns: variable -> its values: (rows,).
        texts: variable of the kind text -> the list that its values are places in.
        attended: head with a column -> that column.
        outcomes: the outcome of each run, as text.
        cells: the number of cells that were compared.
    """

    words: tuple[str, ...]
    offsets: NDArray[np.int64]
    tokens: NDArray[np.int32]
    answers: NDArray[np.int32] | None
    columns: Mapping[str, NDArray[Any]]
    texts: Mapping[str, Sequence[str]]
    attended: Mapping[str, HeadColumn]
    outcomes: tuple[str, ...]
    cells: int

    @property
    def positions(self) -> NDArray[np.int64]:
        """The position of each row in its run: (rows,)."""
        return np.arange(self.offsets[-1]) - np.repeat(self.offsets[:-1], np.diff(self.offsets))

    @classmethod
    def together(cls, parts: Sequence[LabelRows], order: Ints) -> LabelRows:
        """Return the runs of several parts in one, in this order; the lists of texts of the last part have all texts."""
        offsets, rows = taken(offsets_of(np.concatenate([np.diff(part.offsets) for part in parts])), order)
        words = [word for part in parts for word in part.words]
        outcomes = [outcome for part in parts for outcome in part.outcomes]
        columns = {name: np.concatenate([part.columns[name] for part in parts])[rows] for name in parts[0].columns}
        texts = {name: listed(columns[name], of) for name, of in parts[-1].texts.items()}
        attended = {name: joined([part.attended[name] for part in parts]) for name in parts[0].attended}
        answers = [part.answers for part in parts if part.answers is not None]
        return cls(
            words=tuple(words[run] for run in order.tolist()),
            offsets=offsets,
            tokens=np.concatenate([part.tokens for part in parts])[rows],
            answers=np.concatenate(answers)[rows] if answers else None,
            columns=columns | {name: places for name, (places, _) in texts.items()},
            texts={name: own for name, (_, own) in texts.items()},
            attended={name: of[rows] if isinstance(of, np.ndarray) else of.take(rows) for name, of in attended.items()},
            outcomes=tuple(outcomes[run] for run in order.tolist()),
            cells=sum(part.cells for part in parts),
        )


NO_ROWS = LabelRows((), np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32), {}, {}, {}, (), 0)


@dataclass(frozen=True)
class LabelledRuns:
    """One subject whose runs are labelled.

    Args:
        decoder: the weights that are run; program: the source, whose reference they are compared with.
        engine: ``fast``, ``dense`` or ``exact``.
        max_steps: at most this many steps of a run whose length is not known.
        left_out: the columns of heads that are left out.
    """

    decoder: Decoder
    program: Any
    engine: str
    max_steps: int
    left_out: frozenset[str] = frozenset()

    def __getstate__(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in ("decoder", "program", "engine", "max_steps", "left_out")}

    @cached_property
    def _source(self) -> Source[Any]:
        found = of_program(self.program)
        if found is None:
            name = visible(getattr(self.program, "name", str(self.program)))
            raise CompileError(f"{name}: nothing labels its runs: give a program")
        return found

    @cached_property
    def _variables(self) -> Any:
        """The object of the source that has the scheme of the labels, and computes them.

        Raises:
            CompileError: if the weights cannot be compared with the program.
        """
        return self._source.labels_of(self.program, self.decoder)

    @cached_property
    def scheme(self) -> Scheme:
        """The scheme of the labels."""
        found: Scheme = self._variables.scheme
        return replace(found, heads=tuple(head for head in found.heads if head.column not in self.left_out))

    @cached_property
    def _length(self) -> int | None:
        """The length of every input; None: inputs have any length."""
        return self._source.inputs(self.program).length

    def shortened(self, steps: int) -> LabelledRuns:
        """Return these runs in the dense engine, of at most `steps` steps; runs of one length cannot be shortened."""
        return self if self._length is not None else replace(self, engine="dense", max_steps=min(self.max_steps, steps))

    def labelled(self, words: Sequence[str]) -> tuple[LabelRows, Failure | None, tuple[int, ...]]:
        """Run some inputs and return their labels, up to the first that differs from the reference's.

        Returns:
            The labels; the first difference, None if all runs agree; the places of the inputs on which the program is
            undefined, which are left out.
        """
        if self.decoder.labeller:
            return self._whole(words)
        engine = for_cases(self.decoder, self.engine, None) if self._length is not None else engine_named(self.engine)
        found = self._in_turn(words) if self._length is None and engine.name != "fast" else self._batch(words, engine)
        return (*found, ())

    def _labels(self, words: Sequence[str], raw: RunRows, outcomes: Sequence[str], cells: int) -> LabelRows:
        columns, attended = self._variables.labels(raw)
        return LabelRows(tuple(words), raw.offsets, raw.tokens, raw.answers, columns, {}, attended, tuple(outcomes), cells)

    # ── runs that generate tokens: each compared with the reference's, cell by cell
    def _batch(self, words: Sequence[str], engine: Engine) -> tuple[LabelRows, Failure | None]:
        """Run all inputs in column blocks; of inputs of one length, whose columns follow from the tokens, compare these.

        Their runs have one length as well, and no limit.
        """
        from tm2tfr.runs.batches.generated import batches_of  # noqa: PLC0415  (it needs Numba, which is optional)

        one_length = self._length is not None
        [batch] = batches_of(
            self.decoder,
            self.program,
            words,
            checked=True,
            max_steps=MAX_STEPS if one_length else self.max_steps,
            workers=1,
            keep_rows=True,
            at_once=len(words) + 1,
            tokens_alone=one_length,
            engine=None if engine.name == "fast" else engine,
        )
        wrong = np.flatnonzero((batch.differs >= 0) | (batch.compared == 0))
        agreed, differs = len(batch), None
        if len(wrong):
            agreed = int(wrong[0])
            differs = Failure(self.program, words[agreed], str(batch.divergence(agreed) or batch.trace(agreed).result))
        rows = int(batch.offsets[agreed])
        columns = {name: values[:rows].astype(np.int32) for name, values in batch.columns.items()}
        sizes = np.array([len(word) for word in words[:agreed]], dtype=np.int64)
        offsets, tokens, answers = batch.offsets[: agreed + 1], batch.tokens[:rows], batch.answers[:rows]
        cells = int(batch.compared[:agreed].sum())
        if one_length:  # what is answered within an input is the model's: the batch has the tokens alone
            answers = self._variables.answers(RunRows(offsets, sizes, tokens, answers, columns))
            cells = agreed * (blocks_of(self.program, self.decoder, None).answers or 0)
        raw = RunRows(offsets, sizes, tokens, answers, columns)
        outcomes = batch.outcomes if batch.results is None else batch.results.outcomes
        return self._labels(words[:agreed], raw, outcomes[:agreed].tolist(), cells), differs

    def _in_turn(self, words: Sequence[str]) -> tuple[LabelRows, Failure | None]:
        """Run one input after the other, row by row."""
        options = RunOptions(engine=self.engine, max_steps=self.max_steps)
        differs, parts = None, list[LabelRows]()
        for word in words:
            trace = carried_out(self.decoder, word, self.program, options)
            if not trace.agrees:
                differs = Failure(self.program, word, str(trace.divergence or f"{trace.tokens} tokens, {trace.result}"))
                break
            parts.append(self._labels([word], self._rows(trace, len(word)), [trace.answer], trace.compared))
        return (LabelRows.together(parts, np.arange(len(parts))) if parts else NO_ROWS), differs

    def _rows(self, trace: Trace, size: int) -> RunRows:
        fed, *columns, answered = zip(trace.columns[1:], list(zip(*trace.rows, strict=True))[1:], strict=True)
        tokens, answers = (recoded(cells, self.decoder.vocabulary) for _, cells in (fed, answered))
        own = {}
        for column, cells in columns:
            held = column.read_from(self.decoder.layout)
            labels = None if held is None else held.labels
            own[column.name] = np.array(cells, dtype=np.int32) if labels is None else recoded(cells, labels)
        return RunRows(np.array([0, len(tokens)]), np.array([size]), tokens, answers, own)

    # ── words that are labelled whole
    def defined(self, words: Sequence[str]) -> bool:
        """Return whether the program is defined on one of these inputs."""
        return not self.decoder.labeller or any(self._variables.right(p)[0].any() for _, p in self._places(words))

    def _places(self, words: Sequence[str]) -> Iterator[tuple[Ints, NDArray[np.int64]]]:
        """Yield words of one length: their numbers, and their tokens as places in the alphabet, (words, n)."""
        tokens, start = of_labeller(self._variables.right, words)
        lengths = np.diff(start)
        for length in np.unique(lengths).tolist():
            same = np.flatnonzero(lengths == length)
            size = max(1, min(WORDS, PAIRS // (length + 2) ** 2))
            for numbers in (same[first : first + size] for first in range(0, len(same), size)):
                yield numbers, tokens[start[numbers][:, None] + np.arange(length)].astype(np.int64)

    def _whole(self, words: Sequence[str]) -> tuple[LabelRows, Failure | None, tuple[int, ...]]:
        """Label words of one length at a time, and put their rows in the order of the words."""
        engine, parts, kept = DenseDecoder(self.decoder, "float64"), list[LabelRows](), list[Ints]()
        out: list[int] = []
        wrong: list[int] = []
        for numbers, places in self._places(words):
            found: LabelledWords = self._variables(places)
            own = numbers[found.defined]
            first = first_wrong(engine, self.decoder, found.fed, found.wanted) if len(own) else None
            out += numbers[~found.defined].tolist()
            wrong += [] if first is None else [int(own[first])]
            if len(own) or not parts:
                parts.append(self._of_words([words[n] for n in own.tolist()], found))
                kept.append(own)
        if wrong:
            first = min(wrong)
            return NO_ROWS, Failure(self.program, words[first], self._why(words[first])), ()
        return LabelRows.together(parts, np.argsort(np.concatenate(kept), kind="stable")), None, tuple(sorted(out))

    def _of_words(self, words: Sequence[str], found: LabelledWords) -> LabelRows:
        answers = np.nan_to_num(found.wanted[0], nan=-1).ravel().astype(np.int32)
        return LabelRows(
            words=tuple(words),
            offsets=np.arange(len(words) + 1, dtype=np.int64) * found.fed.shape[1],
            tokens=found.fed.ravel().astype(np.int32),
            answers=None if self.scheme.answers is None else answers,
            columns={name: grid.ravel() for name, grid in found.columns.items()},
            texts=found.texts,
            attended=found.attended(self.scheme.heads),
            outcomes=("",) * len(words),
            cells=int(np.count_nonzero(~np.isnan(found.wanted))),
        )

    def _why(self, word: str) -> str:
        options = RunOptions(engine="dense", max_steps=None, keep_rows=False)
        trace = carried_out(self.decoder, word, self.program, options)
        return str(trace.divergence or "its values are not the reference's beside other inputs")


def listed(places: NDArray[np.int32], texts: Sequence[str]) -> tuple[NDArray[np.int32], list[str]]:
    """Return texts, given as places in a list, as places in the alphabetical list of those that occur, and that list.

    The list in which values were met depends on what the process has labelled before.
    """
    there = np.flatnonzero(np.bincount(places + 1, minlength=len(texts) + 1)[1:])
    order = sorted(there.tolist(), key=lambda place: texts[place])
    to = np.full(len(texts) + 1, -1, dtype=np.int32)
    to[order] = np.arange(len(order))
    return to[places], [texts[place] for place in order]
