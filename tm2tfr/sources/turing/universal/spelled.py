"""A prompt for other programs: its tokens with canonical names, their ids, and the machine's own names in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tm2tfr.base.errors import CompileError, Diagnostic, SpecError, listing, visible
from tm2tfr.base.text.shown import aligned
from tm2tfr.sources.turing.formats import native
from tm2tfr.sources.turing.tokens import BOS, VERDICTS
from tm2tfr.sources.turing.universal import prompt as prompts
from tm2tfr.sources.turing.universal.names import value_token
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.prompt import prompt


@dataclass(frozen=True)
class Prompt:
    """The prompt with which a universal decoder runs a machine on an input, from `tm2tfr.prompt_of`.

    Args:
        universal: the class of the decoder, with the machine.
        input: the input, in the machine's own symbols.

    Raises:
        CompileError: if there is no machine.
        InputError: if the input is not over its input alphabet.
    """

    universal: Universal
    input: str

    def __post_init__(self) -> None:
        _ = self.tokens

    def __str__(self) -> str:
        return self.text

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """The tokens, including BOS."""
        return (*prompt(self.universal, self.input, self.universal.canonical), BOS)

    @property
    def ids(self) -> tuple[int, ...]:
        """The indices of the tokens in the vocabulary."""
        numbers = {token: n for n, token in enumerate(self.universal.empty.vocabulary)}
        return tuple(numbers[token] for token in self.tokens)

    @property
    def text(self) -> str:
        """The tokens with spaces between them, which `tm2tfr.read_prompt` reads."""
        return " ".join(self.tokens)

    @property
    def states(self) -> Mapping[str, str]:
        """The machine's own states -> their names in the prompt; states with a verdict are ``→ACC`` or ``→REJ``."""
        machine, names = self.universal.right, self.universal.names
        canonical = dict(zip(names.states, self.universal.canonical.states, strict=True))
        found = {}
        for state in machine.states:
            outcome = machine.outcome_of(state) if machine.decides else None
            found[state] = canonical.get(state, state) if outcome is None else value_token(VERDICTS[outcome])
        return found

    @property
    def symbols(self) -> Mapping[str, str]:
        """The machine's own symbols -> their names in the prompt, the blank first."""
        machine, names = self.universal.right, self.universal.names
        canonical = zip(names.symbols, self.universal.canonical.symbols, strict=True)
        return {own: sign for own, sign in canonical if own in machine.tape_alphabet}

    def names(self) -> str:
        """Return the table of the machine's own names and their names in the prompt, as text."""
        every = [("state", *pair) for pair in self.states.items()]
        every += [("symbol", *pair) for pair in self.symbols.items()]
        rows = [(kind, visible(own).replace(" ", "␣"), sign) for kind, own, sign in every]
        return "\n".join(aligned([("", visible(self.universal.name), "in the prompt"), *rows]))

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        universal = self.universal
        sizes = {"states": universal.states, "symbols": universal.symbols, "tape": universal.tape}
        plain: dict[str, object] = {"machine": universal.name, "input": self.input, "universal": sizes}
        plain |= {"tokens": list(self.tokens), "ids": list(self.ids)}
        return {**plain, "states": dict(self.states), "symbols": dict(self.symbols)}


# ── a universal program as the text that is stored with weights ───────────────────────────────────────
def written(universal: Universal) -> str:
    """Return the text of a class of machines, and of the machine in its prompt if there is one."""
    found: dict[str, object] = {"states": universal.states, "symbols": universal.symbols, "tape": universal.tape}
    if universal.machine is not None and universal.described is not None:
        found["prompt"] = prompts.text(universal, universal.machine.input or "")
    elif universal.machine is not None:
        found["machine"] = native.text_of(universal.machine)
        found |= {} if universal.seed is None else {"seed": universal.seed}
    return json.dumps(found, ensure_ascii=False, indent=2)


def restored(text: str, file: str) -> Universal:
    """Return the program from the text that `written` made of it.

    Raises:
        SpecError: if the text is not such a program.
    """
    try:
        document = json.loads(text)
        _check(document)
        found = Universal(states=document["states"], symbols=document["symbols"], tape=document["tape"])
        if "prompt" in document:
            return prompts.read(document["prompt"], found, file=file)
        if "machine" in document:
            return found.holding(native.read(document["machine"], file=file).machine, seed=document.get("seed"))
    except (ValueError, RecursionError, CompileError) as error:
        problem = f"what is stored with these weights is not a class of machines ({error})"
        raise SpecError([Diagnostic(what=problem, remedy="compile them again", file=file)]) from error
    return found


def _check(said: Any) -> None:
    """Raise ValueError if `said` does not have the form that `written` produces."""
    if not isinstance(said, dict):
        raise ValueError(f"{type(said).__name__} instead of names and values")
    if lacking := [name for name in ("states", "symbols", "tape") if name not in said]:
        raise ValueError(f"it has no {listing(lacking)}")
    if wrong := [name for name in ("prompt", "machine") if not isinstance(said.get(name, ""), str)]:
        raise ValueError(f"its {wrong[0]} is not text")
