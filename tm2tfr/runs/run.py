"""A run of a decoder, as it is asked for: by the engine that suits it, in blocks or row by row, into a file or not."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from tm2tfr.contract import Truth
from tm2tfr.engines.decode import Engine
from tm2tfr.runs.choose import engines
from tm2tfr.runs.options import MAX_STEPS, RunOptions
from tm2tfr.runs.truths import AnyMachine, truth_of
from tm2tfr.sources.registry import of_program
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.trace import check as checking
from tm2tfr.trace.check import Trace
from tm2tfr.trace.rows import columns_of, is_turing
from tm2tfr.transformer.weights import Decoder


def carried_out(
    decoder: Decoder, word: str, program: Any, options: RunOptions, *, fed: Sequence[str] | None = None
) -> Trace:
    """Run `decoder` on `word`, compare it with the reference's run of `program` if there is one, and return the trace.

    Args:
        program: a machine, or a program of another source; None: no comparison.
        fed: where there is no comparison, the tokens that are fed; by default one for each character of `word`.

    Raises:
        InputError: if `word` is not an input of the program.
        CompileError: if the decoder's table cannot be compared with the program's.
        EngineError: for an unknown engine or dtype, or a word with symbols that are not in the vocabulary.
        OutputError, CheckpointError: if a file cannot be written, or a checkpoint cannot be resumed.
        Interrupted: if `options.stop` asks for it.
    """
    if (decoder.positions is not None or decoder.labeller) and options.max_steps == MAX_STEPS:
        options = replace(options, max_steps=None)  # the run has an end: the default limit is for those that may have none
    for engine, limit in engines(decoder, _length(program, word, fed), options):
        trace = _by(engine, decoder, word, program, replace(options, max_steps=limit), fed)
        if trace.T is not None or trace.divergence is not None:
            break  # otherwise the next engine, if there is one, goes further
    return _headed(trace, program)


def _length(program: Any, word: str, fed: Sequence[str] | None) -> int:
    """Return the number of tokens that are fed before BOS."""
    if fed is not None:
        return len(fed)
    return len(word) + (len(program.description) if isinstance(program, Universal) else 0)


def _headed(trace: Trace, program: Any) -> Trace:
    """Return the trace with the headings that a program gives its columns in LaTeX."""
    construction = of_program(program) if trace.labels and program is not None else None
    if construction is None or construction.headings is None:
        return trace
    tex = construction.headings(program)
    columns = (
        replace(each, tex=tex.get(each.holds, each.tex)) if each.kind == "output" else each for each in trace.columns
    )
    return replace(trace, columns=tuple(columns))


def _by(engine: Engine, decoder: Decoder, word: str, program: Any, options: RunOptions, fed: Sequence[str] | None) -> Trace:
    """Run with `engine`: in blocks, without keeping rows, if it can and that is wanted, otherwise row by row.

    Blocks have the columns of the chapter's table; the rows of any other are read one by one.
    """
    in_rows, of_turing = options.keep_rows and not options.recorded, is_turing(decoder.layout)
    if engine.name == "fast" and of_turing and isinstance(program, AnyMachine | None) and not in_rows:
        from tm2tfr.runs.recording import in_blocks  # noqa: PLC0415  (it needs Numba, which is optional)

        return in_blocks(decoder, word, program, options, fed=fed)
    truth = truth_of(program, word, decoder, options.max_steps)
    return _by_row(engine, decoder, word, word if fed is None else fed, truth, options)


def _by_row(
    engine: Engine, decoder: Decoder, word: str, fed: Sequence[str], truth: Truth | None, options: RunOptions
) -> Trace:
    with ExitStack() as stack:
        writer = None
        if options.out is not None:
            from tm2tfr.tables.stream import open_rows  # noqa: PLC0415  (most runs write no file)

            writer = stack.enter_context(open_rows(options.out, columns=columns_of(decoder)))
        sink = None if writer is None else writer.write
        steps, keep, show = options.max_steps, options.keep_rows, options.progress
        if truth is None:
            trace = checking.run(decoder, fed, engine=engine, max_steps=steps, keep_rows=keep, progress=show, sink=sink)
            trace = replace(trace, input=word)
        else:
            trace = checking.check(decoder, truth, engine=engine, max_steps=steps, keep_rows=keep, progress=show, sink=sink)
        if writer is not None:
            writer.expect(trace.agreed)
        return trace
