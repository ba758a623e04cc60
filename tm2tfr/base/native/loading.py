"""Object files made callable by llvmlite, which is Numba's own link to LLVM and much faster to import than Numba."""

from __future__ import annotations

from functools import cache
from typing import Any

import llvmlite.binding as llvm

from tm2tfr.base.native.linking import MachineCode


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


def linked(symbol: str, content: bytes) -> MachineCode:
    """Return the function `symbol` of an object file; see `building.built`.

    Raises:
        RuntimeError: if `content` is not an object file with such a function.
    """
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _initialised().create_target_machine(jit=True))
    engine.add_object_file(llvm.ObjectFileRef.from_data(content))
    engine.finalize_object()
    address = engine.get_function_address(symbol)
    if not address:
        raise RuntimeError(f"no function {symbol} in the code")
    return MachineCode(address, engine)
