"""What the playground answers, as a function: every kind of source, in every format that is text."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import zlib
from typing import Any

import pytest

import tm2tfr
from tm2tfr.base.choices import CIRCUIT_FORMATS
from tm2tfr.web.explorer.document import document
from tm2tfr.web.playground.answer import answer, ran
from tm2tfr.web.playground.query import Query, shipped_text

COIN = """name: coin
blank: _
input: '01'
start state: q
accept: [yes]
table:
  q:
    [0, 1]: R
    _: {L: yes}
  yes:
"""


def asked(source: str, **more: Any) -> dict[str, Any]:
    return answer(Query(source=source, **more))


def test_a_machine_is_answered_with_its_run() -> None:
    found = asked(COIN)
    seconds = found.pop("seconds")
    page = found.pop("page")
    graph = found.pop("graph")
    assert found == {
        "kind": "turing",
        "noun": "machine",
        "format": "yaml",
        "name": "coin",
        "diagnostics": [],
        "input": "01",
        "inputs": ["01", "0", "1", "00", "10", "11", "000", "001"],
        "about_input": None,
        "options": ["left_boundary"],
    } | {name: found[name] for name in ("table", "targets")}
    assert [row[1] for row in found["table"]] == ["x", "0", "1", "BOS", "(q,0,0)", "(q,0,+1)", "(q,1,+1)"]
    assert found["table"][0] == ["i", "x", "q", "b", "m", "h", "a", "y"]
    assert found["targets"][0] == "yaml"
    assert seconds < 5
    assert page["data"]["runs"][0]["agrees"] is True
    assert graph.startswith("digraph coin {")


def test_the_page_is_that_of_the_explorer() -> None:
    found = asked(shipped_text("chapter"), input="11")["page"]
    subject = tm2tfr.Subject.of("chapter")
    recording: Any = ran(subject, "11", Query(source="x")).recording
    data, columns = document(subject.machine, [recording], drawn=False)
    assert found["columns"] == columns
    assert found["data"] == data
    assert data["machine"]["graph"] == {"dot": found["data"]["machine"]["graph"]["dot"]}
    assert len(zlib.decompress(base64.b64decode(columns))) > 1000
    assert data["runs"][0]["answer"] == "accept"


@pytest.mark.parametrize("format", ["turingmachine.io", "morphett", "jflap"])
def test_machines_are_read_in_every_format(format: str) -> None:
    text = tm2tfr.convert("palindromes", format)
    found = asked(text, input="abba")
    assert (found["kind"], found["page"]["data"]["runs"][0]["answer"]) == ("turing", "accept")
    assert found["format"] == ("yaml" if format == "turingmachine.io" else format)


def test_bbchallenge_text_is_a_machine() -> None:
    found = asked("1RB1LB_1LA1RZ")
    assert (found["kind"], found["format"], found["page"]["data"]["runs"][0]["answer"]) == ("turing", "bbchallenge", "halt")


@pytest.mark.parametrize("format", ["yaml", *(name for name in CIRCUIT_FORMATS if name != "aig")])
def test_circuits_are_read_in_every_format_that_is_text(format: str) -> None:
    found = asked(str(tm2tfr.convert("full-adder", format)), input="110", format=format)
    assert (found["kind"], found["format"], found["diagnostics"]) == ("circuit", format, [])
    assert found["page"]["data"]["runs"][0]["result"].startswith("sum = 0, carry = 1")
    assert found["graph"].startswith("digraph ")
    assert found["options"] == ["variant", "basis", "epsilon", "epsilon_star"]


@pytest.mark.parametrize(
    ("name", "kind", "format", "noun"),
    [
        ("reverse", "rasp", "rasp", "program"),
        ("a-n-b-n", "logic", "tl", "formula"),
        ("associative-recall", "logic", "srasp", "program"),
    ],
)
def test_what_labels_words_is_answered_like_everything(name: str, kind: str, format: str, noun: str) -> None:
    found = asked(shipped_text(name), name=name)
    assert [found[key] for key in ("kind", "format", "noun", "name")] == [kind, format, noun, name]
    (run,) = found["page"]["data"]["runs"]
    assert (run["labels"], run["agrees"]) == (True, True)
    assert found["page"]["data"]["sequence"]["kind"] == kind
    assert len(found["table"]) >= 4
    assert found["graph"].startswith("digraph ")


def test_a_run_is_bounded_and_can_be_longer() -> None:
    source = shipped_text("busy-beaver-5")
    assert len(asked(source)["table"]) == 302
    assert len(asked(source, options={"max_steps": 7})["table"]) == 9
    assert asked(source, options={"max_steps": 7})["page"]["data"]["runs"][0]["answer"] == "limit"


def test_an_option_of_the_construction_is_one_of_the_answer() -> None:
    found = asked(shipped_text("left-edge"), input="11", options={"left_boundary": "chapter", "max_steps": None})
    assert found["page"]["data"]["runs"][0]["divergence"]["position"] == 5  # Exercise 8.3
    assert found["page"]["data"]["runs"][0]["boundary"] == "chapter"
    refused = asked(COIN, options={"sop": "x"})
    assert refused["page"] is None
    assert refused["diagnostics"] == [
        {
            "severity": "error",
            "what": "coin is a machine, and an s-op is one of a RASP program",
            "remedy": "omit header 'sop'",
            "line": None,
            "column": None,
            "length": None,
            "fixes": [],
        }
    ]


@pytest.mark.parametrize(
    ("name", "word", "what", "remedy"),
    [
        ("chapter", "2", "input of chapter: position 0: '2' is not in the input alphabet", "use only its symbols ({1})"),
        (
            "half-adder",
            "2",
            "input of half-adder: 1 number where there must be 2",
            "give a bit for each input, or a number for each of a (1 bit), b (1 bit)",
        ),
        (
            "reverse",
            "x",
            "program: token 0 of the input, 'x', is not in the alphabet",
            "use a, b, c, or compile it with another header 'alphabet'",
        ),
    ],
)
def test_what_is_wrong_with_an_input_is_said_apart(name: str, word: str, what: str, remedy: str) -> None:
    found = asked(shipped_text(name), input=word)
    assert found["diagnostics"] == []
    assert found["page"] is None
    assert (found["about_input"]["what"], found["about_input"]["remedy"]) == (what, remedy)
    assert found["inputs"]


BLOCKED = """
import sys, subprocess, json
for name in ("numba", "safetensors", "starlette", "uvicorn"):
    sys.modules[name] = None
def never(*_, **__):
    raise AssertionError("a program is started")
subprocess.Popen = subprocess.run = never
import os
os.system = os.fork = never
from tm2tfr.web.playground.answer import answer
from tm2tfr.web.playground.worker import File, exported
from tm2tfr.web.playground.query import Query
for source in json.load(sys.stdin):
    found = answer(Query(source=source))
    assert found["page"] is not None, found["diagnostics"]
    for what in ("latex", "csv", "page", "source"):
        assert isinstance(exported(Query(source=source), what), File)
print("answered")
"""


@pytest.mark.slow
def test_nothing_of_it_needs_numba_safetensors_a_server_or_another_program() -> None:
    names = ("chapter", "full-adder", "reverse", "a-n-b-n", "associative-recall")
    given = json.dumps([shipped_text(name) for name in names])
    done = subprocess.run([sys.executable, "-c", BLOCKED], input=given, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("answered\n", "")
