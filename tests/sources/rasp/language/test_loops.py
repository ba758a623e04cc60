"""Loops of RASP: what a pass hands to the next, when a loop ends, and where loops cannot stand."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from tests.sources.rasp.running import read, values
from tm2tfr.base.errors import SpecError
from tm2tfr.sources.rasp.analyse import analyse
from tm2tfr.sources.rasp.evaluate import Undefined, evaluate
from tm2tfr.sources.rasp.evaluate_many import ManyInputs
from tm2tfr.sources.rasp.read import read as read_program
from tm2tfr.sources.rasp.write import write

PARITY = """# alphabet: 01
x = tokens == "1";
known = indices == 0;
before = indices if indices == 0 else indices - 1;
repeat until known {
    left = select(indices, before, ==);
    ready = aggregate(left, indicator(known)) == 1 and not known;
    x = (x == not (aggregate(left, indicator(x)) == 1)) if ready else x;
    known = known or ready;
}
parity = 1 if x else 0;
"""
MINIMUM = """# alphabet: abc
n = {"a": 1, "b": 2, "c": 3}[tokens];
passes = 0;
repeat 7 until done {
    low = n;
    for far in [1, 2] {
        behind = aggregate(select(indices, indices + far, ==), n, 9);
        n = behind if behind < n else n;
    }
    passes = passes + 1;
    done = n == low;
}
low = n * 10 + passes;
"""
PROGRAMS = {
    "parity": PARITY,
    "minimum": MINIMUM,
    "a fixed number of passes": "# alphabet: ab\nx = 0;\nrepeat 3 { x = x + indices; y = x; }\nz = x * 100 + y;",
    "a swap": '# alphabet: ab\nx = tokens; y = "c";\nrepeat 3 { x, y = y, x; }\nz = x + y;',
    "a number from an expression": "# alphabet: ab\nn = 2;\nx = 1;\nrepeat n * 2 + 1 { x = 2 * x; }\nz = x + indices;",
    "what was before": "# alphabet: ab\nx = 1;\nrepeat 4 { old = x; x = x + 1; }\nz = old * 10 + x + 0 * indices;",
    "two loops": """# alphabet: ab
x = 1 if tokens == "a" else 0;
repeat until steady {
    old = x;
    x = aggregate(select(indices, indices - 1, >=) and select(indices, indices, <=), x);
    x = 1 if x > 0 else 0;
    steady = x == old;
}
y = x;
repeat 2 until y == 3 { y = y + x; }
z = y;
""",
    "in a function": """# alphabet: ab
