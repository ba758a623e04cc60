"""Object files for x86-64 made callable without LLVM, which takes longer to load than most code needs to run.

What Numba compiles refers to its own constants and to a few functions of the C library, by 64-bit addresses: to link it is
to put the sections into memory and the addresses into them (System V ABI, AMD64 supplement, 4.4). Anything else is left
to LLVM, see `loading`.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import sys
from functools import cache
from itertools import takewhile
from pathlib import Path
from struct import Struct
from typing import Any, NamedTuple

_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
_HERE = sys.platform == "linux" and os.uname().machine == "x86_64" and sys.maxsize > 2**32
_FILE = b"\x7fELF\x02\x01\x01", Struct("<HH20xQ10xHHH").unpack_from  # 64 bits, little-endian
_RELOCATABLE, _X86_64 = 1, 62
_BYTES, _SYMBOLS, _STRINGS, _ADDENDS, _ZEROS, _NO_ADDENDS = 1, 2, 3, 4, 8, 9
_WRITABLE, _IN_MEMORY, _PER_THREAD = 1, 2, 2**10
_ADDRESS = 1
"""The kind of a relocation, R_X86_64_64: the 64-bit address of a symbol, and its addend."""


class MachineCode:
    """Machine code in memory, as long as this value lives.

    Args:
        address: where the function is; see `building.built`.
        owner: what keeps it there.
    """

    def __init__(self, address: int, owner: Any) -> None:
        self._call, self._owner = _SIGNATURE(address), owner

    def __call__(self, address: int) -> int:
        """Call the function with the words at `address` and return its result; other threads may run meanwhile.

        Raises:
            RuntimeError: if the function raises an error.
        """
        result, error = ctypes.c_int64(), ctypes.c_void_p()
        if self._call(ctypes.addressof(result), ctypes.addressof(error), address):
            raise RuntimeError("compiled code has failed")
        return result.value


@cache
def processor() -> tuple[str, ...] | None:
    """Return what code for this machine depends on, as Linux describes its first processor; None where it does not.

    The kernel's version is a part of it, since it describes what it knows of.
    """
    telling = ("vendor_id", "cpu family", "model\t", "stepping", "flags")
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as file:
            first = [line for line in takewhile(str.strip, file) if line.startswith(telling)]
    except (OSError, UnicodeDecodeError):
        return None
    return ("x86_64", os.uname().release, *first) if _HERE and len(first) == len(telling) else None


class _Section(NamedTuple):
    """The header of a section."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry: int


_HEADER, _SYMBOL, _RELOCATION = Struct("<IIQQQQIIQQ"), Struct("<IBBHQQ"), Struct("<QQq")


def linked(symbol: str, content: bytes) -> MachineCode | None:
    """Return the function `symbol` of an object file; None if this is not the machine or not the file for that."""
    try:
        return _linked(symbol, content) if _HERE else None
    except (struct.error, IndexError, KeyError, ValueError, AttributeError, OSError):
        return None


def _linked(symbol: str, content: bytes) -> MachineCode | None:
    magic, numbers = _FILE
    kind, machine, at, size, count, _ = numbers(content, 16)
    if not content.startswith(magic) or (kind, machine, size) != (_RELOCATABLE, _X86_64, _HEADER.size):
        return None
    sections = [_Section(*_HEADER.unpack_from(content, at + n * size)) for n in range(count)]
    places, end = dict[int, int](), 0
    for n, section in enumerate(sections):
        if not section.flags & _IN_MEMORY or not section.size:
            continue
        if section.kind != _BYTES or section.flags & (_WRITABLE | _PER_THREAD):
            return None
        places[n] = end = -(-end // max(1, section.align)) * max(1, section.align)
        end += section.size
    memory = mmap.mmap(-1, max(end, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for n, place in places.items():
        memory[place : place + sections[n].size] = _bytes(content, sections[n])
    [symbols] = (section for section in sections if section.kind == _SYMBOLS)
    names = _bytes(content, sections[symbols.link])
    known = list(_SYMBOL.iter_unpack(_bytes(content, symbols)))
    for section in sections:
        if section.kind == _NO_ADDENDS or (section.kind == _ADDENDS and section.info not in places):
            return None
        if section.kind != _ADDENDS:
            continue
        for offset, about, addend in _RELOCATION.iter_unpack(_bytes(content, section)):
            name, _, _, inside, value, _ = known[about >> 32]
            if about & 0xFFFFFFFF != _ADDRESS or not 0 <= offset <= sections[section.info].size - 8:
                return None
            there = base + places[inside] + value if inside else _outside(_name(names, name))
            struct.pack_into("<q", memory, places[section.info] + offset, there + addend)
    [start] = (places[inside] + value for name, _, _, inside, value, _ in known if inside and _name(names, name) == symbol)
    if _system().mprotect(ctypes.c_void_p(base), ctypes.c_size_t(len(memory)), mmap.PROT_READ | mmap.PROT_EXEC):
        return None
    return MachineCode(base + start, memory)


def _bytes(content: bytes, section: _Section) -> bytes:
    return content[section.offset : section.offset + section.size]


def _name(names: bytes, at: int) -> str:
    return names[at : names.index(b"\0", at)].decode()


def _outside(name: str) -> int:
    """Return the address of a function of the C library. Raises AttributeError if there is none."""
    return ctypes.cast(_system()[name], ctypes.c_void_p).value or 0


@cache
def _system() -> ctypes.CDLL:
    return ctypes.CDLL(None)
