"""Work that may take long, reported to the part that shows it: native code that is compiled, weights that are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

COMPILING = "compiling the fast engine, once: this may take a minute or two"
"""The message while code of the fast engine is compiled, in any thread."""
COMPILING_MACHINE = "compiling this machine's code, once"
"""The same of code for one decoder alone."""
Advance = Callable[[int, int, str], None]
"""Shows how much of some work is done: the things that are done, how many there are in all, and what they are.

Where their number is not known, it is 0, and they are called as the phase is.
"""
Notice = Callable[[str], AbstractContextManager[Advance | None]]
"""Given what is done, returns what is entered while it is done; it may give what shows how much of it is done."""
_notices: list[Notice] = []
_advances: list[Advance] = []


@contextmanager
def noticed(notice: Notice) -> Iterator[None]:
    """Have `notice` called whenever such work begins, as long as this lasts."""
    _notices.append(notice)
    try:
        yield
    finally:
        _notices.remove(notice)


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Tell the listener that the work named by `text` has begun; see `advanced`."""
    with _notices[-1](text) if _notices else nullcontext() as advance:
        if advance is None:
            yield
            return
        _advances.append(advance)
        try:
            yield
        finally:
            _advances.remove(advance)


def advanced(done: int, every: int, things: str) -> None:
    """Tell the listener that `done` of `every` things of the innermost work of `waiting` are done."""
    if _advances:
        _advances[-1](done, every, things)
