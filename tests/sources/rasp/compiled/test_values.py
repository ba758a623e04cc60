"""Weights have the interpreter's values where types meet: truth values and numbers, texts, powers, means of means."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest

import tm2tfr
from tm2tfr.base.errors import CompileError
from tm2tfr.sources.rasp.evaluate import Undefined, evaluate
from tm2tfr.sources.rasp.read import read
from tm2tfr.sources.rasp.sops import SOp, needed
from tm2tfr.sources.rasp.values import kinds_of
from tm2tfr.sources.sequence.functions import kinds
from tm2tfr.sources.sequence.graph import Apply, Fixed, Position, Token

PROGRAMS = {
    "and-or": '# alphabet: ["0", "2"]\na = tokens_int and indices;\nb = tokens_int or tokens;\n',
    "equal-tables": '# alphabet: ab\na = {"a": True, "b": False}[tokens];\nb = {"a": 1, "b": 0}[tokens];\n',
    "truths-and-numbers": '# alphabet: abc\na = {"a": True, "b": False, "c": 7}[tokens];\n',
    "powers": """# alphabet: ["1", "4", "9"]
a = tokens_int ^ 0.5;
b = tokens_int ^ (-0.5);
c = (tokens_int - tokens_int) ^ 2000;
""",
    "repeated-texts": "# alphabet: ab\na = tokens * 2;\nb = indices * tokens;\n",
    "float-tokens": "# alphabet: [0.5, 3]\na = tokens;\n",
    "means-of-means": """# alphabet: a
shifted = aggregate(select(indices, indices, !=), indices, 3);
mean = aggregate(full_s, shifted, 0.5);
again = aggregate(select(indices, indices, >=), mean, 0.5);
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_of_mixed_types_are_right_on_all_inputs(name: str) -> None:
    program = read(PROGRAMS[name], file=f"{name}.rasp").program
    decoder = tm2tfr.compile(program, max_length=4)
    assert sorted(output.name for output in decoder.outputs) == sorted(program.sops)
    for length in range(1, 5):
        for word in list(product(map(str, decoder.vocabulary), repeat=length))[:20]:
            assert tm2tfr.check(decoder, json.dumps(word)).agrees, word


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_of_the_kinds_that_definitions_say(name: str) -> None:
    program = read(PROGRAMS[name], file=f"{name}.rasp").program
    kinds = kinds_of(node for node in needed(program.sops.values()) if isinstance(node, SOp))
    for word in product(program.alphabet, repeat=2):
        with suppress(Undefined):
            for sop, values in evaluate(program.sops.values(), word).values.items():
                found = {"bool" if isinstance(v, bool) else "text" if isinstance(v, str) else "number" for v in values}
                assert found <= kinds[sop], (word, sop)


def test_a_product_is_a_text_if_a_factor_is() -> None:
    text, place = Token(key="text"), Position(key="place")
    either = Apply(key="either", operator="if", arguments=(text, Fixed(key="true", value=True), place))
    for factors, wanted in (
        ((text, place), {"text"}),
        ((place, text), {"text"}),
        ((place, place), {"number"}),
        ((either, place), {"text", "number"}),
        ((either, text), {"text"}),
    ):
        assert kinds(Apply(key="product", operator="*", arguments=factors), {}) == wanted


def test_truths_among_numbers_are_numbers_for_inputs_of_any_length_too() -> None:
    text = PROGRAMS["truths-and-numbers"] + 'b = aggregate(select(indices, indices, ==), tokens == "-", 2);\n'
    decoder = tm2tfr.compile(read(text, file="truths.rasp").program, unbounded=True)
    assert [output.labels for output in decoder.outputs] == [("0",), ("1", "0", "7")]
    assert tm2tfr.check(decoder, "abc").agrees


@pytest.mark.slow
def test_selectors_of_too_many_levels_are_refused() -> None:
    text = "# alphabet: ab\ns = select(tokens, tokens, ==);\n" + "s = not s;\n" * 2000 + "a = aggregate(s, indices);\n"
    with pytest.raises(CompileError, match="more levels than can be compiled: combine fewer"):
        tm2tfr.compile(read(text, file="deep.rasp").program, max_length=2)


def test_an_s_op_that_is_undefined_on_longer_inputs_only_is_no_output() -> None:
    text = '# alphabet: abc\nlate = aggregate(select(indices, indices + 1, >), tokens, "c");\nplace = +indices;\n'
    decoder = tm2tfr.compile(read(text, file="late.rasp").program, max_length=5)
    assert [output.name for output in decoder.outputs] == ["place"]
    assert decoder.provenance["notes"] == "late is not an output: it is undefined on an input on which place is defined"


# ── the right run of a program: every output is compared, whatever it is called
@pytest.mark.parametrize("name", ["x", "i", "first"])
def test_an_s_op_that_is_called_like_a_column_is_compared_too(name: str, tmp_path: Path) -> None:
    path = tmp_path / "named.rasp"
    path.write_text(f'# alphabet: ab\n{name} = tokens == "a";\n', encoding="utf-8")
    found = tm2tfr.check(path, "ab")
    assert (found.agrees, found.compared) == (True, 4)


@pytest.mark.parametrize(("large", "least"), [("10^30", 10**30), ("2^53", 2**53)])
def test_whole_numbers_that_floats_cannot_tell_apart_are_labels(large: str, least: int) -> None:
    text = f'# alphabet: ab\nx = {large} + indicator(tokens == "a") + indicator(indices == 1);\n'
    decoder = tm2tfr.compile(read(text, file="x.rasp").program, max_length=3)
    assert decoder.outputs[0].labels == tuple(str(least + more) for more in range(3))
    assert tm2tfr.check(decoder, tm2tfr.Plan(all_up_to=3)).passed


def test_they_are_not_compared_as_numbers_either() -> None:
    text = "# alphabet: ab\nx = 10^30 + indices;\ny = aggregate(select(x, x, ==), indices);\n"
    decoder = tm2tfr.compile(read(text, file="x.rasp").program, max_length=20)
    assert tm2tfr.check(decoder, "ab" * 10).result.values == tuple(map(str, range(20)))
