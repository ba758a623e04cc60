"""Many inputs of a circuit at once."""

from __future__ import annotations

from functools import partial
from typing import IO, TYPE_CHECKING

from tm2tfr.api.subject import Subject
from tm2tfr.base.choices import AUTO
from tm2tfr.base.errors import CompileError, InputError
from tm2tfr.runs.options import RunOptions, check_engine, is_count, path

if TYPE_CHECKING:
    from pathlib import Path

    from tm2tfr.api.subject import Given
    from tm2tfr.engines import Engine
    from tm2tfr.runs.comparison import Progress
    from tm2tfr.runs.many import ComparedRuns
MOST_RANDOM = 1 << 22
"""The most random inputs at once: their bits are drawn before the first run."""


def check_many(
    subject: Given,
    count: int | None = None,
    *,
    seed: int = 0,
    engine: str | Engine = AUTO,
    dtype: str | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> ComparedRuns:
    """Run a circuit's decoder on many inputs and compare every bit with the evaluator's, up to the first that differs.

    >>> import tm2tfr
    >>> found = tm2tfr.check_many("full-adder")
    >>> found.runs, found.bits, found.agrees
    (8, 16, True)

    Args:
        subject: a circuit, see `Subject.of`.
        count: the number of random inputs; None: all inputs, at most 2^20.
        seed: that of the random inputs.
        engine: ``auto`` is fast if Numba is installed and the engine runs the weights, otherwise dense.
        dtype: see `run`.
        out: write the runs to this .csv or .jsonl file, one a line: the bits of the inputs and of the outputs, the result
            in words, and whether every bit agrees. It is written whole or not at all.
        progress: called from time to time with the number of inputs done, and of all.

    Raises:
        CompileError: if the subject is not a circuit, or none is stored with weights.
        InputError: if there are too many inputs, or `count` or `seed` is not a number of them.
        EngineError: for an unknown engine or dtype, or one that cannot run these weights.
        OutputError: if the file cannot be written.
    """
    from tm2tfr.base.files import encoded, write_whole
    from tm2tfr.runs.batches.checked import checked_inputs
    from tm2tfr.runs.many import run_lines

    check_engine(engine, dtype)
    if count is not None and not is_count(count, 1):
        raise InputError(f"count must be a number of inputs, not {count!r}: use 1 or more, or None for all inputs")
    if count is not None and count > MOST_RANDOM:
        raise InputError(
            f"{count:,} random inputs are too many: use at most {MOST_RANDOM:,}, or certify the circuit for all"
        )
    if not is_count(seed):
        raise InputError(f"the seed must be a whole number, not {seed!r}: use for example 0")
    found = Subject.of(subject)
    if found.kind.enumerated is None:
        raise CompileError(f"{found.name}: check_many goes through the inputs of a circuit, and this is none: use check")
    words = found.kind.enumerated(found.right, count, seed)
    options = RunOptions(engine=engine, dtype=dtype, max_steps=None)
    run = partial(checked_inputs, found.decoder, found.right, words, options, progress, tokens_alone=True)
    if (where := path(out, "out")) is None:
        return run()
    heading, lines = run_lines(where)
    done: list[ComparedRuns] = []

    def write(file: IO[bytes]) -> None:
        file.write(heading.encode())
        done.append(run(sink=lambda runs: file.writelines(encoded(line, where) for line in lines(runs))))

    write_whole(where, write)
    return done[0]
