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


def recorded(html: str) -> list[dict[str, Any]]:
    """Return the page's runs, each column as the list of its numbers, without the weights and what goes with them.

    A number that JSON cannot tell from others is text. Causes are left out: a page does not search for them.
    """
    data = buffer(html)
    return comparable([_plain(run, data) for run in embedded(html)["runs"]])


def rerun(page: Any) -> list[dict[str, Any]]:
    """Return the runs that a page in a browser shows, see `recorded`."""
    return comparable(page.evaluate(SHOWN))


def comparable(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return runs, see `recorded`, as the function `SHOWN` returns them in a browser."""
    return [_without_cause(run) for run in runs]


SHOWN = """() => {
  const {data, buffers} = window.tm2tfrShows;
  const number = x => Object.is(x, -0) ? "-0" : Number.isFinite(x) ? x : String(x);
  const plain = value => {
    if (Array.isArray(value)) return value.map(plain);
    if (value === null || typeof value !== "object") return value;
    if ("at" in value && "count" in value && "type" in value) return Array.from(buffers(value), number);
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
  };
  return data.runs.map(({decoder, live, ...run}) => plain(run));
}"""


def _plain(value: Any, data: bytes) -> Any:
    if isinstance(value, list):
        return [_plain(each, data) for each in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"type", "at", "count"}:
        return ["-0" if x == 0 and np.signbit(x) else x for x in column(data, value).astype(float).tolist()]
    return {key: _plain(each, data) for key, each in value.items() if key not in ("decoder", "live")}


def _without_cause(run: dict[str, Any]) -> dict[str, Any]:
    return run | {"divergence": run["divergence"] and run["divergence"] | {"cause": []}}
