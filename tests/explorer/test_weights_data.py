"""The weights in a page: every entry of every matrix, exactly, and what a page cannot run."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import tm2tfr
from tests.engines.labellers import scrambled, soft
from tests.explorer.reading import column
from tests.handmade import normed, tabled
from tm2tfr.transformer.weights import Decoder, matrices, replaced
from tm2tfr.web.explorer import weights_data
from tm2tfr.web.explorer.weights_data import PackedColumns, decoder_data

MADE: Mapping[str, Any] = {
    "chapter": lambda: tm2tfr.compile("chapter"),
    "circuit": lambda: tm2tfr.compile("full-adder"),
    "tabled": tabled,
    "normed": normed,
    "not integers": lambda: scrambled(3, positions=5),
}


def packed(decoder: Decoder) -> tuple[dict[str, Any], bytes]:
    columns = PackedColumns()
    data = decoder_data(decoder, columns)
    return data, zlib.decompress(base64.b64decode(columns.packed()))


@pytest.mark.parametrize("name", MADE)
def test_every_entry_is_there_exactly(name: str) -> None:
    decoder = MADE[name]()
    data, buffer = packed(decoder)
    counts, rows, columns, values = (
        column(buffer, data[name]).tolist() for name in ("counts", "rows", "columns", "values")
    )
    start = 0
    for matrix, count in zip(matrices(decoder).values(), counts, strict=True):
        cut = slice(start, start + count)
        assert np.cumsum(rows[cut]).tolist() == matrix.rows.tolist()
        assert np.cumsum(columns[cut]).tolist() == matrix.columns.tolist()
        assert values[cut] == matrix.values.tolist()
        start += count
    assert start == len(values) == decoder.nonzero


def test_names_are_there_where_a_refusal_may_need_them() -> None:
    chapter = tm2tfr.compile("chapter")
    assert packed(chapter)[0]["names"] is None
    path = "layers.1.feed_forward.input"
    huge = replaced(chapter, {path: matrices(chapter)[path].with_entry(0, 0, 1e300)})
    data, buffer = packed(huge)
    text = column(buffer, data["names"]).tobytes().decode()
    assert text.startswith('{"directions": ["e_')
    assert '"units": [["' in text


def test_soft_heads_are_refused_with_the_reason() -> None:
    said = "they have soft heads, and browsers round exponentials differently from the dense engine"
    assert packed(soft(scrambled(1)))[0] == {"none": said}


def test_weights_that_are_too_many_for_a_page_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights_data, "MOST_ENTRIES", 280)
    assert packed(tm2tfr.compile("chapter"))[0] == {"none": "they have 281 entries, and a page takes at most 280"}
