"""Many inputs at once have the values that the interpreter has, one by one, of the same types."""

from __future__ import annotations

from itertools import islice, product

import pytest

import tm2tfr
from tm2tfr.sources.rasp.evaluate import Undefined, evaluate
from tm2tfr.sources.rasp.evaluate_many import ManyInputs
from tm2tfr.sources.rasp.program import Program
from tm2tfr.sources.rasp.read import read

HOSTILE = """
# alphabet: ["a", "b", "1", 2]
big = tokens_asis == 2;
mixed = True if indices == 0 else indices;
texts_and_numbers = "x" if tokens_str == "a" else indices;
halves = aggregate(select(mixed, mixed, <=), mixed, 1 / 3);
power = (indices + 1) ^ (indices - 1);
divided = 1 / (indices - aggregate(select(1, 1, ==), indicator(big)));
ordered = aggregate(select(tokens_asis, tokens_str, ==), tokens_str, "-");
huge = (indices + 1) * 9007199254740993;
sums = aggregate(select(indices, indices, <=), huge);
"""


def same(program: Program, longest: int, most: int) -> tuple[int, int]:
    """Compare all s-ops one by one and together; return how many values are equal, and how many inputs are undefined."""
    equal = undefined = 0
    for sops in [[sop] for sop in program.sops.values()] + [list(program.sops.values())]:
        many = ManyInputs(sops, program.alphabet)
        for length in range(1, longest + 1):
            words = list(islice(product(program.alphabet, repeat=length), most))
            found = many(words)
            for k, word in enumerate(words):
                try:
                    values = evaluate(sops, word).values
                except Undefined:
                    assert not found.defined[k], word
                    undefined += 1
                    continue
                assert found.defined[k], word
                for sop, wanted in values.items():
                    got = [found.atoms[sop][place] for place in found.places[sop][k]]
                    assert [(type(v), v) for v in got] == [(type(v), v) for v in wanted], (word, sop)
                    equal += length
    return equal, undefined


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sort-unique", "most-frequent", "long-addition", "smooth"])
def test_shipped_programs_have_the_same_values(name: str) -> None:
    equal, _ = same(tm2tfr.load(f"{name}.rasp"), 4, 60)
    assert equal > 100


def test_hostile_s_ops_have_the_same_values_and_are_undefined_on_the_same_inputs() -> None:
    equal, undefined = same(read(HOSTILE, file="hostile.rasp").program, 3, 64)
    assert equal > 1000
    assert undefined > 100


def test_what_is_undefined_on_all_inputs_of_a_length_is_undefined_on_many_at_once() -> None:
    text = "# alphabet: ab\nlater = 1 / (length - 1);\nsum = later + indices;\nmean = aggregate(full_s, sum);\n"
    assert same(read(text, file="later.rasp").program, 3, 8)[1] == 8


def test_a_mean_of_what_no_input_defines_is_undefined_and_later_inputs_have_theirs() -> None:
    program = read("# alphabet: ab1\nx = tokens_int;\ny = aggregate(select(1, 1, ==), x);\n", file="ints.rasp").program
    many = ManyInputs(program.sops.values(), program.alphabet)
    assert many([("a", "b"), ("b", "a")]).defined.tolist() == [False, False]
    found = many([("a", "b"), ("1", "1")])
    assert found.defined.tolist() == [False, True]
    y = program.sops["y"]
    assert [found.atoms[y][place] for place in found.places[y][1]] == [1, 1]


def test_means_of_numbers_beyond_64_bits() -> None:
    text = f'# alphabet: ab\nx = {10**30} + indicator(tokens == "a");\ny = aggregate(select(1, 1, ==), x);\n'
    assert same(read(text, file="large.rasp").program, 3, 8)[0] > 50
