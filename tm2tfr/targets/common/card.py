"""The parts that the model cards of all exports share, and the names of everything."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence

from tm2tfr.base.errors import counted
from tm2tfr.base.text.shown import code, quoted
from tm2tfr.contract.exported import ExportReference
from tm2tfr.contract.shown import PlainData
from tm2tfr.sources.turing.spec import TAPES
from tm2tfr.targets.common.labels import as_word, frame_of, letters_of
from tm2tfr.transformer.weights import Decoder

SHOWN = 24
"""How many tokens or labels a model card names."""


TRIED_LABELS = """\
Unless it is given `--no-verify`, `tm2tfr export` runs a model before it is written, on all inputs up to some length and on
random ones of any, and compares every label, and every value of the residual stream after every layer."""
"""How a labeller is tried whose stream is compared as well."""


def heading(right: ExportReference, title: str, front: Mapping[str, str] | None = None, *tags: str) -> str:
    """Return the front matter of a model card, with further `tags`, and its title."""
    known = {**(front or {}), "tags": f"[{', '.join(filter(None, (right.tag, 'tm2tfr', *tags)))}]"}
    lines = "\n".join(f"{name}: {value}" for name, value in known.items())
    return f"---\n{lines}\n---\n# {title}\n"


def table(rows: Mapping[str, object]) -> str:
    """Return what is said of a model in numbers, as Markdown."""
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items()), ""])


def layers_named(decoder: Decoder, first: int, about: Callable[[int, int], PlainData]) -> list[PlainData]:
    """Return the names of layers, heads and hidden units as plain data.

    Args:
        first: the number of the first layer.
        about: from the indices of a layer and of a head, both from 0, to what is said of that head beside its name.
    """
    return [
        {
            "layer": first + n,
            "name": layer.name,
            "meaning": layer.meaning,
            "source": layer.source,
            "heads": [
                {"head": k, "name": head.name, "source": head.source, **about(n, k)} for k, head in enumerate(layer.heads)
            ],
            "units": list(layer.feed_forward.units) if layer.feed_forward is not None else [],
        }
        for n, layer in enumerate(decoder.layers)
    ]


def as_json(value: object) -> str:
    """Return `value` as the text of a file."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


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
