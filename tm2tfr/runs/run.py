"""Carries out a run: the choice of the engine, in blocks or row by row, with or without a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tm2tfr.engines.decode import Engine
from tm2tfr.runs import comparison
from tm2tfr.runs.choose import NamedProgram, engines, truth_of
from tm2tfr.runs.comparison import Trace
from tm2tfr.runs.plan import MAX_STEPS, RunOptions
from tm2tfr.runs.rows import columns_of, is_turing
from tm2tfr.sources.registry import of_program
from tm2tfr.transformer.weights import Decoder

if TYPE_CHECKING:
    from tm2tfr.tables.stream import RowWriter


def carried_out(
    decoder: Decoder, word: str, program: NamedProgram | None, options: RunOptions, *, fed: Sequence[str] | None = None
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
    for engine, limit in engines(decoder, _length(decoder, program, word, fed), options):
        if _in_blocks(engine, decoder, program, options):
            from tm2tfr.runs.recording import in_blocks  # noqa: PLC0415  (it needs Numba, which is optional)

            trace = in_blocks(decoder, word, program, replace(options, max_steps=limit), fed=fed)
        else:
            truth = truth_of(program, word, decoder, limit)
            fed = word if fed is None else fed
            run = partial(comparison.run, decoder, fed) if truth is None else partial(comparison.check, decoder, truth)
            keep, progress = options.keep_rows, options.progress
            with _writer(options.out, decoder) as writer:
                sink = None if writer is None else writer.write
                trace = run(
                    engine=engine,
                    max_steps=limit,
                    keep_rows=keep,
                    progress=progress,
                    sink=sink,
                    sampling=options.sampling,
                )
                if writer is not None:
                    writer.expect(trace.agreed)
            trace = replace(trace, input=word) if truth is None else trace
        if trace.T is not None or trace.divergence is not None:
            break  # otherwise the next engine, if there is one, goes further
    return _headed(trace, program)


def _length(decoder: Decoder, program: object, word: str, fed: Sequence[str] | None) -> int:
    """Return the number of tokens before BOS; of a sequence model, whose engine it does not decide, of characters."""
    construction = None if program is None or decoder.labeller else of_program(program)
    if fed is None and construction is not None:
        fed = construction.prompt(program, word, decoder)
    return len(word if fed is None else fed)


def _headed(trace: Trace, program: object) -> Trace:
    """Return the trace with the headings that a program gives its columns in LaTeX."""
    construction = of_program(program) if trace.labels and program is not None else None
    if construction is None or construction.headings is None:
        return trace
    tex = construction.headings(program)
    columns = (
        replace(each, tex=tex.get(each.holds, each.tex)) if each.kind == "output" else each for each in trace.columns
    )
    return replace(trace, columns=tuple(columns))


def _in_blocks(engine: Engine, decoder: Decoder, program: object, options: RunOptions) -> bool:
    """Return whether a run is made in blocks, without keeping rows: if the engine can, and that is wanted.

    Blocks have the columns of the chapter's table; the rows of any other are read one by one.
    """
    by_row = options.sampling is not None or (options.keep_rows and not options.recorded)
    if engine.name != "fast" or not is_turing(decoder.layout) or by_row:
        return False
    construction = None if program is None else of_program(program)
    return program is None or (construction is not None and construction.blocks is not None)


@contextmanager
def _writer(out: Path | None, decoder: Decoder) -> Iterator[RowWriter | None]:
    """Yield the writer of the rows, or None if they are not written."""
    if out is None:
        yield None
        return
    from tm2tfr.tables.stream import open_rows  # noqa: PLC0415  (most runs write no file)

    with open_rows(out, columns=columns_of(decoder)) as writer:
        yield writer
