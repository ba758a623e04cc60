"""A universal program as the text that is stored with weights."""

from __future__ import annotations

import json
from typing import Any

from tm2tfr.errors import CompileError, Diagnostic, SpecError
from tm2tfr.sources.turing.formats import native
from tm2tfr.sources.turing.universal import prompt
from tm2tfr.sources.turing.universal.program import Universal


def written(universal: Universal) -> str:
    """Return the text of a class of machines, and of the machine in its prompt if there is one."""
    found: dict[str, Any] = {"states": universal.states, "symbols": universal.symbols, "tape": universal.tape}
    if universal.machine is not None and universal.described is not None:
        found["prompt"] = prompt.text(universal, universal.machine.input or "")
    elif universal.machine is not None:
        found["machine"] = universal.machine.yaml or native.write(universal.machine)
        found |= {} if universal.seed is None else {"seed": universal.seed}
    return json.dumps(found, ensure_ascii=False, indent=2)


def restored(text: str, file: str) -> Universal:
    """Return the program that was `written`.

    Raises:
        SpecError: if it is none.
    """
    try:
        said = json.loads(text)
        found = Universal(states=said["states"], symbols=said["symbols"], tape=said["tape"])
        if "prompt" in said:
            return prompt.read(said["prompt"], found, file=file)
        if "machine" in said:
            return found.holding(native.read(said["machine"], file=file).machine, seed=said.get("seed"))
    except (ValueError, TypeError, KeyError, RecursionError, CompileError) as error:
        what = f"what is stored with these weights is no class of machines ({error})"
        raise SpecError([Diagnostic(what=what, remedy="compile them again", file=file)]) from error
    return found
