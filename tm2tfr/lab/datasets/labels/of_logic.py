"""Labels of formulas and programs of temporal logic: the evaluator's values of some nodes at every position of words."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from tm2tfr.lab.datasets.labels.labeller import LabelSource, Values, batches
from tm2tfr.sources.logic.evaluate_many import ManyWords
from tm2tfr.sources.logic.library import ENDINGS, load, shipped, word_of
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.truth import shown_value
from tm2tfr.sources.logic.write import output_names, text_of


def labelled(program: LogicProgram, names: Sequence[str], words: Sequence[Sequence[str]]) -> list[Values | None]:
    """Return the labels of some nodes on each word, by the names of outputs."""
    known = {name: node for node, name in output_names(program).items()}
    nodes = {name: known[name] for name in names}
    many = ManyWords(nodes.values(), program.alphabet)
    found: list[Values | None] = [None] * len(words)
    for batch in batches(words):
        rows = many([words[i] for i in batch])
        for row, i in enumerate(batch):
            found[i] = {
                name: tuple(str(shown_value(value, node.kind)) for value in rows.values(node, row))
                for name, node in nodes.items()
            }
    return found


def _names(program: LogicProgram) -> tuple[str, ...]:
    """Return the names of all nodes, that of the one that is chosen last."""
    chosen, *others = output_names(program).values()
    return (*others, chosen)


def _fingerprint(program: LogicProgram) -> str:
    """Return a digest of what is chosen, regardless of names."""
    return hashlib.sha256(text_of(program.root, named=False).encode()).hexdigest()


def _listed(program: LogicProgram) -> dict[str, Any]:
    return {"text": program.text, "language": program.language, "alphabet": list(program.alphabet)}


OF_LOGIC = LabelSource(
    kind="a formula",
    key="nodes",
    reference="evaluator",
    word_of=word_of,
    example="flip-flops",
    load=load,
    shipped=shipped,
    endings=ENDINGS,
    shown=str,
    names=_names,
    labelled=labelled,
    fingerprint=_fingerprint,
    listed=_listed,
    columns={
        "formula": "the name of the formula or program; `formulas.jsonl` has its text, its alphabet and its nodes",
        "input": "the word, as `--input` takes it",
        "node": "the subformula or step whose values are the labels",
        "prompt": "the given tokens: the word",
        "target": "the labels: the value of the node at each position; T and F are truth values",
        "loss_mask": "1 for each label, since all are scored",
    },
    about="Words with the truth values of a formula, or the values of a program's steps, at each position by the evaluator",
)
