"""From a decoder to the tensors of a GPT-2, in numpy.

**The stream is held twice**, as [x, -x]: every weight reads half the difference and writes to both, so that the mean
of the whole is 0 and a layer norm has nothing to take away. What is left of the norm is a division by √(variance + ε):
with ε = 2^100 it is by 2^50, exactly, and the norm's weight multiplies by 2^50 again; with GPT-2's own ε a constant
direction, the sink, is so large that it alone is the variance.

**Scales.** The stream holds i/S, (i/S)², and what heads make of them (h, h² and the like) as small; each direction has
its scale, a power of two, found from where it comes.

**Attention** is softmax, of queries multiplied by a large 1/τ, and by √d_head, a power of two, by which some divide.
Nothing rests on the order in which a kernel adds up the components of a score: `recipe` says why, `limits` how far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from tm2tfr.base.errors import ExportError
from tm2tfr.contract.shown import PlainData
from tm2tfr.targets.common.directory import Array
from tm2tfr.targets.common.reference import smaller
from tm2tfr.targets.gpt2.recipe import (
    CENTRED,
    CENTRED_SQUARE,
    POINT,
    POINT_SQUARE,
    Carry,
    Compared,
    Form,
    Gpt2Recipe,
    Scores,
    compared,
    fetched,
    forms,
    sharpened,
)
from tm2tfr.transformer.parts import NO_BOS, TABLE, refuse_export
from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.weights import Decoder, FeedForward

SINK_NAME = "(sink)"
PAD, UNK = "[PAD]", "[UNK]"
"""The tokens that an export adds, after the others."""
LARGEST = 2**31
"""The largest size of a tensor file in bytes; a larger export is refused."""


class Translated(Protocol):
    """A decoder as a model of a program: a GPT-2, or a model that is made from it."""

    @property
    def gpt2(self) -> Gpt2: ...  # from which it is made
    @property
    def heads(self) -> int: ...  # the attention heads of each layer
    @property
    def width(self) -> int: ...  # the dimension of the stream
    def reads(self) -> Callable[[Array], Array]: ...  # reads the decoder's values off a stream


@dataclass(frozen=True)
class Gpt2:
    """A decoder as a GPT-2.

    Raises:
        ExportError: if the decoder has a part that GPT-2 does not have, or is too large.
    """

    decoder: Decoder
    recipe: Gpt2Recipe

    known: ClassVar[tuple[str, ...]] = (TABLE, NO_BOS)
    """The optional parts of a decoder that it supports."""
    biased: ClassVar[bool] = False
    """Whether its logits can have a bias."""
    scaled: ClassVar[bool] = False  # otherwise PyTorch may use a root that is not a power of two, and round
    """Whether scores are divided by √d_head in every kernel."""
    reading: ClassVar[str] = "value = scale · (x[index] - x[mirror]) / 2, x the residual stream before a layer norm"
    """How the value of a direction is read."""
    about_the_stream: ClassVar[str] = """The
