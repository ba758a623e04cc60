"""A decoder made by hand, without any subspace of ours, goes wherever the decoder of a Turing machine goes."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

import tm2tfr
from tests.handmade import HANDMADE, majority
from tests.html import Cells
from tm2tfr.base.errors import CompileError, Tm2tfrError
from tm2tfr.cli import main
from tm2tfr.tables.stream import EXTENSIONS
from tm2tfr.transformer.weights import Decoder, matrices, replaced

NAMES = list(HANDMADE)
ENGINES = ("dense", "exact", "fast")
TABLE = """\
i  x    token  one         share of 1s  verdict  y
────────────────────────────────────────────────────
0  1    1        1                   1  more     end
1  0    0        1                   0  no more  end
2  1    1        1  0.3333333333333333  more     end
3  <s>  <s>      1                0.25  more     1
4  1    1        1                 0.4  more     end
"""


def command(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


def traced(name: str, **options: Any) -> tm2tfr.Trace:
    make, word, _ = HANDMADE[name]
    return tm2tfr.run(make(), word, max_steps=6, **options)


# ── engines ─────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("name", NAMES)
def test_all_engines_compute_the_same(name: str) -> None:
    make, word, answers = HANDMADE[name]
    found = [traced(name, engine=engine) for engine in ENGINES]
    assert found[0].rows == found[1].rows == found[2].rows
    assert [row[-1] for row in found[0].rows][len(word) :] == answers
    ends = make().stop == answers[-1:] or answers[-1] in make().stop
    assert [(t.answer, t.T) for t in found] == [("end", len(answers) - 1) if ends else ("limit", None)] * 3


def test_the_majority_is_the_majority() -> None:
    for word in ("", "0", "1", "10", "110", "0101100", "1" * 40 + "0" * 39, "1" * 40 + "0" * 41):
        want = "1" if word.count("1") > word.count("0") else "0"
        assert [row[-1] for row in tm2tfr.run(majority(), word).rows][len(word) :] == [want, "end"]


def sabotaged(name: str) -> Decoder:
    """With one weight that changes what is answered."""
    decoder = HANDMADE[name][0]()
    path, entry = {
        "majority": ("layers.1.feed_forward.output", 0),
        "shifted": ("layers.1.heads.0.query", 0),
        "clashing": ("unembedding", 1),
        "bigrams": ("unembedding", 0),
        "hollow": ("unembedding", 1),
    }[name]
    matrix = matrices(decoder)[path]
    row, column, value = list(matrix.entries())[entry]
    return replaced(decoder, {path: matrix.with_entry(row, column, -value)})


@pytest.mark.parametrize("name", sorted({*NAMES} - {"nothing"}))
def test_wrong_weights_give_the_same_wrong_tokens_from_all_engines(name: str) -> None:
    _, word, answers = HANDMADE[name]
    runs = [tm2tfr.run(sabotaged(name), word, max_steps=6, engine=engine) for engine in ENGINES]
    tokens = [[row[-1] for row in run.rows] for run in runs]
    assert tokens[0] == tokens[1] == tokens[2]
    assert tokens[0][len(word) :] != answers


def test_a_long_run_is_not_kept_by_the_fast_engine() -> None:
    trace = traced("shifted", engine="fast", keep_rows=False)
    assert (trace.rows, trace.tokens, trace.answer) == ((), 12, "limit")
    auto = tm2tfr.run(HANDMADE["shifted"][0](), "01", max_steps=1_500)
    assert (auto.engine, auto.tokens, len(auto.rows)) == ("fast", 1_504, 1_504)


# ── tables ──────────────────────────────────────────────────────────────────────────────────────────────────
def cells(trace: tm2tfr.Trace) -> list[list[str]]:
    """The whole table as text, from the rows alone."""
    header = [column.name for column in trace.columns]
    return [header, *(["⊥" if value is None else str(value) for value in row] for row in trace.rows)]


def test_the_table_on_a_terminal() -> None:
    assert tm2tfr.table(tm2tfr.run(majority(), "101"), "text") == TABLE


@pytest.mark.parametrize("name", NAMES)
def test_the_table_has_its_columns_in_every_format(name: str) -> None:
    trace = traced(name)
    want = cells(trace)
    assert list(csv.reader(tm2tfr.table(trace, "csv").splitlines())) == want
    objects = [dict(zip(want[0], row, strict=True)) for row in trace.rows]
    assert json.loads(tm2tfr.table(trace, "json")) == {**trace.as_dict(), "columns": want[0], "rows": objects}
    assert [json.loads(line) for line in tm2tfr.table(trace, "jsonl").splitlines()] == objects
    assert Cells(tm2tfr.table(trace, "html")).rows == want
    markdown = MarkdownIt("commonmark").enable("table").render(tm2tfr.table(trace, "markdown"))
    assert Cells(markdown).rows == want
    latex = [line for line in tm2tfr.table(trace, "latex").splitlines() if line.endswith(r"\\")]
    assert [line.count(" & ") for line in latex] == [len(want[0]) - 1] * len(want)
    assert trace._repr_html_().count("<tr>") == len(want)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("name", NAMES)
def test_rows_are_written_as_they_come(tmp_path: Path, name: str, extension: str, engine: str) -> None:
    trace, path = traced(name), tmp_path / f"rows{extension}"
    traced(name, engine=engine, out=path, keep_rows=False)
    if extension == ".parquet":
        parquet = pytest.importorskip("pyarrow.parquet", reason="no PyArrow here: pip install 'tm2tfr[parquet]'")
        table = parquet.read_table(path)
        assert table.column_names == [column.name for column in trace.columns]
        assert [tuple(row.values()) for row in table.to_pylist()] == list(trace.rows)
    else:
        assert path.read_text(encoding="utf-8") == tm2tfr.table(trace, extension[1:])


# ── text, weights, activations ──────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("name", NAMES)
def test_it_is_printed_and_stored(name: str, tmp_path: Path) -> None:
    decoder = HANDMADE[name][0]()
    assert f"embedding\n  token {decoder.vocabulary[0]} → " in tm2tfr.listing(decoder)
    assert f"\nlayers {len(decoder.layers):>22}\n" in tm2tfr.summary(decoder)
    assert not any(
        line.endswith((" ", "[]", ":")) for line in (tm2tfr.summary(decoder) + tm2tfr.listing(decoder)).splitlines()
    )
    assert "<table>" in decoder._repr_html_()
    tm2tfr.save_weights(decoder, tmp_path / "w.safetensors")
    assert tm2tfr.load_weights(tmp_path / "w.safetensors") == decoder


def test_activations_are_the_stream_after_each_layer() -> None:
    found = tm2tfr.activations(majority(), "101", 2, engine="dense")
    assert found == {
        "embedding": {"token": "1", "one": 1.0, "share of 1s": 0.0, "verdict": None},
        "1 count": {"token": "1", "one": 1.0, "share of 1s": 1 / 3, "verdict": "more"},
    }
    assert list(tm2tfr.activations(HANDMADE["clashing"][0](), "10", 2)) == ["embedding", "1", "2", "3"]
    assert list(tm2tfr.activations(HANDMADE["bigrams"][0](), "a", 1)) == ["embedding"]


# ── what is about machines refuses with the reason ──────────────────────────────────────────────────────────
NO_MACHINE = "no machine is stored with these weights"
REFUSED: dict[str, Callable[[Decoder], object]] = {
    "check": lambda d: tm2tfr.check(d, ""),
    "certify": tm2tfr.certify,
    "measure_softness": lambda d: tm2tfr.measure_softness(d, ""),
    "simulate": lambda d: tm2tfr.simulate(d, ""),
    "machine_of": tm2tfr.machine_of,
    "convert": lambda d: tm2tfr.convert(d, "native"),
}


@pytest.mark.parametrize("function", REFUSED)
@pytest.mark.parametrize("name", NAMES)
def test_what_needs_a_machine_says_so(name: str, function: str) -> None:
    with pytest.raises(CompileError, match=NO_MACHINE):
        REFUSED[function](HANDMADE[name][0]())


@pytest.mark.parametrize("name", ["majority", "shifted", "clashing"])
def test_a_temperature_without_claims_is_a_number(name: str) -> None:
    make, word, _ = HANDMADE[name]
    if name == "shifted":  # the others have heads that are uniform at any temperature
        with pytest.raises(CompileError, match="the gap of head 'previous' is not known: give the temperature as a number"):
            tm2tfr.soften(make())
    soft = tm2tfr.soften(make(), temperature=2.0**-10)
    assert soft.soft
    assert [row[-1] for row in tm2tfr.run(soft, word, max_steps=6).rows] == [row[-1] for row in traced(name).rows]


@pytest.mark.parametrize("name", NAMES)
def test_a_machine_is_not_proved_of_it(name: str) -> None:
    proof = tm2tfr.certify(HANDMADE[name][0](), machine="chapter")
    assert str(proof.refusals[0]).startswith("layout: ")
    with pytest.raises(Tm2tfrError, match="cannot be compared with a Turing machine"):
        tm2tfr.measure_softness(HANDMADE[name][0](), "11", machine="chapter")


# ── the command line ────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "majority.safetensors"
    tm2tfr.save_weights(majority(), path)
    return path


def test_the_command_traces_it(weights: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("trace", weights, "--input", "101", "--at", "2") == 0
    assert (
        capsys.readouterr().out
        == f"""{TABLE}
