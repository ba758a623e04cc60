"""Which parts of a formula or program its weights answer."""

from __future__ import annotations

from typing import Any

import tm2tfr


def outputs(name: str, **options: Any) -> list[str]:
    return [output.name for output in tm2tfr.compile(name, **options).outputs]


def test_definitions_alone() -> None:
    steps = ["out", "sleft", "sright", "er1", "diff", "d", "check", "er2", "okprefix"]
    assert outputs("dyck-2-by-depth", answers="definitions") == steps
    every = outputs("dyck-2-by-depth")
    assert every[0] == "out"
    assert set(steps) < set(every)


def test_a_formula_without_names_answers_itself() -> None:
    assert outputs("since-b", answers="definitions") == ["(Q[a] | Q[b]) since Q[b]"]


def test_what_is_not_answered_is_there_all_the_same() -> None:
    some, every = (tm2tfr.compile("dyck-2-by-depth", answers=answers) for answers in ("definitions", "all"))
    assert some.layers == every.layers
    assert tm2tfr.check(some, "([)]").agrees


def test_no_constants_no_tokens_and_no_sums_of_one_term_are_answered() -> None:
    found = outputs("dyck-2-by-depth")
    assert not {"in", "in(i)", "0", "1", "true", "false"} & set(found)
