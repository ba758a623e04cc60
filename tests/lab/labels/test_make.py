"""Folders of labels: what they contain, read by others; resumed; the same bytes for any number of workers."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tests.lab.labels.test_rows import sabotaged
from tm2tfr.base.errors import DatasetError, EngineError, InputError, OutputError
from tm2tfr.lab.labels import files as labels_as
from tm2tfr.lab.labels.make import MadeLabels, labels_report

pq = pytest.importorskip("pyarrow.parquet", reason="PyArrow is not installed: pip install 'tm2tfr[dataset]'")


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def made(folder: Path, subject: Any = "palindromes", **options: Any) -> MadeLabels:
    asked: dict[str, Any] = {"all_up_to": 3, "workers": 1, "shard_size": 6, "engine": "dense"}
    return tm2tfr.make_labels(subject, folder, **(asked | options))


@pytest.mark.slow
def test_a_folder_has_rows_runs_and_what_hook_points_carry(tmp_path: Path) -> None:
    found = made(tmp_path / "out")
    assert (found.tally.runs, found.shards, found.tally.rows, found.tally.cells) == (15, 3, 136, 952)
    assert labels_report(found) == (
        "palindromes: 15 runs (9 accept, 6 reject), 136 rows, 952 cells compared, all agree\n"
        "labels: 12 variables, 6 heads\nhooks: torch, gpt2, lens\n"
        f"wrote {tmp_path / 'out'}: 3 shards, manifest.json, hooks.json, hooks.schema.json, vocabulary.json, README.md"
    )
    rows = [row for n in range(3) for row in pq.read_table(tmp_path / f"out/labels/0000{n}-of-00003.parquet").to_pylist()]
    runs = [row for n in range(3) for row in pq.read_table(tmp_path / f"out/runs/0000{n}-of-00003.parquet").to_pylist()]
    assert [run["input"] for run in runs[:4]] == ["", "a", "b", "aa"]
    assert len(rows) == sum(run["rows"] for run in runs) == 136
    trace = tm2tfr.check("palindromes", "aa", keep_rows=True)
    mine = [row for row in rows if row["run"] == 3]
    assert [(r["position"], r["token"], r["q"], r["b"], r["m"], r["h"], r["a"], r["answer"]) for r in mine] == [
        (row.i, row.x, row.q, row.b, row.m, row.h, row.a, row.y) for row in trace.rows
    ]
    vocabulary = json.loads((tmp_path / "out/vocabulary.json").read_text(encoding="utf-8"))
    assert all(vocabulary[r["token_id"]] == r["token"] and vocabulary[r["answer_id"]] == r["answer"] for r in rows)
    assert list(rows[0])[-5:] == ["L2H0", "L2H1", "L2H2", "L2H3", "L3H0"]
    hooks = json.loads((tmp_path / "out/hooks.json").read_text(encoding="utf-8"))
    assert hooks["heads"][0]["attends"] == "every position up to its own"
    assert "column" not in hooks["heads"][0]
    assert hooks["subspaces"][5] == {
        "name": "e_q",
        "holds": "e_q",
        "labels": list(tm2tfr.compile("palindromes").layout.subspace("e_q").labels or ()),
        "value": {"column": "q"},
        "since": {"layer": 0, "part": "feed_forward"},
    }
    assert hooks["subspaces"][10]["value"] == {"column": "h", "function": "positive", "divided by": "position + 1"}
    assert [point["module"] for point in hooks["targets"]["lens"]["points"][:3]] == [
        "blocks.0.hook_resid_pre",
        "blocks.0.hook_resid_mid",
        "blocks.0.hook_resid_post",
    ]
    manifest = json.loads((tmp_path / "out/manifest.json").read_text(encoding="utf-8"))
    assert manifest["counts"]["rows"] == 136
    assert manifest["inputs"] == {"listed": 0, "all_up_to": 3, "random": [], "default": False, "balanced_outcomes": False}
    assert not (tmp_path / "out/manifest.json.part").exists()


def test_inputs_asked_for_in_two_ways_are_both_there_and_it_is_said(tmp_path: Path) -> None:
    found = made(tmp_path / "out", all_up_to=2, random=3, lengths=(2, 3), inputs=["ab", "aaa"])
    said = "inputs: 2 listed, all of up to 2 tokens, 3 random with seed 0; each input is labelled once"
    assert labels_report(found).splitlines()[2] == said
    runs = [row for path in sorted((tmp_path / "out/runs").iterdir()) for row in pq.read_table(path).to_pylist()]
    assert [run["input"] for run in runs[:8]] == ["ab", "aaa", "", "a", "b", "aa", "ba", "bb"]
    assert len(runs) == len({run["input"] for run in runs}) == found.tally.runs


@pytest.mark.slow
def test_the_card_has_the_names_that_interventions_have(tmp_path: Path) -> None:
    for subject in ("chapter", "since-b", "double-histogram"):
        made(tmp_path / subject, subject, all_up_to=2, engine="auto")
        text = (tmp_path / subject / "README.md").read_text(encoding="utf-8").replace("\\|", "/")
        rows = [
            line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `") and line.count("|") == 5
        ]
        told = {row[0].strip("`"): row[-1] for row in rows if len(row) == 4}
        for each in tm2tfr.causal_variables(subject).variables:
            for column in each.columns:
                assert f"`{each.variable.name}`".replace("|", "/") in told[column.replace("|", "/")]
    assert (
        "| from it: `keys of same or select(indices, 0, ==)` | from it: `keys of same or select(indices, 0, ==)` |\n"
        in text
    )
    assert re.search(r"\b[cs]\d+\b", text) is None


def test_lists_of_positions_and_all_of_them(tmp_path: Path) -> None:
    made(tmp_path / "out", "sort", all_up_to=None, inputs=["cab"], engine="auto")
    rows = pq.read_table(tmp_path / "out/labels/00000-of-00001.parquet").to_pylist()
    assert [row["token"] for row in rows] == ["c", "a", "b"]
    assert [row["answer"] for row in rows] == ["a", "b", "c"]
    lists = [row[name] for row in rows for name in rows[0] if name.startswith("L") and isinstance(row[name], list)]
    assert lists
    assert all(0 <= place < 3 for places in lists for place in places)


@pytest.mark.parametrize("variant", ["lookup", "paper-hard"])
def test_an_answer_is_what_the_model_answers_in_the_prompt_too(tmp_path: Path, variant: str) -> None:
    subject = tm2tfr.Subject.of("full-adder", options={"variant": variant})
    made(tmp_path / "out", subject, all_up_to=3, engine="auto")
    rows = [row for path in sorted((tmp_path / "out/labels").iterdir()) for row in pq.read_table(path).to_pylist()]
    runs = [row for path in sorted((tmp_path / "out/runs").iterdir()) for row in pq.read_table(path).to_pylist()]
    for run in runs:
        answers = tuple(row["answer"] for row in rows if row["run"] == run["run"])
        found = tm2tfr.intervene(subject, run["input"], {("x" if variant == "lookup" else "s", 0): 1})
        assert answers == found.without.answers
        assert found.agrees  # and so the weights answer this


def test_values_that_are_numbers_are_numbers_in_the_file(tmp_path: Path) -> None:
    made(tmp_path / "out", "histogram", all_up_to=None, inputs=["§aab"], engine="auto")
    table = pq.read_table(tmp_path / "out/labels/00000-of-00001.parquet")
    assert (str(table["frac_with_0"].type), str(table["keys of same_and_0"].type)) == ("double", "string")
    assert table["histogram"].to_pylist() == [0.0, 2.0, 2.0, 1.0]
    assert table["frac_with_0"].to_pylist()[1:] == [1 / 3, 1 / 3, 1 / 2]
    hooks = json.loads((tmp_path / "out/hooks.json").read_text(encoding="utf-8"))
    assert {each["name"]: each["kind"] for each in hooks["variables"]}["frac_with_0"] == "number"


def program(folder: Path, text: str) -> Path:
    """Return the file of a RASP program over some tokens."""
    path = folder / "given.rasp"
    path.write_text(f"# alphabet: ab1\n{text}\n", encoding="utf-8")
    return path


def test_a_text_times_a_number_is_a_text_in_the_file(tmp_path: Path) -> None:
    given = program(tmp_path, 'x = tokens * 2;\ny = aggregate(select(indices, 0, ==), x, "-");')
    made(tmp_path / "out", given, all_up_to=None, inputs=["ab"], engine="auto")
    table = pq.read_table(tmp_path / "out/labels/00000-of-00001.parquet")
    assert (table["x"].to_pylist(), table["y"].to_pylist()) == (["aa", "bb"], ["aa", "aa"])


@pytest.mark.filterwarnings("ignore:.* is undefined on the example")
def test_means_of_what_is_undefined_are_left_out_or_refused(tmp_path: Path) -> None:
    given = program(tmp_path, "x = tokens_int;\ny = aggregate(select(indices, indices, <=), x);")
    found = made(tmp_path / "out", given, all_up_to=None, inputs=["ab", "ba", "11"], engine="auto", shard_size=1)
    rows = [pq.read_table(path).num_rows for path in sorted((tmp_path / "out/labels").iterdir())]
    assert (found.left_out, rows) == (2, [0, 0, 2])
    with pytest.raises(InputError, match="^given: the program is undefined on all of these inputs, so there is nothing"):
        made(tmp_path / "none", given, all_up_to=None, inputs=["ab", "ba"], engine="auto")


def test_weights_without_layers_have_hooks_in_torch_alone(tmp_path: Path) -> None:
    given = program(tmp_path, "v = indices * (1 / 2);")
    report = labels_report(made(tmp_path / "out", given, all_up_to=2, engine="auto"))
    assert "\nlabels: 1 variable, 0 heads\nhooks: torch\nno hooks for gpt2, which tm2tfr export refuses: " in report
    hooks = json.loads((tmp_path / "out/hooks.json").read_text(encoding="utf-8"))
    assert [point["module"] for point in hooks["targets"]["torch"]["points"]] == ["embedding"]


def test_numbers_beyond_all_floats_are_infinite() -> None:
    assert [labels_as.number_of_text(text) for text in ("1/3", "-2", "1" * 400, "-" + "1" * 400)] == [
        1 / 3,
        -2.0,
        math.inf,
        -math.inf,
    ]


@pytest.mark.slow
def test_splits_have_no_input_in_common(tmp_path: Path) -> None:
    found = made(tmp_path / "out", all_up_to=4, test=0.25)
    assert (found.tally.runs, found.train, found.test) == (31, 23, 8)
    assert "splits: 23 inputs to train on, 8 to test on" in labels_report(found).splitlines()
    runs = {
        split: [
            row for path in sorted((tmp_path / "out/runs").glob(f"{split}-*")) for row in pq.read_table(path).to_pylist()
        ]
        for split in ("train", "test")
    }
    inputs = {split: {run["input"] for run in own} for split, own in runs.items()}
    assert {split: len(own) for split, own in inputs.items()} == {"train": 23, "test": 8}
    assert not inputs["train"] & inputs["test"]
    rows = pq.read_table(sorted((tmp_path / "out/labels").glob("test-*"))).to_pylist()
    assert {row["run"] for row in rows} == {run["run"] for run in runs["test"]}
    whole = made(tmp_path / "whole", all_up_to=4)
    every = [row for path in sorted((tmp_path / "whole/labels").iterdir()) for row in pq.read_table(path).to_pylist()]
    assert [row for row in every if row["run"] in {run["run"] for run in runs["test"]}] == rows
    assert whole.test == 0
    manifest = json.loads((tmp_path / "out/manifest.json").read_text(encoding="utf-8"))
    assert (manifest["test"], manifest["splits"]) == (0.25, {"train": 23, "test": 8})
    card = (tmp_path / "out/README.md").read_text(encoding="utf-8")
    assert '  - split: test\n    path: "labels/test-*.parquet"' in card
    with pytest.raises(DatasetError, match="test must be a share of the inputs, not 1.5: use for example 0.2"):
        made(tmp_path / "other", test=1.5)
    with pytest.raises(InputError, match="one input cannot be split: ask for more, or omit the share"):
        made(tmp_path / "other", all_up_to=None, inputs=["aba"], test=0.5)
    with pytest.raises(DatasetError, match="choose another folder"):
        made(tmp_path / "out", all_up_to=4, test=0.5, resume=True)


@pytest.mark.slow
def test_other_weights_are_not_resumed(tmp_path: Path) -> None:
    made(tmp_path / "out")
    with pytest.raises(DatasetError, match="this folder has labels made with different weights: choose another folder"):
        made(tmp_path / "out", sabotaged("palindromes", "layers.2.heads.0.output"), resume=True)


@pytest.mark.parametrize(
    ("subject", "asked", "how"),
    [
        (
            "palindromes",
            {"random": 4, "lengths": (2, 5), "seed": 7},
            {"random": [{"count": 4, "shortest": 2, "longest": 5, "seed": 7}]},
        ),
        ("reverse", {"inputs": ["ab", "ba"], "all_up_to": 1}, {"listed": 2, "all_up_to": 1}),
        ("full-adder", {}, {"all_up_to": 3, "default": True}),
        ("full-adder", {"random": 2}, {"random": [{"count": 2, "shortest": 3, "longest": 3, "seed": 0}]}),
    ],
)
def test_the_manifest_says_how_inputs_were_chosen(
    tmp_path: Path, subject: str, asked: dict[str, Any], how: dict[str, Any]
) -> None:
    tm2tfr.make_labels(subject, tmp_path / "out", workers=1, engine="auto", **asked)
    manifest = json.loads((tmp_path / "out/manifest.json").read_text(encoding="utf-8"))
    assert (
        manifest["inputs"]
        == {"listed": 0, "all_up_to": None, "random": [], "default": False, "balanced_outcomes": False} | how
    )


@pytest.mark.slow
def test_both_engines_make_the_same_labels(tmp_path: Path) -> None:
    pytest.importorskip("numba", reason="no Numba here: pip install 'tm2tfr[fast]'")
    for engine in ("dense", "fast"):
        made(tmp_path / engine, engine=engine)
    one, two = (files(tmp_path / engine) for engine in ("dense", "fast"))
    assert {name: of for name, of in one.items() if name != "manifest.json"} == {
        name: of for name, of in two.items() if name != "manifest.json"
    }


@pytest.mark.slow
def test_datasets_reads_a_folder(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed: pip install 'tm2tfr[hf]'")
    made(tmp_path / "out")
    rows = datasets.load_dataset(str(tmp_path / "out"), "labels", split="train", cache_dir=str(tmp_path / "cache"))
    runs = datasets.load_dataset(str(tmp_path / "out"), "runs", split="train", cache_dir=str(tmp_path / "cache"))
    assert (rows.num_rows, runs.num_rows) == (136, 15)
    assert rows[0] | {} == pq.read_table(tmp_path / "out/labels/00000-of-00003.parquet").to_pylist()[0]


@pytest.mark.slow
def test_a_run_that_differs_leaves_nothing_of_its_shard(tmp_path: Path) -> None:
    found = made(tmp_path / "out", sabotaged("palindromes", "layers.2.heads.0.output"))
    assert found.failure is not None
    assert not list((tmp_path / "out/labels").iterdir())
    assert labels_report(found).splitlines()[0].startswith("palindromes: FAILED after ")
    assert labels_report(found).endswith(f"the labels are not finished: {tmp_path / 'out'} contains nothing of this run")


@pytest.mark.slow
def test_runs_longer_than_the_exports_are_said(tmp_path: Path) -> None:
    found = made(tmp_path / "out", positions=13)
    long = (
        "the longest run has 14 positions, and hooks.json is about exports with 13, which do not take it: "
        "use --positions 14 here and in export"
    )
    assert labels_report(found).splitlines()[3] == f"too long: {long}"
    assert f"\nAttention: {long}.\n" in (tmp_path / "out/README.md").read_text(encoding="utf-8")
    found = made(tmp_path / "two", positions=14)
    assert (found.longest, "too long" in labels_report(found)) == (14, False)
    assert "Attention" not in (tmp_path / "two/README.md").read_text(encoding="utf-8")


def test_what_is_undefined_is_left_out_and_runs_keep_their_numbers(tmp_path: Path) -> None:
    found = made(tmp_path / "out", "sort-unique", all_up_to=None, inputs=["aa", "ab"], engine="auto")
    runs = pq.read_table(tmp_path / "out/runs/00000-of-00001.parquet").to_pylist()
    assert (found.left_out, [(run["run"], run["input"]) for run in runs]) == (1, [(1, "ab")])


def test_a_shard_of_inputs_on_which_nothing_is_defined_is_empty(tmp_path: Path) -> None:
    found = made(tmp_path / "out", "sort-unique", all_up_to=None, inputs=["aa", "ab"], engine="auto", shard_size=1)
    rows = [pq.read_table(path).num_rows for path in sorted((tmp_path / "out/labels").iterdir())]
    assert (found.left_out, found.tally.runs, rows) == (1, 1, [0, 2])


@pytest.mark.parametrize(
    ("subject", "options", "error", "why"),
    [
        ("palindromes", {"folder": 5}, OutputError, "folder must be the name of a folder, not 5"),
        ("palindromes", {"inputs": ["x"]}, InputError, "'x'"),
        ("palindromes", {"all_up_to": None, "inputs": []}, InputError, "palindromes: there are no inputs: ask for some"),
        ("full-adder", {"all_up_to": None, "inputs": []}, InputError, "full-adder: there are no inputs: ask for some"),
        ("since-b", {"all_up_to": None, "inputs": [], "engine": "auto"}, InputError, "since-b: there are no inputs: ask"),
        (
            "sort-unique",
            {"all_up_to": None, "inputs": ["aa", "bb"], "engine": "auto"},
            InputError,
            "^sort-unique: the program is undefined on all of these inputs, so there is nothing to label: use other",
        ),
        ("palindromes", {"all_up_to": -1}, InputError, "all_up_to must be a whole number, not -1"),
        ("palindromes", {"all_up_to": 40}, InputError, "these are more than 10,000,000 inputs: ask for fewer"),
        (
            "palindromes",
            {"random": 10, "lengths": (3, 1)},
            InputError,
            r"lengths must be the shortest and the longest, not \(3, 1\)",
        ),
        ("palindromes", {"random": 10, "lengths": (1, 2)}, InputError, "there are 6 inputs of 1 to 2 tokens, and not 10"),
        ("palindromes", {"engine": "quick"}, DatasetError, "unknown engine 'quick'"),
        ("palindromes", {"dtype": "float16"}, DatasetError, "unknown dtype 'float16'"),
        ("palindromes", {"workers": 0}, DatasetError, "workers must be a number of processes, not 0"),
        ("palindromes", {"shard_size": 0}, DatasetError, "shard_size must be a number of runs, not 0"),
        ("palindromes", {"max_steps": -2}, EngineError, "max_steps must be a whole number of steps, not -2"),
        ("full-adder", {"random": 9, "all_up_to": None}, InputError, "there are 8 inputs at most, and not 9"),
        ("full-adder", {"all_up_to": 2}, InputError, "the inputs of this circuit have 3 bits, not up to 2: ask for 3"),
        ("full-adder", {"random": 2, "lengths": (1, 2), "all_up_to": None}, InputError, "has 3 bits: omit the length"),
        (
            "reverse",
            {"all_up_to": 30, "engine": "auto"},
            InputError,
            "the weights have 10 positions, not 30: ask for shorter",
        ),
        ("since-b", {"engine": "exact"}, EngineError, "which the dense engine does for many words: omit engine"),
    ],
)
def test_what_is_refused(subject: str, options: dict[str, Any], error: type[Exception], why: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=why):
        made(options.pop("folder", tmp_path / "out"), subject, **options)
    assert not (tmp_path / "out").exists()
