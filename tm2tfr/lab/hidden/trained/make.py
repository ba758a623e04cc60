"""Trained weights and their key, from a source; and their key's claims, measured anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tm2tfr.base.errors import DisguiseError
from tm2tfr.lab.hidden.key import hidden_digest
from tm2tfr.lab.hidden.trained.draws import Interchange, SourceRuns, interchanges
from tm2tfr.lab.hidden.trained.key import FIGURES, TrainedKey, TrainingRecipe
from tm2tfr.lab.hidden.trained.measure import Projections, Quality, RightShare, measured
from tm2tfr.lab.hidden.trained.start import Start, started, subspaces_of
from tm2tfr.lab.hidden.trained.values import decoding, refitted
from tm2tfr.lab.line.pool import versions
from tm2tfr.runs.comparison import Progress
from tm2tfr.transformer import provenance
from tm2tfr.transformer.weights import Decoder, matrices

LOOKED_AT = 200
"""The most inputs whose runs decide what training starts from."""
OF_REST = 4
"""There is one interchange of the rest for this many of variables."""
LESS = 0.005
"""A figure that is measured anew may be less by this share, or by one: other processors round otherwise."""
ROUNDED = 1e-4
"""By how much an error of decoded values may be larger."""
HELD = "held out"
"""What sets the interchanges of measuring apart from those of training."""


@dataclass(frozen=True)
class TrainedDisguise:
    """Trained weights and their key."""

    decoder: Decoder
    key: TrainedKey


def trained(runs: SourceRuns, recipe: TrainingRecipe, progress: Progress | None = None) -> TrainedDisguise:
    """Return weights that are trained to keep the variables of a source, and their key.

    Args:
        progress: called with the number of interchanges drawn and steps done, and of all.

    Raises:
        DisguiseError: for weights that cannot be trained here, a source without inputs to hold out, or a loss that is not
            finite.
    """
    import torch  # noqa: PLC0415  (measuring goes without)

    from tm2tfr.lab.hidden.trained.fit import Fit, InterchangePool, fit  # noqa: PLC0415
    from tm2tfr.lab.hidden.trained.network import Network  # noqa: PLC0415
    from tm2tfr.lab.training.made_on import made_on  # noqa: PLC0415

    seen, unseen = runs.part(unseen=False), runs.part(unseen=True)
    if not seen or not unseen:
        what = f"of {len(runs.words):,} inputs {len(unseen):,} are held out, and training needs both kinds"
        raise DisguiseError(f"{what}: use a source with more inputs")
    chance = np.random.default_rng(recipe.seed)
    start = started(runs, seen[:LOOKED_AT], chance)
    held = subspaces_of(runs)
    drawn, many = list[Interchange](), recipe.interchanges + recipe.interchanges // OF_REST

    def told(done: int) -> None:
        if progress is not None:
            progress(done, many + recipe.steps)

    for each in _interchanges(runs, seen, recipe.interchanges, f"{recipe.seed}"):
        drawn.append(each)
        told(len(drawn))
    network = Network(start.decoder, torch.float32)
    options = Fit(steps=recipe.steps, noise=recipe.noise, lr=recipe.lr)
    fit(network, InterchangePool(runs, drawn, start.places, torch.float32), options, chance, lambda done: told(many + done))
    decoder, place = network.written(), made_on(torch.device("cpu"))
    places = {name: place for name, place in start.places.items() if place.since is not None}
    key = TrainedKey(
        name=provenance.name(runs.decoder.provenance),
        recipe=recipe,
        digest=hidden_digest(decoder),
        original=runs.decoder,
        places=places,
        variables=held,
        heads=_heads(start),
        quality=Quality(),
        moved=_moved(start.decoder, decoder),
        made_on={name: place[name] for name in ("platform", "processor")} | versions(("numpy", "torch")),
    )
    return TrainedDisguise(decoder, with_figures(decoder, key, runs))


def with_figures(decoder: Decoder, key: TrainedKey, runs: SourceRuns) -> TrainedKey:
    """Return a key with scales and offsets fitted to weights on training's inputs, and what is measured on the others."""
    seen = [runs.fed(runs.base(word).run) for word in runs.part(unseen=False)]
    fitted = replace(key, places=refitted(decoder, runs.decoder, key.places, seen))
    return replace(fitted, quality=quality_of(decoder, fitted, runs))


def quality_of(decoder: Decoder, key: TrainedKey, runs: SourceRuns) -> Quality:
    """Return how well weights keep to the places of a key, on the inputs that are held out."""
    unseen, recipe = runs.part(unseen=True), key.recipe
    plain = {runs.fed(runs.base(word).run): runs.wanted(word, runs.base(word).run) for word in unseen}
    drawn = _interchanges(runs, unseen, recipe.measured, f"{recipe.seed} {HELD}")
    quality = measured(decoder, Projections(key.places, subspaces_of(runs), runs.stages), drawn, plain)
    quality.decoding = decoding(decoder, runs.decoder, key.places, list(plain))
    return quality


