"""Carrying out a job of what labels words: the reference's values on many words, as examples."""

from __future__ import annotations

import json

import numpy as np

from tm2tfr.dataset.jobs import Job, LabelTrainingExample, Tokens, label_columns
from tm2tfr.dataset.labels.spec import LabelSpec, labeller_of
from tm2tfr.dataset.runs import versions
from tm2tfr.dataset.shard import Done, Making
from tm2tfr.dataset.tally import Tally
from tm2tfr.dataset.writing.files import columns_of, encoded


def made_labels(job: Job, making: Making) -> Done:
    """Evaluate the words of a job, leave out and count those on which the program is undefined, and make its files."""
    done, tokens = Done(job.number, Tally(), versions=versions()), Tokens()
    found: dict[str, list[LabelTrainingExample]] = {name: [] for name, _ in making.splitting.splits}
    columns: tuple[str, ...] = ()
    for program, texts in ((program, piece.words) for piece in job.pieces for program in piece.programs):
        labeller = labeller_of(program)
        columns = label_columns(next(iter(labeller.columns)), labeller.column)
        key, words = labeller.fingerprint(program), [labeller.word_of(program, text) for text in texts]
        for text, word, labels in zip(texts, words, labeller.labelled(program, making.forms, words), strict=True):
            if labels is None:
                done.left_out += 1
                continue
            done.tally.runs += 1
            done.tally.rows += len(word)
            done.tally.cells += len(word) * len(labels)
            prompt, ones = tokens.of(list(map(labeller.shown, word))), np.ones(len(word), dtype=np.int32)
            found[making.splitting.of(key, text, length=len(word))] += [
                LabelTrainingExample(program.name, text, name, prompt, tokens.of(values), ones)
                for name, values in labels.items()
            ]
    for split, some in found.items():
        for name in making.forms if some else ():
            done.examples[split, name] = sum(e.form == name for e in some)
        for format in making.formats if some else ():
            done.files[split, format] = encoded(columns_of(some, columns), tokens, format)
    return done


def program_listed(spec: LabelSpec) -> str:
    """Return a line of JSON: the program's name, what is to be told of it, what has labels, what is compiled."""
    program = spec.program
    told = {spec.noun: program.name, **spec.labeller.listed(program), spec.labeller.key: list(spec.forms)}
    return json.dumps({**told, "chosen": program.chosen}, ensure_ascii=False) + "\n"
