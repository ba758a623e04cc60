"""Drawings as they are asked for: the functions, the command, and the attention of compiled weights beside selectors."""

from __future__ import annotations

from pathlib import Path

import pytest

import tm2tfr
from tests.cli.lines import said
from tests.recordings import recorded_text
from tests.sources.rasp.drawing.pictures import FOLDER, runs
from tests.sources.rasp.drawing.test_runs import check
from tm2tfr.base.errors import CompileError
from tm2tfr.base.text.words import written
from tm2tfr.cli import main
from tm2tfr.engines import engine
from tm2tfr.sources.rasp.drawing.flow import flow
from tm2tfr.sources.rasp.evaluate import evaluate
from tm2tfr.sources.rasp.page import heads_of
from tm2tfr.tables.scores import attention_map

DRAWS = (
    'shifted = aggregate(select(indices, indices - 1, ==), tokens, "-");\ndraw(shifted, "ab");\ndraw(hist_bos, "§aa");\n'
)


def test_the_pictures_of_the_manual_are_what_is_drawn() -> None:
    for name, svg in runs().items():
        check(svg)
        assert recorded_text(FOLDER / name, "run 'python -m tests.sources.rasp.drawing.pictures'") == svg, name


@pytest.mark.slow
@pytest.mark.parametrize("name", ["reverse", "histogram", "sort", "dyck-2", "most-frequent"])
def test_a_head_of_the_weights_gives_equal_shares_to_what_its_selector_selects(name: str) -> None:
    subject = tm2tfr.Subject.of(name)
    program, drawn = subject.right, flow(subject.right)
    word = program.examples[0].input
    heads, matrices = heads_of(program, subject.decoder), evaluate(program, word).matrices
    assert len(heads) == sum(drawn.analysis.heads)
    compared, tokens = 0, subject.prompt(written(word))
    for (layer, number), (of_weights, head) in heads.items():
        weights = attention_map(subject.decoder, tokens, engine=engine("dense", None), layer=of_weights, head=head).weights
        for row, selected in zip(weights, matrices[drawn.layers[layer].heads[number].selector], strict=True):
            assert sum(row) == pytest.approx(1)
            if any(selected):
                assert row == pytest.approx([entry / sum(selected) for entry in selected])
                compared += 1
    assert compared >= len(word)


def test_any_tokens_are_drawn_and_only_those_of_the_alphabet_with_attention() -> None:
    assert "<title>reverse(&quot;hello&quot;) = olleh</title>" in tm2tfr.draw_run("reverse", "hello")
    assert "<title>reverse([1, 2]) = 21</title>" in tm2tfr.draw_run("reverse", "[1, 2]")


def test_the_own_input_of_a_program_is_drawn_by_default() -> None:
    assert tm2tfr.draw_run("reverse") == tm2tfr.draw_run("reverse", "abc")
    assert "attention of the weights" in tm2tfr.draw_run("reverse", attention=True)


def test_what_a_program_asks_for(tmp_path: Path) -> None:
    path = tmp_path / "asks.rasp"
    path.write_text(DRAWS, encoding="utf-8")
    svg = tm2tfr.draw_requests(path)
    check(svg)
    assert "<title>shifted(&quot;ab&quot;) = -a; hist_bos(&quot;§aa&quot;) = 022</title>" in svg
    with pytest.raises(
        CompileError, match=r"reverse: the program has no 'draw' statement: add one, such as draw\(reverse, "
    ):
        tm2tfr.draw_requests("reverse")


def done(*arguments: str) -> None:
    """Run a command that succeeds."""
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 0


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "asks.rasp"
    path.write_text(DRAWS, encoding="utf-8")
    done("graph", str(path), "--draws", "-o", str(tmp_path / "asked.svg"))
    assert (tmp_path / "asked.svg").read_text(encoding="utf-8") == tm2tfr.draw_requests(path)
    done("graph", "reverse", "--attention", "--input", "abc")
    assert capsys.readouterr().out == tm2tfr.draw_run("reverse", "abc", attention=True)
    done("graph", "sort", "--sop", "target")
    assert capsys.readouterr().out.startswith("digraph sort {")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (
            "graph chapter --input 11",
            "chapter is a machine, and runs are drawn of RASP programs: draw where a head looks, with --head, or every "
            "step: tm2tfr explore chapter --frames DIR",
        ),
        (
            "graph reverse --draws --input abc",
            "tm2tfr graph: --draws draws runs on the inputs that the program names, without weights: omit --input",
        ),
        ("graph reverse --head 1 --attention", "tm2tfr graph: --attention is not about one head: omit --head"),
        (
            "graph reverse --input abc --cone reverse",
            "tm2tfr graph: --cone is a part of a circuit, and a run is drawn of RASP programs: omit it",
        ),
        ("graph reverse --input abc -o run.png", "run.png: runs are written as .svg: name the file run.svg"),
    ],
)
def test_what_is_refused(line: str, complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, *line.split()) == complaint
