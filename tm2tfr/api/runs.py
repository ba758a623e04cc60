"""The library in a few lines: load a machine, compile it, run the weights, check every cell.

>>> import tm2tfr
>>> machine = tm2tfr.load("chapter")
>>> decoder = tm2tfr.compile(machine)
>>> trace = tm2tfr.check(decoder, "11")
>>> trace.answer, trace.T, trace.compared, trace.agrees
('accept', 6, 63, True)

Every `subject` may be a source, a decoder, the name of a shipped source, a path to a source or a weight file, bbchallenge
text, or ``-`` for text on standard input; see `Subject`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tm2tfr.api.subject import Subject, judged, recompiled
from tm2tfr.base.choices import AUTO
from tm2tfr.base.errors import CompileError, EngineError, UsageError, WeightFileError
from tm2tfr.runs.plan import MAX_STEPS, RunOptions, check_engine, check_steps, is_count, needed_path, path

if TYPE_CHECKING:
    from typing import Unpack

    from tm2tfr.api.subject import Given
    from tm2tfr.certificates.kit import Report
    from tm2tfr.contract.keywords import CompileOptions
    from tm2tfr.engines import Engine
    from tm2tfr.runs.comparison import Progress, Trace
    from tm2tfr.runs.rows import Activation
    from tm2tfr.runs.sampling import Sampling
    from tm2tfr.sources.turing.simulator import Result
    from tm2tfr.sources.turing.spec import Machine
    from tm2tfr.transformer.weights import Decoder


def compile(subject: Given, **options: Unpack[CompileOptions]) -> Decoder:
    """Compile a source and return its decoder; weights are returned unchanged.

    >>> import tm2tfr
    >>> tm2tfr.compile("full-adder", variant="paper-hard").positions
    7
    >>> tm2tfr.compile("parity", bits=100).positions
    149
    >>> every = tm2tfr.compile(tm2tfr.Universal(states=8, symbols=4))
    >>> tm2tfr.check(tm2tfr.compile("chapter", universal=every), "11").answer
    'accept'

    Args:
        subject: see `Subject.of`.
        options: the options of the construction: `TuringOptions` for a machine, `CircuitOptions` for a circuit,
            `RaspOptions` for a RASP program, `LogicOptions` for a formula, `AutomatonOptions` for an automaton, all in
            `tm2tfr.contract.options`; None means the default. A shipped circuit also takes its parameters, such as
            ``bits=8``, see `load`.

    Raises:
        SpecError, NotFoundError, ReadError, WeightFileError: if the subject cannot be loaded.
        CompileError: if an option does not apply to the program, or the weights are already compiled.
        UsageError: for parameters that a shipped circuit does not have, or for another source.
    """
    return Subject.of(subject, options=options).decoder


def simulate(subject: Given, word: str | None = None, *, max_steps: int | None = MAX_STEPS) -> Result:
    """Run the reference simulator on `word`, by default the machine's own input, and return the result.

    Raises:
        InputError: if `word` is not over the input alphabet.
        CompileError: if no machine is stored with weights.
    """
    from tm2tfr.sources.turing.simulator import result

    check_steps(max_steps)
    found = Subject.of(subject)
    return result(found.turing("simulate"), found.word(word), max_steps=max_steps)


def run(
    subject: Given,
    word: str | None = None,
    *,
    engine: str | Engine = AUTO,
    dtype: str | None = None,
    max_steps: int | None = MAX_STEPS,
    keep_rows: bool = True,
    checkpoint: str | Path | None = None,
    checkpoint_every: float | None = None,
    resume: str | Path | None = None,
    out: str | Path | None = None,
    sampling: Sampling | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Run a decoder on the input `word`, from its weights alone, and return a `Trace` with the rows of its table.

    Args:
        subject: see `Subject.of`; a machine is compiled first.
        word: the input; by default the program's own, or the empty word without a program.
        engine: ``auto``, ``dense``, ``exact``, ``fast``, or an engine object. ``auto`` is dense, or fast for a run of
            more than 1,024 positions (prompt, BOS, and one per step); only dense runs soft attention.
        dtype: ``float64`` (the default) or ``float32``, for ``dense``.
        max_steps: stop after this many steps of the machine; None: run until the verdict.
        keep_rows: keep the rows in the trace; the fast engine keeps none if the run is recorded in files.
        checkpoint: write the state of the run to this file every `checkpoint_every` seconds (with the fast engine), by
            default every 60.
        resume: resume the run from this checkpoint.
        out: write the rows to this .jsonl, .csv or .parquet file as they come.
        sampling: also return the probability of each token, by softmax of the logits (Eq. 8.3), and, with a seed, draw
            tokens by it, see `Sampling`.
        progress: called from time to time with the numbers of positions and of machine steps done.

    Raises:
        EngineError: for an unknown engine or dtype, or a word with symbols that are not in the vocabulary.
        OutputError, CheckpointError: if a file cannot be written, or a checkpoint cannot be resumed.
        SpecError, NotFoundError, ReadError, WeightFileError: if the subject cannot be loaded.
    """
    from tm2tfr.runs.run import carried_out

    found = Subject.of(subject)
    options = RunOptions(
        engine=engine,
        dtype=dtype,
        max_steps=max_steps,
        keep_rows=keep_rows,
        checkpoint=path(checkpoint, "checkpoint"),
        checkpoint_every=checkpoint_every,
        resume=path(resume, "resume"),
        out=path(out, "out"),
        sampling=sampling,
        progress=progress,
    )
    return carried_out(found.decoder, found.word(word), None, options, fed=found.prompt(word))


