"""What documents mean: all of turingmachine.io's YAML, our keys beyond it, and what is written is read back."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import machines
from tm2tfr.base.errors import SpecError
from tm2tfr.base.text import nodes, source
from tm2tfr.sources.turing.formats import native
from tm2tfr.sources.turing.spec import Example, Machine, Rule

HEAD = "blank: ' '\nstart state: a\n"
LOADERS = {loader.__name__: (loader,) for loader in nodes.LOADERS}


@pytest.mark.parametrize(
    ("line", "tapes"), [("type: 3tape", 3), ("tapes: 2", 2), ("num_tapes: 12", 12), ("number of tapes: 2 tapes", 2)]
)
def test_several_tapes_are_said_once(line: str, tapes: int) -> None:
    text = f"{line}\n{HEAD}table:\n  a:\n    [[0, 1, ' ']]: [[1, 1, 1], R]\n"
    with pytest.raises(SpecError) as caught:
        native.read(text, file="f.yaml")
    assert [str(d).split("\n")[0].partition(": ")[2] for d in caught.value.diagnostics] == [
        f"this machine has {tapes} tapes, but machines here have one: convert it to one tape first"
    ]
    one = native.read(f"type: 1tape\n{HEAD}table:\n  a:\n    1: R\n", file="f.yaml")
    assert one.warnings == ()


def test_more_rules_than_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MOST_RULES", 5)
    with pytest.raises(SpecError, match=r"^f: these are 6 rules, and at most 5 are read: use fewer states or symbols$"):
        native.read(f"{HEAD}table:\n  a:\n    [1, 2, 3]: R\n  b:\n    [1, 2, 3]: R\n", file="f")


@pytest.fixture(params=LOADERS)
def _loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "LOADERS", LOADERS[request.param])


def read(text: str | bytes) -> Machine:
    """Return the machine of a document about which there is nothing to say but that it ends or is not read."""
    return native.read(text, file="folder/m.yaml").machine


def rules(table: str) -> dict[tuple[str, str], Rule]:
    """Return δ of a document with these rules of state a."""
    return dict(read(f"{HEAD}synonyms: {{go: {{write: x, L: b}}, S: R}}\ntable:\n  a:\n{table}  b:\n").transitions)


def test_both_loaders_are_tested() -> None:
    assert [*LOADERS] == (["CSafeLoader"] if yaml.__with_libyaml__ else []) + ["SafeLoader"]


# ── turingmachine.io ────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("L", ("a", "0", -1)),
        ("R", ("a", "0", +1)),
        ("N", ("a", "0", 0)),
        ("go", ("b", "x", -1)),
        ("S", ("a", "0", +1)),  # here it is a synonym; S is no move there
        ("{L: b}", ("b", "0", -1)),
        ("{R: b}", ("b", "0", +1)),
        ("{S: b}", ("b", "0", 0)),
        ("{N: b}", ("b", "0", 0)),
        ("{write: 1, R: b}", ("b", "1", +1)),
        ("{R: b, write: 1}", ("b", "1", +1)),
        ("{write: 0, L}", ("a", "0", -1)),
        ("{write: ' ', S}", ("a", " ", 0)),
        ("{R: }", ("a", "0", +1)),
        ("{R: ~}", ("a", "0", +1)),
        ("{R: null}", ("a", "0", +1)),
        ("{R: 'b'}", ("b", "0", +1)),
        ("\n      write: 1\n      R: b", ("b", "1", +1)),
        ("\n      write: 1\n      R:", ("a", "1", +1)),
    ],
)
@pytest.mark.usefixtures("_loader")
def test_instructions(text: str, rule: tuple[str, str, int]) -> None:
    assert rules(f"    0: {text}\n") == {("a", "0"): Rule(*rule)}


@pytest.mark.usefixtures("_loader")
def test_s_is_a_move_if_it_is_no_synonym() -> None:
    assert dict(read(HEAD + "table:\n  a:\n    0: S\n").transitions) == {("a", "0"): Rule("a", "0", 0)}


@pytest.mark.usefixtures("_loader")
def test_a_list_is_a_rule_for_each_of_its_symbols() -> None:
    keep = {("a", symbol): Rule("a", symbol, +1) for symbol in ("0", "1", " ")}
    assert rules("    [0, 1, ' ']: R\n") == keep
    assert rules("    ? - 0\n      - 1\n      - ' '\n    : R\n") == keep
    assert rules("    [0,'1',\" \",]: {R: a}\n") == keep
    assert rules("    []: R\n") == {}


@pytest.mark.usefixtures("_loader")
@pytest.mark.parametrize("entry", ["", " ~", " null", " {}", "  # nothing", " Null", " NULL"])
def test_a_state_without_rules_halts(entry: str) -> None:
    machine = read(f"{HEAD}table:\n  a:\n    0: {{R: done}}\n  done:{entry}\n")
    assert machine.states == ("a", "done")
    assert machine.outcome_of("done") == "halt"


@pytest.mark.usefixtures("_loader")
def test_a_state_may_be_called_null() -> None:
    machine = read(HEAD + "table:\n  a:\n    0: {R: ~}\n    1: {R: null}\n  ~:\n  null:\n")
    assert [rule.state for rule in machine.transitions.values()] == ["~", "null"]


@pytest.mark.usefixtures("_loader")
def test_accept_is_the_name_of_a_verdict_as_it_is_there() -> None:
    machine = read(HEAD + "table:\n  a:\n    0: {R: accept}\n    1: {R: fail}\n  accept:\n  fail:\n")
    assert (machine.accept, machine.reject, machine.decides) == (None, None, True)
    assert (machine.outcome_of("accept"), machine.outcome_of("fail"), machine.missing_outcome) == (
        "accept",
        "reject",
        "reject",
    )


EQUAL_STRINGS = """\
# w#w, as students write it
input: '01#01' # try '#', '1#10'
blank: ' '
start state: start
synonyms:
  accept: {R: accept}
