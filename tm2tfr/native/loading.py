"""Object files made callable by llvmlite, which is Numba's own link to LLVM and much faster to import than Numba."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


@cache
def _initialised() -> Any:
    """Return LLVM's target for this machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple()


@cache
def processor() -> tuple[str, str, str]:
    """Return what code for this machine depends on: its kind, the processor's name, what that can do."""
    return _initialised().triple, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def version() -> str:
    """Return the version of llvmlite."""
    return str(llvmlite.__version__)


class MachineCode:
    """Machine code in memory, as long as this value lives.

    Args:
        symbol: the function in `content`; see `building.built`.
        content: an object file.

    Raises:
        RuntimeError: if `content` is not an object file with such a function.
    """

    def __init__(self, symbol: str, content: bytes) -> None:
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _initialised().create_target_machine(jit=True))
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(content))
        self._engine.finalize_object()
        address = self._engine.get_function_address(symbol)
        if not address:
            raise RuntimeError(f"no function {symbol} in the code")
        self._call = _SIGNATURE(address)

    def __call__(self, address: int) -> int:
        """Call the function with the words at `address` and return its result; other threads may run meanwhile.

        Raises:
            RuntimeError: if the function raises an error.
        """
        result, error = ctypes.c_int64(), ctypes.c_void_p()
        if self._call(ctypes.addressof(result), ctypes.addressof(error), address):
            raise RuntimeError("compiled code has failed")
        return result.value


# ── Arguments as machine words: one function can be called with any, without anything that knows Numba's types.
#
# An array is its address and its shape, a tuple its parts one after the other, an integer itself. What the words mean is
# the `description` of the arguments, which decides, with the text of a function, what code is made.
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


def flat(argument: Any) -> tuple[tuple[Any, ...], list[int]]:
    """Return what is constant of an argument, quicker than its `description` and equal for equal ones, and its words.

    Raises:
        TypeError: for anything but arrays, tuples of such, and integers.
    """
    kinds, found = list[Any](), list[int]()
    _flatten(argument, kinds, found)
    return tuple(kinds), found


def _flatten(argument: Any, kinds: list[Any], found: list[int]) -> None:
    if isinstance(argument, np.ndarray):
        kinds += argument.dtype, argument.ndim, argument.flags.c_contiguous
        found.append(argument.__array_interface__["data"][0])
        found += argument.shape
    elif isinstance(argument, tuple):
        kinds += type(argument), len(argument)
        for part in argument:
            _flatten(part, kinds, found)
    elif isinstance(argument, int | np.integer):
        kinds.append(int)
        found.append(int(argument))
    else:
        description(argument)  # which raises


def words(argument: Any) -> list[int]:
    """Return an argument as machine words."""
    return flat(argument)[1]


# ── Whoever asks for it is told while code is compiled, which may take a minute or more; nobody else is.
Notice = Callable[[], AbstractContextManager[object]]
"""Returns what is entered when compiling begins, in whichever thread that is, and left when it ends."""
_notices: list[Notice] = []


@contextmanager
def noticed(notice: Notice) -> Iterator[None]:
    """Have `notice` called whenever code is compiled, as long as this lasts."""
    _notices.append(notice)
    try:
        yield
    finally:
        _notices.remove(notice)


def compiling() -> AbstractContextManager[object]:
    """Return what is entered while code is compiled."""
    return _notices[-1]() if _notices else nullcontext()
