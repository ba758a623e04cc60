"""The parts that only some decoders have, in words: whatever does not know one of them refuses it by name."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tm2tfr.base.errors import EngineError, ExportError
from tm2tfr.transformer.positions import feature, is_built_in
from tm2tfr.transformer.weights import Decoder

TABLE, NORMS, NO_BOS = "a position table", "layer norms", "no BOS"
AHEAD, OUTPUTS, LOOPS = "heads that look ahead", "outputs by name", "loops over layers"
LENGTH, WRITTEN = "position features of the length", "position features of their own"
TEMPERED = "temperatures that depend on the position"
UNIQUE = "leftmost or rightmost attention"
OF_LABELLERS = (TABLE, NO_BOS, AHEAD, OUTPUTS, LOOPS, LENGTH, WRITTEN, TEMPERED)
"""What PyTorch and ONNX have of weights that label a sequence."""


def parts(decoder: Decoder) -> tuple[str, ...]:
    """Return which of the parts that only some decoders have `decoder` has."""
    has = {
        TABLE: decoder.position_table is not None,
        NORMS: decoder.normed,
        NO_BOS: decoder.bos is None,
        AHEAD: decoder.looks_ahead,
        OUTPUTS: decoder.labeller,
        LOOPS: bool(decoder.loops),
        LENGTH: any(feature(name).of_length for name in decoder.features),
        WRITTEN: not all(map(is_built_in, decoder.features)),
        TEMPERED: decoder.tempered,
        UNIQUE: decoder.unique,
    }
    return tuple(part for part, present in has.items() if present)


def refuse_parts(decoder: Decoder, who: str, remedy: str, *, known: Collection[str] = ()) -> None:
    """Raise EngineError if `decoder` has a part that is not among those `known` to the engine.

    Args:
        who: the engine, such as ``the fast engine``.
        remedy: what to do instead.
    """
    if unknown := [part for part in parts(decoder) if part not in known]:
        raise EngineError(f"these weights have {_joined(unknown)}, which {who} cannot run: {remedy}")


def refuse_export(decoder: Decoder, target: str, *, known: Collection[str] = ()) -> None:
    """Raise ExportError if `decoder` has a part that is not among those `known` to the export.

    Args:
        target: the format, such as ``GPT-2``.
    """
    if found := [part for part in parts(decoder) if part not in known]:
        problem = f"these weights have {_joined(found)}, which an export to {target} does not have"
        elsewhere = decoder.labeller and set(found) <= set(OF_LABELLERS)
        way = "use --to torch or --to onnx" if elsewhere else "run them with tm2tfr, or save them as a weight file"
        raise ExportError(f"{problem}: {way}")


def _joined(words: Sequence[str]) -> str:
    """Return ``a``, ``a and b``, or ``a, b and c``."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