table:
  start:
    0: {write: ' ', R: have0}
    1: {write: ' ', R: have1}
    '#': {R: check}
  have0: {[0,1]: R, '#': {R: match0}}
  have1:
    [0,1]: R
    '#': {R: match1}
  match0:
    x: R
    0: {write: x, L: back}
  match1:
    x: R
    1:
      write: x
      L: back
  back:
    [0,1,'#',x]: L
    ' ': {R: start}
  check:
    x: R
    ' ': accept
  accept:
"""


@pytest.mark.usefixtures("_loader")
def test_a_whole_document() -> None:
    loaded = native.read(EQUAL_STRINGS, file="equal.yaml")
    machine = loaded.machine
    assert loaded.warnings == ()
    assert (machine.name, machine.start, machine.blank, machine.input) == ("equal", "start", " ", "01#01")
    assert machine.states == ("start", "have0", "have1", "match0", "match1", "back", "check", "accept")
    assert len(machine.transitions) == 20
    assert machine.transitions["match1", "1"] == Rule("back", "x", -1)
    assert machine.input_alphabet == ("0", "1", "#", "x")
    assert (machine.tape, machine.accept_states, machine.yaml) == ("two-way", ("accept",), EQUAL_STRINGS)


@pytest.mark.usefixtures("_loader")
@pytest.mark.parametrize("header", ["|", "|-", "|+", "|2", "|2-", "| # the machine"])
def test_a_download_is_unwrapped(header: str) -> None:
    inside = "".join(f"  {line}" for line in EQUAL_STRINGS.splitlines(keepends=True))
    text = f"name: equal strings\nsource code: {header}\n{inside}positions:\n  start: {{x: 308.89, y: 220.03}}\n"
    loaded = native.read(text, file="x.yaml")
    assert loaded.warnings == ()
    assert (loaded.machine.name, loaded.machine.yaml) == ("equal strings", text)
    assert loaded.machine.transitions == read(EQUAL_STRINGS).transitions


def test_a_download_may_be_unnamed_and_a_name_inside_counts_more() -> None:
    inside = "  blank: _\n  start state: a\n  table:\n    a:\n"
    assert read(f"source code: |\n{inside}").name == "m"
    assert read(f"name: outer\nsource code: |\n  name: inner\n{inside}").name == "inner"


# ── the traps of YAML (formats.md) ──────────────────────────────────────────────────────────────────────
TRAPS = """
    yes no on off true True ~ null 010 0011 0b101 1_000 1:30 1.0 0x1F 1e3 .inf 2001-01-01 = << +1 -0 é =1 0o7 a#b --
