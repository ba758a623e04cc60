"""A decoder with single weights changed: the place of a weight by path and names, and changes as people write them.

A place is a matrix, a row and a column. An axis of a matrix is directions of the stream, tokens, features, answers,
positions, components of a head, or hidden units. The first four have names, those that the listing prints; every axis
has numbers from 0.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real

from tm2tfr.base.errors import ShapeError, UsageError, did_you_mean, visible
from tm2tfr.transformer.weights import Decoder, matrices, replaced

_CHANGE = re.compile(r"\s*(?P<path>[\w.]+)\s*\[(?P<places>.*)\]\s*=(?P<value>[^=\]]*)", re.DOTALL)
_INTERVENTION = re.compile(r"[^\[\]]*@\s*\d+.*", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:(?P<above>\d+)\s*/\s*(?P<below>\d+)|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)", re.ASCII)
_LONG = 18
"""A number of more digits is that of no row; Python reads no integer of more than 4,300 from a text."""
_NEAR = 3
"""The most paths that are suggested for an unknown one."""


@dataclass(frozen=True)
class Axis:
    """The rows or the columns of a matrix.

    Args:
        noun: what one of them is, such as ``direction``.
        size: their number.
        names: their names in order; empty: they have numbers only.
    """

    noun: str
    size: int
    names: Sequence[str] = ()

    def number(self, place: int | str) -> int:
        """Return the number of a row or column that is given by name or by number.

        Raises:
            ShapeError: if there is none.
        """
        most = f"a number from 0 to {self.size - 1:,}" if self.size > 1 else "the number 0"
        if isinstance(place, str):
            if place in self.names:
                return self.names.index(place)
            if not self.names:
                raise ShapeError(f"{place!r} is not a {self.noun}: use {most}")
            what = f"no {self.noun} is called {visible(place)!r}{did_you_mean(place, self.names)}"
            raise ShapeError(f"{what}: use a name that 'tm2tfr compile --explain' prints, or {most}")
        if isinstance(place, bool) or not isinstance(place, Integral):
            raise ShapeError(f"{place!r} is neither the name nor the number of a {self.noun}: use {most}")
        if not 0 <= place < self.size:
            raise ShapeError(f"there is no {self.noun} {place}: use {most}")
        return int(place)

    def read(self, text: str) -> int:
        """Return the number for a name or number: names take precedence, since the listing prints names.

        Raises:
            ShapeError: see `number`.
        """
        if text in self.names or not (text.isascii() and text.isdecimal()):
            return self.number(text)
        digits = text.lstrip("0") or "0"
        if len(digits) > _LONG:
            raise ShapeError(f"there is no {self.noun} {digits}: use a number from 0 to {self.size - 1:,}")
        return self.number(int(digits))


def axes(decoder: Decoder, path: str) -> tuple[Axis, Axis]:
    """Return the rows and the columns of the matrix at `path`.

    Raises:
        ShapeError: if no matrix has this path.
    """
    found = matrices(decoder)
    if not isinstance(path, str) or path not in found:
        raise ShapeError(_unknown(str(path), list(found)))
    *owner, name = path.split(".")
    rows, columns = found[path].shape
    stream = Axis("direction", decoder.layout.width, decoder.layout.directions)
    inner = "hidden unit" if owner[-1:] == ["feed_forward"] else "component"
    one = Axis("column", 1)
    outer = {
        "token_embedding": (stream, Axis("token", columns, decoder.vocabulary)),
        "position_embedding": (stream, Axis("position feature", columns, decoder.features)),
        "position_table": (stream, Axis("position", columns)),
        "unembedding": (Axis("answer", rows, decoder.answered), stream),
        "unembedding_bias": (Axis("answer", rows, decoder.answered), one),
    }
    inside = {
        "gain": (stream, one),
        "bias": (stream, one),
        "until": (Axis("row", rows), stream),
        "input_bias": (Axis(inner, rows), one),
        "output_bias": (stream, one),
        "output": (stream, Axis(inner, columns)),
    }
    return (inside if owner else outer).get(name, (Axis(inner, rows), stream))


def with_weight(decoder: Decoder, path: str, row: int | str, column: int | str, value: float) -> Decoder:
    """Return a copy of `decoder` in which one weight is `value`.

    Args:
        path: the path of the matrix, such as ``layers.4.heads.0.query``; layers count from 1, heads of a layer from 0.
        row, column: by number from 0, or by name: a direction of the stream, a token, a position feature or an answer.

    Raises:
        ShapeError: for an unknown path or name, a number out of range, or a value that is not a finite number.
    """
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        raise ShapeError(f"{path}: this number is too large for a float64: use for example -1 or 0.5") from None
    if not math.isfinite(number):
        raise ShapeError(f"{path}: a weight is a finite number, and {value!r} is not: use for example -1 or 0.5")
    rows, columns = axes(decoder, path)
    try:
        place = rows.number(row), columns.number(column)
    except ShapeError as error:
        raise ShapeError(f"{path}: {error}") from None
    return replaced(decoder, {path: matrices(decoder)[path].with_entry(*place, number)})


def with_changes(decoder: Decoder, texts: Sequence[str]) -> Decoder:
    """Return a copy of `decoder` with weights changed as people write it: ``layers.4.heads.0.query[h, 1] = -1``.

    Row and column may come in either order where names tell which is which; of a vector one of them is enough. The value
    is a decimal or a fraction, ``-1``, ``0.5``, ``1/2``.

    Raises:
        UsageError: for a text that is not a change of a weight.
        ShapeError: see `with_weight`; the message begins with the text.
    """
    for text in texts:
        match = _CHANGE.fullmatch(text)
        if match is None:
            raise UsageError(_not_a_change(decoder, text))
        number = _number(match["value"].strip().replace("−", "-"))
        if number is None:
            what = f"{visible(text)!r}: {visible(match['value'].strip())!r} is not a finite number"
            raise UsageError(f"{what}: write for example -1, 0.5 or 1/2")
        try:
            decoder = with_weight(decoder, match["path"], *_place(axes(decoder, match["path"]), match["places"]), number)
        except ShapeError as error:
            raise ShapeError(f"{visible(text)!r}: {error}") from None
    return decoder


def _number(text: str) -> float | None:
    """Return the decimal or the fraction that `text` is; None if it is neither, or not finite."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    try:
        number = float(text) if match["below"] is None else int(match["above"]) / int(match["below"])
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    sign = -1 if match["below"] is not None and text.startswith("-") else 1
    return sign * number if math.isfinite(number) else None


