"""Whoever asks for it is told while code is compiled, which may take a minute or more; nobody else is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

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
