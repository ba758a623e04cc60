"""Carrying out a job of a RASP program: the interpreter's values of some s-ops on many inputs, as examples."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence

import numpy as np

from tm2tfr.dataset.examples import RASP_COLUMNS, RaspTrainingExample, Tokens, encoded
from tm2tfr.dataset.jobs import Job
from tm2tfr.dataset.rasp.spec import RaspSpec
from tm2tfr.dataset.runs import versions
from tm2tfr.dataset.shard import Done, Making
from tm2tfr.dataset.tally import Tally
from tm2tfr.sources.rasp.evaluate_many import ManyInputs
from tm2tfr.sources.rasp.given.inputs import word_of
from tm2tfr.sources.rasp.program import Program, Word, shown_atom
from tm2tfr.sources.rasp.sops import SOp
from tm2tfr.sources.rasp.specification.claims import numeric, shown_value
from tm2tfr.sources.rasp.write import written as text_of

BATCH = 256
"""So many inputs of one length are evaluated at once."""
SOpLabels = dict[str, tuple[str, ...]]
"""The name of an s-op -> its value at each position, as the weights' labels have it."""


def made_labels(job: Job, making: Making) -> Done:
    """Evaluate the inputs of a job of a RASP program, leave out and count the undefined ones, and make its files."""
    done, tokens = Done(job.number, Tally(), versions=versions()), Tokens()
    found: dict[str, list[RaspTrainingExample]] = {name: [] for name, _ in making.splitting.splits}
    for piece in job.pieces:
        for program in piece.programs:
            key, words = program_fingerprint(program), [word_of(program, text) for text in piece.words]
            for text, word, labels in zip(piece.words, words, labelled(program, making.forms, words), strict=True):
                if labels is None:
                    done.left_out += 1
                    continue
                done.tally.runs += 1
                done.tally.rows += len(word)
                done.tally.cells += len(word) * len(labels)
                prompt, ones = tokens.of(list(map(shown_atom, word))), np.ones(len(word), dtype=np.int32)
                found[making.splitting.of(key, text)] += [
                    RaspTrainingExample(program.name, text, name, prompt, tokens.of(values), ones)
                    for name, values in labels.items()
                ]
    for split, some in found.items():
        for name in making.forms if some else ():
            done.examples[split, name] = sum(e.form == name for e in some)
        for format in making.formats if some else ():
            done.files[split, format] = encoded(some, tokens, format, RASP_COLUMNS)
    return done


def labelled(program: Program, names: Sequence[str], words: Sequence[Word]) -> list[SOpLabels | None]:
    """Return the labels of some s-ops on each input; None where one of them is undefined."""
    sops = {name: program.choosing(name).sop for name in names}
    many = ManyInputs(sops.values(), program.alphabet)
    numbers = numeric(node for node in many.nodes if isinstance(node, SOp))
    found: list[SOpLabels | None] = [None] * len(words)
    for batch in _batches(words):
        values = many([words[i] for i in batch])
        texts = {name: [shown_value(atom, numbers[sop]) for atom in values.atoms[sop]] for name, sop in sops.items()}
        for row, i in enumerate(batch):
            if values.defined[row]:
                places = {name: values.places[sop][row].tolist() for name, sop in sops.items()}
                found[i] = {name: tuple(texts[name][p] for p in each) for name, each in places.items()}
    return found


def _batches(words: Sequence[Word]) -> Iterator[list[int]]:
    """Yield the numbers of words of one length."""
    lengths: dict[int, list[int]] = {}
    for i, word in enumerate(words):
        lengths.setdefault(len(word), []).append(i)
    for some in lengths.values():
        for start in range(0, len(some), BATCH):
            yield some[start : start + BATCH]


def program_fingerprint(program: Program) -> str:
    """Return a digest of what a program's s-op is made of, regardless of the names of both."""
    return hashlib.sha256(text_of({"answer": program.sop}).encode()).hexdigest()


def program_listed(spec: RaspSpec) -> str:
    """Return a line of JSON: the program's name, its text, its alphabet, the s-ops with labels, the one compiled."""
    program = spec.program
    told = {
        "program": program.name,
        "text": program.text,
        "alphabet": list(map(shown_atom, program.alphabet)),
        "s-ops": list(spec.forms),
        "chosen": program.chosen,
    }
    return json.dumps(told, ensure_ascii=False) + "\n"
