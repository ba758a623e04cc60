"""Commands about weights whose answer is hidden: ``disguise``, ``score``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from tm2tfr.base.errors import UsageError, visible
from tm2tfr.cli.asked import Asked, seed
from tm2tfr.cli.options import argument, choice, count, file, number, option, seed_number
from tm2tfr.cli.options import dimensions as dimensions_or_least
from tm2tfr.cli.parameters import But
from tm2tfr.cli.progress import making
from tm2tfr.cli.subject import subject

if TYPE_CHECKING:
    from typing import NoReturn

    from tm2tfr.api.subject import Subject
    from tm2tfr.lab.hidden.disguise import Disguised
    from tm2tfr.lab.hidden.key import Key
    from tm2tfr.lab.hidden.score import ClaimScores
    from tm2tfr.lab.hidden.suite import SuiteScores
    from tm2tfr.lab.hidden.trained.measure import Quality


GRADES = ("1", "2", "3", "4")
TRAINED = "4"
"""The grade whose weights are trained."""
LEEWAY = "less 1 or 0.5 % in each figure"
"""What --verify allows, see `tm2tfr.lab.hidden.trained.make.LESS`: other processors round otherwise."""
BASE_LINES = ("embeddings", "cancelling", "norms", "variance", "probe", "blind")


def disguise(
    *,
    output: Annotated[
        Path | None,
        file("Write the hidden weights to this .safetensors file; with --suite, the suite to this folder.", "-o"),
    ] = None,
    key: Annotated[Path | None, file("Write the key to this .json file.")] = None,
    grade: Annotated[
        str | None, choice("1 removes names, 2 turns the basis too, 3 adds decoys. Default: 3.", of=GRADES)
    ] = None,
    dimensions: Annotated[
        Any,
        option(
            "Compress the stream to D dimensions first; 'least': to the fewest found. Variables then share directions.",
            metavar="D",
            parser=dimensions_or_least,
        ),
    ] = None,
    rename_tokens: Annotated[
        bool, option("Rename tokens to t0, t1, … in another order, and outputs to output-1, …; the key has the names.")
    ] = False,
    noise: Annotated[
        float | None,
        number("Of grade 4: the noise in every entry, as a share of the root mean square of its matrix. Default: 0.3."),
    ] = None,
    steps: Annotated[int | None, count("Of grade 4: the steps of training. Default: 1200.", least=1)] = None,
    all_up_to: Annotated[
        int | None,
        count("Also compare answers on all inputs of up to N tokens (circuits: all inputs), in float64 and float32."),
    ] = None,
    verify: Annotated[
        Path | None, file("Prove that these weights equal the original in this key; write nothing.", metavar="KEY")
    ] = None,
    suite: Annotated[
        bool, option("Write 40 hidden models of all kinds of sources to the folder --output, with keys.")
    ] = False,
    resume: Annotated[bool, option("Resume a suite: make only what is missing.")] = False,
    asked: Annotated[
        Asked,
        But(seed=seed("", "The seed of the disguise, 0 or more. Default: 0; with --suite, a secret random seed.")),
    ],
) -> None:
    """Write weights that compute the same function but hide how, and the key that explains them.

    Grades 1 to 3 are proved equal in exact arithmetic and compared in float64. Grade 4 is trained (torch), and its key has
    measured figures. --verify repeats either. Exit code 1 if an answer differs, or a figure is lower.
    """
    asked_for = {"--rename-tokens": rename_tokens, "--all-up-to": all_up_to, "--dimensions": dimensions}
    given = next((name for name, value in asked_for.items() if value not in (None, False)), None)
    of_training = {"--noise": noise, "--steps": steps}
    trained = next((name for name, value in of_training.items() if value is not None), None)
    if noise is not None:
        _check_noise(noise)
    _refuse_grade(grade, given, trained, suite=suite)
    if (suite or verify is not None) and given is not None:
        raise UsageError(f"tm2tfr disguise: {given} is for weights that are being hidden: omit {given}")
    if suite:
        _refuse_subject(asked)
    if resume and not suite:
        raise UsageError("tm2tfr disguise: --resume is about a suite: add --suite, or omit it")
    if suite:
        if grade is not None:
            raise UsageError("tm2tfr disguise: a suite has models of all grades: omit --grade")
        _suite(asked, output, key, verify, resume=resume)
    if verify is not None:
        _refuse_beside_verify(asked, grade, written=output is not None or key is not None)
        _verify(asked, verify)
    if output is None or key is None:
        missing = "--output" if output is None else "--key"
        raise UsageError(
            f"tm2tfr disguise: missing option {missing}: hidden weights go to --output, and what opens them to --key"
        )
    from tm2tfr.base.files import check_apart, check_file

    check_file(output, reading=asked.reading, what="weights", endings=[".safetensors"])
    check_file(key, reading=asked.reading, what="keys", endings=[".json"])
    check_apart(output, key, "--key")
    found = subject(asked, seeded=True)
    if grade == TRAINED:
        _train(found, output, key, seed=_seed(asked), noise=noise, steps=steps)
    from tm2tfr.api.hidden import disguise as hide
    from tm2tfr.transformer.storage import save

    made = hide(
        found,
        grade=int(grade or 3),
        seed=_seed(asked),
        rename_tokens=rename_tokens,
        all_up_to=all_up_to,
        dimensions=dimensions,
    )
    save(made.decoder, output)
    made.key.save(key)
    for said in _told(made):
        typer.echo(said)
    typer.echo(f"wrote {output} and {key}")
    raise typer.Exit(1 if any(each["different"] for each in _promised(made.key.equal)) else 0)


def _refuse_beside_verify(asked: Asked, grade: str | None, *, written: bool) -> None:
    """Raise UsageError for what does not go with --verify; written: whether files to write are named."""
    if written:
        raise UsageError("tm2tfr disguise: --verify writes nothing: omit --output and --key")
    if grade is not None or _has_seed(asked):
        raise UsageError("tm2tfr disguise: the key of --verify has the grade and the seed: omit --grade and --seed")
    if not asked.named:
        raise UsageError("tm2tfr disguise: --verify is about hidden weights: name their file before it")
    if asked.from_ is not None:
        raise UsageError("tm2tfr disguise: --verify is about a .safetensors file of weights: omit --from")


def _check_noise(noise: float) -> None:
    from tm2tfr.lab.hidden.trained.key import MOST_NOISE

    if not 0 < noise <= MOST_NOISE:
        remedy = f"use a number of more than 0, at most {MOST_NOISE}, for example 0.3"
        raise UsageError(f"tm2tfr disguise: --noise cannot be {noise:g}: {remedy}")


def _refuse_grade(grade: str | None, given: str | None, trained: str | None, *, suite: bool) -> None:
    """Raise UsageError for a grade and options, given ones of the other grades and of grade 4, that do not go together."""
    if grade != TRAINED:
        if trained is not None:
            raise UsageError(f"tm2tfr disguise: {trained} is about training: add --grade {TRAINED}, or omit {trained}")
        return
    if given is not None:
        what = f"{given} is for weights that compute the same function, and grade {TRAINED} is trained"
        raise UsageError(f"tm2tfr disguise: {what}: omit {given}")
    if suite:
        what = "the sources of a suite are drawn, and not all that are drawn can be trained"
        raise UsageError(f"tm2tfr disguise: {what}: name a source for --grade {TRAINED}, or omit it")


def _train(found: Subject, output: Path, key: Path, *, seed: int, noise: float | None, steps: int | None) -> NoReturn:
    """Train weights, and write them and their key."""
    from tm2tfr.api.hidden import disguise_by_training
    from tm2tfr.transformer.storage import save

    with making("interchanges and steps", meanwhile="training") as progress:
        made = disguise_by_training(found, seed=seed, noise=noise, steps=steps, progress=progress)
    save(made.decoder, output)
    made.key.save(key)
    own, width = made.key, made.decoder.layout.width
    typer.echo(f"{own.name}, grade 4, seed {seed}")
    typer.echo(f"  {'width':<16} {own.original.layout.width:>9,} → {width:,}")
    typer.echo(f"  {'non-zero weights':<16} {own.original.nonzero:>9,} → {made.decoder.nonzero:,}")
    typer.echo(f"trained from noise of {own.recipe.noise:g}; the weights moved by {own.moved:.2f} of their norm")
    typer.echo(f"measured, not proved:\n{own.quality}\nwrote {output} and {key}")
    _warn_low(own.quality)
    raise typer.Exit(0)


def _warn_low(quality: Quality | None) -> None:
    """Warn of figures so low that weights hardly keep the variables."""
    from tm2tfr.cli.output import cautioned
    from tm2tfr.lab.hidden.trained.measure import LOW

    if quality is not None and quality.low:
        typer.echo(cautioned(f"warning: less than {LOW:g}: {', '.join(quality.low)}"), err=True)


def _refuse_subject(asked: Asked) -> None:
    """Raise UsageError if something to be hidden is named beside --suite, or an option that is about it."""
    given = [asked.given] if asked.named else []
    options = [name for name in (*asked.parameters, *asked.options) if name != "seed"]
    given += [f"--{name.replace('_', '-')}" for name in options] + (["--from"] if asked.from_ is not None else [])
    if given:
        what = "tm2tfr disguise: --suite has models of its own, 40 of all sources"
        raise UsageError(f"{what}: omit {visible(given[0])}, or omit --suite to hide one thing")


def _promised(equal: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the comparisons that have to find the same answers: those in float64, for which hidden weights are made."""
    return [each for each in (equal, *equal.get("all_up_to", {}).get("found", ())) if each["dtype"] == "float64"]


