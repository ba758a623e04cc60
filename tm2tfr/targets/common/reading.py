"""The files of an export, read without trust: plain files of a limited size, and JSON in which no key occurs twice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import numpy as safetensors
from safetensors import safe_open

Array = NDArray[Any]
"""A tensor."""
MOST_TEXT = 2**28
"""The largest size of a JSON file of an export, in bytes."""
MOST_TENSORS = 2**31 + 2**27
"""The largest size of a file of tensors, in bytes: the weights, for which every target has this limit, and their names."""
METADATA = {"format": "pt"}
"""The metadata of a file of tensors; `transformers` needs it to read them."""


def check_plain(path: Path, most: int) -> None:
    """Check that `path` is a plain file, or a link to one, and not larger than `most` bytes.

    Raises:
        OSError: if it cannot be looked at.
        ValueError: if it is something else, or larger.
    """
    size = path.stat().st_size
    if not path.is_file():  # a pipe would be waited for, a device might never end
        raise ValueError(f"{path.name} is not a plain file")
    if size > most:
        raise ValueError(f"{path.name} has {size:,} bytes, but at most {most:,} are allowed")


def content(path: Path, most: int = MOST_TEXT) -> bytes:
    """Return the bytes of a plain file. See `check_plain` for errors."""
    check_plain(path, most)
    return path.read_bytes()


def parsed_text(text: str) -> Any:
    """Return the value of a text in JSON, as every reader of JSON must understand it.

    Raises:
        ValueError: if it is not JSON, or is ambiguous: a key twice in one object, a NaN.
    """
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def mapping(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file in UTF-8. See `check_plain` and `parsed_text` for errors."""
    found = parsed_text(content(path).decode("utf-8"))
    if not isinstance(found, dict):
        raise ValueError(f"{path.name} does not contain a JSON object")
    return found


def tensors(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Return the tensors in a file by name, and the file's metadata.

    Raises:
        OSError: if it cannot be read.
        ValueError: if it is damaged, too large, or contains numbers that are neither float32 nor float64.
    """
    check_plain(path, MOST_TENSORS)
    try:
        with safe_open(path, "numpy") as file:
            said = dict(file.metadata() or {})
        found = safetensors.load_file(path)
    except OSError:
        raise
    except Exception as error:  # what numpy has no dtype for fails in as many ways as there are
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if any(tensor.dtype not in (np.float32, np.float64) for tensor in found.values()):
        raise ValueError("its tensors are neither float32 nor float64")
    return found, said


def why(error: Exception) -> str:
    """Return what is wrong with a file, with the kind of error if it is not one of this module's."""
    return str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"


def texts(document: Mapping[str, Any], name: str) -> dict[str, str]:
    """Return the entry `name` of a document, which must map texts to texts.

    Raises:
        KeyError, TypeError: if it is missing, or is something else.
    """
    found = document[name]
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise TypeError(f"{name!r} is not an object of texts")
    return found


def whole(recipe: Mapping[str, Any], *names: str) -> None:
    """Check that the entries `names` of a recipe are whole numbers, and not booleans, which are integers in Python.

    Raises:
        TypeError: if one of them is something else.
    """
    for name in names:
        if type(recipe[name]) is not int:
            raise TypeError(f"{name!r} is {recipe[name]!r}, not a whole number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the key {twice!r} occurs twice")
    return found


def _no_number(constant: str) -> Any:
    raise ValueError(f"{constant} is not a number in JSON")
