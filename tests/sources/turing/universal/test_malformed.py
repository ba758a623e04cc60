"""Messages about malformed prompts, word by word."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest

from tests.golden import Case, Golden
from tests.sources.turing.universal.cases import EVERY, random_prompt
from tests.strategies import tries
from tm2tfr.base.errors import SpecError
from tm2tfr.base.text.source import MOST_SHOWN
from tm2tfr.sources.turing.universal import prompt
from tm2tfr.sources.turing.universal.program import Universal

FOLDER = Path(__file__).parent / "golden"
CLASSES = {
    "both": Universal(states=3, symbols=3),
    "one-way": Universal(states=2, symbols=2, tape="one-way"),
    "two-way": Universal(states=2, symbols=2, tape="two-way"),
    "blank": Universal(states=1, symbols=1),
}
"""The files of golden cases, each for one class of machines."""
NO_TAPE = "<prompt>:1:1: token 1: a prompt of this decoder must begin with its tape: begin with one-way or two-way"


def said(text: str | bytes, universal: Universal = CLASSES["both"]) -> str:
    """Return what is said about a prompt, or the prompt as it was read."""
    try:
        program = prompt.read(text, universal)
    except SpecError as error:
        return str(error)
    return f"read: {prompt.text(program, program.right.input or '')}"


def answer(case: Case) -> str:
    return said(case.text, CLASSES[case.file])


GOLDEN = Golden(FOLDER, answer)
test_golden = GOLDEN.test()


def test_every_complaint_says_where_what_and_what_to_do() -> None:
    assert len(GOLDEN.cases) > 65
    for case in GOLDEN.cases:
        for line in case.says.splitlines():
            if not line.startswith(("  ", "read: ")):
                assert re.match(r"<prompt>:\d+:\d+: token \d+: [^:]+: [^:]+$", line), case.id


def test_carriage_returns_a_byte_order_mark_and_any_white_space_do_not_matter() -> None:
    right = said("one-way q0,1 →(q1,1,+1) 1 2 BOS")
    assert right == "read: one-way q0,1 →(q1,1,+1) 1 2 BOS"
    for text in (
        b"\xef\xbb\xbfone-way\r\nq0,1\r\n->(q1,1,+1)\r\n1 2",
        "  one-way\tq0,1\n→(q1,1,+1)\n\n12\n",
        "one-way q0,1->(q1,1,+1)12BOS".replace("1)12BOS", "1) 12 BOS"),
        "one-way q0,1 ->(q1,1,+1) 12",
        '{"tokens": ["one-way", "q0,1", "→(q1,1,+1)", "1", "2", "BOS"]}',
    ):
        assert said(text) == right, text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", NO_TAPE),
        (" \n ", NO_TAPE),
        (b"\xff", "<prompt>:1:1: byte 0 is 0xff, which is not UTF-8: check that it is a text file, and save it as UTF-8"),
        ("one-way \0", "<prompt>:1:9: the character U+0000 is not allowed in a text: remove it"),
        (
            "1" * (1 << 20) + "1",
            "<prompt>: the text is larger than 1 MiB: no prompt needs that much: check that this is the right file",
        ),
    ],
)
def test_what_is_no_text(text: str | bytes, words: str) -> None:
    assert said(text).splitlines()[0] == words


def test_all_complaints_are_made_at_once_and_in_order() -> None:
    text = "q9,1 →ACC\nq0,1\nq1,1 →(q9,0,0)\n1 q2,2 →ACC\n7"
    found = [line for line in said(text).splitlines() if line.startswith("<prompt>")]
    assert [line.split(": ")[0] for line in found] == [
        "<prompt>:1:1",
        "<prompt>:1:1",
        "<prompt>:3:1",
        "<prompt>:3:6",
        "<prompt>:4:3",
        "<prompt>:5:1",
    ]


@pytest.mark.parametrize("token", ["→ (q1,1,+1)", "-> (q1,1,+1)", "→\n(q1,1,+1)", "→(q1, 1, +1)", "->( q1,1,\t+1 )"])
def test_there_is_no_white_space_inside_a_token(token: str) -> None:
    """Other readers of prompts, such as the tokenizer of an export, take such a text for other tokens."""
    what = "there is white space inside →(q1,1,+1)"
    remedy = "write →(q1,1,+1) without it, since white space separates tokens"
    found = [line for line in said(f"one-way q0,1 {token} 12").splitlines() if line.startswith("<prompt>")]
    assert found == [f"<prompt>:1:14: token 3: {what}: {remedy}"]


RIGHT = "one-way q0,1 →(q1,1,+1) 1 2 BOS"


@pytest.mark.parametrize(
    ("text", "name", "tokens"),
    [
        ("89 43 65 0 1 2", "both", RIGHT),
        ("89\n43 65\t0 1\n", "both", RIGHT),
        ('{"ids": [89, 43, 65, 0, 1, 2]}', "both", RIGHT),
        ('["one-way", "q0,1", "→(q1,1,+1)", "1", "2", "BOS"]', "both", RIGHT),
        ("24 38 0 1", "one-way", "q0,1 →(q1,1,+1) 1 BOS"),
        ("0 1", "one-way", None),
        ("1 1 1", "one-way", "1 1 1 BOS"),
    ],
)
def test_ids_and_json_are_read_as_the_tokens_that_they_stand_for(text: str, name: str, tokens: str | None) -> None:
    """Digits that are a prompt as they stand, input symbols, are no ids."""
    found = said(text, CLASSES[name])
    assert found == f"read: {tokens}" if tokens else "0 is the blank, which is not an input symbol" in found


def test_digits_are_ids_if_they_are_a_whole_prompt_with_rules() -> None:
    """Of many symbols all digits may be input symbols; a BOS at the end then says that they are."""
    every = Universal(states=3, symbols=12, tape="one-way")
    assert said("189 214 1 11", every) == "read: q2,6 →(q0,6,0) 2 BOS"
    assert said("189 214 1 11 BOS", every) == "read: 1 8 9 2 1 4 1 1 1 BOS"
    assert said("189 214 1 1", every) == "read: 1 8 9 2 1 4 1 1 BOS"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "89 700",
            "<prompt>:1:4: token 2: 700 is not the id of a token of this decoder, which has 91: write the ids for its own "
            "size and tape",
        ),
        ("89 " + "9" * 5_000, "<prompt>:1:4: token 2: 999999999 is not the id of a token of this decoder, which has 91: "),
        (
            "48 23 38 24 36 25 30 26 44 1",
            "<prompt>:1:1: token 1: 48 is the id of q2,0 in this decoder, with which no prompt begins: write the ids for "
            "its own size and tape",
        ),
        ("1 2 1", "<prompt>:1:1: token 1: a prompt of this decoder must begin with its tape, not with 1: begin with"),
    ],
)
def test_ids_of_another_decoder(text: str, words: str) -> None:
    found = [line for line in said(text).splitlines() if line.startswith("<prompt>")]
    assert len(found) == 1
    assert found[0].startswith(words)


NO_TOKENS = ("{", " {}", '{"tokens": [1.5, 2]}', '{"tokens": "x"}', "[" * 9_000, "[true]", '["1", 2]')


@pytest.mark.parametrize("text", NO_TOKENS)
def test_json_without_tokens_is_refused_in_one_sentence(text: str) -> None:
    found, column = said(text), 1 + text.startswith(" ")
    what = "token 1: this begins like JSON, and is not a JSON object with the tokens of a prompt"
    assert found.splitlines()[0] == f"<prompt>:1:{column}: {what}: write one with tm2tfr prompt --format json"
    assert found.count("<prompt>") == 1


def test_input_symbols_are_not_taken_for_another_token() -> None:
    """Of 62 symbols B, O and S are some; a tokenizer takes the longest token."""
    every = Universal(states=1, symbols=62)
    assert said("two-way B O S1 BOS", every) == "read: two-way B O S 1 BOS"
    for given, token in (("ACC", "ACC"), ("1BOS1", "BOS"), ("HALTREJ", "REJ")):
        what = f"{token} is a token of its own, and these may be input symbols: write {' '.join(token)} if they are"
        assert f": token 2: {what}, since white space separates tokens\n" in said(f"two-way {given}", every)


def test_a_text_that_is_no_prompt_at_all_is_refused_at_once() -> None:
    began = time.process_time()
    with pytest.raises(SpecError) as refused:
        prompt.read("two-way " + "q1,x →(q0,1,R) " * 4_000, Universal(states=20, symbols=6))
    assert len(refused.value.diagnostics) == MOST_SHOWN + 1
    assert time.process_time() - began < 10


# ── damaged ─────────────────────────────────────────────────────────────────────────────────────────────────
PIECES = (" ", "q0,1", "→ACC", "→(q1,0,+1)", "->", "→", "one-way", "two-way", "BOS", "1", "0", "(", ",", "\n", "HALT", "é")


def damaged(chance: random.Random, text: str) -> str:
    for _ in range(chance.choice((1, 1, 2, 4))):
        at, more = chance.randrange(len(text) + 1), chance.randrange(1, 12)
        text = chance.choice((text[:at] + text[at + more :], text[:at] + chance.choice(PIECES) + text[at:], text[:at]))
    return text


def refusal(text: str) -> SpecError | Universal:
    """Return what is said of a prompt, or what it stands for."""
    try:
        return prompt.read(text, EVERY)
    except SpecError as error:
        return error


@pytest.mark.slow
def test_a_damaged_prompt_is_a_prompt_or_refused_with_its_places() -> None:
    chance, read = random.Random(3), 0
    for n in range(number := tries(5_000)):
        text = damaged(chance, random_prompt(chance, 1 + n % 8, 1 + n % 4, chance.choice(("one-way", "two-way"))))
        found = refusal(text)
        if isinstance(found, SpecError):
            assert all(d.span and d.what and d.remedy for d in found.diagnostics), text
        else:
            read += 1
            assert prompt.read(prompt.text(found, found.right.input or ""), EVERY) == found, text
    assert number // 40 < read < number  # both answers are given
