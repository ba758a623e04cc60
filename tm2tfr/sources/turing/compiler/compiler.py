"""From a machine to a decoder, in the order of the chapter (Theorem 8.2, with the repairs in docs/construction)."""

from __future__ import annotations

from tm2tfr.choices import LEFT_BOUNDARIES, TURING
from tm2tfr.errors import CompileError, did_you_mean, visible
from tm2tfr.sources.turing.compiler.layout import FEATURES, Answers, Boundary
from tm2tfr.sources.turing.compiler.shape import MachineShape
from tm2tfr.sources.turing.compiler.transition import Responses
from tm2tfr.sources.turing.formats import native
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.tokens import BOS, VERDICTS
from tm2tfr.transformer.provenance import stated
from tm2tfr.transformer.weights import Decoder


def compile_machine(machine: Machine, *, left_boundary: str | None = None) -> Decoder:
    """Return the decoder with average-hard attention that simulates `machine` (Theorem 8.2).

    Args:
        machine: any machine; one-way or two-way tape.
        left_boundary: on a one-way tape ``repaired`` (the default: a move left at cell 0 emits m = 0) or
            ``chapter`` (as printed, which goes wrong in Exercise 8.3).

    Raises:
        CompileError: for an unknown `left_boundary`, or one on a two-way tape.
    """
    boundary = _boundary(machine, left_boundary)
    answers = Answers(machine, boundary)
    tokens = answers.vocabulary
    shape = MachineShape.of(machine, boundary, len(tokens))
    stream, parts = shape.stream(tokens), shape.parts()
    return Decoder(
        layout=stream,
        vocabulary=tokens,
        bos=BOS,
        stop=tuple(t for t in VERDICTS.values() if t in tokens),
        features=FEATURES,
        token_embedding=parts.token_embedding,
        position_embedding=parts.position_embedding,
        layers=(
            shape.unpacking(tokens),
            *parts.between,  # head position, read input, read tape, symbol
            shape.answering(Responses.of(answers).renamed(dict(zip(tokens, shape.names, strict=True)))),
        ),
        unembedding=parts.unembedding,
        unembedding_bias=parts.unembedding_bias,
        provenance=stated(
            TURING,
            source=lambda: native.text_of(machine),
            name=machine.name,
            options={} if boundary == "none" else {"left_boundary": boundary},
        ),
    )


def _boundary(machine: Machine, wanted: str | None) -> Boundary:
    if machine.tape == "two-way":
        if wanted is not None:
            raise CompileError(
                f"{visible(machine.name)}: the tape is two-way and has no left boundary: omit --left-boundary, "
                "or write 'tape: one-way' in the machine"
            )
        return "none"
    if wanted in (None, "repaired"):
        return "repaired"
    if wanted == "chapter":
        return "chapter"
    close = did_you_mean(str(wanted), LEFT_BOUNDARIES)
    raise CompileError(f"unknown left boundary {wanted!r}{close}: use {' or '.join(LEFT_BOUNDARIES)}")