def _told(made: Disguised) -> Iterator[str]:
    """Yield what there is to say of hidden weights, a line each."""
    old, new, equal = made.key.original, made.decoder, made.key.equal
    yield f"{made.key.name}, grade {made.key.grade}, seed {made.key.seed}"
    if made.key.kept:
        yield f"  {'compressed':<16} {old.layout.width:>9,} → {len(made.key.kept):,}"
    for what, before, after in (
        ("width", old.layout.width, new.layout.width),
        ("layers", len(old.layers), len(new.layers)),
        ("heads", old.heads, new.heads),
        ("hidden units", old.hidden, new.hidden),
        ("non-zero weights", old.nonzero, new.nonzero),
    ):
        yield f"  {what:<16} {before:>9,} → {after:,}"
    if made.key.tokens:
        yield f"  {'tokens':<16} {len(made.key.tokens):>9,} renamed"
    yield f"proved: in exact arithmetic, {_proved_same(made.key)}"
    if made.key.tokens:
        yield "compared before the tokens were renamed:"
    yield _compared(equal, f"{equal['runs']:,} inputs")
    if equal["runs"] and "largest" in equal:
        yield f"largest difference of two logits there: {equal['largest']:.2g}"
    if (every := equal.get("all_up_to")) is not None:
        for each in every["found"]:
            yield _compared(each, f"all {each['runs']:,} inputs of up to {every['tokens']:,} tokens")


