"""Arguments as machine words: one function can be called with any, without anything that knows Numba's types.

An array is its address and its shape, a tuple its parts one after the other, an integer itself. What the words mean is
the `description` of the arguments, which decides, with the text of a function, what code is made.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def description(argument: Any) -> str:
    """Return what is constant of an argument: ``int``, ``<f8 2`` for an array, ``module:Name(…)`` for a named tuple.

    Raises:
        TypeError: for anything but C-contiguous arrays, tuples of such, and integers.
    """
    if isinstance(argument, np.ndarray):
        if not argument.flags.c_contiguous:
            raise TypeError("an array must be C-contiguous to be handed to compiled code: copy it")
        return f"{argument.dtype.str} {argument.ndim}"
    if isinstance(argument, tuple):
        inner = ", ".join(description(part) for part in argument)
        kind = type(argument)
        return f"({inner})" if kind is tuple else f"{kind.__module__}:{kind.__qualname__}({inner})"
    if isinstance(argument, int | np.integer):
        return "int"
    raise TypeError(f"compiled code takes arrays, tuples and integers, not {type(argument).__name__}")


def words(argument: Any) -> list[int]:
    """Return an argument as machine words."""
    if isinstance(argument, np.ndarray):
        return [argument.__array_interface__["data"][0], *argument.shape]
    if isinstance(argument, tuple):
        return [word for part in argument for word in words(part)]
    return [int(argument)]


def places(argument: Any, first: int = 0) -> Any:
    """Return the place of each array and integer among the words of an argument, in its tuples, counted from `first`."""
    if not isinstance(argument, tuple):
        return first
    found = []
    for part in argument:
        found.append(places(part, first))
        first += len(words(part))
    return tuple(found) if type(argument) is tuple else type(argument)(*found)
