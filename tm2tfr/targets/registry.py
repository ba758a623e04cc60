"""The targets of exports by name, and where the stream is in an exported model. For a target's module see `Exporter`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, Unpack, cast

from tm2tfr.base.errors import ExportError, did_you_mean
from tm2tfr.contract.exported import ExportReference
from tm2tfr.targets.common.directory import document
from tm2tfr.targets.common.fitting import Options, Recipe
from tm2tfr.targets.common.reference import canonical, reference_of
from tm2tfr.targets.common.verdict import Exported, Verdict
from tm2tfr.transformer.provenance import is_hidden
from tm2tfr.transformer.weights import Decoder

if TYPE_CHECKING:
    from tm2tfr.targets.gpt2.tensors import Gpt2


class Exporter(Protocol):
    """The module of a target."""

    def export(
        self,
        decoder: Decoder,
        machine: object,
        folder: str | Path,
        *,
        verify: bool,
        **options: Unpack[Options],
    ) -> Exported:
        """Write `decoder` to `folder`.

        Args:
            machine: the program that it was compiled from; None: no program is known.
            options: those that this target takes, if they are given.
        """

    def verified(self, folder: Path, decoder: Decoder | None, machine: object, word: str | None) -> Verdict:
        """Compare the export in `folder` with `machine`, compiled to `decoder`; run it on `word`."""


@dataclass(frozen=True)
class Target:
    """A program that machines are exported to.

    Args:
        format: the ``format`` in `tm2tfr.json` of an export.
        module: the module with `export` and `verified`; it imports the program itself only when that is run.
        options: the options that it takes in addition to those that all take.
        any_weights: whether it takes all weights without a program, and knows an export of them again without any.
        labels_alone: whether it takes only weights that label a sequence.
    """

    name: str
    format: str
    module: str
    options: frozenset[str] = frozenset()
    any_weights: bool = False
    labels_alone: bool = False

    @property
    def exporter(self) -> Exporter:
        """The module, imported."""
        return cast("Exporter", import_module(self.module))

    def takes(self, decoder: Decoder) -> bool:
        """Return whether the target takes `decoder` without a program, or refuses it with a message of its own."""
        return self.any_weights or self.labels_alone or decoder.labeller or is_hidden(decoder.provenance)


TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target("gpt2", "tm2tfr-gpt2", "tm2tfr.targets.gpt2.target", frozenset({"stock"})),
        Target("bert", "tm2tfr-bert", "tm2tfr.targets.classifier", labels_alone=True),
        Target("lens", "tm2tfr-lens", "tm2tfr.targets.lens.target"),
        Target("torch", "tm2tfr-torch", "tm2tfr.targets.torch.target", any_weights=True),
        Target("onnx", "tm2tfr-onnx", "tm2tfr.targets.onnx.target", any_weights=True),
    )
}
"""Name, as in ``--to NAME``, -> target."""


def target(name: str, options: Iterable[str] = ()) -> Target:
    """Return the target called `name`.

    Raises:
        ExportError: if there is no such target, or it does not take one of `options`.
    """
    if not isinstance(name, str):
        what = f"the target must be a name, not {name!r}: use {' or '.join(TARGETS)}"
        raise ExportError(f"{what}, before the subject and the directory")
    if name not in TARGETS:
        raise ExportError(f"there is no export to {name!r}{did_you_mean(name, TARGETS)}: use {' or '.join(TARGETS)}")
    for option in options:
        if option not in TARGETS[name].options:
            takers = " or ".join(t.name for t in TARGETS.values() if option in t.options)
            if not takers:
                raise ExportError(f"no export has an option {option!r}: omit it")
            what = f"--to {name} does not take --{option.replace('_', '-')}, which only applies to --to {takers}"
            raise ExportError(f"{what}: omit it")
    return TARGETS[name]


def needs_machine(name: str) -> ExportError:
    """Return the error for weights without a machine, which the target `name` does not export."""
    others = " or ".join(f"--to {t.name}" for t in TARGETS.values() if t.any_weights and not t.labels_alone)
    what = f"--to {name} has bounds for the construction of a Turing machine alone"
    return ExportError(f"{what}, and no machine is stored with these weights: name the machine, or use {others}")


def target_of(folder: str | Path) -> Target:
    """Return the target that the directory `folder` was exported to.

    Raises:
        ExportError: if it is not an export, or one that this version does not know.
    """
    said = document(folder)["format"]
    for known in TARGETS.values():
        if known.format == said:
            return known
    raise ExportError(f"{folder}: this export has format {said!r}, which this version does not know: export it again")


# ── Where the directions of the residual stream are in an exported model, and at which modules the stream is seen.
#
# For the three programs in which a stream is read with hooks: PyTorch, `transformers`, TransformerLens.
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


@dataclass(frozen=True)
class PatchPoint:
    """A place in the forward pass at which the stream is overwritten.

    Args:
        layer, part: after which part of which layer, as of `Point`.
        module, side: a module, or a hook point of TransformerLens, and whether what it is given or returns is changed.
        before: the module or hook point whose input or value the stream is the sum of with this one's; empty: this one
            is the stream. A module's output that is added to the stream is set to the wanted value less that.
        in_place: whether the tensor itself must be changed: a new one would be seen by this module alone.
        chunk: the most positions that the module is given in one call, if it is called several times in a pass; 0: all.
    """

    layer: int
    part: str
    module: str
    side: Literal["input", "output"]
    before: str = ""
    in_place: bool = False
    chunk: int = 0


@dataclass(frozen=True)
class TablePlace:
    """A direction that an export adds to the stream, whose value is a function of another's, as a table.

    Args:
        name: that of the direction; place: where it is.
        first: the number that `values` begins with; values: what it is for this number and those after it.
    """

    name: str
    place: DirectionPlace
    first: int
    values: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class ExportedStream:
    """The stream of an exported model.

    Args:
        target: see `HOOKED`; positions, dtype: with which it is exported.
        directions: name of a direction of the decoder -> where it is.
        points: in the order of the computation.
        attention: how the attention weights of a head are read, with ``{layer}`` and ``{head}``, from 0, and ``{number}``,
            the layer from 1.
        patched: where the stream is overwritten after each part of each layer.
        tables: name of a direction of the decoder -> the directions of the export that are functions of it.
    """

    target: str
    positions: int
    dtype: str
    directions: Mapping[str, DirectionPlace]
    points: tuple[Point, ...]
    attention: str
    patched: tuple[PatchPoint, ...] = ()
    tables: Mapping[str, tuple[TablePlace, ...]] = field(default_factory=dict)


def stream_of(
    target: str, decoder: Decoder, program: object, *, positions: int | None = None, dtype: str = "float64"
) -> ExportedStream:
    """Return the stream of an export, made with these options, without writing it.

    Args:
        program: what `decoder` was compiled from.

    Raises:
        ExportError: if there is no such target with hooks, or it does not take these weights.
    """
    makers = {"torch": _torch, "gpt2": _gpt2, "lens": _lens}
    if target not in makers:
        raise ExportError(f"no export to {target!r} is read with hooks: use {', '.join(HOOKED)}")
    made = canonical(decoder, program)
    options: Options = {"positions": positions, "max_head": None, "dtype": dtype}
    recipe, directions, points, attention, patched, tables = makers[target](
        made, reference_of(program, made), decoder, options
    )
    return ExportedStream(
        target=target,
        positions=recipe.positions,
        dtype=recipe.dtype,
        directions=dict(zip(decoder.layout.directions, directions, strict=True)),
        points=tuple(points),
        attention=attention,
        patched=tuple(patched),
        tables=tables,
    )


_Tables = dict[str, tuple[TablePlace, ...]]
_Seen = tuple[Recipe, Iterable[DirectionPlace], Iterable[Point], str, Iterable[PatchPoint], _Tables]
"""The recipe, where the decoder's directions are in their order, and the last four of `ExportedStream`."""