def _proved_same(key: Key) -> str:
    """Return what is the same, as a proof says it: where tokens are renamed their order is another, which decides ties."""
    labelled = any(output.labels for output in key.outputs)
    if key.tokens and (labelled or not key.original.labeller):
        what = "label" if labelled else "token"
        return f"the same logits as the original for every input; of equal ones, the first {what} may be another"
    return "the same logits as the original for every input, and so the same answers"


def _compared(equal: Mapping[str, object], inputs: str) -> str:
    """Return what there is to say of a comparison; in float32 it is about the dense engine, and a finding."""
    runs = f"{inputs}, {equal['positions']:,} positions"
    if not equal["runs"]:
        return f"not compared in {equal['dtype']}: no input is known that these weights have positions for"
    found = "the same answers"
    if equal["different"]:
        found = f"{equal['different']:,} inputs with different answers, by rounding"
    if equal["dtype"] == "float64":
        return f"compared in float64: {runs}: {found}"
    return f"found in {equal['dtype']} (dense engine; exports may round differently): {runs}: {found}"


def _has_seed(asked: Asked) -> bool:
    return "seed" in asked.parameters or "seed" in asked.options


def _seed(asked: Asked) -> int:
    return seed_number(asked.parameters.get("seed", asked.options.get("seed", 0)), "tm2tfr disguise")


