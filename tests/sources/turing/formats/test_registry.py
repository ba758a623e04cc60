"""Which format a text is in, and the documents of turingmachine.io that we write."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sources.turing.formats.test_advent import SIX_STEPS
from tests.sources.turing.formats.test_automata_lib import CODE
from tests.sources.turing.formats.test_complaints import read
from tests.sources.turing.formats.test_doty import COPIED, YAML
from tests.sources.turing.formats.test_ft_turing import document as ft_turing
from tests.sources.turing.formats.test_jflap import ENDS, document, step
from tests.sources.turing.formats.test_morphett import PALINDROMES
from tests.sources.turing.formats.test_turingmachinesimulator import PARITY
from tm2tfr.base import choices
from tm2tfr.base.errors import ConversionError, SpecError
from tm2tfr.certificates.kit import ENGINES
from tm2tfr.sources.turing import conversion
from tm2tfr.sources.turing.formats import registry, turingmachine_io
from tm2tfr.sources.turing.library import load, shipped, shipped_text
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine, Rule

TEXTS = {
    "bbchallenge": "1RB1LB_1LA1RZ\n",
    "morphett": PALINDROMES,
    "doty": COPIED,
    "doty, present form": YAML,
    "jflap": document(ENDS, step(0, 1, "1", "1")),
    "ft_turing": ft_turing(),
    "turingmachinesimulator.com": PARITY,
    "yaml": shipped_text("parity"),
    "advent-of-code": SIX_STEPS,
    "automata-lib": CODE,
}


@pytest.mark.parametrize("format", TEXTS)
@pytest.mark.parametrize("file", ["f", "f.txt", "<stdin>"])
@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf"])
def test_a_format_is_known_by_its_text(format: str, file: str, before: bytes) -> None:
    text = before + TEXTS[format].encode()
    assert registry.read(text, file=file) == registry.read(text, file=file, format=format.partition(",")[0])


def test_or_by_the_ending_of_its_file() -> None:
    assert read(PALINDROMES, file="f.tm").decides
    assert read(COPIED, file="F.TM").tape == "one-way"


@pytest.mark.parametrize("format", TEXTS)
@pytest.mark.parametrize("file", ["f.tm", "f.jff", "f.json", "f.py"])
def test_the_ending_of_a_file_is_a_hint_only(format: str, file: str) -> None:
    assert registry.read(TEXTS[format], file=file) == registry.read(
        TEXTS[format], file=file, format=format.partition(",")[0]
    )


def test_yaml_on_few_lines_is_yaml_by_its_ending() -> None:
    text = "{name: far, blank: _, start state: go, table: {\n  go: {1: R, _: {write: x, R: go}}}}\n"
    assert registry.format_of(text, "far.yaml") == "yaml"


def test_a_large_machine_in_json_begins_with_its_states() -> None:
    text = ft_turing().replace('"states": [', '"states": [' + " " * (1 << 17))
    assert registry.format_of(text, "f.json") == registry.format_of(text, "f") == "ft_turing"


def splices(texts: list[str]) -> st.SearchStrategy[str]:
    """Texts that nearly are machines: pieces of machines, cut anywhere, with anything between."""
    piece = st.sampled_from(texts).flatmap(
        lambda t: st.tuples(st.integers(0, len(t)), st.integers(0, len(t))).map(lambda at: t[min(at) : max(at)])
    )
    return st.lists(piece | st.sampled_from(texts) | st.text(max_size=5), max_size=4).map("".join)


@pytest.mark.slow
@settings(max_examples=300)
@given(text=splices([t[:400] for t in TEXTS.values()]), format=st.sampled_from([None, *registry.READABLE]))
def test_whatever_the_text_is_it_is_a_machine_or_a_complaint(text: str, format: str | None) -> None:
    try:
        loaded = registry.read(text, file="f", format=format)
    except SpecError:
        return
    assert len(loaded.machine.states) >= 1


@pytest.mark.parametrize("name", shipped())
def test_yaml_is_never_taken_for_something_else(name: str) -> None:
    assert registry.read(shipped_text(name), file="f").machine.yaml == shipped_text(name)


# ── turingmachine.io ────────────────────────────────────────────────────────────────────────────────────
def test_verdicts_become_the_state_accept() -> None:
    rules = {("a", "1"): Rule("yes", "1", 0), ("a", "0"): Rule("ja", "0", 1), ("accept", "1"): Rule("no", "1", 1)}
    machine = Machine(transitions=rules, start="a", blank="_", accept=("yes", "ja"), reject="no", name="m")
    written = turingmachine_io.write(machine)
    other = registry.read(written.text, file="f").machine
    assert (other.accept, other.reject, other.accept_states, other.tape) == (None, None, ("accept",), "two-way")
    assert [result(other, w).outcome for w in ("1", "0", "")] == ["accept", "accept", "reject"]
    assert "accept:\n" in written.text


def test_a_machine_without_an_accepting_state() -> None:
    written = turingmachine_io.write(
        Machine(transitions={("a", "1"): ("accept", "1", 1)}, start="a", blank="_", reject="accept")
    )
    assert result(registry.read(written.text, file="f").machine, "1").outcome == "reject"


def test_the_words_for_formats_are_those_of_the_formats() -> None:
    assert tuple(registry.FORMATS) == choices.READABLE == choices.WRITABLE
    assert tuple(conversion._PICTURES) == choices.PICTURES
    assert tuple(ENGINES) == choices.CERTIFIED


@pytest.mark.slow
@pytest.mark.parametrize("format", [f for f in registry.WRITABLE if f in registry.READABLE])
def test_what_is_written_in_a_format_is_taken_for_no_other(format: str) -> None:
    """Whatever the file is called: by the text alone."""
    own, seen = {"turingmachine.io": "yaml"}.get(format, format), 0
    for name in shipped():
        try:
            text = registry.write(load(name), format).text
        except ConversionError:
            continue
        assert registry._guess(text, "f").name == own, name
        seen += 1
    assert seen >= 8


def test_the_format_of_many_empty_lines_is_looked_for_in_a_moment() -> None:
    """A pattern that looks from each line through all that follow would take minutes."""
    began = time.process_time()
    assert time.process_time() - began < 3
