"""The specification of a data set of what labels words: the program, and its words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from tm2tfr.base.choices import AUTO
from tm2tfr.base.errors import CompileError, DatasetError, counted, visible
from tm2tfr.base.text.words import token_words
from tm2tfr.lab.datasets.jobs import Job, Piece
from tm2tfr.lab.datasets.labels.labeller import LabelSource
from tm2tfr.lab.datasets.labels.shard import made_labels
from tm2tfr.lab.datasets.runs import How
from tm2tfr.lab.datasets.shard import Done, Making
from tm2tfr.lab.datasets.spec import DatasetSpec, Inputs
from tm2tfr.lab.datasets.tally import Tally

LABEL_SPLIT_BY = ("run", "input", "length")
ALL_NODES = "all"
"""In place of the names of what has labels: everything."""


@dataclass(frozen=True, kw_only=True)
class LabelSpec(DatasetSpec):
    """A data set of a program that labels words; `forms` are the names of the s-ops or nodes whose values are labels.

    Args:
        program: with its alphabet.
        labeller: what is to be known of programs of its kind.

    Raises:
        InputError: by `pieces`, if a listed word is not one of the program.
    """

    per_position: ClassVar[bool] = True

    program: Any
    labeller: LabelSource
    inputs: Inputs = field(default_factory=Inputs)

    @property
    def noun(self) -> str:  # type: ignore[override]
        return next(iter(self.columns))

    def pieces(self) -> list[Piece]:
        words = self.inputs.of(token_words(self.program.alphabet, partial(self.labeller.word_of, self.program)))
        return [Piece((self.program,), words)] if words else []

    def how(self, engine: str = AUTO, **options: Any) -> How:
        self.refuse_prompts(options)
        if engine != AUTO:
            what = f"{self.name}: labels of {self.labeller.kind} are the {self.labeller.reference}'s"
            raise DatasetError(f"{what}: omit --engine")
        return How(self.labeller.reference)

    @property
    def maker(self) -> Callable[[Job, Making[Any]], Done]:
        return partial(made_labels, self.labeller)

    @property
    def sweeper(self) -> Callable[[Job, Any], Done]:
        kind, reference = self.labeller.kind, self.labeller.reference
        what = f"{visible(self.name)} is about {kind}, and a sweep compares runs of machines or circuits"
        raise CompileError(f"{what}: use tm2tfr check, which compares its weights with the {reference}")

    @property
    def columns(self) -> Mapping[str, str]:
        return self.labeller.columns

    def listed(self) -> Iterator[Mapping[str, Any]]:
        """Yield the program's name, what is to be told of it, what has labels, what is compiled."""
        program, key = self.program, self.labeller.key
        told = {self.noun: program.name, **self.labeller.listed(program), key: list(self.forms)}
        yield {**told, "chosen": program.chosen}

    def about(self, tally: Tally, made: str) -> str:
        return f"{self.labeller.about}, {made}: {tally.runs:,} inputs, {tally.cells:,} labels"

    @property
    def notes(self) -> str:
        return ""

    def summed(self, tally: Tally) -> str:
        by = f"by the {self.labeller.reference}"
        return f"{counted(tally.runs, 'input')}, {counted(tally.cells, 'label')} {by}"

    def result(self, tally: Tally) -> str:
        return self.summed(tally)

    def left_out(self, number: int) -> str:
        return f"{counted(number, 'input')} on which the program is undefined"
