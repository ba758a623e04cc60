"""Examples as columns: the same bytes as PyArrow makes of the texts themselves, and the same rows."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest

from tm2tfr.lab.datasets import files
from tm2tfr.lab.datasets.files import ExampleColumn, Lists, Texts, Tokens, columns_of, encoded

pq: Any = pytest.importorskip("pyarrow.parquet", reason="PyArrow is not installed: pip install 'tm2tfr[dataset]'")
WORDS = ["a", "ä", "", "(q0,1,+1)", "c"]
ROWS: list[dict[str, Any]] = [
    {"input": "x", "prompt": ["c", "a"], "target": ["c"], "loss_mask": [1], "T": 3, "tape": "x", "target_ids": [4]},
    {"input": "ü", "prompt": [], "target": [], "loss_mask": [], "T": None, "tape": None, "target_ids": []},
    {"input": "x", "prompt": ["ä"] * 3, "target": ["", "c"], "loss_mask": [0, 1], "T": 0, "tape": "", "target_ids": [2, 4]},
]


def columns_in(rows: list[dict[str, Any]]) -> dict[str, ExampleColumn]:
    def lists(name: str) -> Lists:
        items = [WORDS.index(v) if isinstance(v, str) else v for row in rows for v in row[name]]
        return Lists(np.cumsum([0, *(len(row[name]) for row in rows)]), np.array(items, dtype=np.int32))

    tapes = Texts(np.array([-1 if row["tape"] is None else ["x", ""].index(row["tape"]) for row in rows]), ["x", ""])
    return {
        "input": Texts(np.arange(len(rows)), [row["input"] for row in rows]),
        **{name: lists(name) for name in ("prompt", "target", "loss_mask")},
        "T": np.array([-1 if row["T"] is None else row["T"] for row in rows]),
        "tape": tapes,
        "target_ids": lists("target_ids"),
    }


def plainly(rows: list[dict[str, Any]], group: int) -> bytes:
    """Return what PyArrow writes of the rows, given the texts."""
    arrow = pytest.importorskip("pyarrow")
    text, lists = arrow.string(), arrow.list_(arrow.string())
    kinds = {"input": text, "prompt": lists, "target": lists, "loss_mask": arrow.list_(arrow.int8()), "T": arrow.int64()}
    schema = arrow.schema(list({**kinds, "tape": text, "target_ids": arrow.list_(arrow.int32())}.items()))
    sink, options = io.BytesIO(), {"compression": "zstd", "compression_level": 3, "version": "2.6"}
    with pq.ParquetWriter(sink, schema, **options) as writer:
        writer.write_table(arrow.Table.from_pylist(rows, schema), row_group_size=group)
    return sink.getvalue()


@pytest.mark.parametrize("group", [2, 3, 2**16])
def test_tokens_as_places_give_the_bytes_of_texts(group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_GROUP", group)
    tokens = Tokens()
    tokens.of(WORDS)
    rows = ROWS * 3
    found = encoded(columns_in(rows), tokens, "parquet")
    assert found == plainly(rows, group)
    assert pq.read_table(io.BytesIO(found)).to_pylist() == rows
    assert [json.loads(line) for line in encoded(columns_in(rows), tokens, "jsonl").decode().splitlines()] == rows


def test_lists_are_cut_from_one_array() -> None:
    cut = Lists.cut(np.arange(10, dtype=np.int32), np.array([7, 0, 2]), np.array([2, 0, 3]))
    assert (cut.offsets.tolist(), cut.items.tolist()) == ([0, 2, 2, 5], [7, 8, 2, 3, 4])


def test_examples_one_by_one_become_columns() -> None:
    bits = np.array([0, 1], dtype=np.int32)
    some = [("x", word, "answer", bits[:n], bits, bits, "e = 1") for n, word in enumerate("ab")]
    columns = columns_of(some, ("circuit", "input", "form", "prompt", "target", "loss_mask", "result"))
    tokens = Tokens()
    tokens.of("01")
    assert encoded(columns, tokens, "jsonl").decode().splitlines()[1] == (
        '{"circuit": "x", "input": "b", "form": "answer", "prompt": ["0"], "target": ["0", "1"], "loss_mask": [0, 1], '
        '"result": "e = 1"}'
    )
