"""Interventions on a run: the answers of the causal model and of the patched weights."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tm2tfr.api.subject import Subject
from tm2tfr.base.errors import CompileError, EngineError, InputError, Tm2tfrError, UsageError, a_or_an

if TYPE_CHECKING:
    from tm2tfr.api.subject import Given
    from tm2tfr.lab.interventions.intervened import Base, ColumnPlaces, VariableList
    from tm2tfr.lab.interventions.intervention import Intervention
    from tm2tfr.lab.interventions.tried import Tried
    from tm2tfr.lab.line.folder import ShardProgress
    from tm2tfr.transformer.weights import Decoder

MOST_POSITIONS = 200
"""The most positions of a run: an intervention may keep a machine from halting."""
INPUTS, LONGEST = 32, 8
"""The number of inputs of random interventions, and the most symbols of one, where none are given."""


def intervene(
    subject: Given,
    word: str | None,
    settings: Mapping[tuple[str, int] | str, object] | Sequence[str],
    *,
    engine: str = "dense",
    dtype: str | None = None,
    max_positions: int = MOST_POSITIONS,
) -> Intervention:
    """Set variables in a run and return the results of the source's causal model and of the patched weights.

    >>> import tm2tfr
    >>> found = tm2tfr.intervene("chapter", "11", {("state", 5): "q1"})
    >>> found.agrees, found.first, found.expected.answers[5], found.patched_answers[5]
    (True, 5, 'ACC', 'ACC')

    Args:
        subject: see `Subject.of`.
        word: the input; None: the program's own.
        settings: (variable, position), or ``"q@5"``, -> its new value; or texts as on the command line, ``["q@5=q1"]``.
            Positions count from 0. `causal_variables` lists the names of variables. A symbol is its text, ⊥ is None; a
            number that the stream stores divided by i+1 is given undivided. A `From` takes the value from another run: an
            interchange intervention.
        engine: ``dense`` or ``exact``.
        dtype: of ``dense``, ``float64`` (the default) or ``float32``.
        max_positions: the most positions of each run.

    Raises:
        UsageError: for an unknown variable, position or value.
        CompileError, InputError: see `tm2tfr.check`; also if weights have no source.
        EngineError: for an engine that cannot be patched, or that cannot run these weights.
    """
    from tm2tfr.lab.interventions.settings import settings_of

    base = bases(subject, engine=engine, dtype=dtype, max_positions=max_positions)
    own = base(word)
    return own.intervened(settings_of(own, settings, base))


def causal_variables(subject: Given, word: str | None = None) -> VariableList:
    """Return the variables that `intervene` can set, with their names in weights, in the table and in labels.

    >>> import tm2tfr
    >>> found = {each.variable.name: each.columns for each in tm2tfr.causal_variables("chapter").variables}
    >>> found["e_q"], found["h_{i-1}"]
    (('q',), ('h_before',))

    Args:
        subject: see `Subject.of`.
        word: the input; None: the program's own. The names do not depend on it.

    Raises:
        CompileError, InputError: see `intervene`.
    """
    from tm2tfr.lab.interventions.intervened import listed

    return listed(bases(subject, engine="dense", dtype=None, max_positions=MOST_POSITIONS)(word))


def intervene_many(
    subject: Given,
    count: int,
    *,
    words: Sequence[str] | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    parquet: bool = False,
    keep_unknown: bool = False,
    effective: bool = False,
    balanced: bool = False,
    balanced_outcomes: bool = False,
    positions: int | None = None,
    resume: bool = False,
    engine: str = "dense",
    dtype: str | None = None,
    max_positions: int = MOST_POSITIONS,
    progress: ShardProgress | None = None,
) -> Tried:
    """Carry out random interventions, compare model and weights, and, with a folder, write them as data.

    >>> import tm2tfr
    >>> found = tm2tfr.intervene_many("chapter", 20)
    >>> found.number, found.agrees
    (20, True)

    Args:
        subject, engine, dtype, max_positions: see `intervene`.
        count, seed: their number, and the seed that determines them.
        words: the inputs; by default a few random ones.
        folder: a new or empty folder, for `datasets.load_dataset`.
        parquet: write Parquet files beside the JSON Lines.
        keep_unknown: also write interventions whose answer is not known at every position, with a mask.
        effective: draw each again until it changes an answer, by the causal model.
        balanced: set one variable in each intervention, and each variable equally often. A variable that cannot be set, or
            has too few settings as required, is left out, see `Tried.unbalanced`.
        balanced_outcomes: draw random inputs with the same number for each outcome, such as accept and reject.
        positions: the positions of the exports that ``hooks.json`` describes, see `export_to`.
        resume: continue a folder of the same interventions.
        progress: called with the numbers of shards done, of all shards, and of interventions made.

    With `effective` or `balanced`, an intervention whose answers are not all known is drawn again too, unless
    `keep_unknown` is given. `Tried.drawn` is the number of draws.

    Raises:
        UsageError: for an invalid count or seed; if no random intervention changes an answer.
        InputError: also if random inputs cannot be balanced, see `tm2tfr.make_labels`.
        DatasetError, OutputError: if the folder is not empty, has other interventions, or cannot be written; if PyArrow is
            missing for Parquet.
        CompileError, InputError, EngineError: see `intervene`.
    """
    from tm2tfr.lab.datasets.balance import MOST_OUTCOMES, judged, numbers
    from tm2tfr.lab.interventions.draws import Draws
    from tm2tfr.lab.interventions.pairs import tried
    from tm2tfr.runs.plan import is_count

    if not is_count(count, 1) or not is_count(seed):
        raise UsageError(f"{count!r} interventions with the seed {seed!r}: use whole numbers, from 1 and from 0 on")
    if balanced_outcomes and words is not None:
        raise UsageError("balanced_outcomes is about random inputs: omit it, or the inputs")
    found = Subject.of(subject)
    base = bases(found, engine=engine, dtype=dtype, max_positions=max_positions)
    if words is not None:
        chosen = [*map(found.word, words)]
    elif balanced_outcomes:
        chosen = [*_balanced(found, seed)]
    else:
        chosen = list(islice(_defined(_words(found, seed), base), INPUTS))
    if not chosen:
        raise InputError(f"{found.name}: no input was found to intervene on: give at least one")
    outcomes = {} if found.construction is None else numbers(judged(found.right, max_positions).outcomes(chosen))
    return tried(
        found.right.name,
        Draws(
            chosen,
            base,
            seed,
            effective=effective,
            known=(effective or balanced) and not keep_unknown,
            balanced=balanced,
        ),
        count=count,
        folder=folder,
        parquet=parquet,
        keep_unknown=keep_unknown,
        outcomes=outcomes if len(outcomes) <= MOST_OUTCOMES else {},
        inputs={"listed": words is not None, "seed": seed, "balanced_outcomes": balanced_outcomes},
        texts=None if folder is None else _texts(found, positions),
        resume=resume,
        progress=progress,
    )


def _balanced(found: Subject, seed: int) -> Sequence[str]:
    """Return random inputs with the same number for each outcome: `INPUTS`, or half as many as often as there are too few.

    Raises:
        InputError: if there are not even two, see `tm2tfr.lab.datasets.balance.balanced`.
    """
    from tm2tfr.lab.datasets.balance import judged
    from tm2tfr.lab.labels.inputs import LabelInputs, chosen

    construction, program = found.construction, found.right
    if construction is None:  # never: there is a causal model
        raise TypeError(found.name)
    space, positions = construction.inputs(program), found.decoder.positions
    asked = LabelInputs(count=INPUTS, longest=None if space.length else LONGEST, seed=seed, balanced=True)
    while True:
        try:
            return chosen(judged(program, MOST_POSITIONS), found.noun, space, positions, asked).words
        except InputError:
            if asked.count == 2:
                raise
            asked = replace(asked, count=(asked.count or INPUTS) // 2)


def _texts(found: Subject, positions: int | None) -> dict[str, str]:
    """Return the files of a folder that say how variables are set in exports: file -> content."""
    from tm2tfr.base.text.shown import json_text
    from tm2tfr.lab.labels.hooks import hooks_of
    from tm2tfr.lab.labels.patches import HOOKS, SCHEMA, schema, variables_of
    from tm2tfr.lab.labels.runs import LabelledRuns
    from tm2tfr.lab.line.folder import VOCABULARY

    decoder, program = found.decoder, found.right
    if found.construction is None:  # never: there is a causal model
        raise TypeError(found.name)
    variables = variables_of(found.construction, program, decoder)
    scheme = LabelledRuns(decoder, program, "dense", 0).scheme
    hooks = hooks_of(decoder, program, scheme, None, positions=positions, variables=variables)
    texts = {HOOKS: json_text(hooks.as_dict()), SCHEMA: schema()}
    return texts | {VOCABULARY: json_text(decoder.vocabulary, indent=0)}


def _defined(words: Iterator[str], base: Callable[[str], Base]) -> Iterator[str]:
    """Yield the different inputs among the first few on which there is a run."""
    for word in dict.fromkeys(islice(words, 4 * INPUTS)):
        try:
            _ = base(word).run
        except Tm2tfrError:
            continue
        yield word


def _words(found: Subject, seed: int) -> Iterator[str]:
    """Yield inputs of a program: its own, then all or random ones."""
    program, construction, chance = found.right, found.construction, random.Random(f"{seed} inputs")
    yield found.word(None)
    if construction is None:
        return
    if construction.cases is not None:
        yield from construction.cases(program, INPUTS)[0]
        return
    space = construction.inputs(program)
    longest = min(LONGEST, found.decoder.positions or LONGEST)
    while space.letters:
        size = chance.randint(space.shortest, longest)
        yield space.written("".join(chance.choice(space.letters) for _ in range(size)))


def bases(subject: Given, *, engine: str, dtype: str | None, max_positions: int) -> Callable[[str | None], Base]:
    """Return what makes of an input the run that interventions are made on: input -> `Base`.

    Raises:
        CompileError: where there is no causal model.
        EngineError: see `intervene`.
    """
    from tm2tfr.engines import engine as engine_named
    from tm2tfr.lab.interventions.intervened import Base
    from tm2tfr.runs.plan import check_engine, is_count

    check_engine(engine, dtype)
    if engine not in ("dense", "exact"):
        raise EngineError(f"the engine {engine!r} cannot be patched: use dense or exact")
    if not is_count(max_positions, 1):
        raise EngineError(f"max_positions must be a number of positions, not {max_positions!r}: use 1 or more")
    found = Subject.of(subject)
    construction, program, decoder = found.construction, found.right, found.decoder
    wired = _as_compiled(found)
    model = None if construction is None else construction.causal_runs(program, wired)
    if construction is None or model is None:
        raise CompileError(f"{found.name}: nothing says how its variables depend on each other: give {a_or_an(found.noun)}")
    chosen = engine_named(engine, dtype)

    @cache
    def columns() -> ColumnPlaces:
        from tm2tfr.lab.labels.hooks import columns_in_weights
        from tm2tfr.lab.labels.runs import LabelledRuns

        return columns_in_weights(LabelledRuns(decoder, program, engine, 0).scheme)

    @cache
    def base(word: str | None) -> Base:
        given = found.word(word)
        return Base(
            program.name,
            given,
            decoder,
            model(given),
            found.prompt(given),
            chosen,
            max_positions,
            columns,
            partial(_differs, found, given, engine, dtype) if decoder.labeller else str,
        )

    return base


def _as_compiled(found: Subject) -> Decoder:
    """Return the wiring that a causal model reads off weights, from weights compiled anew from the source.

    So it is not read off the weights that are judged by it; but where these cannot be made again, by what they state,
    with the same stream and heads.
    """
    from tm2tfr.contract.options import fields_of
    from tm2tfr.transformer import provenance

    decoder, construction = found.decoder, found.construction
    if found.weights is None or construction is None:
        return decoder
    known = fields_of(construction.options)
    said = {name: text for name, text in provenance.options(decoder.provenance).items() if name in known}
    for options in (found.options, {name: _READ.get(text, text) for name, text in said.items() if text}):
        with suppress(Tm2tfrError, TypeError, ValueError):
            anew = construction.compile(found.right, options)
            if _heads(anew) == _heads(decoder):
                return anew
    return decoder


_READ: Mapping[str, object] = {"True": True, "False": False, **{str(n): n for n in range(10_000)}}
"""Values of options, by the text in which weights state them."""


def _heads(decoder: Decoder) -> tuple[object, ...]:
    """Return the stream, the tokens and outputs, and of each head how it attends, and to what by its claim."""
    claims = [[(head.weighting, head.claim and head.claim.attends) for head in layer.heads] for layer in decoder.layers]
    return decoder.layout, decoder.vocabulary, decoder.outputs, claims


def _differs(found: Subject, word: str, engine: str, dtype: str | None) -> str:
    """Return how a sequence model's weights differ from their reference on an input, in words; empty: they do not.

    The causal models of the others are equations of their own, with which every cell of this run is compared.
    """
    from tm2tfr.api.checking import check

    trace = check(found, word, engine=engine, dtype=dtype, keep_rows=False)
    return "" if trace.agrees else str(trace.divergence or trace)
