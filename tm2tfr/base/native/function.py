"""A function with cached machine code: loaded from the folder, or compiled and put there."""

from __future__ import annotations

import ctypes
import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import EngineError, required
from tm2tfr.base.native import folder, linking
from tm2tfr.base.native.linking import MachineCode
from tm2tfr.base.waiting import COMPILING, waiting

_MAGIC = b"tm2tfr code 1\n"
_DIGEST = 64
"""The length of a SHA-256 in hexadecimal."""


@cache
def sources(*folders: Path) -> str:
    """Return the digest of all modules in these folders, and of this one."""
    total = hashlib.sha256()
    for where in (Path(__file__).parent, *folders):
        for path in sorted(where.glob("*.py")):
            total.update(path.read_bytes())
    return total.hexdigest()


class KeptFunction:
    """A function for Numba, compiled for each kind of arguments when it is first called with such, or loaded.

    Args:
        text: the cache key: the function's text and the digest of the code that it calls.
        made: returns the function, decorated for Numba; called only if it has to be compiled.
        compiling: the message shown while it is compiled.
    """

    def __init__(self, text: str, made: Callable[[], Callable[..., Any]], *, compiling: str = COMPILING) -> None:
        self._text, self._made, self._compiling = text, cache(made), compiling
        self._codes: dict[str, MachineCode | None] = {}
        self._of_kinds: dict[tuple[object, ...], MachineCode | None] = {}
        self._lock = RLock()

    @classmethod
    def of(cls, module: str, name: str, need: str, *, otherwise: str = "", called: tuple[Path, ...] = ()) -> KeptFunction:
        """Return a function of a module that imports Numba, which is itself imported only if it has to be compiled.

        Args:
            need: as a clause, what needs Numba, and `otherwise`, how to do without: for the EngineError where it cannot be
                imported.
            called: folders with modules that decide what the function does, besides its own.
        """

        def made() -> Callable[..., Any]:
            [found] = required(need, [module], "fast", otherwise=otherwise, error=EngineError)
            function: Callable[..., Any] = getattr(found, name)
            return function

        spec = find_spec(module)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"there is no module {module}")
        own = _digest(Path(spec.origin).read_bytes())
        return cls(f"{module} {name} {own} {sources(*called)}", made)

    def kept(self, *arguments: object) -> bool:
        """Return whether nothing has to be compiled for a call with such arguments: the code is loaded now."""
        described = _described(arguments)
        with self._lock:
            if described not in self._codes and (code := _stored(self._about(described))):
                self._codes[described] = code
            return described in self._codes

    def code(self, kinds: tuple[object, ...], arguments: tuple[object, ...]) -> MachineCode | None:
        """Return the code for arguments of these kinds, see `flat`; None if it can be neither kept nor called."""
        if kinds not in self._of_kinds:
            described = _described(arguments)
            with self._lock:
                if described not in self._codes:
                    about = self._about(described)
                    self._codes[described] = _stored(about) or self._compiled(about, arguments)
                self._of_kinds[kinds] = self._codes[described]
        return self._of_kinds[kinds]

    def by_numba(self, arguments: tuple[object, ...]) -> int:
        """Call the function as Numba calls it."""
        return int(self._made()(*arguments))

    def _compiled(self, about: str | None, arguments: tuple[object, ...]) -> MachineCode | None:
        if about is None:
            return None
        made = self._made()  # which says what is wrong with Numba, if it cannot be imported
        from tm2tfr.base.native.building import built  # noqa: PLC0415  (Numba takes its time to load)

        with waiting(self._compiling):
            found = built(made, arguments)
        if found is None:
            return None
        symbol, content = found
        head = json.dumps({"about": about, "symbol": symbol}).encode()
        inside = b"%d\n%s%s" % (len(head), head, content)
        folder.write(_digest(about.encode()), _MAGIC + _digest(inside).encode() + inside)
        return _linked(symbol, content)

    def _about(self, described: str) -> str | None:
        """Return everything that determines the machine code, as the cache key; None without a cache."""
        around = _surroundings()
        return None if around is None else json.dumps([*around, sources(), self._text, described])


