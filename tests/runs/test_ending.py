"""Stop tokens that are not the machine's verdicts: a run whose cells all agree, and which does not end as it should."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import tm2tfr as api
from tm2tfr.cli import main
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.proof.prove import prove
from tm2tfr.transformer.storage import save
from tm2tfr.transformer.weights import Decoder

ENGINES = ("dense", "exact", "fast")
MISSING = "the weights are right so far, but a run does not end with {}: compile the machine again"
EARLY = "the weights are right so far, but a run ends with {}, which is not a verdict: compile the machine again"


def stopping(name: str, stop: tuple[str, ...]) -> Decoder:
    """Return the decoder of a shipped machine with other stop tokens."""
    return dataclasses.replace(api.compile(name), stop=stop)


def run(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    return int(stopped.value.code or 0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("keep_rows", [True, False])
@pytest.mark.parametrize(
    ("machine", "word", "stop", "due", "why", "rows"),
    [
        ("chapter", "11", (), "ACC, REJ", MISSING.format("ACC"), 9),
        ("chapter", "11", ("ACC",), "ACC, REJ", MISSING.format("REJ"), 9),
        ("chapter", "11", ("REJ", "ACC", "(q2,x,+1)"), "ACC, REJ", EARLY.format("(q2,x,+1)"), 5),
        ("chapter", "11", ("ACC", "REJ", "(q0,1,0)"), "ACC, REJ", EARLY.format("(q0,1,0)"), 3),
        ("chapter", "11", ("ACC", "REJ", "1"), "ACC, REJ", EARLY.format("1"), 9),
        ("complement", "01", (), "HALT", MISSING.format("HALT"), None),
        ("complement", "01", ("ACC", "REJ"), "HALT", MISSING.format("HALT"), None),
    ],
)
def test_the_check_fails(
    machine: str, word: str, stop: tuple[str, ...], due: str, why: str, rows: int | None, engine: str, keep_rows: bool
) -> None:
    trace = api.check(stopping(machine, stop), word, engine=engine, keep_rows=keep_rows, max_steps=None)
    gap = trace.divergence
    assert gap is not None
    assert gap.cause is not None
    found = ", ".join(stop) or "empty"
    assert (gap.column, gap.expected, gap.found, gap.position) == ("stop", due, found, trace.tokens - 1)
    assert str(gap).splitlines()[0] == f"the stop tokens should be {due}; the list is {found}"
    assert gap.cause.why == why
    assert not trace.agrees
    assert trace.tokens == rows or rows is None


@pytest.mark.parametrize("engine", ENGINES)
def test_more_verdicts_than_the_machine_gives_do_no_harm(engine: str) -> None:
    assert api.check(stopping("complement", ("ACC", "REJ", "HALT")), "01", engine=engine).agrees
    assert api.check(stopping("complement", ("HALT",)), "01", engine=engine).agrees


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_that_a_limit_cuts_off_says_so_as_well(engine: str) -> None:
    trace = api.check(stopping("chapter", ()), "11", engine=engine, max_steps=3)
    assert trace.divergence is not None
    assert (trace.divergence.column, trace.answer, trace.agrees) == ("stop", "limit", False)
    assert len(trace.rows) == trace.tokens == trace.agreed


def test_a_cell_that_differs_goes_first() -> None:
    trace = api.check(dataclasses.replace(api.compile("chapter"), stop=()), "11", machine=load("power-of-two"))
    assert trace.divergence is not None
    assert (trace.divergence.position, trace.divergence.column) == (8, "y")


@pytest.mark.parametrize("stop", [(), ("ACC",), ("ACC", "REJ", "(q2,x,+1)")])
def test_nothing_is_certified(stop: tuple[str, ...]) -> None:
    proof = prove(stopping("chapter", stop), load("chapter"))
    assert {refusal.what for refusal in proof.refusals} == {"exactly the verdicts must stop a run"}
    assert (proof.largest("exact"), proof.largest("fast"), proof.largest("dense")) == (0, 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("command", ["trace", "check", "table", "explore", "certify", "soften"])
def test_every_command_says_so(
    command: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    save(stopping("chapter", ()), tmp_path / "endless.safetensors")
    options = {"explore": ["-o", "page.html"], "soften": []}.get(command, ["--engine", engine])
    word = [] if command == "certify" else ["--input", "11"]
    code = run([command, "endless.safetensors", *word, *options])
    out, err = capsys.readouterr()
    said = {"certify": "exactly the verdicts must stop a run"}.get(command, "the stop tokens should be ACC, REJ")
    assert (code, said in out + err) == (2 if command == "soften" else 1, True), out + err


@pytest.mark.parametrize("engine", ["dense", "fast"])
def test_the_rows_of_a_run_that_does_not_end_are_all_written(engine: str, tmp_path: Path) -> None:
    out = tmp_path / "rows.csv"
    trace = api.check(stopping("chapter", ()), "11", engine=engine, out=out)
    assert trace.divergence is not None
    assert len(out.read_text(encoding="utf-8").splitlines()) == 1 + 9
