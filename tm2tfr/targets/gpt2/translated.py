"""Which GPT-2 a decoder becomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import frexp
from typing import ClassVar

import numpy as np

from tm2tfr.base.errors import ExportError
from tm2tfr.contract.exported import ExportReference
from tm2tfr.contract.shown import PlainData
from tm2tfr.sources.turing.proof.rounding import Condition
from tm2tfr.sources.turing.universal.compiler import compile_class
from tm2tfr.sources.turing.universal.proof.prove import ClassProof
from tm2tfr.targets.common.directory import Array
from tm2tfr.targets.common.fitting import Requested
from tm2tfr.targets.gpt2.limits import MORE, Errors, as_asked, below, chapter_conditions
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe, Scores, centre, forms, span
from tm2tfr.targets.gpt2.running import LabellingGpt2
from tm2tfr.targets.gpt2.tensors import Gpt2
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.parts import NO_BOS, NORMS, TABLE, refuse_export
from tm2tfr.transformer.weights import Decoder, FeedForward, Head, Norm, norms, replaced


# ── How far floats carry the GPT-2 of a class of machines, with the machine in its prompt: N counts the whole prompt.
#
# The chapter's layers are those of `limits`, with the same bounds: u, η, α, M, R, F and e(N, H) are explained there. B
# counts a subspace once, also where it has a mean of one-hot vectors: their absolute values add up to 1. Of the layers,
# anew:
#
# **Last key.** The score of j is 2·[key] - [key] + v·j/2: keys differ from other positions by 1/2 or more, and from each
# other by v or more, since a value comes between two of them. [key] is read off R directions; products and sums round:
#
#     (4·(2Ru(1 + RM) + 2η + (R + 1)α) + 40u + αS)·2N < 15/16.
#
# **Moves.** m is read at all N positions, off R' directions, and m/(i+1) once, off R: in e(N, H) 2R'u(1 + R'M)N and
# 2Ru(1 + RMN) take the place of 2Ru(2 + RMN)N.
#
# **Tape.** A lookup of -1, with the score v·(1 - (j + 1)²): a gap of 3v, and terms as large as those for cell 0.
#
# **Length of the description.** k times 1/(i+1) is added up, k ≤ L = 2SK + 1 for S states and K symbols: as the vertex
# of the parabola below, the sum is off by at most u·L(L + 2), and each [rule] by what a unit of layer 1 adds.
#
# **Input symbol.** A lookup of t = h⁺ + k ≤ i. So lookups are about positions up to N - 1, whatever H is: c is near
# N/2, and G = N - 1 - c, for all of them. e(N, H) has the error of k added here, and some more roundings. Before the
# description has ended t is i + 1, and position i the nearest, by 3v.
#
# **Rule.** Let ε bound the error of every bit of layers 1 to 5: 2ε = 72(u + η)(H + 4) + 80Ru(1 + RM) + 72α(S' + R), as
# in `limits`, S' the span. A score is the sum of D = S + K products of two such bits: 0, 1 or 2, off by at most 5ε +
# Dε² + 5Du; gaps are 1. So where there is a rule for (q, a), it has all the weight, to the last bit. Where there is
# none, weights may be any: all that is used is that they add up to 1, but for (n + 1)u, and that no rule is for both q
# and a.
#
# **Answer.** A mean by such weights is off by ν ≤ 2·1.01·(N + 3)u + 2ε. [r*_q=q] adds up ReLUs of which at most two are not
# 0, and [r*_a=a] too. The two flags together are at most 1 + 6ν without a rule, and 2 ± 6ν with one. The logit of an answer
# is ReLU(out + flags - 2), at most 8ν where it is wrong, and F such units add up; that of HALT is [triple], a sum of S + 1
# bits, less ReLU([triple] + flags - 2). So the right logit is larger than every other by at least
#
#     1 - (2(S + 1)ε + 8(F + 1)ν) > 0.
@dataclass(frozen=True, kw_only=True)
class PromptedGpt2Recipe(Gpt2Recipe):
    """How the decoder of a class of machines becomes a GPT-2."""

    proved_in: ClassVar[str] = "prompted"

    @property
    def centre(self) -> int:
        """c, in the middle of all positions: lookups are about places in the prompt as well."""
        return centre(self.positions - 1)


class ClassErrors(Errors):
    """The numbers of `Errors` for a class of machines; S, K and L from the decoder.

    Raises:
        ExportError: see `Errors`.
    """

    def __init__(self, decoder: Decoder, dtype: str, *, stock: bool) -> None:
        super().__init__(decoder, dtype, stock=stock)
        holder = decoder.layout.holder
        self.states, self.symbols = holder("r_q").width, holder("r_a").width
        self.description = 2 * self.states * self.symbols + 1
        self._moved = _reading(decoder, decoder.layout.holder("m").name)

    @property
    def _bit(self) -> Fraction:
        """The error that a unit of layer 1 adds to a bit."""
        return 2 * self.reads * self.u * (1 + self.reads * self.mean)

    def moves(self, n: int) -> Fraction:
        """Return the same as `Errors.moves`, where fewer directions are read for m than for m/(i+1)."""
        once, every = 2 * self.reads * self.u, 2 * self._moved * self.u
        return once * (1 + self.reads * self.mean * n) + (self.eta + every * (1 + self._moved * self.mean)) * n

    def last_key(self, n: int, _: int) -> Fraction:
        """Return the share of 15/16 of the gap between two keys that rounding takes."""
        key = 4 * (self._bit + 2 * self.eta + (self.reads + 1) * self.alpha)
        return (key + 40 * self.u + self.alpha * span(n)) * 2 * n * Fraction(16, 15)

    def offset(self, n: int, h: int) -> Fraction:
        """Return the share of 15/16 of the gap of the input symbol's lookup that rounding takes."""
        most, c = min(n, self.description), self.centre(n, h)
        counted = MORE * self.u * most * (most + 2) + (self._bit + self.eta + self.reads * self.alpha) * most
        more = 16 * (self.u + self.eta) * (n + c + 1) + 4 * self.alpha * n
        return self.rivals(n, h, self.vertex(n, h) + counted + more)

    def centre(self, n: int, h: int) -> int:
        """Return c, for lookups of positions up to N - 1."""
        return centre(n - 1)

    def rivals(self, n: int, h: int, vertex: Fraction) -> Fraction:
        """Return the same as `Errors.rivals`, for H = N - 1."""
        return super().rivals(n, n - 1, vertex)

    def rule(self, n: int, h: int) -> Fraction:
        """Return the share of 15/16 of the gap between a rule and others that rounding takes."""
        bit, terms = self.bit(n, h) / 2, self.states + self.symbols
        return 2 * (5 * bit + terms * bit * bit + 5 * terms * self.u) * Fraction(16, 15)

    def answer(self, n: int, h: int) -> Fraction:
        """Return the share of the gap between the right logit and others that rounding takes."""
        twice = self.bit(n, h)
        mean = 2 * MORE * (n + 3) * (self.u + self.eta) + twice
        return (self.states + 1) * twice + 8 * (self.writers + 1) * mean


