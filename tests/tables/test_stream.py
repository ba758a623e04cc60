"""Rows streamed to a file: the bytes of the table, whole or as FILE.part, on full disks and after interrupts."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tm2tfr
from tests.tables.examples import NASTY_SYMBOLS, broken, chapter, nasty, traced
from tm2tfr.base.errors import OutputError, ShapeError
from tm2tfr.runs.comparison import Trace
from tm2tfr.sources.turing.columns import COLUMNS, Row
from tm2tfr.tables.stream import EXTENSIONS, open_rows
from tm2tfr.tables.stream_text import Coded, Columns
from tm2tfr.tables.table import plain, table

pyarrow = pytest.importorskip("pyarrow", reason="PyArrow is not installed: pip install 'tm2tfr[parquet]'")
parquet = pytest.importorskip("pyarrow.parquet", reason="PyArrow is not installed: pip install 'tm2tfr[parquet]'")
TEXT = (".csv", ".jsonl")
ODD = (
    Row(0, None, None, None, 0.5, float("inf"), None, "⟨0.5·a + b⟩"),
    Row(1, "", ",", '"', -1, float("nan"), "\n", "\r\n"),
    Row(2, " ", "\u2028", "\0", 1, 1e300, "\\", "é😀⊥"),
    Row(3, "a" * 5000, "⊥", "'", 1.0, -3, "=1", "y"),
    Row(4, "x", "q", "b", 1, 1, "a", "y"),
)


def some(n: int) -> list[Row]:
    """Return rows as of a long run, with line breaks and quotation marks among the symbols."""
    signs = ("a", '"', "\n", ",", "漢")
    return [
        Row(i, signs[i % 5], f"q{i % 7}", signs[i % 3] if i % 4 else None, i % 3 - 1, i // 3 - 500, "a", "y")
        for i in range(n)
    ]


def by_column(rows: Sequence[Row]) -> Columns:
    """Return the same rows as columns."""
    found: list[Any] = []
    for name, values in zip(COLUMNS, zip(*rows, strict=True), strict=True):
        if name in "imh":
            found.append(np.array(values))
        else:
            labels = list(dict.fromkeys(v for v in values if v is not None))
            codes = {None: -1} | {label: k for k, label in enumerate(labels)}
            found.append(Coded(np.array([codes[v] for v in values]), labels))
    return Columns(*found)


def text_of(rows: Sequence[Row], path: Path) -> bytes:
    """What the table export says, without the tape, which CSV has in its last column and files of rows do not have."""
    trace = Trace(
        machine="m", input="", engine="dense", dtype="float64", tokens=0, answer="limit", T=None,
        result=None, compared=0, divergence=None, rows=tuple(rows),
    )  # fmt: skip
    text = table(trace, path.suffix[1:])
    if path.suffix == ".csv":
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(cells[:-1] for cells in csv.reader(io.StringIO(text, newline="")))
        text = out.getvalue()
    return text.encode()


def read(path: Path) -> list[Row]:
    """Return the rows of a file, by another reader."""
    if path.name.endswith((".parquet", ".parquet.part")):
        return [Row(**row) for row in parquet.read_table(path).to_pylist()]
    if path.name.endswith((".jsonl", ".jsonl.part")):
        return [Row(**json.loads(line)) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    with path.open(encoding="utf-8", newline="") as file:
        cells = list(csv.reader(file))[1:]
    return [Row(int(i), x, q, None if b == "⊥" else b, int(m), int(h), a, y) for i, x, q, b, m, h, a, y in cells]


# ── the same as the table ───────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("extension", TEXT)
@pytest.mark.parametrize("name", ["chapter", "nasty", "broken", "odd"])
def test_the_bytes_of_the_table(tmp_path: Path, name: str, extension: str) -> None:
    rows: Sequence[Row] = {
        "chapter": lambda: traced(chapter(), "11").rows,
        "nasty": lambda: traced(nasty(), NASTY_SYMBOLS).rows,
        "broken": lambda: traced(chapter(), "11", broken(), max_steps=8).rows,
        "odd": lambda: ODD,
    }[name]()
    path = tmp_path / f"a{extension}"
    with open_rows(path) as writer:
        writer.write(rows[:2])
        writer.write(())
        writer.write(rows[2:])
    assert path.read_bytes() == text_of(rows, path)
    if name in ("chapter", "nasty"):
        with open_rows(path) as writer:
            writer.write_columns(by_column(rows))
        assert path.read_bytes() == text_of(rows, path)


def test_a_fraction_is_text_in_json_and_a_number_in_parquet(tmp_path: Path) -> None:
    rows = [ODD[4]._replace(h=Fraction(1, 2))]
    for extension in EXTENSIONS:
        with open_rows(tmp_path / f"a{extension}") as writer:
            writer.write(rows)
    assert (tmp_path / "a.jsonl").read_bytes() == text_of(rows, tmp_path / "a.jsonl")
    assert (tmp_path / "a.csv").read_bytes() == text_of(rows, tmp_path / "a.csv")
    assert read(tmp_path / "a.parquet") == [ODD[4]._replace(h=0.5)]


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize("extension", [*EXTENSIONS, ".CSV", ".ndjson"])
@pytest.mark.parametrize("how", ["rows", "columns", "both"])
def test_a_hundred_thousand_rows(tmp_path: Path, how: str, extension: str) -> None:
    rows, path = some(100_000), tmp_path / f"a{extension}"
    with open_rows(str(path)) as writer:
        for start in range(0, len(rows), 30_000):
            part = rows[start : start + 30_000]
            if how == "rows" or (how == "both" and start == 30_000):
                writer.write(part)
            else:
                writer.write_columns(by_column(part))
        assert writer.rows == 100_000
        assert (writer.path, writer.part) == (path, tmp_path / f"a{extension}.part")
        assert os.listdir(tmp_path) == [f"a{extension}.part"]
    assert os.listdir(tmp_path) == [f"a{extension}"]
    if extension == ".parquet":
        assert read(path) == rows
    else:
        kind = tmp_path / {".CSV": "a.csv", ".ndjson": "a.jsonl"}.get(extension, path.name)
        assert path.read_bytes() == text_of(rows, kind)


@pytest.mark.parametrize("extension", TEXT)
def test_numbers_of_every_length(tmp_path: Path, extension: str) -> None:
    edges = [0, 1, -1, 9, 10, -10, 99, 2**31, -(2**32), 10**9, 10**10 - 1, 10**10, 2**62, -(2**62)]
    for found in ([0], edges, edges[:7]):
        rows = [Row(i, "x", "q", None, k, -k, "a", "y") for i, k in enumerate(found)]
        with open_rows(tmp_path / f"a{extension}") as writer:
            writer.write_columns(by_column(rows))
        assert (tmp_path / f"a{extension}").read_bytes() == text_of(rows, tmp_path / f"a{extension}")


def test_labels_may_be_added_between_calls(tmp_path: Path) -> None:
    rows = some(10)
    first, second = (by_column(part) for part in (rows[:1], rows))
    labels = first.x.labels
    with open_rows(tmp_path / "a.csv") as writer:
        writer.write_columns(first)
        assert isinstance(labels, list)
        labels += second.x.labels[1:]
        writer.write_columns(second.part(1, 10)._replace(x=second.x._replace(codes=second.x.codes[1:], labels=labels)))
    assert (tmp_path / "a.csv").read_bytes() == text_of(rows, tmp_path / "a.csv")


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_no_rows_at_all(tmp_path: Path, extension: str) -> None:
    with open_rows(tmp_path / f"a{extension}") as writer:
        writer.write_columns(by_column(some(1)).part(0, 0))
    assert read(tmp_path / f"a{extension}") == []


@pytest.mark.slow
def test_the_columns_of_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tm2tfr.tables.stream.GROUP", 1000)
    rows, path = some(2500), tmp_path / "a.parquet"
    with open_rows(path) as writer:
        writer.write(rows[:700])
        writer.write_columns(by_column(rows[700:]))
    found = parquet.ParquetFile(path)
    kinds = {"i": "int64", "m": "double", "h": "double"}
    text = "dictionary<values=string, indices=int32, ordered=0>"
    assert [(f.name, str(f.type)) for f in found.schema_arrow] == [(c, kinds.get(c, text)) for c in COLUMNS]
    assert [found.metadata.row_group(k).num_rows for k in range(found.num_row_groups)] == [1000, 1000, 500]
    assert read(path) == rows


# ── whole or not at all ─────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_a_file_that_was_there_is_replaced_at_the_end(tmp_path: Path, extension: str) -> None:
    path, rows = tmp_path / f"a{extension}", some(3)
    path.write_bytes(b"old")
    path.chmod(0o640)
    with open_rows(path) as writer:
        writer.write(rows)
        assert path.read_bytes() == b"old"
    assert read(path) == rows
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, OutputError, ZeroDivisionError])
def test_what_an_interrupt_leaves(tmp_path: Path, extension: str, error: type[BaseException]) -> None:
    path, rows = tmp_path / f"a{extension}", some(3000)
    path.write_bytes(b"old")
    with pytest.raises(error), open_rows(path) as writer:  # noqa: PT012
        writer.write(rows)
        raise error
    assert path.read_bytes() == b"old"
    assert (writer.rows, writer.saved) == (3000, 3000)
    assert read(writer.part) == rows
    writer.abort()
    assert sorted(os.listdir(tmp_path)) == [path.name, f"{path.name}.part"]


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_an_interrupt_before_the_first_row_leaves_nothing(tmp_path: Path, extension: str) -> None:
    with pytest.raises(KeyboardInterrupt), open_rows(tmp_path / f"a{extension}"):
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("extension", TEXT)
def test_an_interrupt_in_the_middle_of_a_write_leaves_whole_rows(tmp_path: Path, extension: str) -> None:
    rows = some(20)
    with pytest.raises(KeyboardInterrupt), open_rows(tmp_path / f"a{extension}") as writer:  # noqa: PT012
        writer.write(rows[:10])
        file = writer._file

        class Interrupted:
            def write(self, data: Any) -> int:
                file.write(data[: len(data) // 2])
                raise KeyboardInterrupt

            def __getattr__(self, name: str) -> Any:
                return getattr(file, name)

        writer._file = Interrupted()  # type: ignore[assignment]
        writer.write(rows[10:])
    assert read(writer.part) == rows[:10]


@pytest.mark.slow
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_a_real_interrupt_of_a_program(tmp_path: Path, extension: str) -> None:
    program = f"""
