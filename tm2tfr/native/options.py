"""The options with which functions are compiled by Numba."""

from __future__ import annotations

from typing import Any

from numba import njit
from numba.core.errors import NumbaError


def _options() -> dict[str, Any]:
    """Return the options for Numba: compile into the callers, without wrappers for Python and C that nobody calls.

    The code allocates nothing, so that it needs none of Numba's reference counts, which cost ten times the rest.
    These options are not part of Numba's public interface; a version without them gets slower code.
    """
    options: dict[str, Any] = {"_nrt": False, "forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    try:
        njit(error_model="numpy", **options)(_same).compile("i8(i8)")
    except (KeyError, TypeError, AttributeError, NumbaError):
        return {}
    return options


def _same(n: Any) -> Any:
    return n


OPTIONS = _options()
"""For functions that others call."""
OUTERMOST = {"nogil": True, **{name: value for name, value in OPTIONS.items() if "wrapper" not in name}}
"""For functions that are called from Python; while they run, other threads may."""