def activations(
    subject: Given, word: str | None, position: int, *, engine: str | Engine = "exact", dtype: str | None = None
) -> dict[str, Activation]:
    """Return the chapter's activation vectors A(0), A(1), A(2), A(3.5), A(4), H(4) and A(5) at a position of a run.

    A universal decoder also has ``rule``: the rule that ends at this position, and the rule that is found. For a circuit,
    program or formula, the keys are ``embedding`` and its layers, such as ``1 attention``: the stream after the layer.

    >>> import tm2tfr
    >>> tm2tfr.activations("chapter", "11", 2)["A(1)"]["e_x"]
    'BOS'

    Args:
        subject, word: see `run`.
        position: counted from 0, the first token of the prompt.
        engine, dtype: see `run`; ``auto`` is dense.

    Raises:
        EngineError: if the run ends before `position`; see also `run`.
    """
    from tm2tfr.runs.choose import to_watch
    from tm2tfr.runs.rows import activations as vectors

    check_engine(engine, dtype)
    if not is_count(position):
        raise EngineError(
            f"a position is a whole number from 0 on, not {position!r}: use for example 0, the first of the prompt"
        )
    found = Subject.of(subject)
    return vectors(found.decoder, found.prompt(word), position, engine=to_watch(engine, dtype))


def certify(subject: Given, *, machine: Given | None = None, left_boundary: str | None = None) -> Any:
    """Prove that weights compute their program for every input, and up to which length each engine's rounding allows it.

    >>> import tm2tfr
    >>> proof = tm2tfr.certify("chapter")
    >>> proof.refusals, proof.largest("dense", "float32"), proof.largest("exact")
    ((), 161, None)
    >>> tm2tfr.certify("full-adder").certificate("dense", "float32").granted
    True

    Args:
        subject, machine, left_boundary: see `check`.

    Returns:
        A `tm2tfr.certificates.kit.Proof`: for a machine a `tm2tfr.sources.turing.proof.prove.MachineProof`, for a circuit a
        `tm2tfr.sources.circuit.proof.certificate.CircuitProof`, for a formula a
        `tm2tfr.sources.logic.proof.certificate.LogicProof`.

    Raises:
        CompileError: if a decoder has no stored program and `machine` is None.
        SpecError, NotFoundError, ReadError, WeightFileError: if the subject cannot be loaded.
    """
    from tm2tfr.sources.registry import of_program

    found, judge = judged(recompiled(subject, left_boundary), machine)
    right = judge.right
    construction = of_program(right)
    if construction is None or construction.prove is None:
        what = f"{found.name}: there are no certificates of RASP programs, which no theorem covers for all inputs"
        raise CompileError(f"{what}: run every input up to a length with 'tm2tfr check --all-up-to N'")
    return construction.prove(found.decoder, right)


def machine_of(subject: Given) -> Machine:
    """Return the machine of a subject; for a decoder the machine that it was compiled from, stored with it.

    Raises:
        CompileError: if no machine is stored.
        SpecError: if the stored text is not a machine.
    """
    return Subject.of(subject).turing("machine_of")


def default_input(subject: Given) -> str:
    """Return the default input of a subject: the machine's own, its first example's, or the empty word."""
    return Subject.of(subject).word(None)