"""


@pytest.mark.usefixtures("_loader")
@pytest.mark.parametrize("word", TRAPS.split())
def test_a_text_is_what_is_written(word: str) -> None:
    texts = f"input: {word}\nstart state: {word}\naccept: [{word}]\ntable:\n  {word}:\n"
    machine = read(f"blank: ' '\n{texts}examples: [{{input: {word}, outcome: accept, tape: {word}}}]\n")
    assert (machine.input, machine.start, machine.states, machine.accept) == (word, word, (word,), (word,))
    assert machine.examples == (Example(input=word, outcome="accept", tape=word),)


@pytest.mark.usefixtures("_loader")
@pytest.mark.parametrize("symbol", [*"yn~0=.+é😀;$^/\\(_<"])
def test_a_bare_symbol_is_what_is_written(symbol: str) -> None:
    machine = read(f"blank: {symbol}\nstart state: a\ntable:\n  a:\n    {symbol}: {{write: {symbol}, R: a}}\n    x: R\n")
    assert machine.transitions["a", symbol] == Rule("a", symbol, +1)
    assert machine.blank == symbol


ODD = [*"#'\":~*&!|>%@`{}[],?- \té", "\n", "\0", "\x85", "\u2028", "\xa0", "\ufeff", "\U0010ffff"]


@pytest.mark.usefixtures("_loader")
@pytest.mark.parametrize("symbol", ODD)
def test_any_character_can_be_a_symbol(symbol: str) -> None:
    quoted = yaml.dump(symbol, default_style='"', allow_unicode=False).strip()
    table = f"  a:\n    {quoted}: {{write: {quoted}, R}}\n  b:\n    [x, {quoted}]: R\n"
    machine = read(f"blank: _\nstart state: a\ninput: {quoted}\ntable:\n{table}")
    assert [*machine.transitions] == [("a", symbol), ("b", "x"), ("b", symbol)]
    assert machine.transitions["a", symbol] == Rule("a", symbol, +1)
    assert machine.input == symbol


def test_a_comma_in_quotes_is_no_list() -> None:
    assert rules("    ',': R\n") == {("a", ","): Rule("a", ",", +1)}


# ── our keys ────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.usefixtures("_loader")
def test_every_key() -> None:
    text = """\
name: all of it
description: >-
  two
  lines
source: mine
tape: one-way
blank: _
start state: a
accept: [yes, on]
reject: no
input alphabet: [0, 1]
tape alphabet: [0, 1, x, _]
input: 0011
table:
  a:
    0: {S: yes}
    1: {S: on}
    _: {S: no}
  yes:
  on:
  no:
examples:
  - {input: 0011, outcome: accept}
  - {input: '', outcome: reject, steps: 1, tape: '', max steps: 010}
