"""A model that is right except where it is told to be wrong: what an export is compared by, without any program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.targets.matrices.test_machines import Stages
from tm2tfr.engines.dense import Dense
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load

CHAPTER = load("chapter")
DECODER = compile_machine(CHAPTER)
VOCABULARY = DECODER.vocabulary
TOKENS = ("1", "1", "BOS", "(q0,1,0)", "(q1,_,+1)", "(q2,x,+1)", "(q4,_,-1)", "(q4,x,-1)", "(q1,_,+1)", "ACC")
"""The run on 11; the last token is fed to nobody."""


class Scripted:
    """The chapter's decoder in the dense engine.

    Args:
        teacher, alone: position -> the token number that follows there, other than it should.
        stream: (layer, position, direction) -> what is added to the stream there.
        prompt: what every word becomes; stops: whether it does at a verdict; longest: see `Model`.
    """

    versions = "a script"

    def __init__(
        self,
        teacher: Mapping[int, int] | None = None,
        alone: Mapping[int, int] | None = None,
        *,
        stream: Mapping[tuple[int, int, int], float] | None = None,
        prompt: Sequence[int] = (),
        stops: bool = True,
        longest: int = 100,
    ) -> None:
        self.teacher, self.alone, self.stream = dict(teacher or {}), dict(alone or {}), dict(stream or {})
        self.given, self.stops, self.longest_generated = list(prompt), stops, longest

    def prompt(self, word: str) -> list[int]:
        return self.given or [VOCABULARY.index(token) for token in (*word, "BOS")]

    def answers(self, tokens: Sequence[int]) -> list[int]:
        session, found = Dense().start(DECODER), []
        for token in tokens:
            session.feed(token)
            found.append(int(np.argmax(session.logits)))
        return [self.teacher.get(i, n) for i, n in enumerate(found)]

    def streams(self, tokens: Sequence[int]) -> NDArray[np.float64]:
        session, kept = Dense().start(DECODER), []
        for token in tokens:
            stages = Stages()
            session.feed(token, stages)
            kept.append(stages.kept)
        found: NDArray[Any] = np.array(kept).transpose(1, 0, 2)
        for place, value in self.stream.items():
            if place[1] < len(tokens):
                found[place] += value
        return found

    def generated(self, prompt: Sequence[int], *, most: int) -> list[int]:
        tokens, stop = list(prompt), [VOCABULARY.index(token) for token in DECODER.stop]
        while len(tokens) < most and (tokens[-1] < len(VOCABULARY)) and not (self.stops and tokens[-1] in stop):
            i = len(tokens) - 1
            tokens.append(self.alone[i] if i in self.alone else self.answers(tokens)[-1])
        return tokens