stream holds every value twice, as x and -x: the value of a direction is scale · (x[index] - x[mirror]) / 2."""
    """A sentence for the model card."""

    def __post_init__(self) -> None:
        refuse_export(self.decoder, "GPT-2", known=self.known)
        if self.decoder.unembedding_bias.nonzero and not self.biased:
            raise ExportError("the weights have an unembedding bias, which GPT-2 does not have: remove it")
        for name in (PAD, UNK):
            if name in self.decoder.vocabulary:
                raise ExportError(f"the vocabulary has a token {name!r}, which the export adds: rename the state or symbol")
        if len(set(self.directions)) < len(self.directions):
            twice = next(name for name, count in Counter(self.directions).items() if count > 1)
            raise ExportError(f"the weights have a direction {twice!r}, which the export adds: rename the subspace")
        if self.bytes > LARGEST:
            what = f"this GPT-2 would have {self.width:,} dimensions and {self.bytes / 2**30:,.1f} GiB of weights"
            other = smaller(self.decoder.provenance)
            remedy = f"export fewer positions, or {other}" if self.bytes_of(1) <= LARGEST else f"export {other}"
            raise ExportError(f"{what}, but at most {LARGEST / 2**30:.0f} GiB are allowed: {remedy}")

    # ── sizes and names ─────────────────────────────────────────────────────────────────────────────────────
    @cached_property
    def directions(self) -> tuple[str, ...]:
        """The directions of the stream by coordinate: the decoder's, then the export's."""
        points = (*POINT, POINT_SQUARE, *self.compared.directions()) if self.compared is not None else ()
        own = (CENTRED, CENTRED_SQUARE, *points, *((SINK_NAME,) if self.recipe.stock else ()))
        return (*self.decoder.layout.directions, *own)

    @cached_property
    def compared(self) -> Compared | None:
        """The numbers that the latest write compares, as points of a plane."""
        return compared(self.decoder)

    def place(self, number: int) -> PlainData:
        """Return where a direction is, both copies, and its scale."""
        name = self.directions[number]
        return {"name": name, "index": number, "mirror": number + self.mirror, "scale": self.scales[name]}

    @property
    def gpt2(self) -> Gpt2:
        """Itself: it is made from no other."""
        return self

    def reads(self) -> Callable[[Array], Array]:
        """Return the function that reads the decoder's values off a stream that holds them twice, scaled."""
        scale = np.array([self.scales[name] for name in self.decoder.layout.directions])
        width, mirror = len(scale), self.mirror
        return lambda x: scale * (x[:width] - x[mirror : mirror + width]) / 2

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The tokens; a token's number is its place."""
        return (*self.decoder.vocabulary, PAD, UNK)

    @property
    def answered(self) -> tuple[str, ...]:
        """The meaning of each logit: a token."""
        return self.vocabulary

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each token."""
        return {token: number for number, token in enumerate(self.vocabulary)}

    @cached_property
    def head_size(self) -> int:
        """The dimensions of a head, a power of four, so that its root is exact."""
        most = max((len(carried) for layer in self.carried for carried in layer), default=1)
        most = max([most, *(len(scores.components) for layer in self.scores for scores in layer)])
        size = 64
        while size < most:
            size *= 4
        return size

    @cached_property
    def heads(self) -> int:
        """The attention heads of each layer, those without a task included."""
        most = max((len(layer.heads) for layer in self.decoder.layers), default=1)
        needed = -(-2 * len(self.directions) // self.head_size)
        return max(most, needed)

    @property
    def width(self) -> int:
        """The dimension of the stream: both copies and the padding."""
        return self.heads * self.head_size

    @property
    def mirror(self) -> int:
        """The coordinate of the negative copy of the first direction."""
        return self.width // 2

    @cached_property
    def inner(self) -> int:
        """The hidden units of each feed-forward layer."""
        sizes = [len(layer.feed_forward.units) for layer in self.decoder.layers if layer.feed_forward is not None]
        return max(sizes, default=1)

    @property
    def bytes(self) -> int:
        """The size of all tensors."""
        return self.bytes_of(self.recipe.positions)

    def bytes_of(self, positions: int) -> int:
        """Return what that size would be with another number of positions."""
        d, n = self.width, len(self.decoder.layers)
        layer = 4 * d * d + 2 * d * self.inner + 9 * d + self.inner
        numbers = n * layer + d * (2 * len(self.vocabulary) + positions + 2)
        return numbers * np.dtype(self.recipe.dtype).itemsize

    # ── scales ──────────────────────────────────────────────────────────────────────────────────────────────
    @cached_property
    def scales(self) -> dict[str, float]:
        """Direction -> s: the stream holds value / s."""
        names, span = self.decoder.layout.directions, float(self.recipe.span)
        found = dict.fromkeys(self.directions, 1.0) | {CENTRED: span, CENTRED_SQUARE: span * span}
        size = {"i": span, "i^2": span * span}
        for row, column, _ in self.decoder.position_embedding.entries():
            found[names[row]] = max(found[names[row]], size.get(self.decoder.features[column], 1.0))
        for row, _, value in self._table:
            found[names[row]] = max(found[names[row]], span if abs(value) > 1 else 1.0)
        digits = {name: float(self.recipe.digit) for name in self._points}
        found |= digits | {name: float(self.recipe.digit_square) for name in self._squares}
        for layer in self.carried:
            for carried in layer:
                for read, written in carried:
                    for name in written:
                        found[name] = max([found[name], *(found[source] for source in read)])
        return found

    @cached_property
    def _table(self) -> tuple[tuple[int, int, float], ...]:
        """The entries of the position table."""
        table = self.decoder.position_table
        return () if table is None else tuple(table.entries())

    @property
    def _points(self) -> tuple[str, ...]:
        return POINT if self.compared is not None else ()

    @property
    def _squares(self) -> tuple[str, ...]:
        return (POINT_SQUARE,) if self.compared is not None else ()

    @cached_property
    def carried(self) -> tuple[tuple[tuple[Carry, ...], ...], ...]:
        """The values that each layer's heads carry."""
        return tuple(tuple(fetched(head, self.decoder) for head in layer.heads) for layer in self.decoder.layers)

    @cached_property
    def scores(self) -> tuple[tuple[Scores, ...], ...]:
        """The scores of each layer's heads, as they are exported."""
        chosen = self.recipe.centre, self.recipe.span
        return tuple(tuple(sharpened(self.decoder, h, *chosen) for h in layer.heads) for layer in self.decoder.layers)

    # ── tensors ─────────────────────────────────────────────────────────────────────────────────────────────
    def tensors(self) -> dict[str, Array]:
        """Return the tensors by the names that `transformers` gives them."""
        found = {"transformer.wte.weight": self._tokens(), "transformer.wpe.weight": self._places()}
        for n, layer in enumerate(self.decoder.layers):
            prefix = f"transformer.h.{n}."
            for norm in ("ln_1", "ln_2"):
                found |= self._norm(prefix + norm)
            found |= {prefix + name: tensor for name, tensor in self._attention(n).items()}
            found |= {prefix + name: tensor for name, tensor in self._feed_forward(layer.feed_forward).items()}
        found |= self._norm("transformer.ln_f")
        rows = [self._reads(form) for form in forms(self.decoder.unembedding, self.decoder.layout)]
        found["lm_head.weight"] = np.array([*rows, *[np.zeros(self.width)] * 2])
        return {name: np.ascontiguousarray(tensor, dtype=self.recipe.dtype) for name, tensor in found.items()}

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: n for n, name in enumerate(self.directions)}

    def _reads(self, form: Mapping[str, float]) -> Array:
        """Return the column (d,) of weights that reads a linear form of the values off both copies."""
        column = np.zeros(self.width)
        for name, weight in form.items():
            column[self._index[name]] = weight * self.scales[name] / 2
            column[self._index[name] + self.mirror] = -weight * self.scales[name] / 2
        return column

    def _writes(self, form: Mapping[str, float]) -> Array:
        """Return the row (d,) of weights that adds a linear form of directions to both copies."""
        row = np.zeros(self.width)
        for name, weight in form.items():
            row[self._index[name]] = weight / self.scales[name]
            row[self._index[name] + self.mirror] = -weight / self.scales[name]
        return row

    def _tokens(self) -> Array:
        sink = {SINK_NAME: self.recipe.sink} if self.recipe.stock else {}
        columns = forms(self.decoder.token_embedding.transposed, self.decoder.layout)
        return np.array([self._writes({**form, **sink}) for form in [*columns, {}, {}]])

    def _places(self) -> Array:
        """Return the position table: (positions, d), each entry rounded once."""
        table, c = np.zeros((self.recipe.positions, self.width)), self.recipe.centre
        rows, names = self.decoder.position_embedding.by_row(), self.decoder.layout.directions
        own: list[Form] = [{} for _ in range(self.recipe.positions)]
        for row, column, value in self._table:
            own[column][names[row]] = value
        for i in range(self.recipe.positions):
            values: Form = {CENTRED: i - c, CENTRED_SQUARE: (i - c) ** 2}
            u, v = self.recipe.winding.point(i)
            values |= dict(zip((*self._points, *self._squares), (u, v, u * u + v * v), strict=False))
            for name, entries in zip(names, rows, strict=True):
                terms = [w * _feature(self.decoder.features[k], i) for k, w in entries.items()]
                terms += [own[i][name]] if name in own[i] else []
                if terms:
                    values[name] = sum(terms)
            table[i] = self._writes(values)
        return table

    def _norm(self, name: str) -> dict[str, Array]:
        gamma = self.recipe.gamma(self.width)
        return {f"{name}.weight": np.full(self.width, gamma), f"{name}.bias": np.zeros(self.width)}

    def _attention(self, layer: int) -> dict[str, Array]:
        d = self.width
        inward, outward = np.zeros((d, 3 * d)), np.zeros((d, d))
        root = float(round(self.head_size**0.5))
        for k, (carried, scored) in enumerate(zip(self.carried[layer], self.scores[layer], strict=True)):
            start = k * self.head_size
            for slot, (query, key) in enumerate(scored.components):
                factor = self.recipe.temperature * root / scored.unit
                inward[:, start + slot] = factor * self._reads(query)
                inward[:, d + start + slot] = self._reads(key)
            for slot, (read, written) in enumerate(carried):
                inward[:, 2 * d + start + slot] = self._reads(read)
                outward[start + slot] = self._writes(written)
        return {
            "attn.c_attn.weight": inward,
            "attn.c_attn.bias": np.zeros(3 * d),
            "attn.c_proj.weight": outward,
            "attn.c_proj.bias": np.zeros(d),
        }

    def _feed_forward(self, layer: FeedForward | None) -> dict[str, Array]:
        d, gain, layout = self.width, self.recipe.gain, self.decoder.layout
        inward, bias = np.zeros((d, self.inner)), np.zeros(self.inner)
        outward, added = np.zeros((self.inner, d)), np.zeros(d)
        if layer is not None:
            for n, form in enumerate(forms(layer.input, layout)):
                inward[:, n] = gain * self._reads(form)
            for n, form in enumerate(forms(layer.output.transposed, layout)):
                outward[n] = self._writes(form) / gain
            bias[: len(layer.units)] = gain * layer.input_bias.dense()[:, 0]
            added = self._writes(layout.named({row: w for row, _, w in layer.output_bias.entries()}))
        return {
            "mlp.c_fc.weight": inward,
            "mlp.c_fc.bias": bias,
            "mlp.c_proj.weight": outward,
            "mlp.c_proj.bias": added,
        }


def _feature(name: str, i: int) -> float:
    above, below = feature(name)(i)
    return above / below
