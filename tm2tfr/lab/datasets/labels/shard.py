"""Carrying out a job of what labels words: the reference's values on many words, as examples."""

from __future__ import annotations

from typing import Any

import numpy as np

from tm2tfr.lab.datasets.jobs import Job, Tokens
from tm2tfr.lab.datasets.labels.labeller import LabelSource
from tm2tfr.lab.datasets.runs import How
from tm2tfr.lab.datasets.shard import Done, Making


def made_labels(labeller: LabelSource, job: Job, making: Making[How]) -> Done:
    """Evaluate the words of a job, leave out and count those on which the program is undefined, and make its files."""
    done, tokens = Done.of(job), Tokens()
    found: dict[str, list[tuple[Any, ...]]] = {name: [] for name, _ in making.splitting.splits}
    for program, texts in ((program, piece.words) for piece in job.pieces for program in piece.programs):
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
                (program.name, text, name, prompt, tokens.of(values), ones) for name, values in labels.items()
            ]
    done.write(making.by_split(found), tokens, making.formats)
    return done