def _verify(asked: Asked, key: Path) -> NoReturn:
    from tm2tfr.api.hidden import measure_disguise, verify_disguise
    from tm2tfr.lab.hidden.key import Key
    from tm2tfr.lab.hidden.keys import load_any_key

    opened = load_any_key(key)
    if not isinstance(opened, Key):
        found = measure_disguise(subject(asked, seeded=True), key)
        kept = f"measured, not proved: all that the key claims, {LEEWAY}\n{found.quality}"
        typer.echo("\n".join(found.refusals[:10]) or kept)
        _warn_low(found.quality)
        if not found.kept:
            typer.echo(f"less than {key} claims")
        raise typer.Exit(0 if found.kept else 1)
    proof = verify_disguise(subject(asked, seeded=True), opened)
    if proof.proved:
        typer.echo(f"proved: {proof.checked:,} equalities of matrices: {_proved_same(opened)}")
        raise typer.Exit(0)
    for refused in proof.refusals[:10]:
        typer.echo(refused)
    more = f", {len(proof.refusals):,} in all" if len(proof.refusals) > 10 else ""
    typer.echo(f"not proved{more}: these weights are not the original of {key}")
    raise typer.Exit(1)


def _suite(asked: Asked, output: Path | None, key: Path | None, verify: Path | None, *, resume: bool) -> NoReturn:
    from tm2tfr.base.files import check_folder

    if key is not None or verify is not None:
        raise UsageError("tm2tfr disguise: a suite has its keys in its own folder: omit --key and --verify")
    if output is None:
        raise UsageError("tm2tfr disguise: missing option --output: the folder of the suite")
    check_folder(output)
    from tm2tfr.api.hidden import make_suite

    with making("models") as progress:
        made = make_suite(output, seed=_seed(asked) if _has_seed(asked) else None, progress=progress, resume=resume)
    typer.echo(f"wrote {made}; keys and seed are in {made / 'keys'}: withhold that folder")
    raise typer.Exit(0)


def score(
    *,
    key: Annotated[
        Path,
        argument("KEY", parser=Path, help="A key made by 'tm2tfr disguise'; with --baseline, also the folder of a suite."),
    ],
    claim: Annotated[
        Path | None, argument("CLAIM", parser=Path, help="The claim, in JSON; '-' for standard input.")
    ] = None,
    template: Annotated[bool, option("Print an empty claim to fill in.")] = False,
    baseline: Annotated[
        str | None,
        choice("Score a built-in baseline instead of a claim; a suite is scored by grade.", of=BASE_LINES),
    ] = None,
    weights: Annotated[Path | None, file("The hidden weights of KEY, needed for --baseline.")] = None,
    as_json: Annotated[bool, option("Print JSON, with each role and variable.", "--json")] = False,
) -> None:
    """Score a claim about hidden weights against their key, one score per kind.

    The kinds are heads, decoys, layers, units, subspaces, and variables on the surface. The column "base" is the score of
    a claim that knows only how many of each there are.
    """
    from tm2tfr.api.hidden import claim_template, score_claim
    from tm2tfr.cli.output import write_data
    from tm2tfr.sources.circuit.formats.registry import standard_input

    if baseline is None and weights is not None:
        raise UsageError("tm2tfr score: --weights is for --baseline: omit it")
    given = (template, claim is not None, baseline is not None)
    if sum(given) != 1:
        what = "missing argument CLAIM"
        if sum(given):
            what = "--template prints a claim" if template else "--baseline makes its own claim"
        remedy = "omit the others" if sum(given) else "name a claim, or use --template or --baseline"
        raise UsageError(f"tm2tfr score: {what}: {remedy}")
    if template and as_json:
        raise UsageError("tm2tfr score: --template prints a claim, which is JSON: omit --json")
    if template:
        write_data(claim_template(key))
        return
    found: ClaimScores | SuiteScores
    if claim is not None:
        found = score_claim(key, standard_input() if str(claim) == "-" else claim)
    else:
        found = _baseline(key, baseline or "", weights)
    if as_json:
        write_data(json.dumps(found.as_dict(), ensure_ascii=False, indent=1) + "\n")
    else:
        typer.echo(str(found))


def _baseline(key: Path, baseline: str, weights: Path | None) -> ClaimScores | SuiteScores:
    from tm2tfr.api.hidden import score_baseline

    if weights is None and not key.is_dir():
        raise UsageError("tm2tfr score: --baseline needs the hidden weights: add --weights FILE, or name a suite")
    with making("models") as progress:
        return score_baseline(key, cast("Any", baseline), weights=weights, progress=progress if key.is_dir() else None)