def prompted_conditions(proof: ClassProof, dtype: str, *, stock: bool = False) -> tuple[Condition, ...]:
    """Return the conditions for a GPT-2 of `dtype` that is a class of machines, in the order of the layers.

    Raises:
        ExportError: for an unknown dtype, or weights that are not proved right.
    """
    errors = ClassErrors(proof.decoder, dtype, stock=stock)
    found, named = chapter_conditions(proof, errors), proof.description
    if named is not None:
        text = f"about {8 * errors.reads + 40:,}·u·2N < 15/16"
        found.append(below(2, named.last_key, "earlier keys get no weight at all", text, errors.last_key))
        if named.given is not None:
            text = "2·e(N, H) + about 2·N²·u < 15/16"
            found.append(below(3, named.given, "rivals of position h + k get no weight at all", text, errors.offset))
        text = "about 360·(u + η)·(H + 4) < 15/16"
        found.append(
            below(6, named.rule, "other rules get no weight at all where there is one for q and a", text, errors.rule)
        )
    f, s = 8 * (errors.writers + 1), errors.states + 1
    text = f"about {72 * (s + f):,}·(u + η)·(H + 4) + {2 * f}·u·N < 1"
    found.append(below(7, "logits", "the right logit is the largest, also where there is no rule", text, errors.answer))
    return tuple(sorted(found, key=lambda c: c.layer))


def _reading(decoder: Decoder, direction: str) -> int:
    """Return the most directions that a unit of layer 1 reads which writes to `direction`."""
    layer, row = decoder.layers[0].feed_forward, decoder.layout.index(direction)
    inputs = [] if layer is None else layer.input.by_row()
    return max((len(inputs[unit]) for unit in (layer.output.by_row()[row] if layer else ())), default=0)


def _refuse_other_gaps(decoder: Decoder, right: ExportReference) -> None:
    """Check that the scores of the last key and of the rule are as large as assumed above; a proof allows any factor.

    Raises:
        ExportError: if they are not those that the compiler writes.
    """
    own = compile_class(right.program.empty)
    for n in (1, 5):
        scores = [[(head.query, head.key) for head in each.layers[n].heads] for each in (decoder, own)]
        if scores[0] != scores[1]:
            what = f"{right.named()}: layer {n + 1} ({own.layers[n].name}) scores positions by other weights"
            what = f"{what} than the compiler's"
            raise ExportError(f"{what}, and bounds on rounding are about these: compile them again")


