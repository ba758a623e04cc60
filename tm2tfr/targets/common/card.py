"""The parts that the model cards of all exports share."""

from __future__ import annotations

from collections.abc import Collection

from tm2tfr._version import __version__
from tm2tfr.machine.spec import Machine
from tm2tfr.text.markdown import code, escaped, quoted
from tm2tfr.transformer.weights import Decoder


def introduction(decoder: Decoder, machine: Machine, given: str) -> str:
    """Return the paragraphs that say what the model is; `given`: what it is given."""
    return f"""{escaped(machine.description) or "A Turing machine."}

This model was not trained: its weights were compiled from a Turing machine by tm2tfr {__version__}. Given {given}
it generates the machine's run, one token `(state,symbol written,move)` per step, and then the verdict
({", ".join(decoder.stop)})."""


def checking(machine: Machine) -> str:
    """Return the paragraph that says how to check the model."""
    command = f"tm2tfr verify-checkpoint . --input {quoted(example(machine))}"
    return f"""**How to check it.** {code(command)} compares the weights with the machine's,
runs them, and compares every token with the simulator's."""


def example(machine: Machine) -> str:
    """Return the word that a model card shows: the machine's own, its first example's, or the empty word."""
    if machine.input is not None:
        return machine.input
    return machine.examples[0].input if machine.examples else ""


def argument(word: str) -> str:
    """Return `word` as the last argument of a command in a shell."""
    return f"-- {quoted(word)}" if word.startswith("-") else quoted(word)


def typed(word: str, vocabulary: Collection[str]) -> str:
    """Return `word` for a tokenizer that prefers longest tokens: with spaces if its symbols spell another token."""
    spelled = any(len(token) > 1 and token in word for token in vocabulary)
    return " ".join(word) if spelled and " " not in vocabulary else word
