"""Reads a page's data the way its script does, for the tests."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


def embedded(html: str) -> dict[str, Any]:
    """Return the page's JSON."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def buffer(html: str) -> bytes:
    """Return the page's columns, inflated."""
    found = re.search(r'<script type="text/plain" id="columns">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    return zlib.decompress(base64.b64decode(found[1]))


def column(data: bytes, place: dict[str, Any]) -> NDArray[Any]:
    """Return one column."""
    width = int(place["type"][1])
    part = np.frombuffer(data, np.uint8, width * place["count"], place["at"])
    if place["type"] == "f8":
        part = part.reshape(8, -1).T.copy().reshape(-1)
    return part.view(f"<{place['type']}")
