"""What is recorded is what the dense engine did: compared with observations made apart, position by position."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import tm2tfr
from tests.engines.labellers import scrambled, soft
from tests.handmade import normed, tabled
from tests.strategies import machines
from tests.web.explorer.reading import buffer, column, embedded
from tm2tfr.engines.decode import Observation, observe
from tm2tfr.engines.dense import Dense
from tm2tfr.sources.turing.truth import truth_for
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.stored import stored_as
from tm2tfr.transformer.weights import Decoder, matrices, replaced
from tm2tfr.web.explorer import document, weights_data
from tm2tfr.web.explorer.record import Content, Recording, _column, record
from tm2tfr.web.explorer.weights_data import PackedColumns, decoder_data


def recorded(decoder: Decoder, word: str, steps: int = 200) -> Recording:
    truth = truth_for(tm2tfr.machine_of(decoder), word, decoder=decoder, max_steps=steps)
    return record(decoder, word, truth=truth, engine=Dense(), max_steps=steps)


def seen_at(decoder: Decoder, recording: Recording, i: int) -> Observation:
    return observe(decoder, [str(row.x) for row in recording.trace.rows[: i + 1]], engine=Dense())


def assert_heads(decoder: Decoder, recording: Recording, i: int) -> None:
    for (layer, head), (scores, attended) in seen_at(decoder, recording, i).heads.items():
        found = recording.heads[layer][head]
        others = [(float(score), -j) for j, score in enumerate(scores) if j not in attended]
        best, place = max(others, default=(0.0, 1))
        if found.uniform:
            assert list(attended) == list(range(i + 1))
            assert not np.any(scores)
            continue
        assert found.winner[i] == attended[0]
        assert found.count[i] == len(attended)
        assert found.score[i] == scores[attended[0]]
        assert (found.runner[i], found.runner_score[i]) == (-place, best)
        assert found.sharers.get(i, [found.winner[i]]) == (list(attended) if others else [attended[0]])


def assert_stream(decoder: Decoder, recording: Recording, i: int) -> None:
    values: dict[int, list[float]] = {}
    stages = seen_at(decoder, recording, i).stages
    for (_, _, stream), written in zip(stages, recording.written, strict=True):
        for n, subspace in enumerate(decoder.layout.subspaces):
            if n in written:
                value, width = written[n].values[i], subspace.width
                hot = [float(k + 1 == value) for k in range(width)]
                values[n] = [float(value)] if subspace.labels is None else written[n].others.get(i, hot)
        assert [v for n in range(len(values)) for v in values[n]] == [float(v) for v in stream]


@pytest.mark.slow
@pytest.mark.parametrize(("machine", "word"), [("chapter", "11"), ("palindromes", "abba"), ("busy-beaver-3", "")])
def test_every_head_and_every_stream_is_what_the_engine_had(machine: str, word: str) -> None:
    decoder = tm2tfr.compile(machine)
    recording = recorded(decoder, word)
    for i in range(recording.trace.tokens):
        assert_heads(decoder, recording, i)
        assert_stream(decoder, recording, i)


@pytest.mark.slow
def test_it_is_recorded_across_blocks() -> None:
    decoder = tm2tfr.compile("busy-beaver-5")
    recording = recorded(decoder, "", 600)
    for i in (0, 255, 256, 257, 511, 512, 600):
        assert_heads(decoder, recording, i)
        assert_stream(decoder, recording, i)
    assert len(recording.heads[2][0].score) == recording.trace.tokens == 601
    assert {len(column.values) for stage in recording.written for column in stage.values()} == {601}


@pytest.mark.slow
def test_broken_weights_are_recorded_as_they_are() -> None:
    decoder = tm2tfr.compile("palindromes")
    key = matrices(decoder)["layers.4.heads.0.key"]
    value = matrices(decoder)["layers.4.heads.0.value"]
    row, col, _ = next(value.entries())
    last = max(row for row, _, _ in key.entries())
    mended = {(r, c): v for r, c, v in key.entries() if r != last}
    broken = replaced(
        decoder,
        {
            "layers.4.heads.0.key": type(key).from_entries(key.shape, mended),  # ties are no longer broken
            "layers.4.heads.0.value": value.with_entry(row, col, 0.5),
        },
    )
    recording = recorded(broken, "abba", 30)
    assert recording.trace.divergence is not None
    assert any(recording.heads[3][0].sharers.values())
    assert any(column.others for written in recording.written for column in written.values())
    for i in range(recording.trace.tokens):
        assert_heads(broken, recording, i)
        assert_stream(broken, recording, i)


@pytest.mark.slow
@settings(max_examples=15)
@given(machines())
def test_of_any_machine(machine: tm2tfr.Machine) -> None:
    decoder = tm2tfr.compile(machine)
    recording = recorded(decoder, "", 12)
    assert recording.trace.agrees
    assert_heads(decoder, recording, recording.trace.tokens - 1)
    assert_stream(decoder, recording, recording.trace.tokens - 1)


def test_the_recorded_run_is_the_run() -> None:
    decoder = tm2tfr.compile("palindromes")
    trace = recorded(decoder, "abba").trace
    assert trace == tm2tfr.check(decoder, "abba", engine="dense")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([], "u1"),
        ([0, 255], "u1"),
        ([-1, 7], "i1"),
        ([0, 256], "u2"),
        ([-200, 3], "i2"),
        ([70_000, -1], "i4"),
        ([2**31], "f8"),
        ([0.5, -3], "f8"),
        ([-0.0], "f8"),
        ([float("inf"), float("nan")], "f8"),
    ],
)
def test_a_column_is_as_small_as_it_can_be_and_comes_back(values: list[float], kind: str) -> None:
    columns = PackedColumns()
    columns.add([1.5])
    place = columns.add(values)
    html = f'<script type="text/plain" id="columns">{columns.packed()}</script>'
    found = column(buffer(html), place)
    assert place["type"] == kind
    assert np.array_equal(found.astype(float), np.array(values, dtype=float), equal_nan=True)
    assert [np.signbit(v) for v in found.astype(float)] == [np.signbit(v) for v in np.array(values, dtype=float)]


def test_the_page_holds_the_rows_and_only_what_changes() -> None:
    html = tm2tfr.explore("chapter", "11").html
    run, data = embedded(html)["runs"][0], buffer(html)
    rows: dict[str, Any] = {c: column(data, place) for c, place in run["rows"].items()}
    texts = [None, *run["texts"]]
    trace = tm2tfr.check("chapter", "11")
    for row in trace.rows:
        assert [texts[rows[c][row.i]] for c in "xqbay"] == [row.x, row.q, row.b, row.a, row.y]
        assert (rows["m"][row.i], rows["h"][row.i]) == (row.m, row.h)
    layers = [[n for n, _ in stage] for stage in run["stages"]]
    names = [subspace["name"] for subspace in run["subspaces"]]
    assert [[names[n] for n in stage] for stage in layers[1:]] == [
        [],
        ["e_q", "e_b", "m", "m/(i+1)"],
        ["h/(i+1)"],
        [],
        ["h", "h^2", "e_x(h)", "h_{i-1}", "h_{i-1}^2"],
        ["[h=0]"],
        ["h_{j*-1}", "e_b(j*-1)"],
        ["[h_{j*-1}=h]"],
        [],
        ["e_a"],
        [],
        ["e_y"],
    ]


def test_what_is_no_label_is_kept_by_its_position() -> None:
    part = np.array([[0, 0], [0, 1], [1, 1], [1, 0.5], [-1, 0], [1, 0]])
    found = _column(Subspace("e_q", ("p", "q")), part, 256)
    assert found.values.tolist() == [0, 2, -1, -1, -1, 1]
    assert found.others == {258: [1, 1], 259: [1, 0.5], 260: [-1, 0]}


def test_numbers_that_are_infinite_are_those_of_the_page() -> None:
    column = Content(np.array([-1]), {0: [np.inf, -np.inf, 0.5]})
    assert document._column(column, PackedColumns())["others"] == {0: ["Infinity", "-Infinity", 0.5]}


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


def test_what_a_weight_file_says_beside_the_matrices_is_there() -> None:
    chapter = tm2tfr.compile("chapter")
    data, buffer = packed(chapter)
    said = json.loads(column(buffer, data["about"]).tobytes())
    assert said == stored_as(chapter)


def test_soft_heads_are_refused_with_the_reason() -> None:
    said = "they have soft heads, and browsers round exponentials differently from the dense engine"
    assert packed(soft(tm2tfr.compile("chapter")))[0] == {"none": said}


def test_weights_that_are_too_many_for_a_page_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights_data, "MOST_ENTRIES", 280)
    assert packed(tm2tfr.compile("chapter"))[0] == {"none": "they have 281 entries, and a page takes at most 280"}
