"""Which keys a query selects, each pair tested once: sets of keys are whole numbers, with a bit for each key."""

from __future__ import annotations

from collections.abc import Iterable

from tm2tfr.sources.sequence.clusters import Test
from tm2tfr.sources.sequence.elementwise import Tuple


class SelectedKeys:
    """The keys met so far, and for each query the bits of those that it selects.

    Args:
        test: whether a query selects a key.
    """

    def __init__(self, test: Test) -> None:
        self._test = test
        self._numbers: dict[Tuple, int] = {}
        self._keys: list[Tuple] = []
        self._masks: dict[Tuple, tuple[int, int]] = {}

    def bit(self, key: Tuple) -> int:
        """Return the set that has this key alone."""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._keys)
            self._keys.append(key)
        return 1 << number

    def bits(self, keys: Iterable[Tuple]) -> int:
        """Return the set of these keys."""
        mask = 0
        for key in keys:
            mask |= self.bit(key)
        return mask

    def selected(self, query: Tuple) -> int:
        """Return the set of the keys so far that the query selects."""
        told, mask = self._masks.get(query, (0, 0))
        if told < len(self._keys):
            tested, keys = self._test, self._keys
            for number in range(told, len(keys)):
                if tested(keys[number], query):
                    mask |= 1 << number
            self._masks[query] = len(keys), mask
        return mask
