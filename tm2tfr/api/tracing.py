"""One run of a subject: its weights, softened if requested, the comparison, and warnings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tm2tfr.api.softness import for_run
from tm2tfr.base.errors import counted, listing
from tm2tfr.runs.plan import HARD, NOBODY, Finding, Soft

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tm2tfr.api.subject import Subject
    from tm2tfr.runs.comparison import Trace
    from tm2tfr.runs.plan import RunOptions, Watcher
    from tm2tfr.runs.rows import Activation
    from tm2tfr.transformer.weights import Decoder


# ── Warnings: what is not proved about a run, and what another program would misread in a file.
SURELY = {"float64": 10_000, "float32": 100, "rational": 10**18}
"""The positions that are certified of every machine as it is compiled without options, whatever |h| is there."""
SURELY_FAST = 10**7
"""The |h| up to which all positions that the fast engine runs are: it compares no rounded scores of equal keys."""


def certified(trace: Trace, subject: Subject) -> int | None:
    """Return the certified number of positions for a run's weights, engine and |h|; None: no limit; 0 under softmax."""
    construction = subject.construction
    if construction is None or construction.limit is None or subject.program is None or trace.soft:
        return 0
    return construction.limit(subject.decoder, subject.program, trace.engine, trace.dtype, trace.reach)


def beyond_certificate(trace: Trace, subject: Subject) -> str | None:
    """Return the warning for a run that agrees beyond the certified length for its engine and its |h|."""
    agreed = "warning: this run agrees, but nothing proves that all such runs do"
    if trace.sampling is not None and trace.sampling.seed is not None:
        return None  # a sampled run agrees by chance
    if subject.construction is None or subject.construction.limit is None:
        return None  # see `tm2tfr certify`, which is for all inputs
    if trace.soft:
        return f"{agreed}: soft attention has no certificate: see tm2tfr soften"
    surely = trace.tokens <= SURELY[trace.dtype] or (trace.engine == "fast" and trace.reach <= SURELY_FAST)
    if subject.weights is None and not any(subject.options.values()) and surely:
        return None  # without a proof, which takes longer than a short run
    most = certified(trace, subject)
    if most is None or trace.tokens <= most:
        return None
    what = f"{trace.engine} in {trace.dtype} is certified for {counted(most, 'position')} with |h| ≤ {trace.reach:,}"
    if most == 0:
        what = "these weights cannot be certified"
    return f"{agreed}: {what}: see {_to_certify(subject)}"


def _to_certify(subject: Subject) -> str:
    """Return the command that certifies a subject; of a universal decoder, its class, whatever machine is in the prompt.

    Weights that were changed for this run are in no file yet.
    """
    if subject.source is not None and subject.weights is not None:
        file = "changed.safetensors"
        return f"tm2tfr certify {file}, after tm2tfr compile {subject.name} --set … -o {file}"
    if subject.kind.class_named is not None and not subject.compiled:
        return f"tm2tfr certify {subject.kind.class_named(subject.program, subject.options)}"
    return f"tm2tfr certify {subject.name}" if subject.name != "-" else "tm2tfr certify"


def slow(decoder: Decoder, run: RunOptions) -> str | None:
    """Return the warning for a long run by the dense engine that the fast one would make if Numba were installed."""
    from tm2tfr.runs.choose import lacks_numba
    from tm2tfr.runs.plan import MAX_STEPS

    if (run.max_steps is None or run.max_steps > MAX_STEPS) and lacks_numba(decoder, run.engine, run.dtype):
        what = "warning: the dense engine takes time that grows with the square of the steps"
        return f"{what}: pip install 'tm2tfr[fast]' makes it fast"
    return None


def formulas_in(subject: Subject, format: str | None) -> str | None:
    """Return the warning for a CSV file in which a spreadsheet takes a state's name, or another's label, for a formula."""
    from tm2tfr.runs.rows import columns_of, is_turing
    from tm2tfr.tables.table import formulas

    if format != "csv":
        return None
    decoder, layout = subject.decoder, subject.decoder.layout
    turing = is_turing(layout)  # whose symbols are single signs, and harmless, and whose tokens begin with a bracket
    read = [c.read_from(layout) for c in columns_of(decoder) if not turing or c.holds == "e_q"]
    names = [label for subspace in read if subspace for label in subspace.labels or ()]
    names += [] if turing else [*decoder.vocabulary, *(c.name for c in columns_of(decoder))]
    found = formulas(dict.fromkeys(names))
    if not found:
        return None
    whose = "a state's name" if turing else "a name"
    what = f"warning: a spreadsheet takes {whose} for a formula ({listing(found, most=3)})"
    return f"{what}: import the columns of the CSV file as text, or write JSON"


def written(subject: Subject, run: RunOptions) -> Iterator[str]:
    """Yield what there is to say of the file of rows that a run has written, if it has."""
    if run.out is not None:
        yield f"wrote {run.out}"
        if (warning := formulas_in(subject, run.out.suffix.lower()[1:])) is not None:
            yield warning


class Traced(NamedTuple):
    """A run.

    Args:
        trace: it, compared with its reference if there is one.
        subject: what was run, with the requested attention.
        vectors: the activation vectors at the requested position, None if none was.
        warnings: what is not proved of it.
        written: the message about the file of rows that it wrote.
    """

    trace: Trace
    subject: Subject
    vectors: Mapping[str, Activation] | None = None
    warnings: tuple[str, ...] = ()
    written: tuple[str, ...] = ()

    def misread(self, format: str) -> tuple[str, ...]:
        """Return the warning for a table in this format that a spreadsheet misreads, if it does."""
        found = formulas_in(self.subject, format)
        return () if found is None else (found,)


def traced(
    subject: Subject,
    word: str | None,
    run: RunOptions,
    *,
    soft: Soft = HARD,
    at: int | None = None,
    must_compare: bool = False,
    watch: Watcher = NOBODY,
) -> Traced:
    """Run a subject, and compare every cell with its reference; without a program, only run it.

    Args:
        word: the input; None: the program's own.
        soft: the requested attention.
        at: a position, counted from 0, whose activation vectors are wanted as well.
        must_compare: refuse to run without a program.

    Raises:
        CompileError: for an invalid temperature; without a program, if one is needed.
        EngineError: see `tm2tfr.check`; if the run ends before `at`.
    """
    from tm2tfr.runs.choose import is_steady
    from tm2tfr.runs.run import carried_out

    found = for_run(subject, soft, word, run.max_steps)
    warnings = [slow(found.decoder, run)]
    if warnings[0] is not None:
        watch.hear(Finding(text=warnings[0], note=True))  # before the time is taken
    program = found.right if must_compare else found.program
    with watch.run(run.max_steps, steady=is_steady(found.decoder, run.engine, run.dtype)) as shown:
        asked = replace(run, progress=shown.progress, stop=shown.stop)
        fed = found.prompt(word) if program is None else None
        trace = carried_out(found.decoder, found.word(word), program, asked, fed=fed)
    if program is not None and trace.agrees:
        warnings.append(beyond_certificate(trace, found))
    vectors = None
    if at is not None:
        from tm2tfr.api.runs import activations

        vectors = activations(found, trace.input, at, engine=run.engine, dtype=run.dtype)
    said = tuple(each for each in warnings if each is not None)
    return Traced(trace, found, vectors, said, tuple(written(found, run)))
