"""The cause of a difference, and how it is told: a value, a place where a head looked, an end of a run or of a loop."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from math import isfinite

from tm2tfr.base.errors import visible
from tm2tfr.contract.shown import PlainData
from tm2tfr.contract.source import Ending
from tm2tfr.runs.passes import WrongPasses
from tm2tfr.transformer.weights import Decoder, Norm


@dataclass(frozen=True, kw_only=True)
class Attention:
    """Where a head looked and where it should have looked, with the scores as the engine computed them."""

    head: str
    attended: tuple[int, ...]
    expected: tuple[int, ...]
    score: float
    expected_score: float


@dataclass(frozen=True, kw_only=True)
class Cause:
    """The first wrong value: at `position`, after `part` of `layer`.

    Layers count from 1; 0 is the embedding, and one more than the last is the unembedding. `about` names
    the part of the program that this position answers: the gate of a circuit, nothing of a Turing machine.
    """

    position: int
    layer: int
    layer_name: str
    part: str
    subspace: str
    expected: str
    found: str
    attention: Attention | None
    why: str
    about: str | None = field(default=None, repr=False)
    made: int | None = field(default=None, repr=False)
    """The pass of its loop, from 1; None if no loop runs its layer."""

    def __str__(self) -> str:
        """Return the cause in a few lines."""
        turn = "" if self.made is None else f"pass {self.made}, "
        inside = f"layer {self.layer} ({self.layer_name}), {turn}{self.part.replace('_', '-')}"
        where = inside if self.part in ("attention", "feed_forward") else self.part
        lines = [f"{where} at position {self.position}: {self.subspace} should be {self.expected}, is {self.found}"]
        if (a := self.attention) is not None:
            lines.append(
                f"head {a.head!r} attended to {positions_text(a.attended)} with score {a.score:.17g}, "
                f"should attend to {positions_text(a.expected)} with score {a.expected_score:.17g}"
            )
        lines += [self.why] if self.about is None else [self.why, self.about]
        return "\n".join(map(visible, lines))

    def as_dict(self) -> PlainData:
        """Return the cause as plain data; a score that is not a finite float is text."""
        plain = asdict(self)
        for name in ("about", "made"):
            if plain[name] is None:
                del plain[name]
        for name in ("score", "expected_score") if self.attention else ():
            score = plain["attention"][name]
            plain["attention"][name] = score if isfinite(score) else str(score)
        return plain


def passes_cause(decoder: Decoder, position: int, wrong: WrongPasses) -> Cause:
    """Return the cause of a loop that ends in the wrong place, though the stream is right up to there."""
    loop = decoder.loops[wrong.loop]
    return Cause(
        position=position,
        layer=loop.last,
        layer_name=decoder.layers[loop.last - 1].name,
        part="feed_forward",
        subspace=f"the passes of loop {wrong.loop + 1}",
        expected=str(wrong.due),
        found=f"{wrong.made}{' or more' if wrong.made > wrong.due else ''}",
        attention=None,
        why="the stream is right up to there: the loop's condition, or its number of passes, is wrong in the weights",
    )


def unembedding_cause(
    decoder: Decoder, position: int, expected: object, found: object, about: str | None = None, *, output: str | None = None
) -> Cause:
    """Return the cause of a wrong answer at a position whose residual stream is right after every layer.

    Args:
        output: the name of the output that answers it; None: it is the next token.
    """
    return Cause(
        position=position,
        layer=len(decoder.layers) + 1,
        layer_name="unembedding",
        part="unembedding",
        subspace="logits" if output is None else f"the output {output}",
        expected=str(expected),
        found=str(found),
        attention=None,
        why=f"the residual stream is right after every layer: the unembedding weights are wrong{or_norm(decoder.norm)}",
        about=about,
    )


def ending_cause(decoder: Decoder, ending: Ending, position: int) -> Cause:
    """Return the cause of a decoder that stops in the wrong place, reported at the last position of its run."""
    return Cause(
        position=position,
        layer=len(decoder.layers) + 1,
        layer_name=ending.what,
        part=ending.what,
        subspace=ending.part,
        expected=ending.expected,
        found=ending.found,
        attention=None,
        why=ending.why,
    )


def positions_text(positions: tuple[int, ...]) -> str:
    if len(positions) == 1:
        return f"position {positions[0]}"
    if len(positions) > 6:
        return f"{len(positions)} positions ({positions[0]} … {positions[-1]})"
    return f"positions {', '.join(map(str, positions))}"


def or_norm(norm: Norm | None) -> str:
    """Return the other possible cause if a part reads a layer norm."""
    return "" if norm is None else ", or the layer norm that they read"