"""
    loaded = native.read(text, file="f.yaml")
    assert loaded.warnings == ()
    assert loaded.machine == Machine(
        transitions={("a", "0"): ("yes", "0", "S"), ("a", "1"): ("on", "1", "S"), ("a", "_"): ("no", "_", "S")},
        start="a",
        blank="_",
        states=("a", "yes", "on", "no"),
        input_alphabet=("0", "1"),
        tape_alphabet=("0", "1", "x", "_"),
        accept=("yes", "on"),
        reject=("no",),
        tape="one-way",
        name="all of it",
        description="two lines",
        source="mine",
        input="0011",
        examples=(
            Example(input="0011", outcome="accept"),
            Example(input="", outcome="reject", steps=1, tape="", max_steps=10),
        ),
    )


def test_what_is_left_out() -> None:
    machine = read("blank: _\nstart state: a\ntable:\n  a:\nsynonyms:\nexamples:\nname:\ndescription:\nsource:\n")
    assert machine == Machine(transitions={}, start="a", blank="_", name="m")
    assert (machine.accept, machine.reject, machine.input, machine.examples) == (None, None, None, ())
    assert (machine.description, machine.source, machine.tape) == ("", "", "two-way")


def test_left_out_is_not_the_same_as_none() -> None:
    machine = read("blank: _\nstart state: a\ninput:\naccept: []\nreject: []\ninput alphabet: []\nname: ''\ntable:\n  a:\n")
    assert (machine.accept, machine.reject, machine.input_alphabet, machine.input, machine.name) == ((), (), (), "", "")
    assert machine.decides


@pytest.mark.parametrize(("file", "name"), [("a/b.c.yaml", "b.c"), ("<stdin>", "machine"), ("", "machine"), ("x", "x")])
def test_a_machine_is_named_after_its_file(file: str, name: str) -> None:
    assert native.read(HEAD + "table:\n  a:\n", file=file).machine.name == name


def test_bytes_with_a_mark_and_carriage_returns() -> None:
    text = "\ufeff" + EQUAL_STRINGS.replace("\n", "\r\n")
    machine = read(text.encode())
    assert machine == read(text)
    assert machine.transitions == read(EQUAL_STRINGS).transitions
    assert machine.yaml == text[1:]


def test_a_document_may_begin_and_end_as_one() -> None:
    assert read("%YAML 1.1\n---\n" + EQUAL_STRINGS + "...\n").transitions == read(EQUAL_STRINGS).transitions


def test_the_machine_can_be_made_from_its_class() -> None:
    assert Machine.from_yaml(EQUAL_STRINGS, file="equal.yaml") == native.read(EQUAL_STRINGS, file="equal.yaml").machine


# ── written and read back ───────────────────────────────────────────────────────────────────────────────
NAMES = st.one_of(
    st.sampled_from(
        ["yes", "no", "01", "a,b", "x: y", "- a", "#", "~", "null", "", " ", "a ", "'", '"', "é", "{a", "*", "a" * 1100]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
)
SYMBOLS = st.one_of(st.sampled_from("#'\": ~é\t\n\\_01,[]{}&*!|>%@`-?yn"), st.characters(exclude_categories=["Cs"]))


@st.composite
def odd_machines(draw: st.DrawFn) -> Machine:
    """Machines that nobody would write."""
    states = draw(st.lists(NAMES.filter(bool), min_size=1, max_size=5, unique=True))
    symbols = draw(st.lists(SYMBOLS, min_size=1, max_size=6, unique=True))
    rule = st.tuples(st.sampled_from(states), st.sampled_from(symbols), st.sampled_from([-1, 0, 1]))
    pairs = st.tuples(st.sampled_from(states), st.sampled_from(symbols))
    transitions = draw(st.dictionaries(pairs, rule, max_size=12))
    busy = {q for q, _ in transitions}
    ends = (
        st.none() | st.lists(st.sampled_from([q for q in states if q not in busy]), unique=True)
        if set(states) - busy
        else st.none()
    )
    accept, reject = draw(ends), draw(ends)
    if accept and reject:
        reject = [q for q in reject if q not in accept]
    sigma = (
        draw(st.none() | st.lists(st.sampled_from(symbols[1:]), unique=True))
        if symbols[1:]
        else draw(st.sampled_from([None, []]))
    )
    words = st.text(st.sampled_from(sigma), max_size=5) if sigma else st.just("")
    numbers = st.none() | st.integers(0, 10**18 - 1)
    examples = st.builds(
        Example,
        input=words,
        outcome=st.sampled_from(["accept", "reject", "halt", "limit"]),
        steps=numbers,
        tape=st.none() | NAMES,
        max_steps=numbers,
    )
    return Machine(
        transitions=transitions,
        start=draw(st.sampled_from(states)),
        blank=symbols[0],
        states=tuple(draw(st.permutations(states))),
        input_alphabet=sigma and tuple(sigma),
        tape_alphabet=tuple(draw(st.permutations(symbols))) if draw(st.booleans()) else (),
        accept=accept and tuple(accept),
        reject=reject and tuple(reject),
        tape=draw(st.sampled_from(["one-way", "two-way"])),
        name=draw(NAMES),
        description=draw(NAMES | st.text("ab \n:#'", max_size=30) | st.just("some words " * 30 + "end")),
        source=draw(NAMES),
        input=draw(st.none() | words),
        examples=tuple(draw(st.lists(examples, max_size=3))),
    )


@pytest.mark.slow
@given(st.one_of(odd_machines(), machines()))
def test_what_is_written_is_read_back(machine: Machine) -> None:
    text = native.write(machine)
    assert native.read(text, file="f.yaml").machine == machine
    assert native.write(native.read(text.encode(), file="f.yaml").machine) == text


def test_what_is_written_is_meant_to_be_read() -> None:
    machine = read(EQUAL_STRINGS)
    assert native.write(machine) == EXPECTED


EXPECTED = """\
name: m
blank: ' '
start state: start
input: '01#01'
table:
  start:
    0: {write: ' ', R: have0}
    1: {write: ' ', R: have1}
    '#': {R: check}
  have0:
    [0, 1]: R
    '#': {R: match0}
  have1:
    [0, 1]: R
    '#': {R: match1}
  match0:
    x: R
    0: {write: x, L: back}
  match1:
    x: R
    1: {write: x, L: back}
  back:
    [0, 1, '#', x]: L
    ' ': {R: start}
  check:
    x: R
    ' ': {R: accept}
  accept:
