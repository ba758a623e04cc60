"""Many inputs of one decoder in one call: of every source in a batch, and of a circuit as a check of all or random ones."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from tm2tfr.api.subject import Subject, judged
from tm2tfr.base.choices import AUTO
from tm2tfr.base.errors import CompileError, EngineError, InputError
from tm2tfr.runs.plan import MAX_STEPS, RunOptions, as_list, check_engine, is_count, path

if TYPE_CHECKING:
    from pathlib import Path

    from tm2tfr.api.subject import Given
    from tm2tfr.engines import Engine
    from tm2tfr.runs.batches.batch import Batch, ComparedRuns
    from tm2tfr.runs.comparison import Progress


MOST_STEPS = 10**18
"""More steps than any run has; the numbers of rows are 64-bit integers."""


def run_batch(
    subject: Given,
    inputs: Iterable[str],
    *,
    max_steps: int = MAX_STEPS,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Batch:
    """Run a decoder on a batch of inputs, from its weights alone; `check_batch` compares as well.

    Decoders of machines and circuits, which generate tokens, run on the fast engine; sequence models (RASP programs and
    formulas) run in the dense engine's arithmetic, all words of one length at once. The numbers equal those of single runs.

    The first call after an installation compiles the fast engine, which takes half a minute to two minutes, without
    messages. Later processes load it from the user's cache, see ``TM2TFR_CACHE``.

    >>> import tm2tfr
    >>> batch = tm2tfr.run_batch("palindromes", ["abba", "ab"])
    >>> batch.outcomes.tolist(), batch.offsets.tolist()
    (['accept', 'reject'], [0, 20, 27])
    >>> [batch.vocabulary[token] for token in batch.tokens[:6]]
    ['a', 'b', 'b', 'a', 'BOS', '(first,a,0)']

    Nothing is compared: ``batch.failures`` raises an error, and ``batch.agrees`` is False.

    Args:
        subject: see `Subject.of`; a program is compiled first.
        inputs: the inputs as people write them; duplicates are allowed.
        max_steps: stop each run after this many steps of a machine, or gates of a circuit; a circuit's run is complete by
            default.
        workers: the number of threads; None: one per core. The result is the same for any number.
        progress: called from time to time with the numbers of runs and of rows done.

    Raises:
        InputError: for an invalid input, with its number.
        EngineError: for an input that the weights cannot read; for machines and circuits also if Numba is not installed, or
            the fast engine cannot run the weights, for example with softmax.
        SpecError, NotFoundError, ReadError, WeightFileError: if the subject cannot be loaded.
    """
    from tm2tfr.runs.batches.generated import batch_of

    found = Subject.of(subject)
    _check(max_steps, workers)
    words = _words(inputs)
    return batch_of(
        found.decoder, found.program, words, checked=False, max_steps=max_steps, workers=workers, progress=progress
    )


def check_batch(
    subject: Given,
    inputs: Iterable[str],
    *,
    machine: Given | None = None,
    max_steps: int = MAX_STEPS,
    workers: int | None = None,
    keep_rows: bool = True,
    progress: Progress | None = None,
) -> Batch:
    """Run a decoder on a batch of inputs and compare every cell at every position with the reference, like `tm2tfr.check`.

    >>> import tm2tfr
    >>> batch = tm2tfr.check_batch("palindromes", ["abba", "ab", "abba"])
    >>> batch
    <Batch of palindromes: 3 runs, 47 rows, all agree>
    >>> batch.T.tolist(), int(batch.compared.sum())
    ([15, 4, 15], 329)

    The first call may take a minute or two; see `run_batch`.

    Runs that differ are in ``batch.failures``; ``batch.divergence(run)`` repeats one of them to find the cause. An input on
    which a RASP program is undefined raises an error, as in `tm2tfr.check`.

    >>> tm2tfr.check_batch("sort", ["cab", "ba"]).results.outcomes.tolist()
    ['abc', 'ab']

    Args:
        machine: see `tm2tfr.check`.
        keep_rows: keep the rows; without them a batch takes little memory.
        subject, inputs, max_steps, workers, progress: see `run_batch`.

    Raises:
        CompileError: if no program is stored with a decoder and none is given.
        InputError, EngineError, SpecError, NotFoundError, ReadError, WeightFileError: see `run_batch`.
    """
    from tm2tfr.runs.batches.generated import batch_of

    found, judge = judged(Subject.of(subject), machine)
    _check(max_steps, workers)
    return batch_of(
        found.decoder,
        judge.right,
        _words(inputs),
        checked=True,
        max_steps=max_steps,
        workers=workers,
        keep_rows=keep_rows,
        progress=progress,
    )


def _check(max_steps: int, workers: object) -> None:
    """Raise EngineError unless these are a limit on the steps of each run, and a number of threads."""
    if not is_count(max_steps):
        what = f"max_steps must be a whole number of steps, not {max_steps!r}"
        raise EngineError(f"{what}: use for example 10_000, since each of many runs needs a limit")
    if max_steps > MOST_STEPS:
        raise EngineError(f"max_steps is {max_steps:,}: use at most {MOST_STEPS:,}")
    if workers is not None and not is_count(workers, 1):
        raise EngineError(f"workers must be a number of threads, not {workers!r}: use 1 or more, or None")


def _words(inputs: Iterable[str]) -> tuple[str, ...]:
    """Return the inputs.

    Raises:
        InputError: if they are a text, or nothing that can be gone through.
    """
    if isinstance(inputs, str) or not isinstance(inputs, Iterable):
        raise InputError(f"inputs must be a list of words, not {inputs!r}: {as_list(inputs)}")
    return tuple(inputs)


# ── many inputs of a circuit ────────────────────────────────────────────────────────────────────────────────
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
    """Run a circuit's decoder on a batch of inputs and compare every bit with the evaluator, up to the first difference.

    >>> import tm2tfr
    >>> found = tm2tfr.check_many("full-adder")
    >>> found.runs, found.bits, found.agrees
    (8, 16, True)

    Args:
        subject: a circuit, see `Subject.of`.
        count: the number of random inputs; None: all inputs, at most 2^20.
        seed: the seed of the random inputs.
        engine: ``auto`` is fast if Numba is installed and the engine runs the weights, otherwise dense.
        dtype: see `run`.
        out: write the runs to this .csv or .jsonl file, one per line: the bits of the inputs and of the outputs, the result
            in words, and whether every bit agrees. It is written whole or not at all.
        progress: called from time to time with the numbers of inputs done, and of all.

    Raises:
        CompileError: if the subject is not a circuit, or no circuit is stored with weights.
        InputError: if there are too many inputs, or for an invalid `count` or `seed`.
        EngineError: for an unknown engine or dtype, or one that cannot run these weights.
        OutputError: if the file cannot be written.
    """
    from tm2tfr.runs.batches.batch import written_runs
    from tm2tfr.runs.batches.checked import checked_inputs

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
        raise CompileError(
            f"{found.name}: check_many goes through the inputs of a circuit, and this is not a circuit: use check"
        )
    words = found.kind.enumerated(found.right, count, seed)
    options = RunOptions(engine=engine, dtype=dtype, max_steps=None)
    run = partial(checked_inputs, found.decoder, found.right, words, options, progress, tokens_alone=True)
    return written_runs(path(out, "out"), lambda sink: run(sink=sink), bits=True)