def _place(found: tuple[Axis, Axis], text: str) -> tuple[int, int]:
    """Return the row and the column that stand in brackets.

    Raises:
        ShapeError: if there is no such row or column.
    """
    if 1 in (found[0].size, found[1].size):
        short = found[1].size == 1
        try:
            number = found[not short].read(text.strip())
            return (number, 0) if short else (0, number)
        except ShapeError:
            if "," not in text:
                raise
    errors: list[ShapeError] = []
    for first, second in _halves(text):  # names may contain commas: e_y[(q1,1,+1)]
        for swapped in (False, True):
            row, column = (second, first) if swapped else (first, second)
            try:
                return found[0].read(row), found[1].read(column)
            except ShapeError as error:
                errors.append(error)
    if not errors:
        raise ShapeError(
            f"it names one place in brackets: give a {found[0].noun} and a {found[1].noun}, with a comma between"
        )
    swap = bool(found[1].names) and not found[0].names and not _halves(text)[0][0].isdecimal()
    raise errors[int(swap)]


def _halves(text: str) -> list[tuple[str, str]]:
    """Return the two parts of `text` around each comma, the commas outside of brackets first."""
    depth, outer, inner = 0, list[int](), list[int]()
    for n, sign in enumerate(text):
        depth += (sign in "[(") - (sign in "])")
        if sign == ",":
            (outer if depth == 0 else inner).append(n)
    return [(text[:n].strip(), text[n + 1 :].strip()) for n in (*outer, *inner)]


def _unknown(path: str, known: Sequence[str]) -> str:
    """Return the error for an unknown path, with the paths that are near."""
    owner = path
    while owner and not any(each.startswith(f"{owner}.") for each in known):
        owner = owner.rpartition(".")[0]
    inside = [each for each in known if each.startswith(f"{owner}.")] if owner.count(".") else []
    near = difflib.get_close_matches(path[:200], inside or known, n=_NEAR, cutoff=0.5) or inside[:_NEAR]
    layers = max((int(each.split(".")[1]) for each in known if each.startswith("layers.")), default=0)
    remedy = (
        f"use {' or '.join(map(repr, near))}" if near else f"use a path such as {known[0]}, or layers.1 to layers.{layers}"
    )
    return f"no weight matrix is called {path!r}: {remedy}; layers count from 1, heads of a layer from 0"


def _not_a_change(decoder: Decoder, text: str) -> str:
    """Return the error for a text that is not a change of a weight; one for interventions says where that goes."""
    write = f"write for example {next(_examples(decoder))!r}"
    if _INTERVENTION.fullmatch(text):
        return (
            f"{text!r} sets a variable of a run, which is 'tm2tfr intervene --set', and a weight is changed here: {write}"
        )
    return f"{text!r} does not say which weight gets which value: {write}"


def _examples(decoder: Decoder) -> Iterator[str]:
    """Yield changes of weights: the first one of each matrix with the other sign, those of queries first."""
    for path, matrix in sorted(matrices(decoder).items(), key=lambda each: ".query" not in each[0]):
        for row, column, value in matrix.entries():
            names = (
                axis.names[n] if axis.names else str(n) for axis, n in zip(axes(decoder, path), (row, column), strict=True)
            )
            yield f"{path}[{', '.join(names)}]={-value:g}"
            break
    yield "unembedding_bias[0]=1"
