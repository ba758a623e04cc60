"""``tm2tfr list NAME``."""

from __future__ import annotations

import json
import re

import pytest

import tm2tfr as api
from tests.cli.test_commands import tm2tfr_here
from tm2tfr.cli import main
from tm2tfr.sources.turing.library import shipped


def test_one_machine(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = tm2tfr_here(capsys, "list", "machine:parity")
    text = "\n".join(lines)
    assert code == 0
    assert lines[0].startswith("Machine parity: ")
    assert "Source: " in text
    assert "It accepts in" in text
    assert any(re.match(r"δ +0 +1", line) for line in lines)
    assert "  tm2tfr trace machine:parity --input " in text
    assert "  tm2tfr graph machine:parity -o parity.svg" in lines


@pytest.mark.parametrize("name", shipped())
def test_the_commands_shown_for_a_machine_work(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = tm2tfr_here(capsys, "list", f"machine:{name}")
    assert code == 0
    assert max(map(len, lines[1:])) <= 110
    tried = [line.split()[1] for line in lines if line.startswith("  tm2tfr ")]
    assert tried == ["trace", "check", "graph"]
    (traced,) = [line for line in lines if line.startswith("  tm2tfr trace ")]
    import shlex

    _, _, shown, _, word = shlex.split(traced)
    assert shown == f"machine:{name}"
    assert word in [example.input for example in api.load(name).examples] or word == api.default_input(api.load(name))


def test_one_machine_as_json_and_one_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    _, (line,) = tm2tfr_here(capsys, "list", "1RB1LB_1LA1RZ", "--format", "json")
    found = json.loads(line)
    assert (found["states"], found["symbols"], len(found["rules"]), found["examples"]) == (3, 2, 4, [])


@pytest.mark.parametrize(("line", "now"), [("machines", "list machines"), ("machines palindromes", "list palindromes")])
def test_the_older_word_still_works(line: str, now: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert tm2tfr_here(capsys, *line.split()) == tm2tfr_here(capsys, *now.split())
    with pytest.raises(SystemExit):
        main(line.split())
    assert capsys.readouterr().err == "warning: machines is now called list\n"
    as_json = tm2tfr_here(capsys, *now.split(), "--format", "json")
    assert tm2tfr_here(capsys, *line.split(), "--format", "json") == as_json
