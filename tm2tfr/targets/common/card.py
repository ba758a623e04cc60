"""The parts that the model cards of all exports share."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tm2tfr.base.errors import counted
from tm2tfr.base.text.shown import code, quoted
from tm2tfr.contract.exported import ExportReference
from tm2tfr.sources.turing.spec import TAPES
from tm2tfr.targets.common.labels import as_word, frame_of, letters_of
from tm2tfr.transformer.weights import Decoder

SHOWN = 24
"""How many tokens or labels a model card names."""


def tags(right: ExportReference, *more: str) -> str:
    """Return the tags of a model card."""
    return ", ".join(filter(None, (right.tag, "tm2tfr", *more)))


def introduction(right: ExportReference, given: str, tokenizer: str = "") -> str:
    """Return the paragraphs that say what the model is; see `ExportReference.introduction`."""
    if right.decoder.labeller:
        return f"{right.origin()}\n\n{given_and_labelled(right.decoder)}"
    return right.introduction(given, tokenizer)


def given_and_labelled(decoder: Decoder, outputs: int | None = None) -> str:
    """Return the paragraph that says what a labeller is given and answers; outputs: how many of its outputs a model has."""
    most = "" if decoder.positions is None else f"at most {counted(decoder.positions, 'token')}, "
    told = [f"- {code(output.name)}: {_labels(output.labels)}" for output in decoder.outputs[:outputs]]
    if frame := frame_of(decoder):
        tokens = code(" ".join(frame.around(("w₁", "…", "wₙ"))))
        given = f"a word w₁ … wₙ of letters {_some(letters_of(decoder))}\nas the tokens {tokens}"
        given = f"{given}, it answers at every position, all at once; w₁ is at position 1"
    else:
        given = f"a sequence of {most}each one of\n{_some(decoder.vocabulary)}, it answers at every position, all at once"
    return f"""**What is given, and what comes out.** Given {given}:

""" + "\n".join(told)


def _labels(labels: Sequence[str] | None) -> str:
    return "a number" if labels is None else f"one of {_some(labels)}"


def _some(words: Sequence[str]) -> str:
    """Return words as Markdown, the first ones if they are many."""
    rest = f" and {len(words) - SHOWN:,} more (see `tm2tfr.json`)" if len(words) > SHOWN else ""
    return ", ".join(map(code, words[:SHOWN])) + rest


def checking(right: ExportReference) -> str:
    """Return the paragraph that says how to check the model."""
    return right.checking(code(f"tm2tfr verify-export . --input {quoted(right.example)}"))


def prompt(right: ExportReference) -> str:
    """Return the example as a labeller is fed it, see `tm2tfr.targets.common.labels.frame_of`."""
    return as_word(tuple(right.fed(right.example))) if frame_of(right.decoder) else right.example


def argument(word: str) -> str:
    """Return `word` as the last argument of a command in a shell."""
    return f"-- {quoted(word)}" if word.startswith("-") else quoted(word)


def typed(word: str, vocabulary: Collection[str]) -> str:
    """Return `word` for a tokenizer that prefers longest tokens: with spaces if its symbols spell another token.

    A prompt with a machine in it has them already.
    """
    if (word in TAPES and word in vocabulary) or (" " in word and " " not in vocabulary):
        return word
    spelled = any(len(token) > 1 and token in word for token in vocabulary)
    return " ".join(word) if spelled and " " not in vocabulary else word
