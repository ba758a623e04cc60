"""What is said about documents that are not machines, or not the ones that were meant: every word of it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.golden import Case, Golden
from tm2tfr.base.errors import SpecError
from tm2tfr.base.text import nodes
from tm2tfr.base.text.source import FEW_DIAGNOSTICS, MACHINE_BYTES, MOST_SHOWN
from tm2tfr.sources.turing.formats import native, registry
from tm2tfr.sources.turing.spec import Machine

FOLDER = Path(__file__).parent


def said(text: str | bytes) -> str:
    """Return all messages about a document, errors and warnings, in order."""
    try:
        return "\n".join(map(str, native.read(text, file="f.yaml").warnings))
    except SpecError as error:
        return str(error)


def about_yaml(case: Case) -> str:
    return said(case.text)


def about_another_format(case: Case) -> str:
    """Return all messages about a text in the format that names the file of the case."""
    try:
        return f"read, with {registry.read(case.text, file='f', format=case.file).warnings}"
    except SpecError as error:
        return str(error)


GOLDEN = Golden(FOLDER / "complaints", about_yaml)
BROKEN = Golden(FOLDER / "broken", about_another_format)
test_golden = GOLDEN.test()
test_broken = BROKEN.test()


def test_golden_with_the_loader_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "LOADERS", nodes.LOADERS[-1:])
    for case in GOLDEN.cases:
        assert said(case.text) == case.says, case.id


def test_golden_with_carriage_returns_and_a_byte_order_mark() -> None:
    for case in GOLDEN.cases:
        assert said(b"\xef\xbb\xbf" + case.text.replace("\n", "\r\n").encode()) == case.says, case.id


def test_every_complaint_says_where_what_and_what_to_do() -> None:
    assert len(GOLDEN.cases) > 120
    for case in GOLDEN.cases:
        for line in case.says.splitlines():
            if not line.startswith("  "):
                assert re.match(r"f\.yaml( \(source code\))?(:\d+:\d+)?: (warning: )?.+: .+", line), case.id


def test_there_are_forty_broken_texts_of_each_format_and_few_messages_about_each() -> None:
    assert min(Counter(case.file for case in BROKEN.cases).values()) >= 40
    for case in BROKEN.cases:
        heads = [line for line in case.says.splitlines() if line.startswith("f:")]
        assert 1 <= len(heads) <= FEW_DIAGNOSTICS + 1
        assert all(len(head) < 260 for head in heads)
        assert any(re.match(r"f:\d+:\d+: (?!warning)", head) for head in heads) or not case.text.strip()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            b"\xff\xfeb\0l\0",
            "f.yaml:1:1: byte 0 is 0xff, which is not UTF-8: check that it is a text file, and save it as UTF-8",
        ),
        (
            b"blank: _\nname: caf\xe9\n",
            "f.yaml:2:10: byte 18 is 0xe9, which is not UTF-8: check that it is a text file, and save",
        ),
        (
            b"\xef\xbb\xbfblank: \xe9\n",
            "f.yaml:1:8: byte 10 is 0xe9, which is not UTF-8: check that it is a text file, and save",
        ),
        (
            "blank: _\nname: a\0b\n",
            "f.yaml:2:8: the character U+0000 is not allowed in a text: remove it; if it is a symbol, ",
        ),
        (
            "name: \x07\n",
            'f.yaml:1:7: the character U+0007 is not allowed in a text: remove it; if it is a symbol, write it as "\\x07"',
        ),
        ("name: \ud800\n", "f.yaml:1:7: the character U+D800 is not allowed in a text: "),
        ("name: a\ufeff\n", "f.yaml:1:8: the character U+FEFF is not allowed in a text: "),
        (
            "#" * (MACHINE_BYTES + 1),
            "f.yaml: the text is larger than 8 MiB: reading it would take more than half a minute and 1 GB of memory: "
            "remove its spaces and comments, or split it if it is a list",
        ),
        ("#" + "é" * (MACHINE_BYTES // 2), "f.yaml: the text is larger than 8 MiB: "),
        (b"\xff" * (MACHINE_BYTES + 1), "f.yaml: the text is larger than 8 MiB: "),
    ],
)
def test_what_is_no_text(text: str | bytes, words: str) -> None:
    assert said(text).startswith(words)


def test_no_terminal_sees_a_control_character() -> None:
    assert said("name: a\x1b[2J\ud800\n").splitlines()[1] == "  name: a\ufffd[2J\ufffd"
    assert said(b"\xff\x1b").splitlines()[1] == "  \ufffd\ufffd"


def test_the_largest_text_is_read() -> None:
    machine = "blank: _\nstart state: a\ntable:\n  a:\n#"
    assert native.read(machine + "x" * (MACHINE_BYTES - len(machine)), file="f.yaml").machine.states == ("a",)


def test_nobody_is_shown_more_than_twenty_complaints() -> None:
    rules = "".join(f"    {chr(0x4E00 + i)}: X{i}\n" for i in range(MOST_SHOWN + 23))
    with pytest.raises(SpecError, match=r"\nf\.yaml: … and 23 more: fix those above first$") as caught:
        native.read(f"blank: _\nstart state: a\ntable:\n  a:\n{rules}", file="f.yaml")
    assert len(caught.value.diagnostics) == MOST_SHOWN + 1


def test_errors_are_shown_before_warnings() -> None:
    foreign = "".join(f"key{i}: 1\n" for i in range(100)) + "blank: __\n"
    with pytest.raises(SpecError) as caught:
        native.read(foreign, file="f.yaml")
    shown = [(d.severity, d.span and d.span.line) for d in caught.value.diagnostics]
    assert shown[:2] == [("error", None)] * 2
    assert shown[2:-2] == [("warning", line) for line in range(1, 18)]
    assert shown[-2:] == [("error", 101), ("warning", None)]


def test_so_are_warnings_about_a_machine() -> None:
    keys = "".join(f"key{i}: 1\n" for i in range(100))
    found = native.read(f"{keys}blank: _\nstart state: a\ntable:\n  a:\n", file="f.yaml").warnings
    assert len(found) == MOST_SHOWN + 1


def test_complaints_have_a_severity_and_a_place() -> None:
    with pytest.raises(SpecError) as caught:
        native.read("blank: _\nstart state: a\nfoo: bar\ntable:\n  a:\n    0: {R: b}\n", file="f.yaml")
    assert [
        (d.severity, d.file, d.span and (d.span.line, d.span.column, d.span.length)) for d in caught.value.diagnostics
    ] == [("warning", "f.yaml", (3, 1, 3)), ("error", "f.yaml", (6, 12, 1))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bracket", "words"),
    [
        ("[", "more than 16 levels deep"),
        ("{a: ", "more than 16 levels deep"),
        ("[{", "more than 16 levels deep"),
        ("- ", "more than 16 levels deep"),
        ("? ", "more than 16 levels deep"),
        ("!!seq [", "is a YAML tag"),
        ("&a [", "is a YAML anchor"),
        ("{", "more than 16 levels deep"),
        ("a:\n ", "there is no table"),
        ("'", "never closed"),
        ("|\n ", "the document is text"),
    ],
)
def test_nesting_is_no_crash(bracket: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        native.read(bracket * 20_001, file="f.yaml")


# ── reading a text in some format, and what is said about it
def read(text: str, format: str | None = None, *, file: str = "f") -> Machine:
    """Read a machine about which there is nothing to say."""
    loaded = registry.read(text, file=file, format=format)
    assert loaded.warnings == ()
    return loaded.machine


def warned(text: str, format: str | None = None, *, file: str = "f") -> tuple[Machine, list[str]]:
    """Read a machine, and return the first lines of the warnings with it."""
    loaded = registry.read(text, file=file, format=format)
    return loaded.machine, [str(d).split("\n")[0] for d in loaded.warnings]


def fails(text: str, format: str | None = None, *, file: str = "f") -> list[str]:
    """Return the first lines of the complaints about a text that is no machine."""
    with pytest.raises(SpecError) as caught:
        registry.read(text, file=file, format=format)
    return [str(d).split("\n")[0] for d in caught.value.diagnostics]
