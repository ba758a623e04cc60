"""The same words for many machines, each with its decoder: run, and compared with the reference's rows, in one call.

Every cell of every row is compared, as for one machine. Machines that cannot be prepared together are left out.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from tm2tfr.engines.fast.many import RowsInTurn
from tm2tfr.engines.siblings.runs import run_siblings
from tm2tfr.runs.batches.given import feeding, of_machine_again
from tm2tfr.runs.batches.kept import kernel
from tm2tfr.runs.batches.machines import MachineRuns, alike
from tm2tfr.runs.batches.probes import ColumnProbes, probes_of
from tm2tfr.runs.batches.right import RightRows
from tm2tfr.runs.blocks import read_from
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.truth import TuringTruth, truth_for
from tm2tfr.trace.columns import is_turing
from tm2tfr.transformer.matrix import Ints
from tm2tfr.transformer.weights import Decoder

MOST_CELLS = 64
"""Machines with more pairs of a state and a symbol are not simulated together."""


@dataclass(frozen=True, eq=False)
class ComparedRuns:
    """The runs of N machines on R words.

    Args:
        at: (N,) the place of each machine among those that ran, if all of its rows are the reference's; otherwise -1.
        size: (R,) the tokens before BOS.
        found, right: the rows of the decoders and of the reference: the runs of the machine at place p begin at p · R.
    """

    at: Ints
    size: Ints
    found: RowsInTurn
    right: RightRows


def compared_runs(
    decoders: Sequence[Decoder], machines: Sequence[Machine], words: Sequence[str], max_steps: int
) -> ComparedRuns | None:
    """Run each machine's decoder on each word and compare; None: nothing can be said of any of them.

    Raises:
        InputError, EngineError, CompileError: as for one of them, see `tm2tfr.runs.batches.carried.batch_of`.
    """
    truths = [
        truth_for(machine, "", decoder=decoder, max_steps=max_steps)
        for machine, decoder in zip(machines, decoders, strict=True)
    ]
    known = dict[Hashable, ColumnProbes]()
    probes = [_probes(decoder, known) for decoder in decoders]
    kinds = [_kind(*each) for each in zip(decoders, truths, probes, strict=True)]
    usual = next((kind for kind in kinds if kind is not None), None)
    some = [n for n, kind in enumerate(kinds) if kind is not None and kind == usual]
    if not some:
        return None
    return _compared(
        [decoders[n] for n in some],
        [truths[n] for n in some],
        [found for n in some if (found := probes[n]) is not None],
        tuple(words),
        max_steps,
        np.array(some),
        len(decoders),
    )


def _compared(
    decoders: Sequence[Decoder],
    truths: Sequence[TuringTruth],
    probes: Sequence[ColumnProbes],
    words: tuple[str, ...],
    max_steps: int,
    places: Ints,
    number: int,
) -> ComparedRuns:
    """Return the runs of decoders of one kind, at their places among a number of them."""
    given, runs = of_machine_again(decoders[0], truths[0], words), len(decoders) * len(words)
    reference, room = MachineRuns(decoders, truths, max_steps), 64 + 48 * runs
    while len((right := reference.rows(given.words, 0, runs, room)).offsets) <= runs:
        room *= 2
    most = np.diff(right.offsets).reshape(len(decoders), len(words))
    read = [(found.labels, found.numbers) for found in probes]
    found, ran = run_siblings(decoders, read, given.tokens, given.start, most)
    tokens = np.empty(len(found.answers), dtype=np.int32)
    kernel("fed")(given.tokens, given.start, found.offsets, found.answers, tokens)
    differs = reference.differs(found, tokens, "x" in probes[0].codes, right)
    agree = ran & (differs.reshape(most.shape) < 0).all(axis=1)
    at = np.full(number, -1)
    at[places] = np.where(agree, np.arange(len(decoders)), -1)
    return ComparedRuns(at, given.size, found, right)


def _kind(decoder: Decoder, truth: TuringTruth, probes: ColumnProbes | None) -> Hashable:
    """Return what machines that are run together have in common; None: this one cannot be run with others."""
    cells = len(truth.machine.states) * len(truth.machine.tape_alphabet)
    if probes is None or cells > MOST_CELLS or truth.ending(decoder) is not None:
        return None
    sizes = len(probes.labels), len(probes.numbers), "x" in probes.codes
    return alike(decoder, truth), feeding(decoder, truth), sizes


def _probes(decoder: Decoder, known: dict[Hashable, ColumnProbes]) -> ColumnProbes | None:
    """Return what is read of a decoder with the chapter's table; None if it has another.

    Args:
        known: what is read of others, by the identity of the parts and the subspaces that they share, which they keep. The
            first layers are not shared: they must not write what the token is read from.
    """
    layout, layers = decoder.layout, decoder.layers
    first, *between, last = layout.subspaces
    parts = (*between, *layers[1:], decoder.token_embedding, decoder.position_embedding)
    ends = tuple([(each.name, each.holds, each.width, each.labels is None) for each in (first, last)])
    key = (tuple([id(part) for part in parts]), ends)
    found = known.get(key)
    if found is None:
        if not is_turing(layout) or len(layers) == 0 or layers[0].heads or layers[0].feed_forward is None:
            return None
        found = known[key] = probes_of(decoder)
    token, part = layout[read_from(decoder, "x").name], layers[0].feed_forward
    if part is None or layers[0].heads:
        return None
    rows = np.concatenate([part.output.rows, part.output_bias.rows])
    return None if ((rows >= token.start) & (rows < token.stop)).any() else found
