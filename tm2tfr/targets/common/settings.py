"""The settings of an export, compared with those that the recipe writes: only what is known to be right is right.

An unknown setting may decide what is loaded or how a run goes, so it is useless to list the bad ones.
Every value must be the one that was written, or one that the program itself writes when it saves the same model again.
"""

from __future__ import annotations

import os
import reprlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tm2tfr.errors import counted
from tm2tfr.targets.common.reading import mapping

ANY = frozenset({"transformers_version", "is_local", "local_files_only", "_name_or_path", "name_or_path"})
"""What a program writes about itself and the place, and never reads back: any value is right."""


class _Missing:
    def __repr__(self) -> str:
        return "missing"


MISSING = _Missing()
_short = reprlib.Repr()
_short.maxlevel, _short.maxdict, _short.maxlist, _short.maxstring, _short.maxother = 3, 3, 8, 60, 60


def same(found: Any, right: Any) -> bool:
    """Return whether two JSON values are the same, also in kind: 1, 1.0, True and "1" are four values."""
    if type(found) is not type(right):
        return False
    if isinstance(right, dict):
        return found.keys() == right.keys() and all(same(found[name], right[name]) for name in right)
    if isinstance(right, list):
        return len(found) == len(right) and all(same(a, b) for a, b in zip(found, right, strict=True))
    return repr(found) == repr(right) if isinstance(right, float) else bool(found == right)


def configured(
    file: str, found: Mapping[str, Any], *forms: Mapping[str, Any], neutral: Mapping[str, Any] | None = None
) -> Iterator[str]:
    """Yield the settings in `file` that are not the recipe's: different, missing or additional ones.

    Args:
        forms: what the file may contain: as it was written, and as the program saves it again.
        neutral: settings that only repeat the default.
    """
    for name in sorted({*found, *(name for form in forms for name in form)}):
        have, wanted = found.get(name, MISSING), [form.get(name, MISSING) for form in forms]
        if any(same(have, want) for want in wanted):
            continue
        if all(want is MISSING for want in wanted) and same(have, (neutral or {}).get(name, MISSING)):
            continue
        if name in ANY and any(type(have) is type(want) for want in wanted):
            continue
        want = next((want for want in wanted if want is not MISSING), MISSING)
        yield f"{file}: {_first(have, want, shown(name))}"


def differences(
    folder: Path,
    right: Mapping[str, Mapping[str, Any]],
    *,
    optional: str = "",
    again: Callable[[str], tuple[Mapping[str, Any], Mapping[str, Any]]] | None = None,
) -> Iterator[str]:
    """Yield everything in the JSON files of an export that is not as it was written.

    Args:
        right: the contents with which each file was written; optional: the file that may be missing.
        again: from a file to what the program saves it as, and its neutral settings; only called if it matters.
    """
    for file, value in right.items():
        try:
            found = mapping(folder / file)
        except OSError as error:
            if file != optional or os.path.lexists(folder / file):
                yield f"{file}: {'missing' if isinstance(error, FileNotFoundError) else 'cannot be read'}"
        except ValueError as error:
            yield f"{file}: damaged ({error})"
        else:
            lines = list(configured(file, found, value))
            if lines and again is not None:
                saved, neutral = again(file)
                lines = list(configured(file, found, value, saved, neutral=neutral))
            yield from lines


def shown(name: str) -> str:
    """Return a name for a message: unchanged, or quoted if it is long or not plain."""
    return name if name.isascii() and name.isprintable() and 0 < len(name) <= 80 else repr(name[:80])


def _first(found: Any, right: Any, path: str) -> str:
    """Return the first place at which two values are not the same, in words."""
    if isinstance(found, dict) and isinstance(right, dict):
        for name in [*right, *sorted(found.keys() - right.keys())]:
            have, want = found.get(name, MISSING), right.get(name, MISSING)
            if not same(have, want):
                return _first(have, want, f"{path}.{shown(name)}")
    if isinstance(found, list) and isinstance(right, list):
        if len(found) != len(right) and max(len(found), len(right)) > _short.maxlist:
            return f"{path} has {counted(len(found), 'element')}, should have {len(right):,}"
        for n, (have, want) in enumerate(zip(found, right, strict=True) if len(found) == len(right) else ()):
            if not same(have, want):
                return _first(have, want, f"{path}[{n}]")
    if isinstance(found, str) and isinstance(right, str) and max(len(found), len(right)) > _short.maxstring:
        at = next((n for n, (a, b) in enumerate(zip(found, right, strict=False)) if a != b), min(len(found), len(right)))
        have, want = (f"{text[max(0, at - 10) : at + 30]!r}" for text in (found, right))
        return f"{path} differs from character {at + 1:,} on: it is {have}, should be {want}"
    return f"{path} is {_said(found)}, should be {_said(right)}"


def _said(value: Any) -> str:
    """Return a value on one line, shortened if it is long."""
    text = repr(value) if isinstance(value, str) and len(value) <= 60 else _short.repr(value)
    return text if len(text) <= 160 else f"{text[:157]}…"