def _interchanges(runs: SourceRuns, words: tuple[str, ...], count: int, seed: str) -> Iterator[Interchange]:
    written = {name: each.since for name, each in runs.variables.items()}
    return interchanges(runs, words, written, count=count, rest=count // OF_REST, seed=seed)


def _heads(start: Start) -> dict[str, str]:
    return {
        f"layers.{number}.heads.{k}": f"layers.{number}.heads.{of}"
        for number, layer in enumerate(start.roles, start=1)
        for k, of in enumerate(layer)
    }


def _moved(before: Decoder, after: Decoder) -> float:
    """Return the norm of the difference of all matrices, divided by that of what was before."""
    old, new = ({path: matrix.dense() for path, matrix in matrices(each).items()} for each in (before, after))
    change = sum(float(((new[path] - old[path]) ** 2).sum()) for path in old)
    return float(np.sqrt(change / sum(float((each**2).sum()) for each in old.values())))


# ── measured anew: no proof, but no trust in who made the key
@dataclass(frozen=True)
class Remeasured:
    """The claims of a key, measured anew.

    Args:
        quality: what was measured; None: the key does not fit these weights.
        refusals: what is less than the key claims, in words; none: the key is right.
    """

    quality: Quality | None
    refusals: tuple[str, ...]

    @property
    def kept(self) -> bool:
        """Whether all figures are what the key claims, or more."""
        return not self.refusals


def remeasured(hidden: Decoder, key: TrainedKey, runs: SourceRuns) -> Remeasured:
    """Measure the claims of a key anew, on the interchanges that its recipe draws.

    Raises:
        DisguiseError: if the variables of the key are not those of its original.
    """
    if (reason := _unfit(hidden, key)) is not None:
        return Remeasured(None, (reason,))
    width = hidden.layout.width
    if any(place.basis.shape[1] != width for place in key.places.values()):
        return Remeasured(None, (f"the key is about a stream of another width, and these weights have {width}",))
    _check_variables(key, runs, subspaces_of(runs))
    if hidden.positions is not None and hidden.positions < runs.most:
        what = f"the recipe of the key has runs of {runs.most} positions, and these weights have {hidden.positions}"
        return Remeasured(None, (what,))
    quality = quality_of(hidden, key, runs)
    refusals = []
    if hidden_digest(hidden) != key.digest:
        refusals.append("these are not the weights that this key was made with: their digests differ")
    for name in FIGURES:
        refusals += _less(name, getattr(quality, name), getattr(key.quality, name))
    for name in sorted({*quality.variables, *key.quality.variables}):
        for what, kind in (("interchange of", "variables"), ("effective interchange of", "alone")):
            pair = (getattr(each, kind).get(name, RightShare()) for each in (quality, key.quality))
            refusals += _less(f"{what} {name}", *pair)
    for name, error in quality.decoding.items():
        claimed = key.quality.decoding[name]
        if not (error.mean <= claimed.mean + ROUNDED and error.largest <= claimed.largest + ROUNDED):
            what = f"an error of {error.mean:g} on average and {error.largest:g} at most"
            refusals.append(f"values of {name}: {what}, and the key claims {claimed.mean:g} and {claimed.largest:g}")
    return Remeasured(quality, tuple(refusals))


def _check_variables(key: TrainedKey, runs: SourceRuns, held: Mapping[str, Sequence[str]]) -> None:
    """Raise DisguiseError if the variables of a key are not those of its original."""
    remedy = "make the key again with 'tm2tfr disguise'"
    for name in sorted({*key.variables, *held}):
        if name not in key.variables:
            raise DisguiseError(f"the key lacks the variable {name!r} of its original: {remedy}")
        if tuple(key.variables[name]) != held.get(name, ()):
            raise DisguiseError(f"the variable {name!r} of the key is not the one of its original: {remedy}")
        for place in held[name]:
            if key.places[place].since != runs.variables[name].since:
                raise DisguiseError(f"the place {place!r} of the key is after another stage than in its original: {remedy}")


def _unfit(hidden: Decoder, key: TrainedKey) -> str | None:
    """Return why a key is about other weights, None if it may be about these."""
    own = key.original
    for what, found, wanted in (
        ("vocabulary", hidden.vocabulary, own.vocabulary),
        ("outputs", hidden.outputs, own.outputs),
        ("number of layers", len(hidden.layers), len(own.layers)),
        ("number of heads in each layer", *([len(la.heads) for la in each.layers] for each in (hidden, own))),
    ):
        if found != wanted:
            return f"the key does not fit these weights: their {what} is {found}, and that of the original {wanted}"
    return None


def _less(what: str, found: RightShare, claimed: RightShare) -> Iterator[str]:
    if found.of != claimed.of:
        yield f"{what}: {found.of:,} were measured, and the key claims {claimed.right:,} of {claimed.of:,}"
    elif found.right < claimed.right - max(1, LESS * claimed.of):
        yield f"{what}: {found.right:,} of {found.of:,} are right, and the key claims {claimed.right:,}"
