"""Object files made callable by llvmlite, which is Numba's own link to LLVM and much faster to import than Numba."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm

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
