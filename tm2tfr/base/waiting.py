"""Work that may take long, told to whoever shows it: native code that is compiled, weights that are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

Notice = Callable[[str], AbstractContextManager[object]]
"""Given what is done, returns what is entered while it is done."""
_notices: list[Notice] = []


@contextmanager
def noticed(notice: Notice) -> Iterator[None]:
    """Have `notice` called whenever such work begins, as long as this lasts."""
    _notices.append(notice)
    try:
        yield
    finally:
        _notices.remove(notice)


def waiting(text: str) -> AbstractContextManager[object]:
    """Return what is entered while work is done that `text` names."""
    return _notices[-1](text) if _notices else nullcontext()
