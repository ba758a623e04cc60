"""The generate loop that all engines share, and the interface of an engine.

An engine gets a `Decoder` and token numbers. It runs the weight matrices and looks at nothing else: not at
names, not at provenance, not at a machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple, Protocol, cast

from tm2tfr.base.errors import EngineError, counted, did_you_mean
from tm2tfr.engines.reading import answered
from tm2tfr.engines.sampling import Draw
from tm2tfr.transformer.matrix import Vector
from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.weights import Decoder

# ── overwriting a part of the residual stream in the middle of a forward pass: what interventions on weights are made of
# An engine knows no names: a patch says after which part of which layer, where in the stream, and which numbers.
_PARTS = ("attention", "feed_forward")


@dataclass(frozen=True)
class Patch:
    """Numbers that take the place of those in the stream, at one position, once a part of a layer is computed.

    Args:
        layer: from 0; -1 for the embedding. In a layer of a loop it is overwritten in every pass.
        part: ``embedding``, ``attention`` or ``feed_forward``: what reads the stream afterwards sees the new numbers.
        start: the first coordinate that is overwritten.
        values: the numbers from there on.

    Raises:
        EngineError: for a stage that there is in no decoder, a negative coordinate, or no numbers.
    """

    layer: int
    part: str
    start: int
    values: tuple[int | float | Fraction, ...]

    def __post_init__(self) -> None:
        known = self.part == "embedding" if self.layer == -1 else self.layer >= 0 and self.part in _PARTS
        if not known:
            problem = f"nothing is patched after {self.part!r} of layer {self.layer}"
            raise EngineError(f"{problem}: use (-1, 'embedding'), (n, 'attention') or (n, 'feed_forward') with n from 0 on")
        if self.start < 0 or not self.values:
            raise EngineError(
                f"a patch overwrites at least one coordinate from 0 on, not {len(self.values)} at {self.start}"
            )


NO_PATCHES: Mapping[int, Sequence[Patch]] = MappingProxyType({})
"""Position -> what is overwritten there: nothing anywhere."""


def patched(x: Vector, patches: Iterable[Patch], layer: int, part: str) -> None:
    """Overwrite the stream x, (width,), an array or a list, in place, by those of `patches` that are of this stage."""
    for patch in patches:
        if (patch.layer, patch.part) == (layer, part):
            numbers = patch.values if isinstance(x, list) else [float(value) for value in patch.values]
            x[patch.start : patch.start + len(numbers)] = numbers


def check_patches(patches: Sequence[Patch], layers: int, width: int) -> None:
    """Raise EngineError if a patch is of a layer that a decoder does not have, or goes beyond its stream."""
    for patch in patches:
        if patch.layer >= layers:
            raise EngineError(f"these weights have {layers} layers, and a patch is of layer {patch.layer}, counted from 0")
        if (end := patch.start + len(patch.values)) > width:
            raise EngineError(f"the stream has {width} coordinates, and a patch overwrites coordinate {end - 1}")


class Watch(Protocol):
    """An observer of a forward pass from the inside. Layers count from 0.

    The layers of a loop are shown again in every pass of it, with the same numbers.
    """

    def stage(self, layer: int, part: str, residual: Vector) -> None:
        """Receive the residual stream after `part`: ``embedding`` (layer -1), ``attention``, ``feed_forward``.

        residual: (width,).
        """

    def head(self, layer: int, head: int, scores: Vector, attended: Vector) -> None:
        """Receive a head's scores, and the positions that share its weight.

        scores: (n_key,), of the positions that its mask lets it see, in order: from 0 on, or from this one with mask past.
        """


class Passed(NamedTuple):
    """What there is at a position after a whole sequence was run: the stream after the last layer, and the logits."""

    residual: Vector
    """(width,)"""
    logits: Vector
    """(answers,)"""


# ── engines and their sessions
class Session(Protocol):
    """A decoder in the middle of a sequence, with its KV cache."""

    residual: Vector
    """(width,) the residual stream at the last position, after the last layer."""
    logits: Vector
    """(answers,) the logits at the last position."""

    def feed(self, token: int, watch: Watch | None = None) -> int:
        """Run the next position on `token` and return the first token with the largest logit."""


class PatchableSession(Session, Protocol):
    """A session in which the residual stream can be overwritten on the way: that of the dense engine and the exact one."""

    def feed(self, token: int, watch: Watch | None = None, patches: Sequence[Patch] = ()) -> int:
        """Run the next position on `token`, with the stream overwritten by `patches`, and return the token answered."""


class Engine(Protocol):
    """A way to run weights."""

    @property
    def name(self) -> str:
        """The name of the engine on the command line."""

    @property
    def dtype(self) -> str:
        """The numbers it computes with: ``float64``, ``float32`` or ``rational``."""

    def start(self, decoder: Decoder) -> Session:
        """Return a fresh session at position 0."""


def observable(engine: Engine) -> Engine:
    """Return the engine whose sessions can be watched in place of those of `engine`: itself, if they can."""
    stand_in: Engine = getattr(engine, "stand_in", engine)
    return stand_in


def refuse_ahead(decoder: Decoder) -> None:
    """Raise EngineError if `decoder` cannot be run position by position: a head looks ahead, it has loops, or position
    features of the length.
    """
    if decoder.of_length:
        names = [name for name in decoder.features if feature(name).of_length]
        problem = f"the position feature {names[0]!r} depends" if names else "the temperature depends"
        raise EngineError(
            f"{problem} on the length, so these weights cannot run position by position: run the whole sequence"
        )
    if decoder.loops:
        problem = "these weights run layers again"
        raise EngineError(f"{problem}, so they cannot run position by position: run the whole sequence at once")
    for layer in decoder.layers:
        for head in layer.heads:
            if head.mask != "future":
                problem = f"head {head.name!r} has the mask {head.mask!r} and looks ahead"
                raise EngineError(f"{problem}, so it cannot run position by position: run the whole sequence at once")


def run_whole(
    decoder: Decoder,
    tokens: Sequence[int],
    *,
    engine: Engine,
    watches: Mapping[int, Watch] | None = None,
    patches: Mapping[int, Sequence[Patch]] | None = None,
) -> list[Passed]:
    """Run `decoder` on a whole sequence, with heads of any mask, and return what there is at every position at the end.

    Each number is computed in the same order as position by position, so that weights whose heads do not look ahead have
    the same streams and logits both ways.

    Args:
        tokens: (n,), their numbers in the vocabulary.
        watches: position -> who is shown the computation at it.
        patches: position -> what is overwritten there.

    Raises:
        EngineError: if the engine only runs position by position, or see its `start`.
    """
    whole = getattr(engine, "whole", None)
    if whole is None:
        problem = f"the {engine.name} engine runs position by position, not a whole sequence at once"
        raise EngineError(f"{problem}: use the dense engine or the exact one")
    passed: list[Passed] = whole(decoder, tokens, watches or {}, patches or {})
    return passed


class Step(NamedTuple):
    """One position: the token fed, the token answered, the residual stream after the last layer, and the logits.

    Of a sequence model, `output` is the answer of its first output, as text.
    """

    position: int
    token: str
    output: str
    residual: Vector
    logits: Vector


def prompted(decoder: Decoder, prompt: Sequence[str]) -> list[int]:
    """Return the numbers of the tokens ``prompt · BOS``, or of the prompt alone if there is no BOS.

    Raises:
        EngineError: if the prompt contains something that is not in the vocabulary, is empty where no BOS follows it, or is
            longer than there are positions.
    """
    numbers = decoder.numbers
    for i, token in enumerate(prompt):
        if token not in numbers:
            problem = f"token {i} of the prompt, {token!r}, is not in the vocabulary{did_you_mean(token, numbers)}"
            more = ", …" if len(decoder.vocabulary) > 8 else ""
            raise EngineError(f"{problem}: use {', '.join(decoder.vocabulary[:8])}{more}")
    if not prompt and decoder.bos is None:
        raise EngineError("the prompt is empty, and these weights have no BOS to start with: give at least one token")
    if decoder.positions is not None and len(prompt) + (decoder.bos is not None) > decoder.positions:
        positions = counted(decoder.positions, "position")
        problem = f"the prompt has {counted(len(prompt), 'token')}, and these weights have {positions}"
        longer = f", or compile the program with --max-length {len(prompt)}" if decoder.outputs else ""
        raise EngineError(f"{problem}: give a shorter one{longer}")
    return [numbers[token] for token in (*prompt, *(() if decoder.bos is None else (decoder.bos,)))]


def generate(
    decoder: Decoder,
    prompt: Sequence[str],
    *,
    engine: Engine,
    max_positions: int | None = None,
    patches: Mapping[int, Sequence[Patch]] | None = None,
    draw: Draw | None = None,
) -> Iterator[Step]:
    """Run `decoder` on ``prompt · BOS`` and then on its own answers (Definition 8.1), yielding every position.

    Ends after the position that answers with a stop token, after `max_positions` positions, or where the position table
    ends. A sequence model is run on the prompt alone, and is fed nothing else.

    Args:
        patches: position -> what is overwritten there, where tokens are generated; see `run_whole` for sequence models.
        draw: chooses each generated token by the logits, as Eq. 8.3 has it; None: the largest logit does.

    Raises:
        EngineError: for a prompt that cannot be run, see `prompted`; for patches and an engine that cannot be patched.
    """
    if decoder.positions is not None:
        max_positions = decoder.positions if max_positions is None else min(max_positions, decoder.positions)
    tokens, given = decoder.vocabulary, prompted(decoder, prompt)
    if decoder.labeller:
        yield from islice(_labelled(decoder, given, engine), max_positions)
        return
    stop = {decoder.numbers[token] for token in decoder.stop}
    session, position, answer = engine.start(decoder), 0, -1
    while max_positions is None or position < max_positions:
        fed = given[position] if position < len(given) else answer
        if patches is None:
            answer = session.feed(fed)
        else:
            answer = cast("PatchableSession", session).feed(fed, None, patches.get(position, ()))
        if draw is not None and position >= len(given) - 1:
            answer = draw(session.logits)
        yield Step(position, tokens[fed], tokens[answer], session.residual, session.logits)
        position += 1
        if answer in stop and position >= len(given):
            return


def _labelled(decoder: Decoder, given: Sequence[int], engine: Engine) -> Iterator[Step]:
    """Yield every position of a sequence: from the whole of it if it has to be, otherwise as it is fed."""
    passed = run_whole(decoder, given, engine=engine) if not decoder.sequential else _fed(decoder, given, engine)
    for position, (token, (residual, logits)) in enumerate(zip(given, passed, strict=True)):
        first = str(answered(decoder, logits)[0])
        yield Step(position, decoder.vocabulary[token], first, residual, logits)


def _fed(decoder: Decoder, given: Sequence[int], engine: Engine) -> Iterator[Passed]:
    session = engine.start(decoder)
    for token in given:
        session.feed(token)
        yield Passed(session.residual, session.logits)


# ── a forward pass seen from the inside at one position ───────────────────────────────────────────────
class Observation:
    """A `Watch` that keeps what it is shown, as it is shown: nothing is copied or converted. Layers count from 0.

    Attributes:
        stages: (layer, part, the residual stream after it: (width,)) in the order of the computation.
        heads: (layer, head) -> its scores, (n_key,), and the positions attended to; in a loop, those of the last pass.
        passes: the number of times that each stage of `stages` had been shown before it: 0 but for later passes of a loop.
        looks: (layer, head, the passes before) -> the same as `heads`, of every pass.
    """

    def __init__(self) -> None:
        self.stages: list[tuple[int, str, Vector]] = []
        self.heads: dict[tuple[int, int], tuple[Vector, Vector]] = {}
        self.passes: list[int] = []
        self.looks: dict[tuple[int, int, int], tuple[Vector, Vector]] = {}
        self._shown: dict[tuple[int, str], int] = {}

    def stage(self, layer: int, part: str, residual: Vector) -> None:
        """Keep the residual stream after `part` of `layer`."""
        self.passes.append(self._shown.get((layer, part), 0))
        self._shown[layer, part] = self.passes[-1] + 1
        self.stages.append((layer, part, residual))

    def head(self, layer: int, head: int, scores: Vector, attended: Vector) -> None:
        """Keep a head's scores and the positions it attended to."""
        self.heads[layer, head] = (scores, attended)
        self.looks[layer, head, self._shown.get((layer, "attention"), 0)] = (scores, attended)

    @property
    def streams(self) -> list[Vector]:
        """The residual stream before each layer and after the last; in a loop, in its last pass."""
        return list({layer: residual for layer, part, residual in self.stages if part != "attention"}.values())


