"""The texts and data of a construction for pages about a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from numpy.typing import ArrayLike

from tm2tfr.base.errors import InputError, OutputError
from tm2tfr.transformer.weights import Decoder

PlainData = dict[str, Any]
"""Plain data, as JSON has it."""
Show = Callable[[str], str]
"""Makes a text visible."""
AttentionOf = Callable[[int, int], Sequence[Sequence[float]]]
"""(layer, from 1, head, from 0) -> where that head looks in a run: (n, n)."""
_NOTHING: PlainData = {}


class Packer(Protocol):
    """Where long columns of numbers and long texts of a page go; each method returns where they are, as plain data."""

    def add(self, values: ArrayLike) -> PlainData: ...
    def add_text(self, text: str) -> PlainData: ...


@dataclass(frozen=True, kw_only=True)
class Page:
    """The data of an explorer page about a program, beside its runs.

    Args:
        about: a description, for people.
        views: (how texts are shown, where columns go, whether Graphviz draws the graph, where it is installed, the weights)
            -> a view of the page -> its plain data: ``machine``, ``circuit``, ``sequence``, ``drawing``.
        inputs: the inputs that there can be, as plain data: ``alphabet`` and ``blank``, or ``circuit``, or ``tokens``.
        examples: inputs to suggest.
        texts: texts that a run shows beside those in the decoder.
        reference: a run of the reference -> the plain data for the evaluator in the page.
        standalone: returns what a page needs in which any program of a class runs; None: there is no class. Raises
            CompileError.
    """

    about: str = ""
    views: Callable[[Show, Packer, bool, Decoder], PlainData] = lambda *_: _NOTHING
    inputs: PlainData = field(default_factory=dict)
    examples: Sequence[str] = ()
    texts: Sequence[str] = ()
    reference: Callable[[Any], PlainData | None] = lambda _: None
    standalone: Callable[[], Standalone] | None = None


@dataclass(frozen=True, kw_only=True)
class Standalone:
    """The data of a page in which any program of a class runs in the same weights.

    Args:
        program: one with signs in the places of all names, in which the page puts those of the program that is written.
        every: the class, in words.
        plain: the class and the signs, as plain data.
        examples: names of programs of the class, each with its text.
        text: the program that the page opens with.
        checked: an input of that program -> the same. Raises InputError.
    """

    program: Any
    every: str
    plain: PlainData
    examples: Mapping[str, str]
    text: str
    checked: Callable[[str], str]


def drawing(
    name: str,
    columns: Packer,
    *,
    dot: Callable[[], str],
    svg: Callable[[], bytes] | None,
    marks: PlainData | None = None,
) -> PlainData:
    """Return the drawing of a program as a view of a page: the SVG, or the DOT text that the page draws itself.

    Args:
        name: what is drawn, in a word or two: ``state graph``.
        dot, svg: make it; svg: None: it is left to the page. Where ``dot`` refuses, its message takes the place of the
            drawing.
        marks: what is marked at a position: ``column``, ``nodes``, the node of each of its cells, and ``start``, the one
            before position 0.
    """
    try:
        graph: PlainData = {"dot": dot()}
    except OutputError as error:
        return {"drawing": {"name": name, "graph": {"none": str(error)}, "marks": None}}
    if svg is not None:
        with suppress(OutputError):  # Graphviz is missing: the page has its own
            text = svg().decode()
            graph = {"svg": columns.add_text(text[text.index("<svg") :])}
    return {"drawing": {"name": name, "graph": graph, "marks": marks}}


_UNKNOWN = "\ufffd\ufffd"
"""A token that no alphabet has."""


def about_tokens(read: Callable[[str], object], first: int) -> PlainData:
    """Return a page's texts about inputs over an alphabet, with the messages of the function that rejects others.

    ``unknown`` has a message in three parts: between them are the number of a token, then the token in quotes.

    Args:
        read: an input as people write it -> its tokens. Raises InputError.
        first: the number that its messages give the first token.
    """

    def refusal(text: str) -> str:
        try:
            read(text)
        except InputError as error:
            return error.typed
        return ""

    before, _, after = refusal(f'["{_UNKNOWN}"]').partition(repr(_UNKNOWN))
    start, _, middle = before.rpartition(str(first))
    return {"tokens": {"first": first, "empty": refusal(""), "unknown": [start, middle, after]}}


@dataclass(frozen=True, kw_only=True)
class Examined:
    """An example of a program's author, compared with the reference.

    Args:
        of: the name of what the example is of.
        word: its input, as people write it.
        expected, found: the author's values and those of the reference, as text; a single text where it is undefined.
        runs, why: whether the weights are to be run on it, and why not.
        kind, reference, numbers: what has the values, ``sop``; the name of the reference; whether they are numbers.
    """

    of: str
    word: str
    expected: tuple[str, ...] | str
    found: tuple[str, ...] | str
    runs: bool
    why: str = ""
    kind: str = "sop"
    reference: str = "interpreter"
    numbers: bool = False

    @property
    def met(self) -> bool:
        """Whether the reference agrees with the author."""
        return self.expected == self.found

    def as_dict(self) -> PlainData:
        """Return it as plain data."""
        plain: PlainData = {self.kind: self.of, "input": self.word, "met": self.met}
        values = (text if isinstance(text, str) else list(text) for text in (self.expected, self.found))
        return plain | dict(zip(("expected", self.reference), values, strict=True))
