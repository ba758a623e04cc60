"""The command ``rasp``: sessions from files and pipes, the commands of the prompt, and lines from a terminal."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tests.cli.lines import said
from tm2tfr.cli import main
from tm2tfr.cli import rasp as command
from tm2tfr.sources.rasp.prompt import RaspPrompt

REVERSE = "r = aggregate(select(indices, length - indices - 1, ==), tokens);"


def ran(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], str]:
    with pytest.raises(SystemExit) as end:
        main(["rasp", *arguments])
    out, err = capsys.readouterr()
    return int(end.value.code or 0), out.splitlines(), err


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f'set example "abca"\n{REVERSE}\n:check\nr("ab");\nexit\nnever read;\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


@pytest.mark.usefixtures("piped")
@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_a_session_from_standard_input(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ran(capsys, *arguments)
    assert (code, err) == (0, "")
    assert out == [
        "     s-op: r",
        ' \t Example: r("abca") = [a, c, b, a] (strings)',
        "r = acba",
        "engine: dense, float64, 4 positions",
        "check: 8 cells compared with the interpreter, all agree",
        "\t =  [b, a] (strings)",
    ]


def test_a_transcript_from_a_file_with_what_it_loads_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lib.rasp").write_text("twice = 2 * indices;\n", encoding="utf-8")
    (tmp_path / "a.txt").write_text(
        'RASP\nrunning example is: hello\n>> load "lib";\n     s-op: something else\n>> a = (twice\n>> twice("abc");\n'
        ">> b = twice;\n>> :check b\n>> :save both.rasp\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    code, out, err = ran(capsys, "a.txt")
    assert (code, out[:2]) == (2, ["     s-op: twice", "\t =  [0, 2, 4] (ints)"])
    assert out[-2:] == ["check: 10 cells compared with the interpreter, all agree", "wrote both.rasp"]
    assert err.startswith("a.txt:5:")
    assert Path("both.rasp").read_text(encoding="utf-8").endswith('\n\nload "lib";\nb = twice;\n')


def test_what_is_refused_is_said_and_the_session_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("a = nothing;\n:nope\n:check\nindices(3);\nb = 1;\n:check b\n:save\n", encoding="utf-8")
    code, out, err = ran(capsys, str(tmp_path / "a.txt"))
    assert (code, out) == (2, ["     value: b = 1"])
    assert [line for line in err.splitlines() if not line.startswith("  ")] == [
        f"{tmp_path / 'a.txt'}:1:5: there is no variable 'nothing': define it before this line, or fix its name",
        "there is no command ':nope': ':help' lists the commands",
        "nothing is defined yet: define an s-op, for example 'a = indices + 1;'",
        f'{tmp_path / "a.txt"}:4:9: an input is a text or a list of atoms, not a number: write "hello"',
        "nothing is defined yet: define an s-op, for example 'a = indices + 1;'",
        ":save needs a file: write for example ':save mine.rasp'",
    ]
    assert said(capsys, "rasp", str(tmp_path / "no.txt")).startswith(f"{tmp_path / 'no.txt'}: there is no such file")


def test_the_commands_of_the_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(f"{REVERSE}\ns = r == tokens;\n:compile r\n:explore\n:save mine.rasp\n:help\n:quit\n:nope\n")
    code, out, err = ran(capsys, "a.txt")
    assert (code, err) == (0, "")
    assert "layers                      2" in out
    assert {"wrote s.html", "wrote mine.rasp"} <= {*out}
    assert out[-1].startswith("  :help, :quit")
    assert "hello" in Path("s.html").read_text(encoding="utf-8").partition("</h1>")[0]
    with pytest.raises(SystemExit) as end:
        main(["check", "mine.rasp", "--input", "hello"])
    assert end.value.code == 0


def test_the_commands_take_options_and_draw_writes_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [REVERSE, 'draw(r, "abc");', 'draw(r + "x", "ab");', 'draw(tokens, 41 * "a");', "draw(1 / indices);"]
    lines += [
        ":compile r --max-length 5",
        ":compile --max-length=6 --mask none",
        ':explain r --alphabet "abc"',
        ":check r --max-lenght 5",
        ":check r --mask",
        ":compile r --max-values 2",
        ":compile --unbounded",
        ':compile r --alphabet "ab" --max-length "7"',
    ]
    Path("a.txt").write_text("\n".join(lines), encoding="utf-8")
    code, out, err = ran(capsys, "a.txt")
    assert code == 2
    assert [line for line in out if "draw" in line] == ["     draw: wrote r.svg", "     draw: wrote out.svg"]
    assert "<title>r(&quot;abc&quot;) = cba</title>" in Path("r.svg").read_text(encoding="utf-8").replace('"', "&quot;")
    assert [line.split()[-1] for line in out if line.startswith("positions")] == ["5", "6", "7"]
    heads = out[out.index(next(line for line in out if line.startswith("heads attend to"))) + 1 :]
    assert [line.split("  ")[0] for line in heads[:2]] == ["full_s", "r.select(indices, … - indices - 1, ==)"]
    options = "--alphabet, --max-length, --mask, --max-values, --max-units, --unbounded"
    assert [line for line in err.splitlines() if line[:1] != " "] == [
        "drawing tokens: tokens: the input has 41 positions, and at most 40 can be drawn legibly: use a shorter input",
        f"there is no option '--max-lenght' (did you mean '--max-length'?): use one of {options}",
        "--mask needs a value: write it behind the option",
        "r.rasp:4:5: 'r' can have more than 2 values on inputs of up to 3 tokens: round it, use a smaller --max-length, or "
        "allow more with --max-values",
    ]


def test_a_shipped_program_and_large_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ran(capsys, "histogram")[0] == 0
    (tmp_path / "a.txt").write_text("x = 10^5000;\nx / 3;\nindices * 10^400 / 3;\n", encoding="utf-8")
    code, out, err = ran(capsys, str(tmp_path / "a.txt"))
    assert (code, err) == (0, "")
    assert out[:2] == ["     value: x = 1.000e+5000", "     value: out = 3.333e+4999"]


LINES = ("a = (", "help", "a = indices", ">> + 1;", ">> a;", "a;", ":quit")
SHOWN = '     s-op: a\n \t Example: a("hello") = [1, 2, 3, 4, 5] (ints)\n'


def test_lines_are_typed_with_the_prompts_of_the_paper(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked, lines = list[str](), iter(LINES)

    def typed(prompt: str) -> str:
        asked.append(prompt)
        if len(asked) == 2:
            raise KeyboardInterrupt  # the statement is dropped
        return next(lines)

    monkeypatch.setattr("builtins.input", typed)
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    command._interactive(RaspPrompt())
    assert asked == [">> ", ".. ", ">> ", ">> ", ".. ", ">> ", ">> ", ">> "]
    assert capsys.readouterr().out.endswith(3 * SHOWN)


def test_lines_are_typed_with_history_and_completion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    toolkit = pytest.importorskip("prompt_toolkit", reason="prompt_toolkit is missing: pip install 'tm2tfr[repl]'")
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output import DummyOutput

    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    with create_pipe_input() as keys, toolkit.application.create_app_session(input=keys, output=DummyOutput()):
        keys.send_text("\n".join(["own_name = indices", "+ 1;", ":quit", ""]).replace("\n", "\r"))
        command._interactive(session := RaspPrompt())
    assert {"own_name", "hist_bos", ":check"} <= {*command.words(session)}
    assert capsys.readouterr().out.count("s-op: own_name") == 1
    assert "own_name = indices" in (tmp_path / command.HISTORY).read_text(encoding="utf-8")
