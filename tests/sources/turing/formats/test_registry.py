"""Which format a text is in, and the documents of turingmachine.io that we write."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sources.turing.formats.reading import fails, read
from tests.sources.turing.formats.test_advent import SIX_STEPS
from tests.sources.turing.formats.test_automata_code import CODE
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
    assert fails("0 1 1 r", file="f.yaml")[0].startswith("f.yaml:1:1: the document is text, not a mapping")
    assert fails("0 1 1 r", file="f.jff")[0].startswith("f.jff:1:1: this is not XML")
    assert read(PALINDROMES, file="f.tm").decides
    assert read(COPIED, file="F.TM").tape == "one-way"
    assert "f.tm:1:1: there is no line 'start_state = …': add it above 'delta ='" in fails("blank: _", "doty", file="f.tm")


@pytest.mark.parametrize("format", TEXTS)
@pytest.mark.parametrize("file", ["f.tm", "f.jff", "f.json", "f.py"])
def test_the_ending_of_a_file_is_a_hint_only(format: str, file: str) -> None:
    assert registry.read(TEXTS[format], file=file) == registry.read(
        TEXTS[format], file=file, format=format.partition(",")[0]
    )


def test_a_text_of_no_format_is_blamed_on_none_of_those_with_its_ending() -> None:
    known = f"name the format with --from, one of {', '.join(choices.READABLE)}{registry.OF_OTHERS}"
    for text in ("states: a b\na, 0 -> b, 1, R\n", "#! start a\na 0 1 R b\n", '{"tapes": {}, "states": {}, "name": "x"}'):
        assert fails(text, file="f.tm") == [
            f"f.tm: this is in none of the formats that are read, as far as can be seen: if it is a machine, {known}"
        ]


def test_yaml_on_few_lines_is_yaml_by_its_ending() -> None:
    text = "{name: far, blank: _, start state: go, table: {\n  go: {1: R, _: {write: x, R: go}}}}\n"
    assert registry.format_of(text, "far.yaml") == "yaml"


def test_a_large_machine_in_json_begins_with_its_states() -> None:
    text = ft_turing().replace('"states": [', '"states": [' + " " * (1 << 17))
    assert registry.format_of(text, "f.json") == registry.format_of(text, "f") == "ft_turing"


def test_an_empty_document_is_no_machine() -> None:
    for text in ("---\n", "# nothing\n", "\n"):
        assert fails(text, file="f.yaml") == [
            "f.yaml: the document is empty: a machine has at least the keys 'blank', 'start state' and 'table'"
        ]


FOREIGN = {
    "a program": "def f(x):\n    return {x: 1, 2: [x, x]}\n",
    "a letter": "Dear reader,\n\nin state A: this is a text of several words, and no machine.\n",
    "a page": "<!doctype html>\n<html><body>0 1 1 r 0</body></html>\n",
    "a table": "state,read,write\na,0,1\nb,1,0\n",
    "settings": "version: '3'\nservices:\n  web:\n    image: nginx\n",
    "JSON": '{"name": "x", "version": "1.0", "dependencies": {}}\n',
    "C": "int main(void) { return a -> b; }\n",
    "a shell script": "#!/bin/sh\nset -e\nmake all r 0\n",
    "numbers": "1 2 3\n4 5 6\n",
    "a word": "hello\n",
}


@pytest.mark.parametrize("about", FOREIGN)
@pytest.mark.parametrize("file", ["f", "f.txt", "<stdin>"])
def test_what_is_in_no_format_is_said_to_be_in_none(about: str, file: str) -> None:
    (said,) = fails(FOREIGN[about], file=file)
    assert said == (
        f"{file}: this is in none of the formats that are read, as far as can be seen: if it is a machine, name the format "
        f"with --from, one of {', '.join(choices.READABLE)}{registry.OF_OTHERS}"
    )


def test_code_is_not_run() -> None:
    assert fails("print()", file="f.py") == [
        "f.py: no call DTM(…) is in this code: write the machine as DTM(states={…}, …), with literals"
    ]


@pytest.mark.parametrize("line", ["0 _ 11 r halt", "0 0 0 n halt", "0 0 0 r", "0 0 0 r 0 0 ; one too many"])
def test_a_program_with_an_error_is_still_known(line: str) -> None:
    assert fails(f"0 1 1 r 0\n{line}\n")[0].startswith("f:2:")


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


def test_unknown_formats() -> None:
    with pytest.raises(
        ConversionError, match=r"machines cannot be read from 'jfla' \(did you mean 'jflap'\?\): use one of yaml"
    ):
        registry.read("", file="f", format="jfla")
    with pytest.raises(ConversionError, match="machines cannot be read from 'mermaid': use one of"):
        registry.read("", file="f", format="mermaid")
    with pytest.raises(
        ConversionError, match=r"machines cannot be written as 'doti' \(did you mean 'doty'\?\): use one of yaml, tur"
    ):
        registry.write(load("chapter"), "doti")


# ── turingmachine.io ────────────────────────────────────────────────────────────────────────────────────
def test_verdicts_become_the_state_accept() -> None:
    rules = {("a", "1"): Rule("yes", "1", 0), ("a", "0"): Rule("ja", "0", 1), ("accept", "1"): Rule("no", "1", 1)}
    machine = Machine(transitions=rules, start="a", blank="_", accept=("yes", "ja"), reject="no", name="m")
    written = turingmachine_io.write(machine)
    assert written.notes == (
        "a rule that stayed in the cell before a halt now moves right",
        "states are renamed: 'yes' to 'accept', 'ja' to 'accept', 'accept' to 'accept_1'",
    )
    other = registry.read(written.text, file="f").machine
    assert (other.accept, other.reject, other.accept_states, other.tape) == (None, None, ("accept",), "two-way")
    assert [result(other, w).outcome for w in ("1", "0", "")] == ["accept", "accept", "reject"]
    assert "accept:\n" in written.text


def test_a_machine_without_an_accepting_state() -> None:
    written = turingmachine_io.write(
        Machine(transitions={("a", "1"): ("accept", "1", 1)}, start="a", blank="_", reject="accept")
    )
    assert written.notes == (
        "states are renamed: 'accept' to 'accept_'",
        "a state 'accept' that no run enters declares that every halt rejects",
    )
    assert result(registry.read(written.text, file="f").machine, "1").outcome == "reject"


def test_what_turingmachine_io_cannot_say() -> None:
    with pytest.raises(
        ConversionError, match=r"digit-sum-parity: turingmachine\.io cannot express this machine: δ\(even, '1'\) stays"
    ):
        turingmachine_io.write(load("digit-sum-parity"))


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
    assert "in none of the formats" in fails("\n" * 60_000 + "x")[0]
    assert time.process_time() - began < 3
