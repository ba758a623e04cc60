"""The colours that pages and pictures share, as the explorer's style sheet states them (`explorer/src/palette.css`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

STATED = re.compile(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);")


class Colour(NamedTuple):
    """A colour on a light page, and its counterpart on a dark one, each as ``#rrggbb``."""

    light: str
    dark: str


@cache
def palette() -> Mapping[str, Colour]:
    """Return the colours by their names: ``paper``, ``ink``, ``accent``, ``hue0`` and so on."""
    text = files("tm2tfr.web.explorer").joinpath("assets", "explorer.css").read_text(encoding="utf-8")
    return {name: Colour(light, dark) for name, light, dark in STATED.findall(text)}
