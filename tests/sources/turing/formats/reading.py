"""Reading a text in some format, and what is said about it."""

from __future__ import annotations

import pytest

from tm2tfr.base.errors import SpecError
from tm2tfr.sources.turing.formats import registry
from tm2tfr.sources.turing.spec import Machine


def read(text: str, format: str | None = None, *, file: str = "f") -> Machine:
    """Read a machine about which there is nothing to say."""
    loaded = registry.read(text, file=file, format=format)
    assert loaded.warnings == ()
    return loaded.machine


def warned(text: str, format: str | None = None, *, file: str = "f") -> tuple[Machine, list[str]]:
    """Read a machine, and return the first lines of the warnings with it."""
    loaded = registry.read(text, file=file, format=format)
    return loaded.machine, [str(d).split("\n")[0] for d in loaded.warnings]


def fails(text: str, format: str | None = None, *, file: str = "f") -> list[str]:
    """Return the first lines of the complaints about a text that is no machine."""
    with pytest.raises(SpecError) as caught:
        registry.read(text, file=file, format=format)
    return [str(d).split("\n")[0] for d in caught.value.diagnostics]