from tests.tables.test_stream import some
from tm2tfr.tables.stream import open_rows
with open_rows({str(tmp_path / ("a" + extension))!r}) as writer:
    while True:
        writer.write(some(1000))
        print(writer.rows, flush=True)
"""
    run = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env())
    with run:
        assert run.stdout is not None
        assert [run.stdout.readline() for _ in range(2)] == [b"1000\n", b"2000\n"]
        run.send_signal(signal.SIGINT)
        run.wait()
    found = read(tmp_path / f"a{extension}.part")
    assert len(found) % 1000 == 0
    assert len(found) >= 2000
    assert found[:1000] == some(1000)


def env() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in (os.getcwd(), *sys.path) if p)}


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_a_link_is_followed(tmp_path: Path, extension: str) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / f"link{extension}"
    link.symlink_to("real/a")
    with open_rows(link) as writer:
        assert writer.part == tmp_path / "real" / "a.part"
        writer.write(some(2))
    assert link.is_symlink()
    assert os.listdir(tmp_path / "real") == ["a"]


# ── full disks ──────────────────────────────────────────────────────────────────────────────────────────────
FILLING = """
import resource, signal, sys
from tests.tables.test_stream import by_column, some
from tm2tfr.base.errors import OutputError
from tm2tfr.tables.stream import open_rows
if sys.argv[2] == "limit":
    resource.setrlimit(resource.RLIMIT_FSIZE, (900_000, 900_000))
