"""The compiled functions for many runs of machines, as they are called from Python: their machine code is kept."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tm2tfr.engines import fast
from tm2tfr.engines.fast import available
from tm2tfr.errors import EngineError
from tm2tfr.native.function import KeptFunction, flat

NEED = "many runs in one call need Numba"


class AnyCall:
    """Calls of a function by any number of threads, each time with other arguments; `Caller` is for similar ones."""

    def __init__(self, function: KeptFunction) -> None:
        self._function = function

    def __call__(self, *arguments: Any) -> int:
        """Call the function and return its result.

        Raises:
            TypeError: for arguments other than arrays that are C-contiguous, tuples of such, and integers.
        """
        kinds, words = flat(arguments)
        code = self._function.code(kinds, arguments)
        if code is None:
            return self._function.by_numba(arguments)
        held = np.array(words, dtype=np.int64)  # until the call is over
        return code(held.__array_interface__["data"][0])


@cache
def kernel(name: str) -> AnyCall:
    """Return a function of `_machine_kernel`.

    Raises:
        EngineError: if Numba is missing.
    """
    if not available():
        raise EngineError(f"{NEED}: pip install 'tm2tfr[fast]'")
    module = "tm2tfr.runs.batches._machine_kernel"
    return AnyCall(KeptFunction.of(module, name, NEED, called=(Path(fast.__file__).parent, Path(__file__).parent)))
