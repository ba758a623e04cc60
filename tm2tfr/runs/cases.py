"""Many inputs of one circuit: the decoder's bits against the evaluator's, token by token, without rows.

Only tokens are compared here: every bit of every gate, from the last input on. The first run with a wrong one is
carried out again, cell by cell, so that its cause is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.decode import Engine, generate
from tm2tfr.runs.options import RunOptions
from tm2tfr.runs.run import carried_out
from tm2tfr.sources.circuit.evaluate import Bits, evaluate_cases
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.trace.check import Trace
from tm2tfr.transformer.weights import Decoder

CasesProgress = Callable[[int, int], None]
"""Called from time to time with the number of inputs done, and of all."""
_AT_ONCE = 1 << 22
"""The most bits that the evaluator computes at a time."""


@dataclass(frozen=True, kw_only=True)
class Cases:
    """Many runs of one circuit.

    Args:
        circuit: its name.
        engine, dtype: those that ran the weights.
        runs: the number of inputs that were run.
        bits: the number of bits compared.
        failure: the first run that differs, None if all agree.
    """

    circuit: str
    engine: str
    dtype: str
    runs: int
    bits: int
    failure: Trace | None

    @property
    def agrees(self) -> bool:
        """Whether every bit of every run agrees, and there was one."""
        return self.failure is None and self.bits > 0

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        plain = {"circuit": self.circuit, "runs": self.runs, "bits": self.bits, "agrees": self.agrees}
        plain |= {"engine": self.engine, "dtype": self.dtype}
        return plain if self.failure is None else plain | {"failure": self.failure.as_dict()}


def checked_cases(
    decoder: Decoder, circuit: Circuit, cases: Bits, *, engine: Engine, progress: CasesProgress | None = None
) -> Cases:
    """Run `decoder` on all `cases` and compare the bits of all gates with the evaluator's, up to the first that differs.

    Args:
        cases: (cases, inputs), the bits of the inputs.

    Raises:
        EngineError: if the engine cannot run these weights.
    """
    nets, done, failure = len(circuit.inputs) + len(circuit.gates), 0, None
    step = max(1, _AT_ONCE // nets)
    run = _Runner(decoder, engine)
    for start in range(0, len(cases), step):
        wanted = evaluate_cases(circuit, cases[start : start + step])
        for row in wanted:
            found = run(row[: len(circuit.inputs)])
            done += 1
            if not np.array_equal(found, row[len(circuit.inputs) :]):
                word = "".join(map(str, row[: len(circuit.inputs)].tolist()))
                failure = carried_out(decoder, word, circuit, RunOptions(engine=engine, max_steps=None, keep_rows=False))
                break
            if progress is not None and done % 256 == 0:
                progress(done, len(cases))
        if failure is not None:
            break
    return Cases(
        circuit=circuit.name,
        engine=engine.name,
        dtype=engine.dtype,
        runs=done,
        bits=done * len(circuit.gates),
        failure=failure,
    )


class _Runner:
    """Runs one decoder on one input after the other; a session that can begin again keeps what the weights determine."""

    def __init__(self, decoder: Decoder, engine: Engine) -> None:
        self._decoder, self._engine = decoder, engine
        self._bit = np.array([_bit(token) for token in decoder.vocabulary], dtype=np.int16)
        self._zero_one = [decoder.numbers.get(sign, -1) for sign in "01"]
        self._session: Any = engine.start(decoder) if engine.name == "fast" else None

    def __call__(self, bits: NDArray[np.uint8]) -> NDArray[np.int16]:
        """Return the bits that are generated after those of the inputs; -1 for a token that is none."""
        answers = list(self._plain(bits)) if self._session is None else self._restarted(bits)
        return self._bit[np.array(answers, dtype=np.int64)]

    def _plain(self, bits: NDArray[np.uint8]) -> Iterator[int]:
        prompt = [str(bit) for bit in bits.tolist()]
        steps = generate(self._decoder, prompt, engine=self._engine)
        return (self._decoder.numbers[step.output] for step in steps if step.position >= len(bits) - 1)

    def _restarted(self, bits: NDArray[np.uint8]) -> Any:
        session = self._session
        session.restart()
        session.prompt([self._zero_one[bit] for bit in bits.tolist()])
        found = session.extend(self._decoder.positions or len(bits))
        return found.answers[len(bits) - 1 :]


def _bit(token: str) -> int:
    return int(token) if token in ("0", "1") else -1
