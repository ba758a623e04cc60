"""How the commands describe a program and its run: one module for each construction, and their common parts."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from tm2tfr.base.choices import TURING
from tm2tfr.base.errors import counted, shortened, spaced, visible
from tm2tfr.base.text.shown import probability

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tm2tfr.api.subject import Subject
    from tm2tfr.contract.source import RunResult, Source
    from tm2tfr.runs.comparison import Trace
    from tm2tfr.runs.rows import Activation
    from tm2tfr.transformer.weights import Decoder, Layer


class Telling(Protocol):
    """How the commands describe the programs of one construction: the functions of a module."""

    def heading(self, program: object, decoder: Decoder) -> str:
        """Return the lines above a summary."""

    def ended(self, trace: Trace, decoder: Decoder) -> Iterator[str]:
        """Yield how a run ended, by the decoder."""

    def concluded(self, result: RunResult) -> Iterator[str]:
        """Yield the reference's result of the whole run, in addition to `ended`."""

    def described(self, argument: str, program: object, *, as_json: bool) -> Iterator[str]:
        """Yield the lines that describe a program, given as `argument`; as JSON, one object."""


def about(construction: Source[Any] | None) -> Telling:
    """Return the module that describes the programs of a construction; without one, the module of machines."""
    return import_module(f"{__name__}.{TURING if construction is None else construction.name}")


# ── results in words: the lines around a table, the verdict, the activation vectors ─────────────────────────
def heading(subject: Subject) -> str:
    """Return the lines above a summary: a description of the program, or the name of weights without one."""
    if subject.construction is None or subject.program is None:
        return subject.name
    return about(subject.construction).heading(subject.program, subject.decoder)


def verdict(trace: Trace, subject: Subject) -> str:
    """Return the lines below a table: the verdict, the counts, and the result of the check."""
    telling = about(None if trace.result is None else subject.construction)
    if trace.answer == "limit" and trace.divergence is not None and not trace.rows:
        where = "" if trace.divergence.column == "stop" else ", the first that differs"
        lines = [f"stopped at position {trace.divergence.position:,}{where}"]
    elif trace.answer == "limit" and trace.divergence is not None and trace.divergence.column == "stop":
        lines = [f"no verdict, {counted(trace.tokens, 'position')} processed"]
    else:
        lines = list(telling.ended(trace, subject.decoder))
    if trace.result is not None:
        lines += telling.concluded(trace.result)
    soft = "; softmax" if trace.soft else ""
    if trace.soft and trace.temperature:
        soft += f"{', temperature' if isinstance(trace.temperature, str) else ' at temperature'} {trace.temperature}"
    lines.append(f"engine: {trace.engine}, {trace.dtype}, {counted(trace.tokens, 'position')}{soft}")
    lines += [f"scanned: {line}" for line in trace.scanned]
    lines += probable(trace)
    if trace.result is None:
        lines.append(f"check: none, since no {trace.noun} to compare with is stored with these weights")
    elif trace.divergence is None:
        lines.append(f"check: {counted(trace.compared, 'cell')} compared with the {trace.reference}, all agree")
    elif trace.by_chance:
        lines.append(f"check: none of a sampled run; {counted(trace.compared, 'cell')} compared up to where it departs")
    else:
        lines.append(f"check: FAILED after {counted(trace.compared, 'cell')}: {trace.divergence}")
    return "\n".join(lines)


def probable(trace: Trace) -> Iterator[str]:
    """Yield how the output layer was read, and the probabilities of whole runs; nothing if they were not asked for."""
    if trace.sampling is None:
        return
    drawn = "" if trace.sampling.seed is None else f"; tokens drawn with seed {trace.sampling.seed}"
    yield f"output layer: softmax at temperature {trace.sampling.temperature:g}{drawn}"
    gap = trace.divergence
    if trace.by_chance and gap is not None:
        yield f"departs by chance from the {trace.reference} at position {gap.position:,}: {gap.found} for {gap.expected}"
    known = {"this run": trace.likelihood} if gap is not None or trace.result is None else {}
    for whose, each in {**known, f"the {trace.reference}'s run": trace.right}.items():
        if each is not None and each.tokens:
            least = f"the least {probability(each.least)} at position {each.position:,}"
            many = counted(each.tokens, "token")
            yield f"probability of {whose}: {probability(each.probability)}, the product of {many}, {least}"


def input_line(trace: Trace) -> str:
    """Return the line that names the machine and the input, where no table shows them."""
    return f"{visible(trace.machine)} on {shortened(trace.input)}"


def vectors(found: Mapping[str, Activation], subject: Subject, position: int) -> str:
    """Return the activation vectors at a position, each with the variables that it adds or changes."""
    from tm2tfr.runs.rows import is_turing

    known: dict[str, object] = {}
    equations = " (Eqs. 8.4-8.19)" if is_turing(subject.decoder.layout) else ""
    lines, width = [f"activation vectors at position {position}{equations}"], max(map(len, found)) + 1
    for name, vector in found.items():
        new = [
            f"{k} = {'⊥' if v is None else spaced(str(v))}" for k, v in vector.items() if k not in known or known[k] != v
        ]
        lines.append(f"  {visible(name):<{width}}{', '.join(new) or '(no change)'}")
        known |= vector
    return "\n".join(lines)


# ── runs of labellers, and what their weights are made of ───────────────────────────────────────────────────
def ended(trace: Trace, decoder: Decoder) -> Iterator[str]:
    """Yield the result of a run."""
    if trace.divergence is None:
        yield visible(trace.result.said)


def concluded(result: RunResult) -> Iterator[str]:
    """Yield nothing: `ended` has the result."""
    yield from ()


def sublayers(layer: Layer) -> Iterator[str]:
    """Yield the sublayers of a layer: ``s`` for self-attention, ``f`` for a feed-forward sublayer."""
    if layer.heads:
        yield "s"
    if layer.feed_forward is not None:
        yield "f"


def shape(decoder: Decoder) -> str:
    """Return the shape of weights: attention with its heads, sublayers in their order, layers."""
    attention = [layer for layer in decoder.layers if layer.heads]
    kinds = [kind for layer in decoder.layers for kind in sublayers(layer)]
    return (
        f"{counted(len(attention), 'attention sublayer')}{with_heads(tuple(len(layer.heads) for layer in attention))}, "
        f"{counted(kinds.count('f'), 'feed-forward sublayer')}: {' '.join(kinds) or 'none'} "
        f"({counted(len(decoder.layers), 'layer')})"
    )


def with_heads(heads: tuple[int, ...]) -> str:
    """Return ``␣with 1 + 2 heads``, of each attention sublayer; nothing if there is none."""
    return f" with {' + '.join(map(str, heads))} {'head' if heads == (1,) else 'heads'}" if heads else ""


def inputs_of(decoder: Decoder) -> str:
    """Return ``up to 10 tokens``, or ``any length``."""
    return "any length" if decoder.positions is None else f"up to {counted(decoder.positions, 'token')}"