CHUNK = 128
"""That of `tm2tfr.targets.torch.model`, which needs PyTorch."""


def _torch(made: Decoder, right: ExportReference, decoder: Decoder, options: Options) -> _Seen:
    from tm2tfr.targets.matrices.contents import fitted  # noqa: PLC0415
    from tm2tfr.targets.torch.target import MORE, code  # noqa: PLC0415

    norm = "_norm" if MORE in code(made) else ""  # the code of circuits has modules of norms
    points = [Point(-1, "embedding", "embedding", "output")]
    for n, layer in enumerate(decoder.layers):
        if layer.feed_forward is not None:
            points.append(Point(n, "attention", f"layers.{n + 1}.feed_forward{norm}", "input"))
        points.append(Point(n, "feed_forward", f"layers.{n + 1}", "output"))
    attention = "the output of the module layers.{number}.heads.{head}.shares; divide each row by its sum"
    patched = [PatchPoint(p.layer, p.part, p.module, p.side, in_place=p.side == "input", chunk=CHUNK) for p in points]
    places = map(DirectionPlace, range(decoder.layout.width))
    return fitted(right, **options), places, points, attention, patched, {}


def _gpt2(made: Decoder, right: ExportReference, decoder: Decoder, options: Options) -> _Seen:
    from tm2tfr.targets.classifier import GPT2, classifier  # noqa: PLC0415
    from tm2tfr.targets.gpt2.target import chosen  # noqa: PLC0415
    from tm2tfr.targets.gpt2.translated import translated  # noqa: PLC0415

    gpt2: Gpt2
    gpt2 = classifier(GPT2, made, right, **options) if made.labeller else translated(made, chosen(made, right, **options))
    places = [gpt2.place(n) for n in range(decoder.layout.width)]
    points = [Point(-1, "embedding", "transformer.h.0.ln_1", "input")]
    last = len(decoder.layers) - 1
    for n in range(last + 1):
        points.append(Point(n, "attention", f"transformer.h.{n}.ln_2", "input"))
        after = "transformer.ln_f" if n == last else f"transformer.h.{n + 1}.ln_1"
        points.append(Point(n, "feed_forward", after, "input"))
    directions = (DirectionPlace(p["index"], float(p.get("scale", 1.0)), p.get("mirror")) for p in places)
    attention = "attentions[{layer}][:, {head}] with output_attentions=True, of a model with attn_implementation='eager'"
    patched = [PatchPoint(-1, "embedding", "transformer.h.0", "input")]
    for n in range(last + 1):
        block = f"transformer.h.{n}"
        patched.append(PatchPoint(n, "attention", f"{block}.attn", "output", before=block))
        patched.append(PatchPoint(n, "feed_forward", block, "output"))
    return gpt2.recipe, directions, points, attention, patched, _tables(gpt2, mirrored=True)


