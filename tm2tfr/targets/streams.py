"""Where the directions of the residual stream are in an exported model, and at which modules the stream is seen.

For the three programs in which a stream is read with hooks: PyTorch, `transformers`, TransformerLens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tm2tfr.base.errors import ExportError
from tm2tfr.contract.exported import ExportReference
from tm2tfr.targets.common.reference import canonical, reference_of
from tm2tfr.transformer.weights import Decoder

HOOKED = ("torch", "gpt2", "lens")
"""The targets whose stream is read with hooks."""


@dataclass(frozen=True)
class DirectionPlace:
    """Where a direction is: its value is ``scale · x[index]``; with a mirror ``scale · (x[index] - x[mirror]) / 2``."""

    index: int
    scale: float = 1.0
    mirror: int | None = None


@dataclass(frozen=True)
class Point:
    """A place in the forward pass at which the stream is seen.

    Args:
        layer, part: after which part of which layer; layers count from 0, the ``embedding`` is of layer -1.
        module: the name of a module, or of a hook point of TransformerLens.
        side: whether it is what the module is given, or what it returns.
    """

    layer: int
    part: str
    module: str
    side: Literal["input", "output"]


@dataclass(frozen=True, kw_only=True)
class ExportedStream:
    """The stream of an exported model.

    Args:
        target: see `HOOKED`; positions, dtype: with which it is exported.
        directions: name of a direction of the decoder -> where it is.
        points: in the order of the computation.
        attention: how the attention weights of a head are read, with ``{layer}`` and ``{head}``, from 0, and ``{number}``,
            the layer from 1.
    """

    target: str
    positions: int
    dtype: str
    directions: Mapping[str, DirectionPlace]
    points: tuple[Point, ...]
    attention: str


def stream_of(
    target: str, decoder: Decoder, program: Any, *, positions: int | None = None, dtype: str = "float64"
) -> ExportedStream:
    """Return the stream of an export, made with these options, without writing it.

    Args:
        program: what `decoder` was compiled from.

    Raises:
        ExportError: if there is no such target with hooks, or it does not take these weights.
    """
    made = canonical(decoder, program)
    right = reference_of(program, made)
    options = {"positions": positions, "max_head": None, "dtype": dtype}
    if target == "torch":
        return _torch(made, right, decoder, options)
    if target == "gpt2":
        return _gpt2(made, right, decoder, options)
    if target == "lens":
        return _lens(made, right, decoder, options)
    raise ExportError(f"no export to {target!r} is read with hooks: use {', '.join(HOOKED)}")


def _torch(made: Decoder, right: ExportReference, decoder: Decoder, options: Mapping[str, Any]) -> ExportedStream:
    from tm2tfr.targets.matrices.contents import fitted  # noqa: PLC0415
    from tm2tfr.targets.torch.target import MORE, code  # noqa: PLC0415

    recipe = fitted(right, **options)

    def points() -> Iterator[Point]:
        yield Point(-1, "embedding", "embedding", "output")
        norms = MORE in code(made)  # the code of circuits, with norms
        for n, layer in enumerate(decoder.layers):
            if layer.feed_forward is not None:
                yield Point(n, "attention", f"layers.{n + 1}.feed_forward{'_norm' if norms else ''}", "input")
            yield Point(n, "feed_forward", f"layers.{n + 1}", "output")

    return ExportedStream(
        target="torch",
        positions=recipe.positions,
        dtype=recipe.dtype,
        directions={name: DirectionPlace(n) for n, name in enumerate(decoder.layout.directions)},
        points=tuple(points()),
        attention="the output of the module layers.{number}.heads.{head}.shares; divide each row by its sum",
    )


def _gpt2(made: Decoder, right: ExportReference, decoder: Decoder, options: Mapping[str, Any]) -> ExportedStream:
    from tm2tfr.targets.classifier import GPT2, classifier  # noqa: PLC0415
    from tm2tfr.targets.gpt2.target import chosen  # noqa: PLC0415
    from tm2tfr.targets.gpt2.tensors import Gpt2  # noqa: PLC0415
    from tm2tfr.targets.gpt2.translated import translated  # noqa: PLC0415

    gpt2: Gpt2
    if made.labeller:
        gpt2 = classifier(GPT2, made, right, **options)
    else:
        gpt2 = translated(made, chosen(made, right, **options, stock=False))
    places = [gpt2.place(n) for n in range(decoder.layout.width)]

    def points() -> Iterator[Point]:
        yield Point(-1, "embedding", "transformer.h.0.ln_1", "input")
        last = len(decoder.layers) - 1
        for n in range(last + 1):
            yield Point(n, "attention", f"transformer.h.{n}.ln_2", "input")
            after = "transformer.ln_f" if n == last else f"transformer.h.{n + 1}.ln_1"
            yield Point(n, "feed_forward", after, "input")

    directions = {
        name: DirectionPlace(place["index"], float(place.get("scale", 1.0)), place.get("mirror"))
        for name, place in zip(decoder.layout.directions, places, strict=True)
    }
    return ExportedStream(
        target="gpt2",
        positions=gpt2.recipe.positions,
        dtype=gpt2.recipe.dtype,
        directions=directions,
        points=tuple(points()),
        attention="attentions[{layer}][:, {head}] with output_attentions=True, of a model with attn_implementation='eager'",
    )


def _lens(made: Decoder, right: ExportReference, decoder: Decoder, options: Mapping[str, Any]) -> ExportedStream:
    from tm2tfr.targets.lens.target import native_of  # noqa: PLC0415

    native = native_of(made, right, **options)
    layers = range(len(decoder.layers))
    points = [Point(-1, "embedding", "blocks.0.hook_resid_pre", "output")]
    for n in layers:
        points.append(Point(n, "attention", f"blocks.{n}.hook_resid_mid", "output"))
        points.append(Point(n, "feed_forward", f"blocks.{n}.hook_resid_post", "output"))
    return ExportedStream(
        target="lens",
        positions=native.gpt2.recipe.positions,
        dtype=native.gpt2.recipe.dtype,
        directions={name: DirectionPlace(n) for n, name in enumerate(decoder.layout.directions)},
        points=tuple(points),
        attention="blocks.{layer}.attn.hook_pattern[:, {head}]",
    )
