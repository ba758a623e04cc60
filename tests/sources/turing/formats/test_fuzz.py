"""Thousands of damaged documents: each is a machine or an error that says where; nothing else, and at once."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator

import pytest

from tests.sources.turing.formats.test_complaints import GOLDEN
from tests.strategies import tries
from tm2tfr.base.errors import SpecError
from tm2tfr.base.text import nodes
from tm2tfr.sources.turing.formats import native
from tm2tfr.sources.turing.library import shipped, shipped_text

DOCUMENTS = tries(22_000)
"""How many; each batch of them has a seed of its own."""
BATCHES = 11
SECONDS_EACH = 5.0

SPECIAL = """: , - ? # & * ! | > % @ ` ' " [ ] { } << ~ null yes --- ... |2- >+ !!str !x &a *a %YAML """
TOKENS = [
    *["\\", "\\x", "\\U00110000", '"\\ud800"'],
    *SPECIAL.split(),
    ": ",
    " #",
    "\n",
    "\r\n",
    "\t",
    " ",
    "    ",
    "- ",
    "? ",
    "[[",
    ": :",
    "'': ",
    '" "',
    "\u2028",
    "\x85",
]
TOKENS += [
    "blank: ",
    "table:\n",
    "input: ",
    "examples:\n  - {",
    "accept: ",
    "synonyms:",
    "write: ",
    "{R: ",
    "L",
    "source code: |\n",
]
CONTROL = [0, 1, 7, 8, 27, 127, 128, 159, 0xFE, 0xFF, 0xD8, 0xC0, 0xEF, 0xED]


def texts() -> list[bytes]:
    """The documents that are damaged: every golden document, and as many shipped machines."""
    golden = [case.text for case in GOLDEN.cases]
    machines = [shipped_text(name) for name in shipped()]
    return [text.encode() for text in (*golden, *machines * (len(golden) // len(machines)))]


Damage = Callable[[random.Random, bytes, list[bytes]], bytes]


def _cut(r: random.Random, text: bytes) -> tuple[int, int]:
    first = r.randrange(len(text) + 1)
    return first, min(len(text), first + r.choice([1, 1, 2, 5, 20, 100]))


def flip(r: random.Random, text: bytes, _: list[bytes]) -> bytes:
    first, last = _cut(r, text)
    return text[:first] + bytes([r.randrange(256)]) + text[max(first + 1, last - 1) :]


def delete(r: random.Random, text: bytes, _: list[bytes]) -> bytes:
    first, last = _cut(r, text)
    return text[:first] + text[last:]


def duplicate(r: random.Random, text: bytes, _: list[bytes]) -> bytes:
    first, last = _cut(r, text)
    return text[:last] + text[first:last] * r.choice([1, 1, 2, 9]) + text[last:]


def splice(r: random.Random, text: bytes, others: list[bytes]) -> bytes:
    other = r.choice(others)
    first, last = _cut(r, other)
    at = r.randrange(len(text) + 1)
    return text[:at] + other[first : r.choice([last, len(other)])] + text[r.choice([at, len(text)]) :]


def insert(r: random.Random, text: bytes, _: list[bytes]) -> bytes:
    at = r.randrange(len(text) + 1)
    return text[:at] + r.choice(TOKENS).encode() + text[at:]


def truncate(r: random.Random, text: bytes, _: list[bytes]) -> bytes:
    return text[: r.randrange(len(text) + 1)]


def spoil(r: random.Random, text: bytes, _: list[bytes]) -> bytes:
    at = r.randrange(len(text) + 1)
    return text[:at] + bytes([r.choice(CONTROL)]) + text[at:]


def nest(r: random.Random, text: bytes, _: list[bytes]) -> bytes:
    at = r.randrange(len(text) + 1)
    return text[:at] + r.choice([b"[", b"{", b"- ", b"{a: ", b"? ", b"[{"]) * r.choice([3, 15, 30, 1000]) + text[at:]


def indent(r: random.Random, text: bytes, _: list[bytes]) -> bytes:
    lines = text.split(b"\n")
    at = r.randrange(len(lines))
    lines[at] = r.choice([b" ", b"  ", b"\t", b"    "]) + lines[at] if r.random() < 0.6 else lines[at].lstrip()
    return b"\n".join(lines)


def swap(r: random.Random, text: bytes, _: list[bytes]) -> bytes:
    lines = text.split(b"\n")
    i, j = r.randrange(len(lines)), r.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


DAMAGES: list[Damage] = [flip, delete, duplicate, splice, insert, insert, truncate, spoil, nest, indent, swap]


def damaged(seed: int, count: int) -> Iterator[bytes]:
    """Yield `count` damaged documents; each is damaged one to four times, mostly once."""
    r, sound = random.Random(seed), texts()
    for _ in range(count):
        text = r.choice(sound)
        for _ in range(r.choice([1, 1, 1, 2, 3, 4])):
            text = r.choice(DAMAGES)(r, text, sound)
        yield text


def is_machine(text: bytes) -> bool:
    """Return whether a document is a machine; if not, it says why."""
    try:
        return bool(native.read(text, file="f.yaml").machine.states)
    except SpecError as error:
        refused = error
    assert any(d.severity == "error" and d.what and d.remedy for d in refused.diagnostics)
    return False


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(BATCHES))
def test_a_damaged_document_is_a_machine_or_an_error(seed: int, record_property: Callable[[str, object], None]) -> None:
    slowest, machines, count = (0.0, b""), 0, DOCUMENTS // BATCHES
    for text in damaged(seed, count):
        began = time.perf_counter()
        try:
            machines += is_machine(text)
        except Exception as error:
            error.add_note(f"document: {text!r}")
            raise
        slowest = max(slowest, (time.perf_counter() - began, text))
    record_property("slowest", f"{slowest[0]:.3f} s: {slowest[1][:200]!r}")
    assert slowest[0] < SECONDS_EACH, slowest
    assert count // 50 < machines < count - count // 50  # both answers are given


@pytest.mark.slow
def test_both_loaders_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in damaged(seed=-1, count=tries(1_100)):
        answers = set()
        for loaders in (nodes.LOADERS, nodes.LOADERS[-1:]):
            with monkeypatch.context() as patch:
                patch.setattr(nodes, "LOADERS", loaders)
                answers.add(answer(text))
        lenient = any(mark in text for mark in (b"?", b"\t"))  # libyaml takes both within bare text, PyYAML neither
        assert len(answers) == 1 or lenient, (text, answers)


def answer(text: bytes) -> str:
    """Return all that comes of a document, as text."""
    try:
        loaded = native.read(text, file="f.yaml")
        return f"{native.write(loaded.machine)}\n{loaded.warnings}"
    except SpecError as error:
        return str(error)
