"""``check`` of all inputs up to a length lists the accepted ones, of every source with verdicts."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tests.cli.test_commands import tm2tfr_here
from tm2tfr.base.errors import OutputError, UsageError
from tm2tfr.base.text.words import listed_word
from tm2tfr.runs.batches import checked
from tm2tfr.runs.plan import Plan
from tm2tfr.transformer.weights import matrices, replaced


def words(letters: str, shortest: int, longest: int, accepted: Callable[[str], bool]) -> list[str]:
    """Return the words of a language, in shortlex order."""
    every = ("".join(word) for n in range(shortest, longest + 1) for word in product(letters, repeat=n))
    return [word for word in every if accepted(word)]


def mirrored(word: str) -> bool:
    return word == word[::-1]


def ends_in_ba(word: str) -> bool:
    return word.endswith("ba")


def ends_in_abb(word: str) -> bool:
    return word.endswith("abb")


def even_as(word: str) -> bool:
    return all(len(block) % 2 == 0 for block in word.split("b"))


LANGUAGES: dict[str, tuple[Any, int, Callable[[str], bool]]] = {
    "machine": ("palindromes", 0, mirrored),
    "formula": (tm2tfr.formula("Q[a] & prev Q[b]"), 1, ends_in_ba),
    "automaton": (tm2tfr.automaton("(a|b)*abb"), 1, ends_in_abb),
    "automaton that is not star-free": (tm2tfr.automaton("(aa|b)*", alphabet="ab"), 1, even_as),
}
"""What it is -> a source over a and b, the length of its shortest input, and its language."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", LANGUAGES)
def test_the_accepted_words_are_those_of_the_language(kind: str, tmp_path: Path) -> None:
    subject, shortest, accepted = LANGUAGES[kind]
    language, number = words("ab", shortest, 6, accepted), sum(2**n for n in range(shortest, 7))
    report = tm2tfr.check(subject, Plan(all_up_to=6))
    first, second = next(f.text for f in report.said if f.text.startswith("ok")).splitlines()
    assert f" ({len(language)} accept, {number - len(language)} reject): " in first
    more = f" and {len(language) - 20} more: write all with out='runs.csv'" if len(language) > 20 else ""
    assert second == f"      accepted: {', '.join(word or 'ε' for word in language[:20])}{more}"
    data = report.as_dicts()[0]
    assert data["outcomes"] == {"accept": len(language), "reject": number - len(language)}
    assert data["accepted"] == language[:20]
    written = tm2tfr.check(subject, Plan(all_up_to=6, out=tmp_path / "runs.csv"))
    assert written.notes[-1] == f"wrote {tmp_path / 'runs.csv'}"
    assert "write all" not in str(written)
    assert str(written) == str(report).replace(": write all with out='runs.csv'", "")
    with (tmp_path / "runs.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["input"] for row in rows if row["outcome"] == "accept"] == language
    assert (len(rows), {row["agrees"] for row in rows}) == (number, {"true"})


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["fast", "dense"])
def test_the_list_is_the_same_in_batches_and_one_by_one(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if engine == "fast":
        pytest.importorskip("numba", reason="the fast engine needs Numba: pip install 'tm2tfr[fast]'")
    language = words("ab", 0, 5, mirrored)
    for size in (5, 99):
        monkeypatch.setattr(checked, "AT_ONCE", size)
        data = tm2tfr.check("palindromes", Plan(all_up_to=5, engine=engine)).as_dicts()[0]
        assert (data["accepted"], data["outcomes"]["accept"]) == (language[:20], len(language))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["fast", "dense"])
def test_a_machine_in_a_prompt_lists_its_own_inputs(engine: str) -> None:
    if engine == "fast":
        pytest.importorskip("numba", reason="the fast engine needs Numba: pip install 'tm2tfr[fast]'")
    machine = tm2tfr.load("same-ends")
    subject = tm2tfr.Universal(8, 5).holding(machine)
    data = tm2tfr.check(subject, Plan(all_up_to=2, engine=engine)).as_dicts()[0]
    assert data["accepted"] == tm2tfr.check(machine, Plan(all_up_to=2)).as_dicts()[0]["accepted"] != []


