"""Progress of slow work (compiling native code, making weights), for the part of the program that shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

COMPILING = "compiling the fast engine, once: this may take a minute or two"
"""The message while code of the fast engine is compiled, in any thread."""
COMPILING_MACHINE = "compiling this machine's code, once"
"""The same of code for one decoder alone."""
Advance = Callable[[int, int, str], None]
"""Shows the progress of work: the number of things done, of all things, and their name.

Where their number is not known, it is 0, and they are called as the phase is.
"""
Notice = Callable[[str], AbstractContextManager[Advance | None]]
"""A function from the text of a notice to a context manager, which may yield a callback for progress."""
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
    """Tell the listener that the work named by `text` runs within this context; see `advanced`."""
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
