"""From a machine to a decoder, in the order of the chapter (Theorem 8.2, with the repairs in docs/construction)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tm2tfr.base.choices import LEFT_BOUNDARIES, TURING
from tm2tfr.base.errors import CompileError, did_you_mean, visible
from tm2tfr.sources.turing.compiler.head_position import head_position
from tm2tfr.sources.turing.compiler.layout import FEATURES, MOST_KEPT, Answers, Boundary, layout
from tm2tfr.sources.turing.compiler.read_input import read_input
from tm2tfr.sources.turing.compiler.read_tape import read_tape
from tm2tfr.sources.turing.compiler.symbol import symbol
from tm2tfr.sources.turing.compiler.transition import transition
from tm2tfr.sources.turing.compiler.unpack import unpack
from tm2tfr.sources.turing.formats import native
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.tokens import BOS, VERDICTS
from tm2tfr.transformer.gadgets import zero_column
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.provenance import stated
from tm2tfr.transformer.residual import Residual, at
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
    stream = layout(machine, tokens, boundary)
    return Decoder(
        layout=stream,
        vocabulary=tokens,
        bos=BOS,
        stop=tuple(t for t in VERDICTS.values() if t in tokens),
        features=FEATURES,
        token_embedding=_embedding(stream, [at("e_x", token) for token in tokens]),
        position_embedding=_embedding(stream, FEATURES),
        layers=(
            unpack(stream, machine, tokens),
            head_position(stream, machine),
            read_input(stream, machine, boundary),
            read_tape(stream, machine),
            symbol(stream, machine),
            transition(stream, answers),
        ),
        unembedding=_reading(stream.width, stream["e_y"].start, len(tokens)),
        unembedding_bias=zero_column(len(tokens)),
        provenance=stated(
            TURING,
            source=native.text_of(machine),
            name=machine.name,
            options={} if boundary == "none" else {"left_boundary": boundary},
        ),
    )


def _embedding(stream: Residual, directions: Sequence[str]) -> Matrix:
    """Return the matrix that has a 1 in each of these directions (Eq. 8.4): (width, directions)."""
    return _ones(stream.width, tuple(map(stream.index, directions)))


@lru_cache(maxsize=MOST_KEPT)  # as for layers `without_rules`
def _ones(width: int, rows: tuple[int, ...]) -> Matrix:
    return Matrix.from_entries((width, len(rows)), {(row, n): 1.0 for n, row in enumerate(rows)})


@lru_cache(maxsize=MOST_KEPT)
def _reading(width: int, first: int, answers: int) -> Matrix:
    """Return the matrix that reads the directions from `first` on, one per row: (answers, width)."""
    return Matrix.from_entries((answers, width), {(n, first + n): 1.0 for n in range(answers)})


def _boundary(machine: Machine, wanted: str | None) -> Boundary:
    if machine.tape == "two-way":
        if wanted is not None:
            raise CompileError(
                f"{visible(machine.name)}: the tape is two-way and has no left boundary: omit --left-boundary "
                "or --compare, or write 'tape: one-way' in the machine"
            )
        return "none"
    if wanted in (None, "repaired"):
        return "repaired"
    if wanted == "chapter":
        return "chapter"
    close = did_you_mean(str(wanted), LEFT_BOUNDARIES)
    raise CompileError(f"unknown left boundary {wanted!r}{close}: use {' or '.join(LEFT_BOUNDARIES)}")
