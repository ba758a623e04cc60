"""What the outputs of a formula's weights are called."""

from __future__ import annotations

from typing import Any

import tm2tfr
from tm2tfr.sources.logic.nodes import And, Build, Input, Node, Not, OneOf, Previous
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.write import output_names


def program(chosen: str, **definitions: Node) -> LogicProgram:
    named = {name if name != "last" else "": node for name, node in definitions.items()}
    return LogicProgram(name="x", text="", language="tl", definitions=named, chosen=chosen)


def test_the_one_compiled_comes_first_then_all_others_by_their_numbers() -> None:
    make = Build()
    a = make(OneOf, of=make(Input), values=("a",))
    before = make(Previous, of=a)
    twice = make(Previous, of=before)
    found = output_names(program("f", p=before, q=before, f=make(And, parts=(twice, before)), last=a))
    assert list(found.values()) == ["f", "in", "Q[a]", "p", "prev prev Q[a]"]
    assert [node.number for node in found] == [4, 0, 1, 2, 3]


def test_the_name_that_is_compiled_is_the_name_of_its_node() -> None:
    make = Build()
    a = make(OneOf, of=make(Input), values=("a",))
    assert list(output_names(program("q", p=a, q=a)).values()) == ["q", "in"]
    assert list(output_names(program("", p=a, last=a)).values()) == ["p", "in"]
    assert list(output_names(program("", last=a)).values()) == ["Q[a]", "in"]


def test_no_two_names_are_equal() -> None:
    make = Build()
    a = make(OneOf, of=make(Input), values=("a",))
    f = make(And, parts=(make(Not, of=a), make(Previous, of=a)))
    named = program("f", **{"f": f, "!Q[a]": a, "in": f.parts[1]})
    assert list(output_names(named).values()) == ["f", "in'", "!Q[a]", "!Q[a]'", "in"]
    taken = program("f", **{"f": f, "!Q[a]": a, "!Q[a] #2": make(Input)})
    assert list(output_names(taken).values()) == ["f", "!Q[a] #2", "!Q[a]", "!Q[a]'", "prev Q[a]"]


# ── which parts of a formula or program its weights answer
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