"""


@pytest.mark.slow
@given(odd_machines())
def test_any_yaml_reader_reads_the_same_texts(machine: Machine) -> None:
    """PyYAML's own constructor, which resolves what it can, makes nothing but texts and digits of what is written."""
    root = yaml.compose(native.write(machine), Loader=yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)
    scalars = [root]
    while scalars:
        node = scalars.pop()
        if isinstance(node, yaml.ScalarNode) and node.value:
            digits = node.value.isdecimal() and not node.style
            assert node.tag == f"tag:yaml.org,2002:{'int' if digits else 'str'}"
        elif isinstance(node, yaml.SequenceNode):
            scalars += node.value
        elif isinstance(node, yaml.MappingNode):
            scalars += [part for pair in node.value for part in pair]


# ── size ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
def test_a_thousand_states_of_ten_symbols_are_read_in_about_a_second() -> None:
    table = "".join(
        f"  q{i}:\n" + "".join(f"    {s}: {{write: {(s + 1) % 10}, R: q{(7 * i + s) % 1000}}}\n" for s in range(10))
        for i in range(1000)
    )
    native.read(EQUAL_STRINGS, file="f.yaml")  # networkx is imported
    began = time.process_time()
    loaded = native.read(f"blank: '0'\nstart state: q0\ntable:\n{table}", file="f.yaml")
    seconds = time.process_time() - began
    assert len(loaded.machine.transitions) == 10_000
    assert seconds < (4 if yaml.__with_libyaml__ else 12)


@pytest.mark.parametrize("file", ["f.json", "f.yaml"])
def test_a_character_beyond_ffff_as_json_writes_it(file: str) -> None:
    """Two escapes for one character, in a key, in a list and in a value."""
    machine = {
        "blank": "_",
        "start state": "\U0001f600",
        "input": "\U0001f680a",
        "table": {"\U0001f600": {"\U0001f680": {"write": "\U0001d7d9", "R": "end"}, "a": "R"}, "end": None},
    }
    text = json.dumps(machine)
    assert "\\ud83d\\ude00" in text
    found = Machine.from_yaml(text, file=file)
    assert found == Machine.from_yaml(json.dumps(machine, ensure_ascii=False), file=file)
    assert (found.start, found.input) == ("\U0001f600", "\U0001f680a")
    assert found.transitions["\U0001f600", "\U0001f680"].write == "\U0001d7d9"


def test_the_text_of_a_machine_is_the_one_it_was_read_from_as_long_as_it_is_that_machine() -> None:
    text = f"# a comment\n{HEAD}table:\n  a:\n    1: R\n"
    machine = read(text)
    assert native.text_of(machine) == text
    assert native.text_of(replace(machine, name="other")) == text
    for changed in (
        replace(machine, tape="one-way"),
        replace(machine, start="a", input="1"),
        replace(machine, yaml="table:"),
    ):
        written = native.text_of(changed)
        assert written == native.write(changed)
        assert read(written).tape == changed.tape
    assert native.text_of(replace(machine, yaml=None)) == native.write(machine)
