"""The bytes of a file of examples: always the same for the same examples."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tm2tfr.lab.line.manifest import arrow_or_error, parquet
from tm2tfr.transformer.matrix import Ints

if TYPE_CHECKING:
    import pyarrow as pa

TokenCodes = NDArray[np.int32]


# ── The tokens of training examples are collected as numbers, and written all at once.
@dataclass
class Tokens:
    """Numbers for the tokens of several vocabularies."""

    number: dict[str, int] = field(default_factory=dict)

    def of(self, vocabulary: Sequence[str]) -> TokenCodes:
        """Return the numbers of the tokens in a vocabulary."""
        number = self.number
        return np.array([number.setdefault(token, len(number)) for token in vocabulary], dtype=np.int32)


# ── Examples as columns of numbers.
class Texts(NamedTuple):
    """A text for each example, as its place in a list; -1 stands for none.

    Args:
        places: (examples,)
    """

    places: Ints
    of: Sequence[str]


class Lists(NamedTuple):
    """A list of numbers for each example: that of example e is ``items[offsets[e] : offsets[e + 1]]``.

    Args:
        offsets: (examples + 1,), from 0 on.
    """

    offsets: Ints
    items: NDArray[np.int32]

    @classmethod
    def cut(cls, items: NDArray[np.int32], start: Ints, sizes: Ints) -> Lists:
        """Return the lists ``items[start[e] : start[e] + sizes[e]]``; start, sizes: (examples,)."""
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(offsets, items[np.arange(offsets[-1]) + np.repeat(start - offsets[:-1], sizes)])


ExampleColumn: TypeAlias = Texts | Lists | Ints
"""Integers are (examples,); -1 stands for none."""
ExampleColumns: TypeAlias = Mapping[str, ExampleColumn]
"""Examples by the names of their columns, in the order of the file."""
TOKENS = ("prompt", "target")
"""The columns whose items are numbers of tokens."""
MASK = "loss_mask"


def columns_of(found: Sequence[tuple[object, ...]], names: Sequence[str]) -> ExampleColumns:
    """Return examples, of which there is at least one, as columns."""
    columns: dict[str, ExampleColumn] = {}
    given: tuple[Sequence[Any], ...] = tuple(zip(*found, strict=True))
    for name, values in zip(names, given, strict=True):
        if isinstance(values[0], np.ndarray):
            offsets = np.concatenate([[0], np.cumsum([len(each) for each in values])]).astype(np.int64)
            columns[name] = Lists(offsets, np.concatenate(values))
        else:
            columns[name] = Texts(np.arange(len(values)), values)
    return columns


_json = json.JSONEncoder(ensure_ascii=False).encode
_GROUP = 2**16
"""Examples of a row group."""
_SCHEMA = "ARROW:schema"
"""The key under which PyArrow keeps its own names of the columns' types in a file."""


def encoded(columns: ExampleColumns, tokens: Tokens, format: str) -> bytes:
    """Return a file of examples, ``jsonl`` or ``parquet``.

    Raises:
        DatasetError: if PyArrow is missing.
    """
    return _jsonl(columns, tokens) if format == "jsonl" else _parquet(columns, tokens)


def shared_tokens(folder: Path, splits: Iterable[str], format: str) -> dict[str, int]:
    """Return for each split but the first the number of its examples that have the tokens of an example of the first.

    Args:
        format: that of the files which are read.
    """
    first, *others = splits
    known = {_tokens(example) for example in _examples_of(folder / first, format)}
    return {split: sum(_tokens(e) in known for e in _examples_of(folder / split, format)) for split in others}


def _tokens(example: Mapping[str, list[str]]) -> bytes:
    return hashlib.sha256(json.dumps([example["prompt"], example["target"]]).encode()).digest()[:16]


def _examples_of(folder: Path, format: str) -> Iterator[Mapping[str, list[str]]]:
    """Yield the tokens of the examples in the files of a folder, as ``prompt`` and ``target``.

    Raises:
        DatasetError: if PyArrow is missing for Parquet.
    """
    for path in sorted(folder.glob(f"*.{format}")):
        if format == "jsonl":
            with path.open(encoding="utf-8") as lines:
                yield from map(json.loads, lines)
        else:
            for batch in arrow_or_error().parquet.ParquetFile(path).iter_batches(columns=list(TOKENS)):
                yield from batch.to_pylist()