class Caller:
    """Calls of a function one after the other: tuples that are the same as in the last call are not looked at again."""

    def __init__(self, function: KeptFunction) -> None:
        self._function = function
        self.kept = function.kept
        self._last: list[_Argument] = []
        self._words = np.zeros(0, dtype=np.int64)
        self._code: MachineCode | None = None

    def __call__(self, *arguments: object) -> int:
        """Call the function and return its result.

        Args:
            arguments: arrays that are C-contiguous, tuples of such, and integers.

        Raises:
            TypeError: for other arguments.
        """
        if not self._as_before(arguments):
            self._begin(arguments)
        if self._code is None:
            return self._function.by_numba(arguments)
        return self._code(address(self._words))

    def _as_before(self, arguments: tuple[object, ...]) -> bool:
        """Fill in what has changed since the last call; return False if the arguments are of another kind."""
        if self._code is None or len(arguments) != len(self._last):
            return False
        for argument, last in zip(arguments, self._last, strict=True):
            if argument is last.kept:
                continue
            kinds, found = flat(argument)
            if kinds != last.kinds:
                return False
            self._words[last.cut] = found
            last.kept = argument if isinstance(argument, tuple) else None
        return True

    def _begin(self, arguments: tuple[object, ...]) -> None:
        """Look at all arguments. If they are refused, nothing changes: the same call is refused again."""
        last, every = list[_Argument](), list[int]()
        for argument in arguments:
            kinds, found = flat(argument)
            cut = slice(len(every), len(every) + len(found))
            last.append(_Argument(kinds, cut, argument if isinstance(argument, tuple) else None))
            every += found
        code = self._function.code(tuple([each.kinds for each in last]), arguments)
        self._last, self._words, self._code = last, np.array(every, dtype=np.int64), code


@dataclass
class _Argument:
    """An argument of the last call: what is constant of it, its place among the words, and itself if it is a tuple."""

    kinds: tuple[object, ...]
    cut: slice
    kept: tuple[object, ...] | None


def _described(arguments: tuple[object, ...]) -> str:
    return ", ".join([description(argument) for argument in arguments])


def _stored(about: str | None) -> MachineCode | None:
    """Return the code in the folder that was made from just this; None if there is none, or it is damaged."""
    if about is None:
        return None
    content = folder.read(_digest(about.encode()))
    start = len(_MAGIC) + _DIGEST
    if content is None or not content.startswith(_MAGIC):
        return None
    inside = content[start:]
    if content[len(_MAGIC) : start] != _digest(inside).encode():
        return None
    try:
        length, _, rest = inside.partition(b"\n")
        head = json.loads(rest[: int(length)])
        return _linked(head["symbol"], rest[int(length) :]) if head["about"] == about else None
    except (ValueError, KeyError, TypeError, RuntimeError):
        return None


def _linked(symbol: str, content: bytes) -> MachineCode:
    """Return the function of an object file. Raises RuntimeError if the file does not define it."""
    if found := linking.linked(symbol, content):
        return found
    from tm2tfr.base.native.loading import linked  # noqa: PLC0415  (llvmlite takes longer to load than to link)

    return linked(symbol, content)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@cache
def _surroundings() -> list[str] | None:
    """Return what code depends on besides its text: Python, Numba, LLVM, the processor; none of them is imported.

    None if files have no owners, or nothing is known of the processor.
    """
    if not folder.POSIX:
        return None
    about = linking.processor()
    if about is None:
        try:
            from tm2tfr.base.native.loading import processor  # noqa: PLC0415  (it imports llvmlite after all)
        except (ImportError, OSError, AttributeError):  # it is broken, and so is Numba, which will say so
            return None
        about = processor()
    return [sys.version, *map(_version, ("numba", "llvmlite")), *about]


def _version(package: str) -> str:
    """Return the digest of the files that have a package's version."""
    spec = find_spec(package)
    where = Path(spec.origin).parent if spec is not None and spec.origin else Path()
    return _digest(b"".join(path.read_bytes() for path in (where / "_version.py", where / "__init__.py") if path.is_file()))


# ── Arguments as machine words: one function can be called with any, without anything that knows Numba's types.
#
# An array is its address and its shape, a tuple its parts one after the other, an integer itself. The `description` of the
# arguments gives the words their meaning; with the text of the function it determines the code.
def description(argument: object) -> str:
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


def flat(argument: object) -> tuple[tuple[object, ...], list[int]]:
    """Return what is constant of an argument, quicker than its `description` and equal for equal ones, and its words.

    Raises:
        TypeError: for anything but arrays, tuples of such, and integers.
    """
    kinds, found = list[object](), list[int]()
    _flatten(argument, kinds, found)
    return tuple(kinds), found


def _flatten(argument: object, kinds: list[object], found: list[int]) -> None:
    if isinstance(argument, np.ndarray):
        kinds += argument.dtype, argument.ndim, argument.flags.c_contiguous
        found.append(_word(id(argument) + _FIELDS).value if _FIELDS else address(argument))
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


def address(array: NDArray[Any]) -> int:
    """Return where the numbers of an array are in memory."""
    found: int = _word(id(array) + _FIELDS).value if _FIELDS else array.__array_interface__["data"][0]
    return found


# The address is the first field of an array after those of every object, in numpy's C interface since 1.0. Python's own
# way makes a dictionary of all that is known of the array, which takes ten times as long, and a call has 150 arrays.
_word, _PROBE = ctypes.c_ssize_t.from_address, np.zeros(3)
_FIELDS = object.__basicsize__ if sys.implementation.name == "cpython" else 0
if _FIELDS and address(_PROBE) != _PROBE.__array_interface__["data"][0]:
    _FIELDS = 0


def words(argument: object) -> list[int]:
    """Return an argument as machine words."""
    return flat(argument)[1]