def least(right: ExportReference, dtype: str, *, stock: bool = False) -> Gpt2:
    """Return the GPT-2 with a single position, which is nearly as large as with all; nothing is proved.

    Raises:
        ExportError: if it is too large, or for other weights than average-hard ones.
    """
    refuse_export(right.decoder, "GPT-2")
    return Gpt2(right.decoder, PromptedGpt2Recipe(positions=1, max_head=0, dtype=dtype, stock=stock, scope=right.scope))


def fitted_class(decoder: Decoder, right: ExportReference, asked: Requested) -> PromptedGpt2Recipe:
    """Return the recipe as requested; by default the usual number of positions, or as many as fit.

    Raises:
        ExportError: if the request does not fit (it says what would), or the weights are not proved right for the class.
    """
    least(right, asked.dtype, stock=asked.stock)  # before a proof, which takes a while for a large class
    _refuse_other_gaps(decoder, right)
    found = prompted_conditions(right.prove(), asked.dtype, stock=asked.stock)
    return PromptedGpt2Recipe(**as_asked(found, right.named(), asked), scope=right.scope)


# ── Weights with softmax and layer norms of their own as a GPT-2, whose parts are then just these: nothing is made up for.
#
# The stream is the decoder's, once and unscaled. GPT-2 has one epsilon for all norms, and divides scores by √d_head, by
# which the queries are multiplied here.
class NormedGpt2(Gpt2):
    """A decoder with layer norms as a GPT-2; see `Gpt2`.

    Raises:
        ExportError: see `Gpt2`; also if a layer has other than one head, or a norm is missing.
    """

    known = (TABLE, NO_BOS, NORMS)
    scaled = True
    reading = "value = x[index], x the residual stream before a layer norm"
    about_the_stream = (
        "The\nstream holds every value once, as it is: softmax and layer norms are those of the construction."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_unlike(self.decoder)

    @property
    def directions(self) -> tuple[str, ...]:
        """The directions of the stream, by coordinate: the decoder's."""
        return self.decoder.layout.directions

    @property
    def head_size(self) -> int:
        """The dimensions of the one head: the whole width."""
        return self.width

    @property
    def heads(self) -> int:
        """The attention heads of each layer."""
        return 1

    @property
    def width(self) -> int:
        """The dimension of the stream, over which a layer norm takes its mean and variance: no padding."""
        return self.decoder.layout.width

    @property
    def mirror(self) -> int:
        """There is no second copy: the coordinate after the last one."""
        return self.width

    @cached_property
    def scales(self) -> dict[str, float]:
        """Every direction is as it is."""
        return dict.fromkeys(self.directions, 1.0)

    @cached_property
    def scores(self) -> tuple[tuple[Scores, ...], ...]:
        """The scores of each layer's heads, as linear forms."""
        return tuple(tuple(_components(head, self.decoder) for head in layer.heads) for layer in self.decoder.layers)

    def place(self, number: int) -> PlainData:
        """Return where a direction is."""
        return {"name": self.directions[number], "index": number}

    def reads(self) -> Callable[[Array], Array]:
        """Return the function that reads the decoder's values off a stream."""
        return lambda x: x[: self.width]

    def tensors(self) -> dict[str, Array]:
        """Return the tensors by the names that `transformers` gives them."""
        decoder, d = self.decoder, self.width
        found: dict[str, Array] = {
            "transformer.wte.weight": np.vstack([decoder.token_embedding.dense().T, np.zeros((2, d))]),
            "transformer.wpe.weight": self._places(),
        }
        for n, layer in enumerate(decoder.layers):
            prefix = f"transformer.h.{n}."
            found |= _norm(prefix + "ln_1", layer.attention_norm) | _norm(prefix + "ln_2", layer.feed_forward_norm)
            found |= {prefix + name: tensor for name, tensor in self._of_head(layer.heads[0]).items()}
            found |= {prefix + name: tensor for name, tensor in self._of_units(layer.feed_forward).items()}
        found |= _norm("transformer.ln_f", decoder.norm)
        found["lm_head.weight"] = np.vstack([decoder.unembedding.dense(), np.zeros((2, d))])
        return {name: np.ascontiguousarray(tensor, dtype=self.recipe.dtype) for name, tensor in found.items()}

    def _places(self) -> Array:
        places = np.zeros((self.recipe.positions, self.width))
        for row, column, value in self._table:
            places[column, row] += value
        return places

    def _of_head(self, head: Head) -> dict[str, Array]:
        d = self.width
        inward, outward = np.zeros((d, 3 * d)), np.zeros((d, d))
        for place, matrix, factor in ((0, head.query, d**0.5), (d, head.key, 1.0), (2 * d, head.value, 1.0)):
            inward[:, place : place + matrix.shape[0]] = factor * matrix.dense().T
        outward[: head.output.shape[1]] = head.output.dense().T
        return {
            "attn.c_attn.weight": inward,
            "attn.c_attn.bias": np.zeros(3 * d),
            "attn.c_proj.weight": outward,
            "attn.c_proj.bias": np.zeros(d),
        }

    def _of_units(self, layer: FeedForward | None) -> dict[str, Array]:
        d, inner = self.width, self.inner
        inward, bias, outward, added = np.zeros((d, inner)), np.zeros(inner), np.zeros((inner, d)), np.zeros(d)
        if layer is not None:
            units = len(layer.units)
            inward[:, :units], outward[:units] = layer.input.dense().T, layer.output.dense().T
            bias[:units], added = layer.input_bias.dense()[:, 0], layer.output_bias.dense()[:, 0]
        return {
            "mlp.c_fc.weight": inward,
            "mlp.c_fc.bias": bias,
            "mlp.c_proj.weight": outward,
            "mlp.c_proj.bias": added,
        }


def refuse_unlike(decoder: Decoder) -> float:
    """Return the epsilon of all norms of weights that a GPT-2 can have as they are.

    Raises:
        ExportError: if a layer has other than one head, all with softmax, if a norm is missing, or epsilons differ.
    """
    heads = [head for layer in decoder.layers for head in layer.heads]
    epsilons = {norm.epsilon for _, norm in norms(decoder)}
    one_head = all(len(layer.heads) == 1 for layer in decoder.layers)
    complete = sum(1 for _ in norms(decoder)) == 2 * len(decoder.layers) + 1
    soft = all(head.weighting == "softmax" for head in heads)
    if not (one_head and soft and complete and len(epsilons) == 1) or decoder.position_embedding.nonzero:
        what = "GPT-2 has these weights as they are if every layer has one head with softmax, every norm is there, and all"
        raise ExportError(f"{what} have one epsilon: use the variant paper, or --to torch")
    return epsilons.pop()


def _components(head: Head, decoder: Decoder) -> Scores:
    queries, keys = forms(head.query, decoder.layout), forms(head.key, decoder.layout)
    return Scores(tuple((query, key) for query, key in zip(queries, keys, strict=True) if query and key))


def _norm(name: str, norm: Norm | None) -> dict[str, Array]:
    gain, bias = (None, None) if norm is None else (norm.gain, norm.bias)
    return {f"{name}.weight": _column(gain), f"{name}.bias": _column(bias)}


def _column(matrix: Matrix | None) -> Array:
    return np.zeros(0) if matrix is None else matrix.dense()[:, 0]


def without_bias(decoder: Decoder) -> Decoder:
    """Return the same function without a bias of the logits, if a direction of the stream is a power of two there."""
    bias = decoder.unembedding_bias
    rows = enumerate(decoder.position_embedding.by_row())
    one, size = next(((row, size) for row, entries in rows if (size := _one(decoder, entries))), (None, 1.0))
    if not bias.nonzero or one is None:
        return decoder
    entries = {(row, column): value for row, column, value in decoder.unembedding.entries()}
    for row, _, value in bias.entries():
        entries[row, one] = entries.get((row, one), 0.0) + value / size
    changed = {
        "unembedding": Matrix.from_entries(decoder.unembedding.shape, entries),
        "unembedding_bias": Matrix.from_entries(bias.shape, {}),
    }
    return replaced(decoder, changed)


def _one(decoder: Decoder, entries: dict[int, float]) -> float:
    """Return the power of two that a direction has at every position; 0 if it has no such value."""
    found = {decoder.features[column]: value for column, value in entries.items()}
    return found["1"] if set(found) == {"1"} and abs(frexp(found["1"])[0]) == 0.5 else 0.0


def translated(decoder: Decoder, recipe: Gpt2Recipe) -> Gpt2:
    """Return `decoder` as a GPT-2 by `recipe`.

    Raises:
        ExportError: if it cannot be a GPT-2.
    """
    if decoder.labeller:
        return LabellingGpt2(decoder, recipe)
    if decoder.normed:
        return NormedGpt2(decoder, recipe)
    return Gpt2(without_bias(decoder) if decoder.position_table is not None else decoder, recipe)