def observe(decoder: Decoder, tokens: Sequence[str], *, engine: Engine, position: int | None = None) -> Observation:
    """Feed `tokens` to `decoder` and return the observations at `position`, by default at the last of them.

    Where a head looks ahead, that is what there is at this position in the whole sequence.
    """
    at = len(tokens) - 1 if position is None else position
    if not decoder.sequential:
        return observe_all(decoder, tokens, engine=engine)[at]
    session, seen = engine.start(decoder), Observation()
    for token in tokens[:at]:
        session.feed(decoder.numbers[token])
    session.feed(decoder.numbers[tokens[at]], seen)
    return seen


def observe_at(
    decoder: Decoder, tokens: Sequence[str], positions: Sequence[int], *, engine: Engine
) -> Iterator[tuple[int, Observation]]:
    """Feed `tokens` to `decoder` and yield the observations at these positions, in increasing order, as they are made."""
    session, wanted = engine.start(decoder), frozenset(positions)
    for i, token in enumerate(tokens[: max(wanted, default=-1) + 1]):
        seen = Observation() if i in wanted else None
        session.feed(decoder.numbers[token], seen)
        if seen is not None:
            yield i, seen


def observe_all(decoder: Decoder, tokens: Sequence[str], *, engine: Engine) -> list[Observation]:
    """Run `decoder` on the whole sequence `tokens` and return the observations at every position."""
    seen = [Observation() for _ in tokens]
    run_whole(decoder, [decoder.numbers[token] for token in tokens], engine=engine, watches=dict(enumerate(seen)))
    return seen
