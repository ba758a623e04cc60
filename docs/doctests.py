"""Examples in docstrings as blocks of code, for the reference of the library."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?:^[ ]*>>>.*\n?)(?:^[ ]*\S.*\n?)*", re.MULTILINE)


class Doctests(griffe.Extension):
    """Puts fences around each example."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(lambda m: f"```python\n{m[0].rstrip()}\n```\n", obj.docstring.value)
