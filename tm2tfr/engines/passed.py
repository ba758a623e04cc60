"""The end of a forward pass of some sequences of a batch: the stream, and logits as different columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.dense_parts import DenseStream
from tm2tfr.engines.distinct import ColumnCodes
from tm2tfr.engines.reading import read_output
from tm2tfr.transformer.claims import sections
from tm2tfr.transformer.matrix import AnyArray
from tm2tfr.transformer.weights import Decoder


class SectionLogits(NamedTuple):
    """The logits of an output: which column there is at each place, and columns: (rows, columns).

    Args:
        read: returns what columns say, see `tm2tfr.engines.reading.read_output`; None: there are no outputs.
    """

    coded: ColumnCodes
    table: DenseStream
    read: Callable[[DenseStream], AnyArray] | None


def logit_sections(decoder: Decoder) -> list[tuple[slice, Callable[[DenseStream], AnyArray] | None]]:
    """Return the rows of the unembedding by output, and what reads them; of a decoder without outputs all rows."""
    read = [(cut, partial(read_output, output, soft=decoder.soft)) for output, cut in sections(decoder.outputs)]
    return [*read] or [(slice(0, decoder.answers), None)]


@dataclass(frozen=True)
class PassedBatch:
    """The end of a forward pass of some sequences of a batch.

    Args:
        sequences: which of the batch.
        n: the number of positions.
        parts: the logits of each output, or of all tokens.
        stream: returns the stream after the last layer, (width, sequences, n).
        refused: (sequences,) those with a number that is too large, where that raises no error.
    """

    sequences: slice
    n: int
    parts: Sequence[SectionLogits]
    stream: Callable[[], DenseStream]
    refused: NDArray[np.bool_]

    @classmethod
    def of_all(
        cls, decoder: Decoder, sequences: slice, residual: DenseStream, logits: DenseStream, refused: NDArray[np.bool_]
    ) -> PassedBatch:
        """Return it of arrays of all places: residual (width, sequences, n), logits (answers, sequences, n)."""
        places = residual.shape[1] * residual.shape[2]
        coded = ColumnCodes(np.arange(places).reshape(residual.shape[1:]).T, places)
        flat = logits.reshape(len(logits), places)
        parts = [SectionLogits(coded, flat[cut], read) for cut, read in logit_sections(decoder)]
        return cls(sequences, residual.shape[2], parts, lambda: residual, refused)

    @property
    def residual(self) -> DenseStream:
        """The stream after the last layer: (width, sequences, n)."""
        return self.stream()

    @cached_property
    def logits(self) -> DenseStream:
        """The logits: (answers, sequences, n)."""
        shape = len(self.refused), self.n
        return np.concatenate([table[:, np.broadcast_to(coded.places.T, shape)] for coded, table, _ in self.parts])

    def answers(self) -> list[AnyArray]:
        """Return the answers of each output, like `tm2tfr.engines.reading.read_outputs`: (sequences or 1, n or 1) each."""
        return [read(table).take(coded.places).T for coded, table, read in self.parts if read is not None]