import tm2tfr.tables.stream as p
p.GROUP = 5000
rows, n = some(1000), 0
try:
    with open_rows(sys.argv[1]) as writer:
        while True:
            n += 1
            writer.write(rows) if n % 2 else writer.write_columns(by_column(rows))
except OutputError as error:
    print(error)
    print(writer.saved)
    sys.stdout.flush()
    from tests.tables.test_stream import read
    found = read(writer.part)
    print(len(found) == writer.saved, found[:1000] == rows, found[-1000:] == rows)
"""


def filled(path: Path, how: str, *before: str) -> tuple[str, int, str]:
    command = [*before, sys.executable, "-c", FILLING, str(path), how]
    run = subprocess.run(command, capture_output=True, encoding="utf-8", env=env(), check=False)
    assert run.returncode == 0, run.stderr
    message, saved, same = run.stdout.splitlines()
    return message, int(saved), same


@pytest.mark.slow
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_a_file_that_may_not_grow(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"a{extension}"
    path.write_bytes(b"old")
    message, saved, same = filled(path, "limit")
    what = f"{path}: the file has reached the size limit (see ulimit -f); {path}.part has the first {saved:,} rows"
    assert message == f"{what}: raise the limit, or choose another place"
    assert saved >= 5000
    assert same == "True True True"
    assert path.read_bytes() == b"old"


@pytest.mark.slow
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_a_disk_that_fills_up(tmp_path: Path, extension: str) -> None:
    """A real one, of a megabyte, where a name space of one's own may be made."""
    disk = ("unshare", "-rm", "sh", "-c", f'mount -t tmpfs -o size=1m none "{tmp_path}" && exec "$@"', "sh")
    try:
        subprocess.run([*disk, "true"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no disk can be mounted: run the tests as root on Linux")
    path = tmp_path / f"a{extension}"
    message, saved, same = filled(path, "disk", *disk)
    what = f"{path}: the disk is full; {path}.part has the first {saved:,} rows"
    assert message == f"{what}: free some space, or choose another place"
    assert saved >= 5000
    assert same == "True True True"


def test_a_parquet_file_that_was_torn_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where room cannot be reserved, a group may be cut off in the middle."""
    monkeypatch.setattr("tm2tfr.tables.stream.GROUP", 1000)
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    writer = open_rows(tmp_path / "a.parquet")
    writer.write(some(1000))
    descriptor = os.open("/dev/full", os.O_RDWR)
    os.dup2(descriptor, writer._file.fileno())
    os.close(descriptor)
    with pytest.raises(OutputError) as caught:
        writer.write(some(1000))
    part = f"{tmp_path}/a.parquet.part"
    what = f"{tmp_path}/a.parquet: the disk is full; {part} was cut off in the middle and cannot be read"
    assert str(caught.value) == f"{what}: free some space, or choose another place"
    assert os.listdir(tmp_path) == ["a.parquet.part"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_a_failure_at_the_very_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, extension: str) -> None:
    def fails(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / f"a{extension}"
    path.write_bytes(b"old")
    writer = open_rows(path)
    writer.write(some(1000))
    monkeypatch.setattr(os if step == "fsync" else Path, step, fails)
    with pytest.raises(OutputError, match=r"the disk is full; .*part has the first 1,000 rows: free some space"):
        writer.close()
    assert path.read_bytes() == b"old"
    assert read(writer.part) == some(1000)


# ── going on ────────────────────────────────────────────────────────────────────────────────────────────────
def cut_off(path: Path, rows: Sequence[Row], tail: str = "") -> None:
    writer = open_rows(path)
    writer.write(rows)
    writer.flush()
    writer.abort()
    with writer.part.open("a", encoding="utf-8") as file:
        file.write(tail)


@pytest.fixture(params=TEXT)
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    return tmp_path / f"a{request.param}"


@pytest.mark.slow
@pytest.mark.parametrize("at", [0, 1, 2, 7, 19_999, 20_000])
def test_going_on(path: Path, at: int) -> None:
    rows = some(20_000)
    cut_off(path, rows, tail='{"i": 20000, "x"')
    with open_rows(path, resume_at=at) as writer:
        assert writer.rows == at
        writer.write(rows[at:])
        assert writer.rows == 20_000
    assert path.read_bytes() == text_of(rows, path)
    assert not writer.part.exists()


def test_going_on_where_there_is_too_little(path: Path) -> None:
    cut_off(path, some(10))
    with pytest.raises(OutputError) as caught:
        open_rows(path, resume_at=11)
    what = f"{path}.part: it has 10 rows, fewer than the 11 after which to resume"
    assert str(caught.value) == f"{what}: resume after fewer, or start again"
    assert len(read(Path(f"{path}.part"))) == 10


def test_going_on_where_there_is_nothing(path: Path) -> None:
    with pytest.raises(OutputError) as caught:
        open_rows(path, resume_at=0)
    assert str(caught.value) == f"{path}.part: there is no such file to resume: start again"
    with pytest.raises(OutputError, match="it cannot be resumed after -1 rows: use 0 or more"):
        open_rows(path, resume_at=-1)


def test_going_on_with_another_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv.part").write_bytes(b"name,price\n")
    with pytest.raises(
        OutputError, match="its first line is not the header of a table of rows: start again with another name"
    ):
        open_rows(tmp_path / "a.csv", resume_at=0)
    assert (tmp_path / "a.csv.part").read_bytes() == b"name,price\n"


def test_parquet_does_not_go_on(tmp_path: Path) -> None:
    with pytest.raises(OutputError) as caught:
        open_rows(tmp_path / "a.parquet", resume_at=0)
    what = f"{tmp_path}/a.parquet: a Parquet file that was cut off cannot be resumed"
    assert str(caught.value) == f"{what}: start again, or use .csv or .jsonl"


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_what_was_cut_off_is_not_lost(tmp_path: Path, extension: str) -> None:
    part = tmp_path / f"a{extension}.part"
    part.write_bytes(b"hours of work")
    with pytest.raises(OutputError) as caught:
        open_rows(tmp_path / f"a{extension}")
    what = f"{part}: this file was left by a run that was cut off, or belongs to one that is running"
    assert str(caught.value) == f"{what}: resume that run, or move or delete the file"
    assert part.read_bytes() == b"hours of work"


# ── what can go wrong ───────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.txt", "'.txt' is not a format for rows"),
        ("a.json", "'.json' is not a format for rows"),
        ("a", "a file for rows needs an extension"),
    ],
)
def test_another_extension(tmp_path: Path, name: str, kind: str) -> None:
    with pytest.raises(OutputError) as caught:
        open_rows(tmp_path / name)
    assert str(caught.value) == f"{tmp_path}/{name}: {kind}: use one of .csv, .jsonl, .parquet"


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    message = r"a\.parquet: Parquet needs PyArrow \(.*\): pip install 'tm2tfr\[parquet\]', or use .csv or .jsonl$"
    with pytest.raises(OutputError, match=message):
        open_rows(tmp_path / "a.parquet")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_places_that_are_none(tmp_path: Path, extension: str) -> None:
    name = f"a{extension}"
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / f"pipe{extension}")
    for where, what in {
        f"no/{name}": f"there is no folder {tmp_path}/no: make it first",
        "folder.csv": "it is a folder: name a file in it",
        f"pipe{extension}": "it is a pipe or a device, but rows need a file: name one",
        f"{'a' * 250}{extension}": "the name is too long: choose a shorter one",
    }.items():
        with pytest.raises(OutputError) as caught:
            open_rows(tmp_path / where)
        assert str(caught.value) == f"{tmp_path / where}: {what}"
    with pytest.raises(OutputError, match="not the name of a file"):
        open_rows(f"a\0b{extension}")


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("columns", [False, True])
def test_half_a_character(tmp_path: Path, extension: str, columns: bool) -> None:
    rows, bad = some(10), [ODD[4]._replace(a="\ud800")]
    writer = open_rows(tmp_path / f"a{extension}")
    writer.write(rows)
    with pytest.raises(OutputError) as caught:
        writer.write_columns(by_column(bad)) if columns else writer.write(bad)
    what = "'\\ud800' (U+D800) is half a character and cannot be written as UTF-8"
    assert str(caught.value) == f"{writer.path}: {what}; {writer.part} has the first 10 rows: remove it"
    assert read(writer.part) == rows


def test_a_closed_file_takes_no_rows(tmp_path: Path) -> None:
    with open_rows(tmp_path / "a.csv") as writer:
        pass
    writer.close()
    writer.abort()
    with pytest.raises(OutputError, match=r"a.csv: the file is closed, so no row can be added: open another one"):
        writer.write(some(1))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"h": np.arange(4)}, r"column h: shape \(4,\) for 3 rows: give every column one entry per row"),
        ({"h": np.zeros((3, 1), int)}, r"column h: shape \(3, 1\) for 3 rows"),
        ({"m": np.zeros(3)}, "column m: float64 numbers: use integers, or write for such rows"),
        ({"x": Coded(np.array([0, 1, 2]), ["a", "b"])}, "column x: codes from 0 to 2 for 2 labels: a code must be -1"),
        ({"x": Coded(np.array([0, -2, 0]), ["a", "b"])}, "column x: codes from -2 to 0 for 2 labels"),
    ],
)
def test_columns_that_do_not_fit(tmp_path: Path, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ShapeError, match=message), open_rows(tmp_path / "a.csv") as writer:
        writer.write_columns(by_column(some(3))._replace(**wrong))
    assert os.listdir(tmp_path) == []


def test_labels_that_stand_for_whole_numbers_are_numbers_in_json(tmp_path: Path) -> None:
    """Also where the weights are read again, and where they hold something else."""
    decoder = tm2tfr.compile("histogram-without-bos", max_length=4)
    tm2tfr.save_weights(decoder, tmp_path / "h.safetensors")
    want = [(0, "a", 2, 1, 1), (1, "b", 1, 1, 0), (2, "a", 2, 1, 1)]
    names = ("i", "x", "histogram", "others", "is_first")
    for subject in (decoder, str(tmp_path / "h.safetensors")):
        trace = tm2tfr.check(subject, "aba", out=tmp_path / "rows.jsonl", keep_rows=True)
        for text in (table(trace, "jsonl"), (tmp_path / "rows.jsonl").read_text(encoding="utf-8")):
            assert [json.loads(line) for line in text.splitlines()] == [dict(zip(names, row, strict=True)) for row in want]
    assert [plain(value, whole=True) for value in ("-12", "⊥", "0.5·1 + 0.5·2", None)] == [-12, None, "0.5·1 + 0.5·2", None]
    assert plain("1", whole=False) == "1"
