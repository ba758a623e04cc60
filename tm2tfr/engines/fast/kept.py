"""The compiled functions of this engine, as they are called from Python: their machine code is kept.

Modules that need Numba are imported only where something has to be compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tm2tfr.engines.fast.arrays import Heads
from tm2tfr.engines.fast.state import Pools
from tm2tfr.native.function import Caller, KeptFunction, sources

_HERE = Path(__file__).parent
SOURCES = sources(_HERE)
"""The digest of all that decides what the functions do."""
NEED, OTHERWISE = "the fast engine needs Numba", "use the dense engine"
_ADVANCE = KeptFunction.of("tm2tfr.engines.fast.kernel", "advance", NEED, otherwise=OTHERWISE, called=(_HERE,))
_ADVANCE_MANY = KeptFunction.of("tm2tfr.engines.fast.in_turn", "advance_many", NEED, otherwise=OTHERWISE, called=(_HERE,))
_PLACE_GROUPS = KeptFunction.of("tm2tfr.engines.fast.groups", "place_groups", NEED, otherwise=OTHERWISE, called=(_HERE,))


def advance() -> Caller:
    """Return `kernel.advance`, for the calls of one session."""
    return Caller(_ADVANCE)


def advance_many() -> Caller:
    """Return `in_turn.advance_many`, for the calls of one session."""
    return Caller(_ADVANCE_MANY)


def place_groups(heads: Heads, pools: Pools) -> None:
    """Call `groups.place_groups`."""
    Caller(_PLACE_GROUPS)(heads, pools)


def called() -> Mapping[str, Callable[..., Any]]:
    """Return the compiled functions that straight-line code calls."""
    from tm2tfr.engines.fast.groups import add_values, find_group, join  # noqa: PLC0415
    from tm2tfr.engines.fast.in_turn import again  # noqa: PLC0415
    from tm2tfr.engines.fast.kernel import valid  # noqa: PLC0415  (Numba takes its time to load)
    from tm2tfr.engines.fast.tail import find  # noqa: PLC0415

    return {f.__name__: f for f in (find, find_group, valid, join, add_values, again)}


def straight_line(text: str) -> Caller:
    """Return the function ``run`` of `straight.written`: compiled when it is called, unless its code is kept."""
    return Caller(_straight_line(text))


@lru_cache(maxsize=16)
def _in_turns(text: str) -> KeptFunction:
    """Return the same for all threads: one of them compiles it."""
    return _straight_line(text)


def straight_turns(text: str) -> Caller:
    """Return the function ``run`` of `straight.written` for many runs, in the same way."""
    return Caller(_in_turns(text))


def _straight_line(text: str) -> KeptFunction:

    def made() -> Callable[..., Any]:
        from tm2tfr.engines.fast.jit import compiled_once  # noqa: PLC0415

        names: dict[str, Any] = {"np": np, **called()}
        exec(compile(text, "<plan>", "exec"), names)
        run: Callable[..., Any] = compiled_once(names["run"])
        return run

    return KeptFunction(f"{SOURCES}\n{text}", made)
