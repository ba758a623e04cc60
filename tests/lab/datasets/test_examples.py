"""Runs as examples: what is shown, what is scored, and that both formats say the same."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.runs.checking import check
from tm2tfr.engines.fast import available
from tm2tfr.lab.datasets import files
from tm2tfr.lab.datasets.files import ExampleColumn, Lists, Texts, Tokens, columns_of, encoded
from tm2tfr.lab.datasets.machines.prompting import MachineHow
from tm2tfr.lab.datasets.machines.runs import CheckedRuns, Runs, made
from tm2tfr.lab.datasets.machines.spec import MachineSpec
from tm2tfr.lab.datasets.reader import read
from tm2tfr.lab.datasets.shard import Done, Failure
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.simulator import configurations, result
from tm2tfr.sources.turing.spec import Machine

pq: Any = pytest.importorskip("pyarrow.parquet", reason="PyArrow is not installed: pip install 'tm2tfr[dataset]'")
ENGINES = ["dense", *(["fast"] if available() else [])]


def answers(machine: Machine, word: str) -> Iterator[str]:
    """Yield what should follow the prompt, from the simulator's configurations."""
    run = list(configurations(machine, word))
    yield f"({machine.start},{run[0].symbol},0)"
    for here, after in pairwise(run):
        assert here.rule is not None
        if (verdict := machine.outcome_of(after.state)) is not None:
            yield {"accept": "ACC", "reject": "REJ"}[verdict]
            return
        yield f"({after.state},{here.rule.write},{after.head - here.head:+d})"
    yield "REJ"


COLUMNS = ["machine", "input", "form", "prompt", "target", "loss_mask", "verdict", "T", "tape"]


def made_of(spec: MachineSpec, engine: str = "dense") -> list[Done]:
    making = spec.making(MachineHow(engine, spec.max_steps))
    return [made(job, making) for job in spec.jobs()]


def lines(done: Done, split: str = "all") -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.files[f"{split}/{done.number:05}-of-00001.jsonl"].decode().splitlines()]


def one(machine: str, word: str, **more: str) -> list[dict[str, Any]]:
    keys = "".join(f"{key.replace('_', ' ')}: {value}\n" for key, value in more.items())
    text = f"machines: [{machine}]\ninputs: ['{word}']\nsplits: {{all: 1}}\n{keys}"
    [done] = made_of(read(text, file="spec.yaml"))
    return lines(done) if done.files else []


def test_the_three_forms_of_the_chapters_example() -> None:
    prompt, steps = ["1", "1", "BOS"], ["(q0,1,0)", "(q1,_,+1)", "(q2,x,+1)", "(q4,_,-1)", "(q4,x,-1)", "(q1,_,+1)"]
    same = {"machine": "chapter", "input": "11", "verdict": "accept", "T": 6, "tape": "_x", "prompt": prompt}
    answer, shown, scored = one("chapter", "11")
    assert answer == {**same, "form": "answer", "target": ["ACC"], "loss_mask": [1]}
    assert shown == {**same, "form": "steps shown", "target": [*steps, "ACC"], "loss_mask": [0] * 6 + [1]}
    assert scored == {**same, "form": "steps scored", "target": [*steps, "ACC"], "loss_mask": [1] * 7}
    assert list(answer) == COLUMNS


def test_a_run_that_begins_with_its_verdict_has_no_steps() -> None:
    answer, shown, _ = one("accept-all", "")
    assert (answer["target"], answer["T"], answer["loss_mask"]) == (["ACC"], 0, [1])
    assert (shown["target"], shown["loss_mask"]) == (["ACC"], [1])


def test_a_run_that_is_cut_off_has_no_answer() -> None:
    assert one("never-halts", "", max_steps="5") == []
    [kept] = one("never-halts", "", max_steps="5", unfinished="keep")
    assert (kept["form"], kept["verdict"], kept["T"]) == ("steps scored", None, None)
    assert len(kept["target"]) == len(kept["loss_mask"]) == 6
    assert set(kept["loss_mask"]) == {1}


