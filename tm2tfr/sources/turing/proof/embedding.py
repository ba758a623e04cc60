"""The ends of the decoder: the layout and vocabulary, the two embeddings, and the unembedding, exhaustively.

Unembedding. After the last layer ``e_y`` is one answer's one-hot vector. The logits are that column of the matrix plus
the bias; nothing else may be read; the answer's own logit must be larger than all others (Definition 8.1: the first of
the largest). One product with 1 and one sum of two numbers: exact in floats if `spread` ≤ 2^p, in units of 2^-g.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tm2tfr.certificates.kit import Refusal
from tm2tfr.engines.overflow import nearest
from tm2tfr.sources.turing.proof.cases import FEATURES, LayerInputs, columns
from tm2tfr.sources.turing.proof.feed_forward import Sums
from tm2tfr.sources.turing.tokens import BOS, VERDICTS, parsed
from tm2tfr.transformer.matrix import Rational, rational
from tm2tfr.transformer.parts import AHEAD, NO_BOS, parts
from tm2tfr.transformer.residual import at
from tm2tfr.transformer.weights import Decoder

COUNTS = {6: "six", 7: "seven"}
"""Numbers of layers in words."""


def unclaimed(witness: str) -> Refusal:
    """Return the refusal of weights of which it is not known what their subspaces hold."""
    return _refuse(0, "layout", "every subspace must be claimed to hold something of its own", witness)


def layout_refusals(decoder: Decoder, domain: LayerInputs) -> Iterator[Refusal]:
    """Yield the reasons why the decoder cannot come from this construction at all."""
    if len(decoder.layers) != domain.layers:
        yield _refuse(
            0, "layout", f"the construction has {COUNTS[domain.layers]} layers", f"this decoder has {len(decoder.layers)}"
        )
    layout = decoder.layout
    lacking = [t for t in dict.fromkeys((*domain.tokens, *domain.answers)) if t not in decoder.vocabulary]
    if lacking and not {"[h=0]", "[rule]"} & {*layout.directions} and all(map(_stays, lacking)):
        yield _refuse(
            0,
            "layout",
            "a move left at cell 0 must emit m = 0 (Exercise 8.3), but these weights have no flag [h=0]",
            f"{lacking[0]} is needed there but is not in the vocabulary",
        )
        return
    for name, labels in domain.subspaces.items():
        if name not in layout:
            yield _refuse(0, "layout", "a subspace is missing", f"there is no {name}")
        elif (labels is None) != (layout.subspace(name).labels is None):
            kind = "a single number" if labels is None else "a direction for each label"
            yield _refuse(0, "layout", f"{name} must be {kind}", "it is not")
        elif missing := sorted(set(labels or ()) - set(layout.subspace(name).labels or ())):
            yield _refuse(0, "layout", f"{name} must have a direction for each label", f"there is no {name}[{missing[0]}]")
    for subspace in layout.subspaces:
        if subspace.name not in domain.subspaces:
            yield _refuse(0, "layout", "a subspace is not part of the construction", f"found {subspace.name}")
    yield from _foreign_parts(decoder)
    vocabulary = frozenset(decoder.vocabulary)
    for token in dict.fromkeys((*domain.tokens, *domain.answers)):
        if token not in vocabulary:
            yield _refuse(0, "layout", "the vocabulary lacks a token that can occur", token)
        elif (token in VERDICTS.values()) != (token in decoder.stop):
            yield _refuse(0, "layout", "exactly the verdicts must stop a run", f"{token}, stop tokens {decoder.stop}")


def _foreign_parts(decoder: Decoder) -> Iterator[Refusal]:
    """Yield what the decoder has, or lacks, beside its layers."""
    for part in parts(decoder):
        if part not in (NO_BOS, AHEAD):  # masks are refused head by head
            yield _refuse(0, "layout", "the construction has no such part", f"these weights have {part}")
    if decoder.bos != BOS:
        yield _refuse(0, "layout", "the prompt must end with BOS", f"bos is {decoder.bos!r}")


def _stays(token: str) -> bool:
    """Return whether a token is a triple that does not move the head."""
    triple = parsed(token)
    return triple is not None and triple.move == 0


def embedding_refusals(decoder: Decoder, domain: LayerInputs) -> Iterator[Refusal]:
    """Yield what is wrong in the embeddings: token t must be e_x[t], each feature the direction of its name (Eq. 8.4)."""
    layout = decoder.layout
    tokens, places = columns(decoder.token_embedding), columns(decoder.position_embedding)
    fed = frozenset(domain.tokens)
    for n, token in enumerate(decoder.vocabulary):
        wanted = {at("e_x", token): 1}
        if token in fed and (found := layout.named(dict(tokens.get(n, [])))) != wanted:
            what = f"token {token} is not embedded as {domain.shown(at('e_x', token))}"
            yield _refuse(0, "embedding", what, f"it is {_shown(found, domain)}")
    for n, feature in enumerate(decoder.features):
        found = layout.named(dict(places.get(n, [])))
        if found != {feature: 1}:
            yield _refuse(0, "embedding", f"feature {feature} is not embedded as itself", f"it is {_shown(found, domain)}")
    if sorted(decoder.features) != sorted(FEATURES):
        text = f"they are {', '.join(decoder.features)}"
        yield _refuse(0, "embedding", f"the position features must be {', '.join(FEATURES)}, each once", text)


def unembedding_refusals(decoder: Decoder, domain: LayerInputs) -> Iterator[Refusal]:
    """Yield what is wrong in the unembedding."""
    last, layout, matrix = len(decoder.layers) + 1, decoder.layout, decoder.unembedding
    block = layout["e_y"]
    for row, column, value in matrix.entries():
        if not block.start <= column < block.stop:
            text = f"it reads {domain.shown(layout.directions[column])} with weight {value:g}"
            yield _refuse(last, "unembedding", f"the logit of {decoder.vocabulary[row]} depends on more than e_y", text)
            return
    for answer, own, rival, other in _contests(decoder, domain):
        if other is not None and other >= own:
            told = f"that of {decoder.vocabulary[rival]} is {nearest(other):g}"
            text = f"for {domain.shown(at('e_y', answer))} its logit is {nearest(own):g}, {told}"
            yield _refuse(last, "unembedding", f"{answer} is not the only token with the largest logit", text)


def lead(decoder: Decoder, domain: LayerInputs) -> Fraction:
    """Return by how much the logit of an answer is ahead of all others at least, in exact arithmetic."""
    ahead = (Fraction(own - other) for _, own, _, other in _contests(decoder, domain) if other is not None)
    return min(ahead, default=Fraction(1))


def _contests(decoder: Decoder, domain: LayerInputs) -> Iterator[tuple[str, Rational, int, Rational | None]]:
    """Yield each answer with its own logit, the token with the largest other one, and that logit; None: there is none."""
    bias, read = (
        ({row: rational(value) for row, _, value in decoder.unembedding_bias.entries()}),
        columns(decoder.unembedding),
    )
    ranked = sorted(range(len(decoder.vocabulary)), key=lambda n: bias.get(n, 0), reverse=True)
    for answer in domain.answers:
        touched = {n: bias.get(n, 0) + w for n, w in read.get(decoder.layout.index(at("e_y", answer)), ())}
        untouched = next((n for n in ranked if n not in touched and n != decoder.numbers[answer]), None)
        logits = touched if untouched is None else {**touched, untouched: bias.get(untouched, 0)}
        own = logits.pop(decoder.numbers[answer], bias.get(decoder.numbers[answer], 0))
        rival = max(logits, key=lambda n: logits[n], default=0)
        yield answer, own, rival, logits.get(rival)


def spread(decoder: Decoder) -> Sums:
    """Return the largest logit in units of 2^-g: if it is below 2^p of them, every logit is exact."""
    matrices = (decoder.unembedding, decoder.unembedding_bias)
    unit = max((Fraction(w).denominator for m in matrices for w in set(m.values.tolist())), default=1)
    total = sum((max(map(abs, map(Fraction, set(m.values.tolist()))), default=Fraction(0)) for m in matrices), Fraction(0))
    return Sums(len(decoder.layers) + 1, "unembedding", int(total * unit), 0, "logits")


def _shown(form: dict[str, Rational], domain: LayerInputs) -> str:
    return " + ".join(f"{nearest(w):g}·{domain.shown(name)}" for name, w in form.items()) or "0"


def _refuse(layer: int, part: str, what: str, witness: str) -> Refusal:
    return Refusal(layer=layer, layer_name=part, part=part, what=what, witness=witness)
