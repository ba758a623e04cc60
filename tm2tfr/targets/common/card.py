"""The parts that the model cards of all exports share."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tm2tfr._version import __version__
from tm2tfr.errors import counted
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.targets.common import prompted as prompted_card
from tm2tfr.targets.common.comparison import Evaluated, Right, words
from tm2tfr.targets.common.labels import as_word, frame_of, letters_of
from tm2tfr.targets.common.prompted import TAPES, Prompted
from tm2tfr.text.markdown import code, escaped, quoted
from tm2tfr.transformer import provenance
from tm2tfr.transformer.weights import Decoder

SHOWN = 24
"""How many tokens or labels a model card names."""


def name_of(truth: Right, otherwise: str = "the decoder") -> str:
    """Return the name of a machine, or of weights without one, which may have none."""
    if isinstance(truth, Evaluated):
        return str(truth.program.name)
    return truth.name if isinstance(truth, Machine | Prompted) else provenance.name(truth.provenance, otherwise)


def right(program: Any, decoder: Decoder) -> Right:
    """Return what says which tokens are right: `program`; if there is none, the weights themselves."""
    if program is None:
        return decoder
    if isinstance(program, Universal):
        return Prompted(program)
    return program if isinstance(program, Machine) else Evaluated(program, decoder)


def tag(truth: Right) -> str:
    """Return the first tag of a model card, with a comma; nothing for weights without a program."""
    if isinstance(truth, Evaluated):
        return f"{truth.construction.name}, "
    return "turing-machine, " if isinstance(truth, Machine | Prompted) else ""


def introduction(decoder: Decoder, truth: Right, given: str) -> str:
    """Return the paragraphs that say what the model is; `given`: what it is given."""
    if decoder.labeller:
        return f"{labelling(decoder, truth)}\n\n{given_and_labelled(decoder)}"
    if isinstance(truth, Prompted):
        return prompted_card.introduction(truth, given)
    if isinstance(truth, Evaluated):
        noun, card = truth.noun, truth.construction.card
        said = "" if card is None else f"\n{card(truth.program)}"
        return f"""A {noun} as a transformer decoder.

This model was not trained: its weights were compiled from a {noun} by tm2tfr {__version__}.{said}"""
    if isinstance(truth, Decoder):
        end = (
            f"until it answers with {' or '.join(map(code, decoder.stop))}" if decoder.stop else "and never ends by itself"
        )
        return f"""A transformer decoder.

Its weights were exported by tm2tfr {__version__}. No machine is stored with them. Given {given}
it generates one token after the other, {end}."""
    return f"""{escaped(truth.description) or "A Turing machine."}

This model was not trained: its weights were compiled from a Turing machine by tm2tfr {__version__}. Given {given}
it generates the machine's run, one token `(state,symbol written,move)` per step, and then the verdict
({", ".join(decoder.stop)})."""


def labelling(decoder: Decoder, truth: Right) -> str:
    """Return the paragraphs that say where a labeller comes from."""
    if not isinstance(truth, Evaluated):
        return f"""A transformer that labels sequences.

Its weights were exported by tm2tfr {__version__}. No program is stored with them."""
    noun, card = truth.noun, truth.construction.card
    said = "" if card is None else f"\n{card(truth.program)}"
    return f"""A {noun} as a transformer that labels sequences.

This model was not trained: its weights were compiled from a {noun} by tm2tfr {__version__}.{said}"""


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


def checking(truth: Right) -> str:
    """Return the paragraph that says how to check the model."""
    command = f"tm2tfr verify-export . --input {quoted(example(truth))}"
    if isinstance(truth, Prompted):
        return prompted_card.checking()
    if isinstance(truth, Evaluated) and truth.decoder.labeller:
        return f"""**How to check it.** {code(command)} compares the weights with those compiled
anew from the {truth.noun}, runs them, and compares every label with that of tm2tfr's {truth.reference}."""
    if isinstance(truth, Evaluated):
        return f"""**How to check it.** {code(command)} compares the weights with those compiled
anew from the {truth.noun}, runs them, and compares every token with that of tm2tfr's reference."""
    if isinstance(truth, Decoder):
        what = "label" if truth.labeller else "token"
        return f"""**How to check it.** {code(command)} compares the weights with the digest that was written
with them, runs them, and compares every {what} with that of tm2tfr's dense engine. With `--machine FILE.safetensors` they
are compared with the weights in that file."""
    return f"""**How to check it.** {code(command)} compares the weights with the machine's,
runs them, and compares every token with the simulator's."""


def example(truth: Right) -> str:
    """Return the word that a model card shows: the machine's own, its first example's, or the empty word; or a prompt."""
    if isinstance(truth, Prompted):
        return truth.shown
    if isinstance(truth, Evaluated):
        return truth.construction.own_input(truth.program)
    if isinstance(truth, Decoder):
        return words(truth, len(truth.vocabulary) + 1)[0]
    if truth.input is not None:
        return truth.input
    return truth.examples[0].input if truth.examples else ""


def prompt(truth: Right) -> str:
    """Return that word as a labeller is fed it, see `tm2tfr.targets.common.labels.frame_of`."""
    word = example(truth)
    if not isinstance(truth, Evaluated) or (fed := truth.construction.fed) is None or not frame_of(truth.decoder):
        return word
    return as_word(fed(truth.program, word, truth.decoder))


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