MIXED = """\
machines: {named: [palindromes, binary-increment, busy-beaver-2], random: {states: 2, symbols: 2, count: 20}}
inputs: ['']
max steps: 30
unfinished: keep
shard size: 7
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_every_line_is_what_the_simulator_says(engine: str) -> None:
    text = "machines: [palindromes]\ninputs: {up to: 4}\nsplits: {all: 1}\nsupervision: steps scored"
    [done] = made_of(read(text, file="spec.yaml"), engine)
    machine = load("palindromes")
    assert len(lines(done)) == 31
    for line in lines(done):
        truth = result(machine, line["input"])
        assert (line["verdict"], line["tape"], line["T"]) == (truth.outcome, truth.tape, len(line["target"]) - 1)
        assert line["prompt"] == [*line["input"], "BOS"]
        assert line["target"] == list(answers(machine, line["input"]))


@pytest.mark.slow
def test_engines_make_the_same_bytes() -> None:
    if len(ENGINES) == 1:
        pytest.skip("Numba is not installed: pip install 'tm2tfr[fast]'")
    spec = read(MIXED, file="spec.yaml")
    dense, fast = made_of(spec, "dense"), made_of(spec, "fast")
    assert [done.files for done in dense] == [done.files for done in fast]
    assert [done.tally for done in dense] == [done.tally for done in fast]
    assert sum(done.tally.outcomes["limit"] for done in fast) > 2


@pytest.mark.slow
def test_both_formats_say_the_same() -> None:
    found = 0
    for done in made_of(read(MIXED, file="spec.yaml")):
        for name in (name for name in done.files if name.endswith(".parquet")):
            split, table = name.split("/")[0], pq.read_table(io.BytesIO(done.files[name]))
            assert table.column_names == COLUMNS
            assert table.to_pylist() == lines(done, split)
            found += table.num_rows
    assert found > 40


def test_columns_have_types_that_load_everywhere() -> None:
    [done] = made_of(read("machines: [chapter]\ninputs: [1]\nsplits: {all: 1}", file="spec.yaml"))
    schema = pq.read_schema(io.BytesIO(done.files["all/00000-of-00001.parquet"]))
    kinds = {field.name: str(field.type) for field in schema}
    assert kinds == {
        **dict.fromkeys(("machine", "input", "form", "verdict", "tape"), "string"),
        **dict.fromkeys(("prompt", "target"), "list<element: string>"),
        "loss_mask": "list<element: int8>",
        "T": "int64",
    }


def test_symbols_that_json_has_to_escape() -> None:
    rules = {("a", '"'): ("a", "\\", 1), ("a", "é"): ("a", "\U0001d538", 1)}
    machine = Machine(transitions=rules, start="a", blank=" ", input_alphabet=('"', "é"), name='a "name"')
    spec = MachineSpec(
        text="", name="x", named=(("x", machine),), families=(), inputs=read_words('"é'), splits=(("all", 1.0),)
    )
    [done] = made_of(spec)
    line = lines(done)[2]
    assert (line["machine"], line["input"], line["tape"]) == ('a "name"', '"é', "\\\U0001d538")
    assert line["target"] == ['(a,",0)', "(a,\\,+1)", "(a,\U0001d538,+1)", "HALT"]
    assert pq.read_table(io.BytesIO(done.files["all/00000-of-00001.parquet"])).to_pylist() == lines(done)


def read_words(*words: str) -> Any:
    return read("machines: [chapter]\ninputs: []", file="x").inputs.__class__(words=words)


# ── what is wrong is never written ──────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_that_differs_ends_its_job_without_files(engine: str) -> None:
    spec = read("machines: [chapter, left-edge]\ninputs: [1, 11]\nsplits: {all: 1}", file="spec.yaml")
    [job] = spec.jobs()
    how = MachineHow(engine, 100, "chapter")
    for done in (made(job, spec.making(how)), spec.sweeper(job, how)):
        assert done.failure is not None
        assert (done.failure.program.name, done.failure.word) == ("left-edge", "1")
        assert done.failure.why.startswith("position 4: h should be 1, is 0\ncause: layer 2 (head position), attention")
        assert (done.tally.runs, done.files) == (2, {})


@pytest.mark.skipif(not available(), reason="Numba is not installed: pip install 'tm2tfr[fast]'")
@pytest.mark.parametrize("lie", ["steps", "tape"])
def test_a_compiled_simulator_that_lies_about_the_end_is_found_out(lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from tm2tfr.lab.datasets.machines import runs

    honest = result(load("chapter"), "11")
    told = honest.__class__(**{**honest.__dict__, lie: 7 if lie == "steps" else "x"})
    monkeypatch.setattr(runs, "result", lambda *_, **__: told)
    found = Runs(load("chapter"), MachineHow("fast", 100)).on("11")
    assert isinstance(found, Failure)
    assert found.why == f"9 tokens, {honest}; the simulator: {told}"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("lost", ["answer", "comparison"])
def test_a_run_of_which_something_is_missing_is_no_example(engine: str, lost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(load("chapter"), MachineHow(engine, 100))
    name = "_fast" if engine == "fast" else "_plain"
    trace, answers = getattr(runs, name)(runs.machine, "11")
    told = (trace, answers[:-1]) if lost == "answer" else (replace(trace, compared=0), answers)
    monkeypatch.setattr(runs, name, lambda *_: told)
    found = runs.on("11")
    assert isinstance(found, Failure)
    assert found.why == f"9 tokens, {trace.result}; the simulator: {trace.result}"


@pytest.mark.parametrize("engine", ENGINES)
def test_one_object_runs_many_words(engine: str) -> None:
    runs = Runs(load("palindromes"), MachineHow(engine, 1_000))
    for word in ("abba", "", "ab", "abba"):
        run = runs.on(word)
        assert isinstance(run, CheckedRuns)
        plain = check(runs.decoder, word, machine=runs.machine, engine=check_engine(), keep_rows=True)
        assert [runs.decoder.vocabulary[n] for n in run.columns.answers] == [row.y for row in plain.rows][len(word) :]
        assert run.columns.answers.dtype == np.int32


def check_engine() -> Any:
    from tm2tfr.engines import engine

    return engine("dense")


# ── Examples as columns: the same bytes as PyArrow makes of the texts themselves, and the same rows.
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
