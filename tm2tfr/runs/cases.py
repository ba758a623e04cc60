"""Many inputs of one circuit: the decoder's bits against the evaluator's, token by token, without rows.

Only tokens are compared here: every bit of every gate, from the last input on. The first run with a wrong one is
carried out again, cell by cell, so that its cause is found.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.decode import Engine, generate
from tm2tfr.engines.fast import MISSING, available
from tm2tfr.errors import EngineError, OutputError
from tm2tfr.runs.many import ComparedRuns
from tm2tfr.runs.options import RunOptions
from tm2tfr.runs.run import carried_out
from tm2tfr.sources.circuit.evaluate import Bits, evaluate_cases
from tm2tfr.sources.circuit.inputs import shown_outputs
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.trace.check import Progress
from tm2tfr.transformer.weights import Decoder

CasesSink = Callable[[Bits, bool], None]
"""Called with the right bits of all nets in some runs, (runs, nets), and whether the last of these runs agrees."""
_AT_ONCE = 1 << 22
"""The most bits that the evaluator computes at a time."""
_ROWS = 1 << 18
"""About so many positions are run in one call of the fast engine."""


def checked_cases(
    decoder: Decoder,
    circuit: Circuit,
    cases: Bits,
    *,
    engine: Engine,
    progress: Progress | None = None,
    sink: CasesSink | None = None,
) -> ComparedRuns:
    """Run `decoder` on all `cases` and compare the bits of all gates with the evaluator's, up to the first that differs.

    Args:
        cases: (cases, inputs), the bits of the inputs.
        sink: gets every run that was compared.

    Raises:
        EngineError: if the engine cannot run these weights.
    """
    nets, done, failure = len(circuit.inputs) + len(circuit.gates), 0, None
    step = max(1, _AT_ONCE // nets)
    run = _Compiled(decoder, len(cases)) if engine.name == "fast" else _Runner(decoder, engine)
    for start in range(0, len(cases), step):
        wanted = evaluate_cases(circuit, cases[start : start + step])
        for part in range(0, len(wanted), run.together):
            right = wanted[part : part + run.together]
            wrong = run.first_wrong(right[:, : len(circuit.inputs)], right[:, len(circuit.inputs) :])
            done += len(right) if wrong is None else wrong + 1
            if sink is not None:
                sink(right[: None if wrong is None else wrong + 1], wrong is None)
            if wrong is not None:
                word = "".join(map(str, right[wrong, : len(circuit.inputs)].tolist()))
                failure = carried_out(decoder, word, circuit, RunOptions(engine=engine, max_steps=None, keep_rows=False))
                break
            if progress is not None and (run.together > 1 or done % 256 == 0):
                progress(done, len(cases))
        if failure is not None:
            break
    return ComparedRuns(
        name=circuit.name,
        noun="circuit",
        reference="evaluator",
        engine=engine.name,
        dtype=engine.dtype,
        runs=done,
        cells=done * len(circuit.gates),
        counted="bits",
        failure=failure,
    )


CASE_FILES = (".csv", ".jsonl")
"""The endings of files of many runs."""


def case_lines(circuit: Circuit, path: Path) -> tuple[str, Callable[[Bits, bool], Iterator[str]]]:
    """Return the heading of a file of many runs, in the format of its ending, and what yields the lines of some runs.

    A line has the bits of the inputs and of the outputs, each as one text, the result in words, and whether every bit of
    the run agrees.

    Raises:
        OutputError: for another ending.
    """
    if path.suffix.lower() not in CASE_FILES:
        raise OutputError(f"{path}: many runs are written as {' or '.join(CASE_FILES)}: name the file {path.stem}.csv")
    names, columns = ("input", "outputs", "result", "agrees"), [circuit.numbers[net] for _, net in circuit.outputs]
    as_json = path.suffix.lower() == ".jsonl"

    def lines(right: Bits, agree: bool) -> Iterator[str]:
        for run, bits in enumerate(right, start=1):
            outputs = bits[columns].tolist()
            shown = shown_outputs(circuit, dict(zip((name for name, _ in circuit.outputs), outputs, strict=True)))
            word, result = ("".join(map(str, some)) for some in (bits[: len(circuit.inputs)].tolist(), outputs))
            values = word, result, shown, agree or run < len(right)
            if as_json:
                yield json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False) + "\n"
            else:
                yield f'{word},{result},"{shown.replace(chr(34), chr(34) * 2)}",{str(values[-1]).lower()}\n'

    return "" if as_json else f"{','.join(names)}\n", lines


class _Runner:
    """Runs one decoder on one input after the other."""

    together = 1

    def __init__(self, decoder: Decoder, engine: Engine) -> None:
        self._decoder, self._engine = decoder, engine
        self._bit = _bits_of(decoder)

    def first_wrong(self, inputs: Bits, wanted: Bits) -> int | None:
        """Return 0 if one of the bits of the only run is wrong: (1, inputs), (1, gates); None if none is."""
        prompt = [str(bit) for bit in inputs[0].tolist()]
        steps = generate(self._decoder, prompt, engine=self._engine)
        answers = [self._decoder.numbers[step.output] for step in steps if step.position >= len(prompt) - 1]
        return None if np.array_equal(self._bit[np.array(answers, dtype=np.int64)], wanted[0]) else 0


class _Compiled:
    """Runs one decoder on many inputs in one call of the fast engine.

    Args:
        runs: the number of all of them.

    Raises:
        EngineError: if Numba is not installed, or the fast engine does not run these weights.
    """

    def __init__(self, decoder: Decoder, runs: int) -> None:
        if not available():
            raise EngineError(MISSING)
        from tm2tfr.engines.fast.many import ManyRuns  # noqa: PLC0415  (it takes its time to load)

        self._session, self._bit = ManyRuns(decoder), _bits_of(decoder)
        self._zero_one = np.array([decoder.numbers.get(sign, -1) for sign in "01"], dtype=np.int32)
        self._positions = decoder.positions
        self._coming = runs * (decoder.positions or 0)
        self.together = max(1, _ROWS // (decoder.positions or _ROWS))

    def first_wrong(self, inputs: Bits, wanted: Bits) -> int | None:
        """Return the first run in which a bit is wrong: (runs, inputs), (runs, gates); None if there is none."""
        runs, size = inputs.shape
        tokens, start = self._zero_one[inputs].ravel(), np.arange(runs + 1, dtype=np.int64) * size
        positions = size if self._positions is None else self._positions
        most = np.full(runs, positions, dtype=np.int64)
        found = self._session.run(tokens, start, most, runs * positions, self._coming)
        self._coming -= runs * positions
        due = size - 1 + wanted.shape[1]
        whole = np.diff(found.offsets) == due
        rows = found.offsets[:-1][whole][:, None] + np.arange(size - 1, due)
        right = whole.copy()
        right[whole] = (self._bit[found.answers[rows]] == wanted[whole]).all(axis=1)
        return None if right.all() else int(right.argmin())


def _bits_of(decoder: Decoder) -> NDArray[np.int16]:
    """Return the bit that each token is; -1 for one that is none."""
    return np.array([int(token) if token in ("0", "1") else -1 for token in decoder.vocabulary], dtype=np.int16)