def test_no_accepted_word_at_all() -> None:
    subjects: tuple[Any, ...] = (tm2tfr.formula("Q[a] & !Q[a]"), tm2tfr.automaton("aaaaaa"))
    for subject in subjects:
        report = tm2tfr.check(subject, Plan(all_up_to=4))
        assert str(report).splitlines()[0].startswith("ok    all 4 inputs of up to 4 tokens (4 reject): ")
        assert str(report).splitlines()[1] == "      accepted: none"
        assert report.as_dicts()[0]["accepted"] == []


def test_tokens_of_several_characters_are_listed_as_they_are_typed() -> None:
    report = tm2tfr.check("flip-flops", Plan(all_up_to=1))
    first, second = str(report).splitlines()[:2]
    assert "(2 accept, 2 reject)" in first
    assert second == '      accepted: ["w0"], ["w1"]'
    assert tm2tfr.check("flip-flops", Plan(inputs=('["w0"]',))).as_dicts()[0]["outcome"] == "accept"


def test_a_word_is_in_quotes_where_the_list_would_be_misread() -> None:
    words = ("", "ab", "a,b", " ", "ε", '["a", "b"]', "\n", "a" * 99)
    shown = ("ε", "ab", "'a,b'", "' '", "'ε'", '["a", "b"]', r"\n", f"{'a' * 29} … {'a' * 29}")
    assert tuple(map(listed_word, words)) == shown


def test_a_source_without_verdicts_lists_nothing() -> None:
    report = tm2tfr.check("sort", Plan(all_up_to=2))
    assert ("accept" in str(report), set(report.as_dicts()[0]) & {"outcomes", "accepted"}) == (False, set())
    report = tm2tfr.check("busy-beaver-2", Plan(all_up_to=1))
    assert (" halt): " in str(report), "accepted" in str(report)) == (True, False)


def test_random_inputs_are_not_a_language(tmp_path: Path) -> None:
    report = tm2tfr.check("palindromes", Plan(random=5, max_steps=20, out=tmp_path / "runs.jsonl"))
    assert "accepted" not in str(report)
    rows = [json.loads(line) for line in (tmp_path / "runs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [list(row) for row in rows] == [["input", "outcome", "agrees"]] * 5
    assert {row["outcome"] for row in rows} <= {"accept", "reject", "limit"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["machine", "formula"])
def test_where_a_run_differs_nothing_is_listed_and_it_is_the_last_line(kind: str, tmp_path: Path) -> None:
    wrong = tm2tfr.compile("left-edge", left_boundary="chapter")
    if kind == "formula":
        right = tm2tfr.compile("since-b")
        path, query = next((path, matrix) for path, matrix in matrices(right).items() if path.endswith(".query"))
        row, column, value = next(query.entries())
        wrong = replaced(right, {path: query.with_entry(row, column, -value)})
    report = tm2tfr.check(wrong, Plan(all_up_to=4, out=tmp_path / "runs.jsonl"))
    data = report.as_dicts()[0]
    assert (report.passed, "accepted" in str(report), "accepted" in data) == (False, False, False)
    rows = [json.loads(line) for line in (tmp_path / "runs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["agrees"] for row in rows] == [True] * (data["runs"] - 1) + [False]
    assert rows[-1]["input"] == data["failure"]["input"]


def test_files_that_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        OutputError, match=r"rows\.parquet: many runs are written as \.csv or \.jsonl: name the file rows\.csv"
    ):
        tm2tfr.check("since-b", Plan(all_up_to=2, out=tmp_path / "rows.parquet"))
    with pytest.raises(UsageError, match="checkpoint records a single run"):
        tm2tfr.check("since-b", Plan(all_up_to=2, checkpoint=tmp_path / "run.npz"))
    assert list(tmp_path.iterdir()) == []


def test_the_command_shows_how_to_write_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = tm2tfr_here(capsys, "check", "-f", "Q[a] | Q[b]", "--all-up-to", "5")
    assert (code, lines[1].endswith(" abab and 42 more: write all with --output runs.csv")) == (0, True)
