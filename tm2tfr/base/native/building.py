"""From a function that Numba compiles to machine code that needs no Numba: imported only when something is compiled.

Around the function comes one that takes the address of its arguments as machine words (`arguments`). Numba gives its
object file; where the code refers to anything outside, that is of no use elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import config
from numba.core.errors import NumbaError
from numba.extending import intrinsic
from numba.np import arrayobj


# ── The options with which functions are compiled by Numba.
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


_ARRAYS: Any = arrayobj
_WORD = ir.IntType(64)
_ADDRESS = re.compile(r"inttoptr \(i64 -?\d")
"""An address in the code: it is another one in each process."""
_BY_THE_SYSTEM = {"memcpy", "memmove", "memset", "rint", "floor", "ceil", "trunc", "sqrt", "fabs"}
"""What every process has, in the C library."""


def built(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[str, bytes] | None:
    """Return (symbol, object file) of a function for such arguments; None if its code cannot be kept.

    The symbol is that of ``int32 (int64 *result, void **error, int64 address)``, which returns 0.
    """
    if getattr(config, "DISABLE_JIT", False):  # its compiled functions are Python's own then
        return None
    outer = _outer(function, arguments)
    [signature] = outer.signatures
    compiled = outer.overloads[signature]
    text, symbol = outer.inspect_llvm(signature), compiled.fndesc.llvm_func_name
    module = llvm.parse_assembly(text)
    needed = {each.name for each in module.functions if each.is_declaration and not each.name.startswith("llvm.")}
    if needed - _BY_THE_SYSTEM or _ADDRESS.search(text):
        return None
    _, kind, content = compiled.library.serialize_using_object_code()
    return (symbol, content[0]) if kind == "object" else None


def _outer(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return the function around `function`, compiled."""
    writer = _Writer()
    given = ", ".join([writer.expression(argument) for argument in arguments])
    # compiled into the one around it, before anything is optimised: twice optimised, a long loop takes half as long again
    inner = njit(inline="always", error_model="numpy", **OPTIONS)(getattr(function, "py_func", function))
    names = {**writer.names, "function": inner, "word": _word}
    exec(compile(f"def outer(address):\n    return whole(function({given}))\n", "<outer>", "exec"), names)
    options = {name: value for name, value in OPTIONS.items() if name != "forceinline"}
    return njit("int64(int64)", error_model="numpy", **options)(names["outer"])


class _Writer:
    """Expressions that read arguments from machine words, and the names in them."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"whole": numba.int64}
        self._place = 0

    def expression(self, argument: Any) -> str:
        """Return the expression of the next argument."""
        if isinstance(argument, tuple):
            inner = "".join([f"{self.expression(part)}, " for part in argument])
            kind = type(argument)
            if kind is tuple:
                return f"({inner})"
            self.names[kind.__name__] = kind
            return f"{kind.__name__}({inner})"
        at, self._place = 8 * self._place, self._place + 1
        if not isinstance(argument, np.ndarray):
            return f"word(address + {at})"
        self._place += argument.ndim
        name = f"array_{argument.dtype.name}_{argument.ndim}"
        if name not in self.names:
            self.names[name] = _reader(types.Array(numba.from_dtype(argument.dtype), argument.ndim, "C"))
        return f"{name}(address + {at})"


@intrinsic
def _word(context: Any, address: Any) -> Any:
    """Read an integer."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.load(builder.inttoptr(given[0], _WORD.as_pointer()))

    return types.int64(types.int64), code


def _reader(kind: Any) -> Any:
    """Return the function that reads an array of this type: its address, then its shape."""

    @intrinsic
    def read(context: Any, address: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            first = builder.inttoptr(given[0], _WORD.as_pointer())
            data, *shape = (builder.load(builder.gep(first, [_WORD(n)])) for n in range(1 + kind.ndim))
            size = _WORD(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
            strides, step = list[Any](), size
            for length in reversed(shape):
                strides.insert(0, step)
                step = builder.mul(step, length)
            array = _ARRAYS.make_array(kind)(context, builder)
            data = builder.inttoptr(data, array.data.type)
            _ARRAYS.populate_array(array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
            return array._getvalue()

        return kind(types.int64), code

    return read
