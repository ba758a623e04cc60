"""Outputs by name: the parts of what the unembedding answers, where a decoder labels a sequence and generates nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tm2tfr.base.errors import ShapeError
from tm2tfr.transformer.residual import at


@dataclass(frozen=True)
class Output:
    """One answer at every position: a label, by a row of the unembedding for each, or a number, by one row.

    Args:
        name: what it is called.
        labels: the label of each of its rows, of which the logits of one are to be 1 and all others 0; None: it has one
            row, whose logit is the number itself.
        whole: whether its labels stand for whole numbers, as JSON then has them; two outputs are equal without it.

    Raises:
        ShapeError: for a name or a label that is not text, a label that occurs twice, or an empty list of labels.
    """

    name: str
    labels: tuple[str, ...] | None
    whole: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if self.labels is not None:
            object.__setattr__(self, "labels", tuple(self.labels))
        for word in (self.name, *(self.labels or ())):
            if not isinstance(word, str):
                raise ShapeError(f"the names and labels of outputs are text, and {word!r} is not: use {str(word)!r}")
        if self.labels is not None and not self.labels:
            raise ShapeError(f"output {self.name!r} has no labels: list them, or use None for a number")
        if self.labels is not None and len(set(self.labels)) < len(self.labels):
            twice = next(label for n, label in enumerate(self.labels) if label in self.labels[:n])
            raise ShapeError(f"output {self.name!r} has the label {twice!r} twice: list each label once")

    @property
    def answers(self) -> tuple[str, ...]:
        """The names of its rows of the unembedding, in order."""
        return (self.name,) if self.labels is None else tuple(at(self.name, label) for label in self.labels)


def check_outputs(outputs: Sequence[Output], bos: str | None, stop: Sequence[str]) -> None:
    """Check outputs beside the special tokens of their decoder.

    Raises:
        ShapeError: for two outputs with one name, and for a BOS or stop tokens beside outputs, since nothing is generated.
    """
    names = [output.name for output in outputs]
    if len(set(names)) < len(names):
        twice = next(name for n, name in enumerate(names) if name in names[:n])
        raise ShapeError(f"two outputs are called {twice!r}: give each output a name of its own")
    if outputs and bos is not None:
        raise ShapeError(f"a decoder with outputs generates nothing, so it has no BOS: use None, not {bos!r}")
    if outputs and stop:
        raise ShapeError(f"a decoder with outputs generates nothing, so it has no stop tokens: remove {', '.join(stop)}")


def sections(outputs: Sequence[Output]) -> Iterator[tuple[Output, slice]]:
    """Yield each output with its slice of the rows of the unembedding."""
    start = 0
    for output in outputs:
        yield output, slice(start, start + len(output.answers))
        start += len(output.answers)
