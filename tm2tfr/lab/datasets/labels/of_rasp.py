"""Labels of RASP programs: the interpreter's values of some s-ops on many inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from tm2tfr.lab.datasets.labels.labeller import LabelSource, Values, batches
from tm2tfr.sources.rasp.evaluate_many import ManyInputs
from tm2tfr.sources.rasp.library import ENDING, load, shipped, word_of
from tm2tfr.sources.rasp.model.specification import numeric, shown_value
from tm2tfr.sources.rasp.program import Program, Word, shown_atom
from tm2tfr.sources.rasp.sops import SOp
from tm2tfr.sources.rasp.write import written as text_of


def labelled(program: Program, names: Sequence[str], words: Sequence[Word]) -> list[Values | None]:
    """Return the labels of some s-ops on each input; None where one of them is undefined."""
    sops = {name: program.choosing(name).sop for name in names}
    many = ManyInputs(sops.values(), program.alphabet)
    numbers = numeric(node for node in many.nodes if isinstance(node, SOp))
    found: list[Values | None] = [None] * len(words)
    for batch in batches(words):
        values = many([words[i] for i in batch])
        texts = {name: [shown_value(atom, numbers[sop]) for atom in values.atoms[sop]] for name, sop in sops.items()}
        for row, i in enumerate(batch):
            if values.defined[row]:
                places = {name: values.places[sop][row].tolist() for name, sop in sops.items()}
                found[i] = {name: tuple(texts[name][p] for p in each) for name, each in places.items()}
    return found


def _names(program: Program) -> tuple[str, ...]:
    """Return the names of the s-ops, the chosen one last."""
    return (*(name for name in program.sops if name != program.chosen), program.chosen)


def _fingerprint(program: Program) -> str:
    """Return a digest of what a program's s-op is made of, regardless of the names of both."""
    return hashlib.sha256(text_of({"answer": program.sop}).encode()).hexdigest()


def _listed(program: Program) -> dict[str, Any]:
    return {"text": program.text, "alphabet": list(map(shown_atom, program.alphabet))}


OF_RASP = LabelSource(
    kind="a RASP program",
    key="s-ops",
    reference="interpreter",
    word_of=word_of,
    example="sort",
    load=load,
    shipped=shipped,
    endings=(ENDING,),
    shown=shown_atom,
    names=_names,
    labelled=labelled,
    fingerprint=_fingerprint,
    listed=_listed,
    columns={
        "program": "the program's name; `programs.jsonl` has its text, its alphabet and its s-ops",
        "input": "the input, as `--input` takes it",
        "s-op": "the s-op whose values are the labels",
        "prompt": "the given tokens: the input",
        "target": "the labels: the value of the s-op at each position; T and F are truth values, 1/3 is a third",
        "loss_mask": "1 for each label, since all are scored",
    },
    about="Inputs of a RASP program with the values of its s-ops by the interpreter",
)