# ── Decoders as files and as text.
def save_weights(subject: Given, path: str | Path) -> None:
    """Write a decoder to a weight file; the same decoder gives the same file, bit for bit.

    Args:
        subject: see `Subject.of`; a machine is compiled first.

    Raises:
        OutputError: if the file cannot be written.
        WeightFileError: if a matrix has more than 2^24 rows or columns, or heads have millions of components that are 0.
    """
    from tm2tfr.transformer.storage import save

    where = needed_path(path, "path")
    save(Subject.of(subject).decoder, where)


def load_weights(path: str | Path) -> Decoder:
    """Return the decoder of a weight file.

    Raises:
        WeightFileError: if the file cannot be read, is truncated or damaged, is not a decoder, or is from another program
            or version.
    """
    from tm2tfr.sources.turing.compiler.version_1 import load

    if not isinstance(path, str | Path):
        raise WeightFileError(f"{path!r} is not the name of a weight file: use text or a pathlib.Path")
    return load(path)


def listing(subject: Given, layer: str | None = None) -> str:
    """Return all weights, or those of one layer (by number from 1, or by name), as text with names.

    A line such as ``query[0] = 2·h/(i+1)`` is one row of a matrix; ``→`` shows where a value or a hidden unit is
    added. All non-zero entries are listed, so equal listings mean equal weights.

    Args:
        subject: see `Subject.of`; a machine is compiled first.

    Raises:
        ShapeError: for an unknown layer.
    """
    from tm2tfr.transformer.listing import listing as listed

    return listed(Subject.of(subject).decoder, None if layer is None else str(layer))


def with_weight(subject: Given, path: str, row: int | str, column: int | str, value: float) -> Decoder:
    """Return the decoder of a subject with one weight changed.

    >>> import tm2tfr
    >>> decoder = tm2tfr.compile("palindromes")
    >>> broken = tm2tfr.with_weight(decoder, "layers.4.heads.0.query", 1, "1", 1)
    >>> print(tm2tfr.check(broken, "abba", max_steps=50).divergence.cause.layer_name)
    read tape

    Args:
        subject: see `Subject.of`; a machine is compiled first.
        path: the path of the matrix, such as ``layers.4.heads.0.query``; layers count from 1, heads of a layer from 0.
        row, column: by number from 0, or by name as `listing` prints it: a direction of the stream, a token, a position
            feature or an answer. Components of heads and hidden units only have numbers.
        value: the new value, any finite number; 0 removes the weight.

    Raises:
        ShapeError: for an unknown path or name, a number out of range, or a value that is not a finite number.
    """
    from tm2tfr.transformer.changes import with_weight as changed

    return changed(Subject.of(subject).decoder, path, row, column, value)


def summary(subject: Given) -> str:
    """Return a summary of a decoder as text: its layers with their equations, and the counts of weights.

    Args:
        subject: see `Subject.of`; a machine is compiled first.
    """
    from tm2tfr.transformer.listing import summary as summed_up

    return summed_up(Subject.of(subject).decoder)


# ── The report of a certificate: the engines it is granted for, and whether the question is certified.
def certificate(
    subject: Given,
    *,
    engine: str | None = None,
    dtype: str | None = None,
    max_steps: int | None = None,
    input_length: int | None = None,
    max_positions: int | None = None,
    max_head: int | None = None,
) -> Report[Any]:
    """Prove from the weights, for every input, and report how far it reaches.

    Args:
        subject: see `tm2tfr.certify`.
        engine, dtype: for these alone; by default for all.
        max_steps, input_length: whether all runs of at most `max_steps` steps are certified, on inputs of at most
            `input_length` symbols; by default the length of the machine's own input.
        max_positions: whether all runs of at most this many positions are certified.
        max_head: only runs with |h| up to this.

    Returns:
        The report.

    Raises:
        UsageError: for questions that cannot be combined, or that are not about such a program.
        CompileError: see `tm2tfr.certify`.
    """
    if max_steps is not None and max_positions is not None:
        raise UsageError("tm2tfr certify: --max-steps and --max-positions cannot be combined: omit one of them")
    if input_length is not None and max_steps is None:
        raise UsageError("tm2tfr certify: --input-length only applies with --max-steps: add it, or omit --input-length")
    from tm2tfr.certificates.kit import Questions

    found = Subject.of(subject)
    symbols = len(found.word(None)) if max_steps is not None and input_length is None else input_length or 0
    questions = Questions(engine, dtype, max_steps, symbols, max_positions, max_head)
    if found.construction is not None and found.construction.check_questions is not None:
        found.construction.check_questions(found.name, questions)
    report: Report[Any] = certify(found).report(questions)
    return report
