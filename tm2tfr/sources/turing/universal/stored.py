"""A universal program as the text that is stored with weights."""

from __future__ import annotations

import json
from typing import Any

from tm2tfr.errors import CompileError, Diagnostic, SpecError, listing
from tm2tfr.sources.turing.formats import native
from tm2tfr.sources.turing.universal import prompt
from tm2tfr.sources.turing.universal.program import Universal


def written(universal: Universal) -> str:
    """Return the text of a class of machines, and of the machine in its prompt if there is one."""
    found: dict[str, Any] = {"states": universal.states, "symbols": universal.symbols, "tape": universal.tape}
    if universal.machine is not None and universal.described is not None:
        found["prompt"] = prompt.text(universal, universal.machine.input or "")
    elif universal.machine is not None:
        found["machine"] = native.text_of(universal.machine)
        found |= {} if universal.seed is None else {"seed": universal.seed}
    return json.dumps(found, ensure_ascii=False, indent=2)


def restored(text: str, file: str) -> Universal:
    """Return the program that was `written`.

    Raises:
        SpecError: if it is none.
    """
    try:
        said = json.loads(text)
        _check(said)
        found = Universal(states=said["states"], symbols=said["symbols"], tape=said["tape"])
        if "prompt" in said:
            return prompt.read(said["prompt"], found, file=file)
        if "machine" in said:
            return found.holding(native.read(said["machine"], file=file).machine, seed=said.get("seed"))
    except (ValueError, RecursionError, CompileError) as error:
        what = f"what is stored with these weights is not a class of machines ({error})"
        raise SpecError([Diagnostic(what=what, remedy="compile them again", file=file)]) from error
    return found


def _check(said: Any) -> None:
    """Raise ValueError if `said` does not have what `written` writes."""
    if not isinstance(said, dict):
        raise ValueError(f"{type(said).__name__} instead of names and values")
    if lacking := [name for name in ("states", "symbols", "tape") if name not in said]:
        raise ValueError(f"it has no {listing(lacking)}")
    if wrong := [name for name in ("prompt", "machine") if not isinstance(said.get(name, ""), str)]:
        raise ValueError(f"its {wrong[0]} is not text")
