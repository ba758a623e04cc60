"""How a program is compiled: s-op, alphabet, length, mask, limits; what its weights say of themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

import tm2tfr
from tm2tfr.sources.rasp.analyse import analyse
from tm2tfr.sources.rasp.read import read
from tm2tfr.transformer import provenance
from tm2tfr.transformer.weights import digest

LOADED = '# alphabet: ab\nload "helper";\ntwice = next * 2;\n'
BOTH = """# alphabet: ab
previous = aggregate(select(indices, indices - 1, ==), tokens, "-");
last = aggregate(select(indices, indices, <=), indicator(tokens == "a"));
inverse = 1 / (indices - 1);
"""


def test_the_weights_say_how_they_were_compiled() -> None:
    said = tm2tfr.compile("reverse", max_length=4, alphabet="xyz").provenance
    assert provenance.construction(said) == "rasp"
    assert provenance.name(said) == "reverse"
    assert provenance.options(said) == {
        "sop": "reverse",
        "alphabet": "xyz",
        "max_length": "4",
        "mask": "none",
        "max_values": "4096",
        "max_units": "65536",
    }


def test_weights_are_those_of_the_program_with_its_options() -> None:
    decoder = tm2tfr.compile("sort", sop="target", alphabet=["b", "a", 3], max_length=3)
    program = tm2tfr.Subject.of(decoder).right
    assert (program.chosen, program.alphabet, program.name) == ("target", ("b", "a", 3), "sort")
    assert [output.name for output in decoder.outputs] == ["target"]
    assert decoder.vocabulary == ("b", "a", "3")
    assert tm2tfr.compile(program, max_length=3).outputs == decoder.outputs


def test_a_causal_program_has_future_masks_and_one_that_looks_ahead_has_none() -> None:
    masks = {name: tm2tfr.compile(name, max_length=4).looks_ahead for name in ("fraction-of-previous", "reverse")}
    assert masks == {"fraction-of-previous": False, "reverse": True}
    assert tm2tfr.compile("fraction-of-previous", mask="none", max_length=4).looks_ahead


def test_what_may_look_ahead_and_does_not_on_short_inputs_is_compiled_with_a_note() -> None:
    decoder = tm2tfr.compile("flip-flop", mask="future", max_length=4)
    assert not decoder.looks_ahead
    assert provenance.notes(decoder.provenance) == (
        "the mask is 'future', as was asked for: it selects no later position on any input of up to 4 tokens, which is not "
        "proved beyond",
    )


@pytest.mark.slow
def test_of_an_s_op_that_is_not_the_last_what_it_needs_is_compiled() -> None:
    program = tm2tfr.load("long-addition").choosing("column")
    decoder = tm2tfr.compile(program)
    assert [output.name for output in decoder.outputs] == ["column", "is_first_number", "digit", "rest", "above"]
    heads = tuple(len(layer.heads) for layer in decoder.layers if layer.heads)
    assert heads == analyse(program).heads == (1, 2, 1)
    again = tm2tfr.Subject.of(decoder)
    assert digest(tm2tfr.compile(again.right, **provenance.options(decoder.provenance))) == digest(decoder)


def test_an_s_op_that_is_undefined_where_the_chosen_one_is_not_is_no_output() -> None:
    decoder = tm2tfr.compile(read(f"{BOTH}last = last;", file="both.rasp").program, max_length=3)
    assert [output.name for output in decoder.outputs] == ["last", "previous"]
    assert provenance.notes(decoder.provenance) == (
        "inverse is not an output: it is undefined on an input on which last is not",
    )


def test_a_program_of_several_files_is_stored_as_one_text(tmp_path: Path) -> None:
    (tmp_path / "helper.rasp").write_text("next = indices + 1;\n")
    (tmp_path / "main.rasp").write_text(LOADED)
    decoder = tm2tfr.compile(tmp_path / "main.rasp", max_length=4)
    assert "load" not in (provenance.source(decoder.provenance) or "")
    tm2tfr.save_weights(decoder, tmp_path / "main.safetensors")
    assert tm2tfr.check(tmp_path / "main.safetensors", "abab").result.outcome == "2468"


def test_the_s_op_that_is_assigned_last_is_compiled_as_well_where_the_text_is_written_anew(tmp_path: Path) -> None:
    (tmp_path / "helper.rasp").write_text("next = indices + 1;\n")
    (tmp_path / "main.rasp").write_text('# alphabet: ab\nload "helper";\nx = next * 2;\ny = x + 1;\nx = x;\n')
    decoder = tm2tfr.compile(tmp_path / "main.rasp", max_length=4)
    assert [output.name for output in decoder.outputs] == ["x", "next", "y"]
    assert tm2tfr.check(decoder, "ab").result.outcome == "24"
