"""Weights whose answer is hidden: made, proved equal to the original, and claims about them scored."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tm2tfr.api.subject import Subject
from tm2tfr.base.errors import DisguiseError, Tm2tfrError
from tm2tfr.runs.plan import is_count

if TYPE_CHECKING:
    from tm2tfr.api.subject import Given
    from tm2tfr.lab.hidden.baselines import Baseline
    from tm2tfr.lab.hidden.claim import HiddenClaim
    from tm2tfr.lab.hidden.disguise import Disguised
    from tm2tfr.lab.hidden.key import Key
    from tm2tfr.lab.hidden.population import Member
    from tm2tfr.lab.hidden.score import ClaimScores
    from tm2tfr.lab.hidden.suite import SuiteScores
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
    """Return the same function with nothing legible in its weights, as ``decoder``, and the ``key`` that opens it.

    The two are proved equal in exact arithmetic, for every input, before they are returned; in floats they are compared.

    Args:
        subject: see `Subject.of`; a machine, a circuit, a program or a formula is compiled first.
        grade: 1 permutes and scales; 2 turns the basis of the stream and mixes the components of heads as well; 3 adds
            decoys, and makes all heads look alike.
        seed: 0 or more; the same weights, grade and seed give the same bytes.
        rename_tokens: give tokens neutral names and another order, outputs and labels too; the key has their own.
        all_up_to: compare on all inputs of at most this many tokens too, in float64 and float32; the key has the result.
        dimensions: compress the stream to this many dimensions first, so that variables share directions; ``"least"``: to
            as few as are found; None: not. Grades 2 and 3 add their own to them.

    Raises:
        DisguiseError: for another grade or seed; for layer norms in grade 3; for weights with too many digits; for
            too few dimensions, or too many.
        SpecError, NotFoundError, ReadError, WeightFileError: if the subject cannot be loaded.
    """
    from tm2tfr.lab.hidden.disguise import disguised
    from tm2tfr.targets.common.reference import canonical

    _check_seed(seed)
    found = Subject.of(subject)
    own = canonical(found.decoder, found.program)
    if all_up_to is not None and not is_count(all_up_to, 1):
        raise DisguiseError(f"a number of tokens is a whole number, not {all_up_to!r}: use 1 or more")
    if dimensions is not None and dimensions != "least" and not is_count(dimensions, 1):
        raise DisguiseError(f"dimensions are a whole number or 'least', not {dimensions!r}: use 1 or more")
    return disguised(
        own, found.program, grade=grade, seed=seed, rename=rename_tokens, all_up_to=all_up_to, dimensions=dimensions
    )


def verify_disguise(hidden: Given, key: Key | str | Path) -> Proved:
    """Return whether hidden weights are a key's original, for every input, in rational arithmetic; see ``refusals``.

    Args:
        hidden: the weights, see `Subject.of`.
        key: a key, or the path to one.

    Raises:
        DisguiseError: if the key cannot be read.
    """
    from tm2tfr.lab.hidden.verify import verified

    return verified(Subject.of(hidden).decoder, _key(key))


def score_claim(key: Key | str | Path, claim: HiddenClaim | str | Path | bytes) -> ClaimScores:
    """Return how much of the truth about hidden weights a claim found: one number for each kind of thing.

    Args:
        key: a key, or the path to one.
        claim: a claim, the path to one in JSON, or that JSON, from elsewhere.

    Raises:
        DisguiseError: if one of them cannot be read.
        SpecError: with every complaint about the claim, at its place.
    """
    from tm2tfr.lab.hidden.claim import answer, decoded_claim, load_claim
    from tm2tfr.lab.hidden.score import score

    truth = answer(_key(key))
    if isinstance(claim, bytes):
        claim = decoded_claim(claim, truth, file="<stdin>")
    return score(load_claim(claim, truth) if isinstance(claim, str | Path) else claim, truth)


def score_baseline(
    key: Key | str | Path,
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
        progress: called with how many models of a suite are scored, and how many there are.

    Raises:
        DisguiseError: for an unknown baseline; if the key or the suite cannot be read; if weights are missing, not those of
            the key, or given for a suite.
    """
    from tm2tfr.lab.hidden.baselines import BASELINES
    from tm2tfr.lab.hidden.baselines import baseline as claimed
    from tm2tfr.lab.hidden.claim import answer
    from tm2tfr.lab.hidden.key import hidden_digest
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
    return score(claimed(baseline, decoder, opened), answer(opened))


def claim_template(key: Key | str | Path) -> str:
    """Return a claim without content, as JSON: the heads that there are, and the words for roles and variables.

    Raises:
        DisguiseError: if the key cannot be read.
    """
    from tm2tfr.lab.hidden.claim import answer, template

    return template(answer(_key(key)))


def make_suite(
    folder: str | Path,
    *,
    seed: int | None = None,
    workers: int | None = 1,
    progress: Progress | None = None,
    resume: bool = False,
) -> Path:
    """Write forty hidden models of all sources in three grades to a new folder, keys and seed in a folder of their own.

    Args:
        seed: None: a random one, which nobody can guess; or 0 or more: the same seed gives the same bytes.
        workers: the number of processes; None: one per core.
        progress: called with how many models are made, and how many there are.
        resume: keep the finished models of a suite that was stopped, if their files have their digests.

    Raises:
        OutputError: if the folder cannot be written, or is in use.
        DatasetError: if it cannot be resumed: it has something else, or a suite of another seed or version.
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


def _key(given: Key | str | Path) -> Key:
    from tm2tfr.lab.hidden.key import Key, load_key

    if isinstance(given, Key):
        return given
    if not isinstance(given, str | Path):
        raise DisguiseError(f"{given!r} is neither a key nor the path to one: use text or a pathlib.Path")
    return load_key(given)


def _check_seed(seed: object) -> None:
    if not is_count(seed, 0):
        raise DisguiseError(f"a seed is a whole number, not {seed!r}: use 0 or more")
