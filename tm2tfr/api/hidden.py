"""Weights whose answer is hidden: made, proved equal to the original, and claims about them scored."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tm2tfr.api.subject import Subject
from tm2tfr.base.errors import CompileError, DisguiseError, Tm2tfrError, required
from tm2tfr.runs.plan import is_count

if TYPE_CHECKING:
    from tm2tfr.api.subject import Given
    from tm2tfr.lab.hidden.baselines import Baseline
    from tm2tfr.lab.hidden.claim import HiddenClaim
    from tm2tfr.lab.hidden.disguise import Disguised
    from tm2tfr.lab.hidden.keys import AnyKey
    from tm2tfr.lab.hidden.population import Member
    from tm2tfr.lab.hidden.score import ClaimScores
    from tm2tfr.lab.hidden.suite import SuiteScores
    from tm2tfr.lab.hidden.trained.draws import SourceRuns
    from tm2tfr.lab.hidden.trained.make import Remeasured, TrainedDisguise
    from tm2tfr.lab.hidden.verify import Proved
    from tm2tfr.runs.comparison import Progress


def disguise(
    subject: Given,
    *,
    grade: int = 3,
    seed: int = 0,
    rename_tokens: bool = False,
    all_up_to: int | None = None,
    dimensions: int | Literal["least"] | None = None,
) -> Disguised:
    """Return hidden weights that compute the same function, as ``decoder``, and the ``key`` with their answers.

    Before they are returned, they are proved equal to the original in exact arithmetic, for every input, and compared in
    floats.

    Args:
        subject: see `Subject.of`; a source is compiled first.
        grade: 1 permutes and scales; 2 also changes the basis of the stream and mixes the components of heads; 3 adds
            decoys, and makes all heads look alike.
        seed: 0 or more; the same weights, grade and seed give the same bytes.
        rename_tokens: give tokens, outputs and labels neutral names and another order; the key has the original names.
        all_up_to: also compare on all inputs of at most this many tokens, in float64 and float32; the key has the result.
        dimensions: first compress the stream to this many dimensions, so that variables share directions; ``"least"``: to
            the fewest that are found; None: no compression. Grades 2 and 3 add dimensions.

    Raises:
        DisguiseError: for an invalid grade or seed; for layer norms in grade 3; for weights with too many digits; for
            too few or too many dimensions.
        SpecError, NotFoundError, ReadError, WeightFileError: if the subject cannot be loaded.
    """
    from tm2tfr.lab.hidden.disguise import disguised
    from tm2tfr.targets.common.reference import canonical

    _check_seed(seed)
    if grade == 4:
        raise DisguiseError("grade 4 is trained, and no disguise of the same function: use disguise_by_training")
    found = Subject.of(subject)
    own = canonical(found.decoder, found.program)
    if all_up_to is not None and not is_count(all_up_to, 1):
        raise DisguiseError(f"a number of tokens is a whole number, not {all_up_to!r}: use 1 or more")
    if dimensions is not None and dimensions != "least" and not is_count(dimensions, 1):
        raise DisguiseError(f"dimensions are a whole number or 'least', not {dimensions!r}: use 1 or more")
    return disguised(
        own, found.program, grade=grade, seed=seed, rename=rename_tokens, all_up_to=all_up_to, dimensions=dimensions
    )


def verify_disguise(hidden: Given, key: AnyKey | str | Path) -> Proved:
    """Prove in rational arithmetic that hidden weights compute the key's original for every input; see ``refusals``.

    Args:
        hidden: the weights, see `Subject.of`.
        key: a key, or the path to one.

    Raises:
        DisguiseError: if the key cannot be read.
    """
    from tm2tfr.lab.hidden.key import Key
    from tm2tfr.lab.hidden.verify import verified

    opened = _key(key)
    if not isinstance(opened, Key):
        raise DisguiseError("nothing is proved of trained weights: measure them, measure_disguise(hidden, key)")
    return verified(Subject.of(hidden).decoder, opened)


def disguise_by_training(
    subject: Given,
    *,
    seed: int = 0,
    noise: float | None = None,
    steps: int | None = None,
    lr: float | None = None,
    longest: int | None = None,
    progress: Progress | None = None,
) -> TrainedDisguise:
    """Return trained weights that keep the variables of a source, as ``decoder``, and their ``key``: grade 4.

    The compiled weights get noise in every entry, and are trained on answers and on interchanges of variables between
    runs, whose targets are those of the causal model. Nothing is proved: the key has what was measured on inputs that
    training never saw. The same recipe gives the same bytes on one platform, with the same versions of torch and numpy.

    Args:
        subject: see `Subject.of`; a machine, a circuit, a program or a formula.
        seed: 0 or more.
        noise: its standard deviation as a share of the root mean square of each matrix; None: 0.3.
        steps, lr: those of training, and its highest learning rate; None: 1,200 and 0.01.
        longest: the most letters of an input; None: 6.
        progress: called with the number of interchanges drawn and steps done, and of all.

    Raises:
        DisguiseError: if torch is missing; for weights or sources that cannot be trained, see the documentation.
        SpecError, NotFoundError, ReadError, WeightFileError: if the subject cannot be loaded.
    """
    from tm2tfr.lab.hidden.trained.key import TrainingRecipe
    from tm2tfr.lab.hidden.trained.make import trained
    from tm2tfr.lab.hidden.trained.start import refuse

    _check_seed(seed)
    own = TrainingRecipe()
    recipe = TrainingRecipe(
        seed=seed,
        noise=own.noise if noise is None else noise,
        steps=own.steps if steps is None else steps,
        lr=own.lr if lr is None else lr,
        longest=own.longest if longest is None else longest,
    )
    required("grade 4 is trained, which needs torch", ["torch"], "torch", error=DisguiseError)
    found = Subject.of(subject)
    refuse(found.decoder)
    return trained(_runs(found, recipe.longest), recipe, progress)


def measure_disguise(hidden: Given, key: AnyKey | str | Path) -> Remeasured:
    """Return how well trained weights keep what their key claims, measured anew in the dense engine; see ``refusals``.

    Args:
        hidden: the weights, see `Subject.of`.
        key: a key of grade 4, or the path to one.

    Raises:
        DisguiseError: if the key cannot be read, is of another grade, or its variables are not those of its original.
    """
    from tm2tfr.lab.hidden.trained.key import TrainedKey
    from tm2tfr.lab.hidden.trained.make import remeasured

    opened = _key(key)
    if not isinstance(opened, TrainedKey):
        raise DisguiseError(f"a key of grade {opened.grade} is proved, not measured: use verify_disguise(hidden, key)")
    weights = Subject.of(hidden).decoder
    try:
        return remeasured(weights, opened, _runs(Subject.of(opened.original), opened.recipe.longest))
    except DisguiseError as error:
        raise DisguiseError(f"{key}: {error}" if isinstance(key, str | Path) else str(error)) from error


MOST_INPUTS, MOST_POSITIONS = 400, 32
"""The most inputs that trained weights are made and measured with, and the most positions of a run."""


def _runs(found: Subject, longest: int) -> SourceRuns:
    """Return the runs of a source on its inputs of up to `longest` letters, all or some random ones.

    Raises:
        DisguiseError: if there is no causal model, or no input on which a run ends in time.
    """
    from tm2tfr.api.interventions import bases
    from tm2tfr.lab.hidden.trained.draws import SourceRuns

    try:
        base = bases(found, engine="dense", dtype=None, max_positions=MOST_POSITIONS)
    except CompileError as error:
        what = f"grade 4 is trained on the interventions of a causal model, and {found.name} has none"
        raise DisguiseError(f"{what}: name a machine, a circuit, a program or a formula") from error
    words: dict[str, int] = {}
    for word in islice(_inputs(found, longest), MOST_INPUTS):
        with suppress(Tm2tfrError):
            size = len(base(word).run.tokens)
            if size < MOST_POSITIONS or (base(word).run.tokens[-1:] and found.decoder.labeller):
                words[word] = size
    if not words:
        raise DisguiseError(f"{found.name}: no run of up to {MOST_POSITIONS} positions is known: use another source")
    return SourceRuns(found.decoder, tuple(words), base, max(words.values()))


def _inputs(found: Subject, longest: int) -> Iterator[str]:
    """Yield the inputs of a source: of a circuit its own, otherwise all words, or random ones where there are many."""
    from tm2tfr.base.text.words import all_words, number_of

    construction = found.construction
    if construction is None:
        return
    if construction.cases is not None:
        yield from construction.cases(found.right, MOST_INPUTS)[0]
        return
    space, most = construction.inputs(found.right), longest
    if found.decoder.positions is not None:
        most = min(longest, found.decoder.positions)
    if number_of(len(space.letters), space.shortest, most) <= MOST_INPUTS:
        for size in range(space.shortest, most + 1):
            yield from (space.written("".join(word)) for word in all_words(space.letters, size))
        return
    chance, given = random.Random("tm2tfr inputs"), set[str]()
    while True:
        word = "".join(chance.choice(space.letters) for _ in range(chance.randint(space.shortest, most)))
        if word not in given:
            given.add(word)
            yield space.written(word)


def score_claim(key: AnyKey | str | Path, claim: HiddenClaim | str | Path | bytes) -> ClaimScores:
    """Return the scores of a claim about hidden weights, one number for each kind of statement.

    Args:
        key: a key, or the path to one.
        claim: a claim, the path to one in JSON, or that JSON, from elsewhere.

    Raises:
        DisguiseError: if the key or the claim cannot be read.
        SpecError: with every complaint about the claim, at its place.
    """
    from tm2tfr.lab.hidden.claim import decoded_claim, load_claim
    from tm2tfr.lab.hidden.keys import truth_of
    from tm2tfr.lab.hidden.score import score

    truth = truth_of(_key(key))
    if isinstance(claim, bytes):
        claim = decoded_claim(claim, truth, file="<stdin>")
    return score(load_claim(claim, truth) if isinstance(claim, str | Path) else claim, truth)


def score_baseline(
    key: AnyKey | str | Path,
    baseline: Baseline,
    *,
    weights: Given | None = None,
    progress: Progress | None = None,
) -> ClaimScores | SuiteScores:
    """Return the scores of a baseline, a claim made without a method, see `tm2tfr.lab.hidden.baselines`.

    Args:
        key: a key, or the path to one; or the folder of a suite with its keys.
        baseline: ``embeddings``, ``cancelling``, ``norms``, ``variance``, ``probe`` or ``blind``.
        weights: the hidden weights of a key, see `Subject.of`; None for a suite.
        progress: called with the numbers of models of a suite scored, and of all.

    Raises:
        DisguiseError: for an unknown baseline; if the key or the suite cannot be read; if weights are missing, not those of
            the key, or given for a suite.
    """
    from tm2tfr.lab.hidden.baselines import BASELINES
    from tm2tfr.lab.hidden.baselines import baseline as claimed
    from tm2tfr.lab.hidden.key import hidden_digest
    from tm2tfr.lab.hidden.keys import truth_of
    from tm2tfr.lab.hidden.score import score
    from tm2tfr.lab.hidden.suite import score_suite

    if baseline not in BASELINES:
        raise DisguiseError(f"there is no baseline {baseline!r}: use {', '.join(BASELINES)}")
    if isinstance(key, str | Path) and Path(key).is_dir():
        if weights is not None:
            raise DisguiseError("a suite has its own weights: omit weights")
        return score_suite(key, baseline, progress)
    opened = _key(key)
    if weights is None:
        raise DisguiseError("a baseline needs the hidden weights: name their file, weights=FILE")
    decoder = Subject.of(weights).decoder
    if hidden_digest(decoder) != opened.digest:
        raise DisguiseError("these are not the weights of this key: their digests differ: name the file made with it")
    return score(claimed(baseline, decoder, opened), truth_of(opened))


def claim_template(key: AnyKey | str | Path) -> str:
    """Return an empty claim as JSON: the heads of the hidden weights, and the words for roles and variables.

    Raises:
        DisguiseError: if the key cannot be read.
    """
    from tm2tfr.lab.hidden.claim import template
    from tm2tfr.lab.hidden.keys import truth_of

    return template(truth_of(_key(key)))


def make_suite(
    folder: str | Path,
    *,
    seed: int | None = None,
    workers: int | None = 1,
    progress: Progress | None = None,
    resume: bool = False,
) -> Path:
    """Write forty hidden models of all sources in three grades to a new folder, with keys and seed in a separate folder.

    Args:
        seed: 0 or more: the same seed gives the same bytes; None: a random seed, which nobody can guess.
        workers: the number of processes; None: one per core.
        progress: called with the numbers of models made, and of all.
        resume: continue an interrupted suite: keep its finished models whose digests match.

    Raises:
        OutputError: if the folder cannot be written, or is in use.
        DatasetError: if the folder cannot be resumed: it has other files, or a suite of another seed or version.
        DisguiseError: for an invalid seed.
    """
    from tm2tfr.lab.hidden.suite import make_suite as made

    if seed is not None:
        _check_seed(seed)
    return made(folder, _hide, seed=seed, workers=workers, progress=progress, resume=resume)


def _hide(member: Member, grade: int, seed: int) -> Disguised:
    """Return a member of a suite, hidden: of a random one, the first that is suitable and answers the same in floats."""
    if member.drawn is None:
        return disguise(Subject.of(member.name, options=member.options), grade=grade, seed=seed, rename_tokens=True)
    from tm2tfr.lab.hidden.population import sources, suitable

    for source in sources(member):
        with suppress(Tm2tfrError):  # it cannot be compiled or hidden: the next one is tried
            subject = Subject.of(source)
            if suitable(subject.decoder, subject.program):
                made = disguise(subject, grade=grade, seed=seed, rename_tokens=True)
                if not made.key.equal["different"]:
                    return made
    raise DisguiseError(f"no random {member.name} can be hidden: report this")


def _key(given: AnyKey | str | Path) -> AnyKey:
    from tm2tfr.lab.hidden.key import Key
    from tm2tfr.lab.hidden.keys import load_any_key
    from tm2tfr.lab.hidden.trained.key import TrainedKey

    if isinstance(given, Key | TrainedKey):
        return given
    if not isinstance(given, str | Path):
        raise DisguiseError(f"{given!r} is neither a key nor the path to one: use text or a pathlib.Path")
    return load_any_key(given)


def _check_seed(seed: object) -> None:
    if not is_count(seed, 0):
        raise DisguiseError(f"a seed is a whole number, not {seed!r}: use 0 or more")