def _jsonl(columns: ExampleColumns, tokens: Tokens) -> bytes:
    """Return a line of JSON for each example."""
    names = [_json(token) for token in tokens.number]
    shown = []
    for name, column in columns.items():
        values = _shown(name, column, names)
        shown.append([f'"{name}": {value}' for value in values])
    return "".join(["{" + ", ".join(line) + "}\n" for line in zip(*shown, strict=True)]).encode()


def _shown(name: str, column: ExampleColumn, names: list[str]) -> list[str]:
    """Return a column as JSON."""
    if isinstance(column, Lists):
        items, cuts = column.items.tolist(), column.offsets.tolist()
        texts = [names[n] for n in items] if name in TOKENS else list(map(str, items))
        return [f"[{', '.join(texts[a:b])}]" for a, b in pairwise(cuts)]
    if isinstance(column, Texts):
        texts = [*map(_json, column.of), "null"]  # the last one is that of -1
        return [texts[n] for n in column.places.tolist()]
    return ["null" if n < 0 else str(n) for n in column.tolist()]


def _parquet(columns: ExampleColumns, tokens: Tokens) -> bytes:
    """Return a Parquet file; every setting that affects its bytes is given explicitly.

    Tokens are handed over as places in a dictionary, in the order in which they occur: PyArrow makes the same of texts,
    item by item.
    """
    arrow = arrow_or_error()
    text, small, number = arrow.string(), arrow.int8(), arrow.int32()
    kinds: dict[str, pa.DataType] = {}
    texts = {name: arrow.array(list(tokens.number), text) for name in TOKENS}
    for name, column in columns.items():
        if isinstance(column, Lists):
            kinds[name] = arrow.list_(text if name in TOKENS else small if name == MASK else number)
        elif isinstance(column, Texts):
            kinds[name], texts[name] = text, arrow.array(column.of, text)
        else:
            kinds[name] = arrow.int64()
    told = base64.b64encode(arrow.schema(list(kinds.items())).serialize())
    kinds |= {name: arrow.list_(arrow.dictionary(number, text)) for name in TOKENS}
    schema, every = arrow.schema(list(kinds.items())), max(map(_number, columns.values()))
    parts = (slice(first, min(first + _GROUP, every)) for first in range(0, every, _GROUP))
    arrays = ([_array(arrow, c, part, kinds[name], texts.get(name)) for name, c in columns.items()] for part in parts)
    return parquet(
        (arrow.table(some, schema=schema) for some in arrays),
        schema,
        level=3,
        group=_GROUP,
        metadata={_SCHEMA: told},
        use_dictionary=True,
        write_statistics=True,
        store_schema=False,  # it would say that tokens are dictionaries: another one is put there, with texts
    )


def _number(column: ExampleColumn) -> int:
    """Return the number of examples."""
    return len(column.places if isinstance(column, Texts) else column.offsets[1:] if isinstance(column, Lists) else column)


def _array(arrow: ModuleType, column: ExampleColumn, some: slice, kind: pa.DataType, texts: pa.Array | None) -> pa.Array:
    """Return some rows of a column as an Arrow array; texts: the list that its numbers are places in."""
    if isinstance(column, Lists):
        offsets = column.offsets[some.start : some.stop + 1]
        items = column.items[offsets[0] : offsets[-1]]
        if texts is not None:
            values = _dictionary(arrow, items, texts)
        else:
            values = arrow.array(items.astype(kind.value_type.to_pandas_dtype(), copy=False))
        return arrow.ListArray.from_arrays(arrow.array((offsets - offsets[0]).astype(np.int32)), values)
    places = column.places[some] if isinstance(column, Texts) else column[some]
    absent = places < 0
    held = arrow.array(places, mask=absent if absent.any() else None)
    return held if texts is None else texts.take(held)


def _dictionary(arrow: ModuleType, items: NDArray[np.int32], names: pa.Array) -> pa.Array:
    """Return names by their numbers as an Arrow dictionary of the names that occur, in order of occurrence."""
    first = np.full(len(names), len(items), dtype=np.int64)
    first[items[::-1]] = np.arange(len(items))[::-1]
    order = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(items))]
    places = np.zeros(len(names), dtype=np.int32)
    places[order] = np.arange(len(order))
    return arrow.DictionaryArray.from_arrays(arrow.array(places[items]), names.take(arrow.array(order)))
