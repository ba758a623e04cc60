"""Values rounded on the way: a linear layer that floats use to get rid of noise, and that changes nothing in exact numbers.

Units that read 1/(i+1), or a mean, answer bits that are off by what their sums were rounded by. In the original, two units
cancel to exactly 0 or 1; in a turned basis their products round, and equal scores would no longer be equal. So what such
units write waits in a direction of its own, a *copy*, and the next layer adds it to where it belongs by

    ReLU(y + C) - ReLU(-y - C) - C = y,

which holds for every number y. In floats, y + C is a multiple of C·2^-52: with C = 2^32, of 2^-20, and what is less is
gone. A second pair empties the copy, if it is used again.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from tm2tfr.disguises.wide import WideLayer, WideUnit

CENTRE = 2.0**32
"""C."""


def rounding_layer(width: int, moved: dict[int, int], again: Collection[int]) -> WideLayer:
    """Return the layer that adds each copy to the direction that it belongs to.

    Args:
        moved: direction -> its copy.
        again: the copies that are used again, which it empties.
    """
    units: list[WideUnit] = []
    offset = np.zeros(width)
    for direction, copy in moved.items():
        adding, emptying = (CENTRE, direction, 1.0), (0.0, copy, -1.0)
        for centre, target, factor in (adding, emptying) if copy in again else (adding,):
            number = len(units) // 2
            for side in (1.0, -1.0):
                reads, writes = np.zeros(width), np.zeros(width)
                reads[copy], writes[target] = side, factor * side
                units.append(WideUnit(None, reads, side * centre, writes, pair=number))
        offset[direction] -= CENTRE
    return WideLayer(None, [], units, offset)