end: the run ends, after T = 1 intermediate step
engine: dense, float64, 5 positions
check: none, since no machine to compare with is stored with these weights

activation vectors at position 2
  embedding token = 1, one = 1.0, share of 1s = 0.0, verdict = ⊥
  1 count   share of 1s = 0.3333333333333333, verdict = more
"""
    )


def test_the_command_writes_its_table(weights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("table", weights, "--input", "101", "--format", "csv") == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["i,x,token,one,share of 1s,verdict,y", "0,1,1,1,1,more,end"]
    for engine in ENGINES:
        rows = tmp_path / f"{engine}.jsonl"
        assert command("trace", weights, "--input", "101", "--engine", engine, "-o", rows) == 0
        assert json.loads(rows.read_text(encoding="utf-8").splitlines()[3])["y"] == "1"


def test_the_command_describes_it(weights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("compile", weights, "-o", tmp_path / "again.safetensors") == 0
    assert "1  count: compares the numbers of 0s and of 1s [made by hand]" in capsys.readouterr().out
    assert tm2tfr.load_weights(tmp_path / "again.safetensors") == majority()
    assert command("compile", weights, "--explain") == 0
    assert capsys.readouterr().out == tm2tfr.listing(majority())


def test_a_spreadsheet_takes_names_for_formulas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tm2tfr.save_weights(HANDMADE["bigrams"][0](), tmp_path / "w.safetensors")
    assert command("table", tmp_path / "w.safetensors", "--format", "csv") == 0
    assert "warning: a spreadsheet takes a name for a formula ('=b'): import the columns" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["check"], ["certify"], ["soften"], ["graph"]])
def test_the_commands_about_machines_refuse_it(
    weights: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(*arguments, weights) == 2
    assert NO_MACHINE in capsys.readouterr().err