def _lens(made: Decoder, right: ExportReference, decoder: Decoder, options: Options) -> _Seen:
    from tm2tfr.targets.lens.target import native_of  # noqa: PLC0415

    points = [Point(-1, "embedding", "blocks.0.hook_resid_pre", "output")]
    for n in range(len(decoder.layers)):
        points.append(Point(n, "attention", f"blocks.{n}.hook_resid_mid", "output"))
        points.append(Point(n, "feed_forward", f"blocks.{n}.hook_resid_post", "output"))
    directions, attention = map(DirectionPlace, range(decoder.layout.width)), "blocks.{layer}.attn.hook_pattern[:, {head}]"
    patched = [PatchPoint(-1, "embedding", "blocks.0.hook_resid_pre", "output")]
    for n in range(len(decoder.layers)):
        before = f"blocks.{n}.hook_resid_pre"
        patched.append(PatchPoint(n, "attention", f"blocks.{n}.hook_attn_out", "output", before=before))
        patched.append(PatchPoint(n, "feed_forward", f"blocks.{n}.hook_resid_post", "output"))
    gpt2 = native_of(made, right, **options).gpt2
    return gpt2.recipe, directions, points, attention, patched, _tables(gpt2, mirrored=False)


FARTHEST = 1_023
"""The largest |h| for which a patch is given as a table: runs of random interventions have 200 positions."""


def _tables(gpt2: Gpt2, *, mirrored: bool) -> _Tables:
    """Return the directions that a GPT-2 adds for the numbers that its latest write compares, which are points there.

    Args:
        mirrored: whether the stream has both copies and scales; otherwise it holds the values themselves.
    """
    from tm2tfr.targets.gpt2.recipe import point, point_square  # noqa: PLC0415

    if gpt2.compared is None:
        return {}
    most = min(gpt2.recipe.max_head, FARTHEST)
    points = [gpt2.recipe.winding.point(cell) for cell in range(-most, most + 1)]
    us, vs = (tuple(each) for each in zip(*points, strict=True))
    squares = tuple(u * u + v * v for u, v in points)

    def place(name: str, values: tuple[int, ...]) -> TablePlace:
        own = gpt2.place(gpt2.directions.index(name))
        where = DirectionPlace(own["index"], own["scale"], own["mirror"]) if mirrored else DirectionPlace(own["index"])
        return TablePlace(name, where, -most, values)

    wanted, key = gpt2.compared.wanted, gpt2.compared.key
    found = {name: tuple(map(place, point(name), (us, vs))) for name in (wanted, key)}
    found[key] = (*found[key], place(point_square(key), squares))
    return found
