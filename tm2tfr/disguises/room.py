"""The room of a disguise: which directions there are beside the original's, and which may be mixed with which.

Floats hold some directions exactly: bits, one-hot vectors, positions, whole numbers. These are turned among themselves, so
that their sums stay exact and equal scores stay equal. The others (1/(i+1), means, what is made of them) are turned among
themselves as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tm2tfr.disguises.dyadic import padded
from tm2tfr.disguises.profile import Profile
from tm2tfr.disguises.wide import WideLayer
from tm2tfr.transformer.weights import Decoder, FeedForward

MOST_CONSTANTS = 24


@dataclass(frozen=True)
class Room:
    """The directions.

    Args:
        own: how many are the original's, the first ones.
        exact, loose: those that floats hold exactly, and all others; a multiple of 4 of each but in grade 1.
        constants: those that are 1 at every position.
        copies: those in which a value waits to be rounded.
        junk, noise: those that nothing reads which matters: exact ones, and others.
        bounded: directions that are never large, exact ones, for what decoys read.
        components, carried: the sizes that heads are given in grade 3: of queries, and of values that are written exactly
            and loosely.
    """

    own: int
    exact: tuple[int, ...]
    loose: tuple[int, ...]
    constants: tuple[int, ...]
    copies: tuple[int, ...]
    junk: tuple[int, ...]
    noise: tuple[int, ...]
    bounded: tuple[int, ...]
    components: int
    carried: tuple[int, int]

    @property
    def width(self) -> int:
        """The dimension of the wide stream."""
        return len(self.exact) + len(self.loose)

    @property
    def apart(self) -> bool:
        """Whether exact directions are kept apart from others."""
        return bool(self.loose)

    def noisy_units(self, layer: WideLayer) -> list[int]:
        """Return the units of a layer that read what floats do not hold exactly."""
        loose = list(self.loose)
        return [u for u, unit in enumerate(layer.units or ()) if unit.reads[loose].any()]

    @classmethod
    def of(cls, decoder: Decoder, seen: Profile, grade: int) -> Room:
        """Return the room for a disguise of this grade."""
        n = decoder.layout.width
        exact = [d for d in range(n) if seen.exact[d]]
        loose = [d for d in range(n) if not seen.exact[d]]
        bounded = [d for d in exact if seen.bounded[d]]
        if grade == 1:
            return cls(n, tuple(range(n)), (), (), (), (), (), tuple(bounded), 0, (0, 0))
        heads = [head for layer in decoder.layers for head in layer.heads]
        components = padded(max((head.query.shape[0] for head in heads), default=1) + 1)
        sizes = [
            _carried(decoder, seen, layer, k) for layer, each in enumerate(decoder.layers) for k in range(len(each.heads))
        ]
        carried = tuple(padded(max([0, *(size[part] for size in sizes)]) + 1) for part in (0, 1))
        many = min(MOST_CONSTANTS, 3 * max(components, carried[0])) if grade == 3 else 2
        needed = (
            0 if decoder.soft else max((_noisy_writes(layer.feed_forward, seen) for layer in decoder.layers), default=0)
        )

        def more(block: list[int], number: int) -> tuple[int, ...]:
            start = n + sum(map(len, added))
            added.append(tuple(range(start, start + number)))
            block.extend(added[-1])
            return added[-1]

        added: list[tuple[int, ...]] = []
        constants, copies = more(exact, many), more(loose, needed)
        junk = more(exact, padded(len(exact) + (carried[0] if grade == 3 else 0)) - len(exact))
        noise = more(loose, padded(len(loose) + (carried[1] if grade == 3 else 0)) - len(loose))
        bounded = [*bounded, *constants]
        return cls(
            own=n,
            exact=tuple(exact),
            loose=tuple(loose),
            constants=constants,
            copies=copies,
            junk=junk,
            noise=noise,
            bounded=tuple(bounded),
            components=components,
            carried=(carried[0], carried[1]),
        )


def _carried(decoder: Decoder, seen: Profile, layer: int, number: int) -> tuple[int, int]:
    """Return how many components of a head write to a direction that floats hold exactly, and how many do not."""
    head = decoder.layers[layer].heads[number]
    columns = set(head.output.columns[seen.exact[head.output.rows]].tolist())
    return len(columns), head.value.shape[0] - len(columns)


def _noisy_writes(layer: FeedForward | None, seen: Profile) -> int:
    """Return to how many exact directions units write that read others."""
    if layer is None:
        return 0
    units = np.unique(layer.input.rows[~seen.exact[layer.input.columns]])
    rows = np.unique(layer.output.rows[np.isin(layer.output.columns, units)])
    return int(seen.exact[rows].sum())