def last(x) {
    next = select(indices, indices + 1, ==);
    repeat 9 { x = aggregate(next, x, "b") if x == "a" else x; }
    return x;
}
z = last(tokens);
w = last(last(tokens)) + z;
""",
    "nothing that changes": '# alphabet: ab\nrepeat 5 { y = tokens; }\nz = y + "c";',
    "truth values among numbers": "# alphabet: ab\nx = 0;\nrepeat 2 { x = x == 0; }\nz = x;",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_many_inputs_have_the_values_of_one(name: str) -> None:
    program = read(PROGRAMS[name])
    sops = list(program.sops.values())
    many = ManyInputs(sops, program.alphabet)
    for n in range(1, 6):
        words = random.Random(n).sample(list(product(program.alphabet, repeat=n)), min(20, len(program.alphabet) ** n))
        found = many(words)
        for k, word in enumerate(words):
            try:
                right = evaluate(sops, word).values
            except Undefined:
                assert not found.defined[k]
                continue
            for sop in sops:
                assert tuple(found.atoms[sop][place] for place in found.places[sop][k]) == right[sop]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_written_and_read_back(name: str) -> None:
    program = read(PROGRAMS[name])
    again = read_program(write(program), file="again.rasp").program
    assert list(again.sops) == list(program.sops)
    for n in range(1, 5):
        for word in random.Random(n).sample(list(product(program.alphabet, repeat=n)), min(8, len(program.alphabet) ** n)):
            for sop, other in zip(program.sops.values(), again.sops.values(), strict=True):
                try:
                    right = evaluate(sop, word).values[sop]
                except Undefined:
                    continue
                assert evaluate(other, word).values[other] == right


def test_values_by_hand() -> None:
    assert values(PARITY, "parity", tuple("1101001")) == (1, 0, 0, 1, 1, 1, 0)
    assert values(MINIMUM, "low", tuple("cbc")) == (22, 22, 32)
    assert values(MINIMUM, "low", tuple("bcaccc")) == (12, 12, 12, 32, 32, 32)
    assert values(PROGRAMS["a fixed number of passes"], "z", tuple("ab")) == (0, 303)
    assert values(PROGRAMS["a swap"], "z", tuple("ab")) == ("ca", "cb")
    assert values(PROGRAMS["a number from an expression"], "z", tuple("ab")) == (32, 33)
    assert values(PROGRAMS["what was before"], "z", tuple("a")) == (45,)
    assert values(PROGRAMS["in a function"], "z", tuple("aab")) == ("b", "b", "b")


def test_passes_are_counted_and_a_loop_is_looked_at_after_any_pass() -> None:
    program = read(PARITY)
    whole = evaluate(program, "1101")
    (loop,) = whole.passes
    assert whole.passes == {loop: 3}
    halfway = evaluate(program, "1101", passes={loop.number: 2})
    assert halfway.passes == {loop: 2}
    assert halfway.values[loop.nexts[1]] == (True, True, True, False)
    (found,) = analyse(program).loops
    assert (found.first, found.last, found.said) == (1, 1, "depth 1 is run until its condition holds")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = 1;\nrepeat until x == 0 { x = x; }", "does not end: what it hands to the next pass comes back"),
        ("x = 1;\nrepeat until x { x = x; }", "the condition of a loop is true or false, not 1"),
        ("x = 2;\nrepeat 5 { x = x - 1; y = 1 / x; }", "in pass 2 of its loop"),
    ],
)
def test_inputs_on_which_a_loop_is_undefined(text: str, why: str) -> None:
    program = read(f"# alphabet: ab\n{text}\nz = x + 0 * indices;")
    every = tuple(program.sops.values())
    with pytest.raises(Undefined, match=why):
        evaluate(every, "ab")
    assert not ManyInputs(every, program.alphabet)([("a", "b")]).defined[0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("repeat 0 { x = indices; }", "the number of passes is from 1 to 10,000, not 0"),
        ("repeat 1.5 { x = indices; }", "the number of passes is a whole number, not a number"),
        ("n = indices;\nrepeat n { x = indices; }", "the number of passes is a whole number, not an s-op"),
        ("x = 1;\nrepeat until 1 { x = x + indices; }", "the condition of a loop is an s-op, not a number"),
        ("x = [1];\nrepeat 2 { x = [2]; }", "'x' is a list before the loop"),
        ("x = 1;\nrepeat 2 { x = [indices]; }", "'x' is an s-op before a pass, and a list after it"),
        ("x = 1;\nrepeat 2 { x = x + 1; repeat 2 { x = x + 1; } }", "a loop cannot be repeated by another one"),
        (
            "def f(x) { repeat 2 { x = x + 1; } return x; }\ny = 1;\nrepeat 2 { y = f(y); }",
            "a loop cannot be repeated by another one",
        ),
        ("x = 1;\nrepeat 2 { def f(y) { return y; } x = x + 1; }", "within a loop there are assignments alone"),
        ('x = indices;\nrepeat 2 { x = x + 1; x("a"); }', "nothing is drawn or applied to an input within a loop"),
        (
            "x = 1;\nrepeat 2 { s = select(x, x, ==); x = x + 1; }\ny = aggregate(s, 1);",
            "there is no variable 's'",
        ),
        ("repeat 2 { length = indices; }", "'length' is a name of the library"),
        ("x = 1;\nrepeat 2 { x = x + 1 }", "a semicolon is missing"),
        ("x = 1;\nrepeat 2: x = x + 1;", "a block stands in curly brackets"),
    ],
)
def test_loops_that_are_refused(text: str, problem: str) -> None:
    with pytest.raises(SpecError) as caught:
        read_program(f"# alphabet: ab\n{text}\nz = indices;", file="text.rasp")
    assert problem in str(caught.value)


def test_repeat_and_until_are_names_where_they_begin_no_loop() -> None:
    text = """# alphabet: ab
repeat = indices;
until = repeat + 1;
def f(repeat) { return repeat + until; }
repeat, until = until, repeat;
repeat;
repeat + until;
x = f(repeat);
repeat 2 until until == 9 { until = until + repeat; }
n = 3;
repeat n { until = until + 1; }
y = until;
"""
    word: tuple[Any, ...] = ("a", "b")
    assert values(text, "x", word) == (1, 3)
    assert values(text, "y", word) == (5, 8)
