"""Every command and every example of the model cards, and of the page on exports, run as it is shown."""

from __future__ import annotations

import re
import runpy
import shlex
import sys
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.readme import ROOT, shown
from tm2tfr.api.targets import export_to
from tm2tfr.cli import main
from tm2tfr.contract.source import ANSWER
from tm2tfr.runs.rows import FED_TOKEN
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.simulator import Simulation
from tm2tfr.sources.turing.spec import Machine, Rule
from tm2tfr.sources.turing.truth import TuringTruth
from tm2tfr.sources.turing.universal.compiler import compile_universal
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.targets.common.reference import reference_of
from tm2tfr.targets.common.verdict import argument, typed

PAGE = ROOT / "docs" / "how-to" / "exports.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDED = {"gpt2": ("transformers",), "lens": ("transformer_lens",), "torch": ("torch",), "onnx": ("onnx", "onnxruntime")}
ODD = "-BOS\\'\"$B[UNK] `x`".replace(" ", "")
"""A word that a shell and a tokenizer may take for something else."""


def there(*targets: str) -> pytest.MarkDecorator:
    missing = [name for target in targets for name in NEEDED[target] if find_spec(name) is None]
    return pytest.mark.skipif(
        bool(missing), reason=f"{' and '.join(missing)} not installed: pip install 'tm2tfr[lens,onnx]'"
    )


def odd() -> Machine:
    """Return a machine that goes once over `ODD`."""
    rules = {("s", a): Rule("s", "x", 1) for a in dict.fromkeys(ODD)}
    return Machine(transitions={**rules, ("s", "_"): Rule("end", "_", -1)}, start="s", blank="_", input=ODD, name="odd")


def run_of(machine: Machine, word: str) -> list[str]:
    """Return the tokens of the simulator's run, the verdict included."""
    rows = list(TuringTruth(machine, word).rows_of(Simulation(machine, word, max_steps=100)))
    return [*(str(row.x) for row in rows), rows[-1].y]


class Reader:
    """Does what a text says, in this process: whatever is imported is imported once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys
        self.variables: dict[str, Any] = {}

    def python(self, text: str, folder: str | Path = ".") -> str:
        """Run Python in a directory, in which it may import, and return what it prints; variables stay."""
        with self._monkeypatch.context() as here:
            here.chdir(folder)
            here.syspath_prepend(Path.cwd())
            here.delitem(sys.modules, "model", raising=False)
            here.delitem(sys.modules, "universal", raising=False)
            here.setattr(sys, "dont_write_bytecode", False)  # as it is for a reader
            exec(text, self.variables)
            sys.modules.pop("model", None)
            sys.modules.pop("universal", None)
        return self._capsys.readouterr().out

    def shell(self, text: str, folder: str | Path = ".") -> list[str]:
        """Run commands in a directory, and return what each prints, and its exit code where it is not 0."""
        printed = []
        with self._monkeypatch.context() as here:
            here.chdir(folder)
            here.setattr(sys, "dont_write_bytecode", False)
            for line in text.splitlines():
                program, *arguments = shlex.split(line, comments=True)
                code: Any = 0
                try:
                    if program == "cd":
                        here.chdir(*arguments)
                    elif program == "tm2tfr":
                        main(arguments)
                    else:
                        assert program == "python", f"{line}: teach this test to run it"
                        here.setattr(sys, "argv", arguments)
                        here.syspath_prepend(Path.cwd())  # where a script finds what lies beside it
                        here.delitem(sys.modules, "model", raising=False)
                        runpy.run_path(arguments[0], run_name="__main__")
                except SystemExit as end:
                    code = end.code
                printed.append(self._capsys.readouterr().out + (f"exit {code}\n" if code else ""))
        return printed


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Reader:
    return Reader(monkeypatch, capsys)


def _prints_run(printed: str, run: list[str], to: str, *, pipeline: bool) -> bool:
    """Return whether the lines of a model card have printed a run as that export writes it."""
    before, after = run[: run.index("BOS")], " ".join(run[run.index("BOS") + 1 :]) + "\n"
    if pipeline:  # the input is as somebody types it, with or without spaces, and a pipeline leaves out special tokens
        return printed.endswith(f" {after}") and printed.removesuffix(after).replace(" ", "") == "".join(before)
    return printed == {"lens": f"{run}\n", "torch": after}.get(to, " ".join(run) + "\n")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # theirs
@pytest.mark.parametrize("to", [pytest.param(name, marks=there(name)) for name in NEEDED])
@pytest.mark.parametrize("machine", [load("chapter"), odd()], ids=lambda machine: machine.name)
def test_a_model_card_is_true(to: str, machine: Machine, reader: Reader, tmp_path: Path) -> None:
    export_to(to, machine, tmp_path / "x", positions=64, verify=False)
    card = (tmp_path / "x" / "README.md").read_text(encoding="utf-8")
    run = run_of(machine, machine.input or "")
    statement = "For every input and every run with at most 64 positions, greedy generation in float64 gives exactly the m"
    assert statement in card
    for language, text in BLOCK.findall(card):
        if language == "sh":
            assert reader.shell(text, tmp_path / "x") == [" ".join(run) + "\n"] * len(text.splitlines())
        elif "run_with_cache" in text:
            h = reader.python(text, tmp_path / "x").replace(" ", "")
            assert "[0.,0.,0.,0.,1.,2.,1.,0.,1.,1.]" in h or machine.name == "odd"
        else:
            assert language == "python"
            assert _prints_run(reader.python(text, tmp_path / "x"), run, to, pipeline="pipeline" in text)
    ((_, command),) = re.findall(r"^\*\*How to check it\.\*\* (`+) ?(.*?) ?\1 compares", card, re.MULTILINE)
    (said,) = reader.shell(command, tmp_path / "x")
    assert said.splitlines()[-1] == f"yes: this export is {machine.name}"
    assert said.splitlines()[1].startswith(f"run: {machine.input!r}, ")


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # theirs
@pytest.mark.parametrize("to", [pytest.param(name, marks=there(name)) for name in NEEDED])
@pytest.mark.parametrize("held", [None, "parity"])
def test_a_model_card_of_a_class_of_machines_is_true(to: str, held: str | None, reader: Reader, tmp_path: Path) -> None:
    every = Universal(states=2, symbols=2) if held is None else Universal(states=3, symbols=4).holding(load(held))
    export_to(to, every, tmp_path / "x", positions=64, verify=False)
    card = (tmp_path / "x" / "README.md").read_text(encoding="utf-8")
    right = reference_of(every, compile_universal(every))
    pairs = list(islice(right.truth(right.example).rows((FED_TOKEN, ANSWER)), 64))
    run = [*(token for token, _ in pairs), pairs[-1][1]]
    assert f"# {every.empty.name} " in card
    assert (" Theorem 26 of Yang et al., with an argument for ties, guarantees: " in card) == (to == "torch")
    for language, text in BLOCK.findall(card):
        if language == "sh":
            assert reader.shell(text, tmp_path / "x") == [" ".join(run) + "\n"] * len(text.splitlines())
        elif "run_with_cache" in text:
            h = reader.python(text, tmp_path / "x").replace(" ", "").replace("\n", "")
            assert h.startswith("tensor([" + "0.," * (run.index("BOS") + 1))
        else:
            assert _prints_run(reader.python(text, tmp_path / "x"), run, to, pipeline="pipeline" in text)
    ((_, command),) = re.findall(r"^\*\*How to check it\.\*\* (`+) ?(.*?) ?\1 compares", card, re.MULTILINE)
    (said,) = reader.shell(command, tmp_path / "x")
    assert said.splitlines()[-1] == f"yes: this export is {every.empty.name}"


def _model(to: str) -> Any:
    return getattr(
        import_module(f"tm2tfr.targets.{to}.{'running' if to == 'gpt2' else 'target'}"), f"{to.capitalize()}Running"
    )


def test_how_far_runs_are_generated_is_what_the_page_says() -> None:
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    longest = {to: _model(to).longest_generated for to in NEEDED}
    assert f"generates up to position {longest['lens']} and continues with the simulator's tokens" in text
    assert f"1,024 in ONNX Runtime (the first {longest['onnx']} generated)" in text
    assert "All shipped machines were right on their examples, up to 2,048 generated positions in PyTorch" in text
    assert (longest["gpt2"], longest["torch"]) == (2048, 20_000)


@pytest.mark.slow
@there(*NEEDED)
@pytest.mark.filterwarnings("ignore")  # theirs
def test_the_page_on_exports_is_true(reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    blocks = {section.partition("\n")[0]: BLOCK.findall(section) for section in sections}
    texts = {title: [text for language, text in found if language != "console"] for title, found in blocks.items()}
    assert [len(texts[title]) for title in ("GPT-2", "TransformerLens", "Plain PyTorch", "ONNX")] == [1, 1, 2, 1]
    assert sum(map(len, texts.values())) == 7, "run the new one here"
    for language, text in (block for found in blocks.values() for block in found):
        if language == "console":  # what these print is compared in tests/test_readme.py
            reader.shell("\n".join(command for command, _ in shown(text) if command.startswith("tm2tfr")))
    reader.shell(*re.findall(r"# after: (tm2tfr export .*)$", texts["ONNX"][0], re.MULTILINE))

    abba, run = run_of(load("palindromes"), "abba"), " ".join(run_of(load("chapter"), "11"))
    assert reader.python(*texts["GPT-2"]) == " ".join(abba) + "\n"
    card = (tmp_path / "palindromes-lens" / "README.md").read_text(encoding="utf-8")
    for _, text in BLOCK.findall(card):
        reader.python(text, tmp_path / "palindromes-lens")
    reader.python(texts["TransformerLens"][0])
    variables = reader.variables
    assert variables["model"].to_str_tokens(variables["run"][0]) == abba
    h = [row.h for row in TuringTruth(load("palindromes"), "abba").rows_of(Simulation(load("palindromes"), "abba"))]
    assert variables["cache"]["resid_post", 2][0, :-1, variables["where"]["h"]].tolist() == h
    assert reader.shell(texts["Plain PyTorch"][0]) == ["", f"{run}\n", f"{run}\n"]
    reader.python(texts["Plain PyTorch"][1], tmp_path / "chapter-torch")
    assert variables["patterns"][0].shape == (3, 3)
    assert reader.python(*texts["ONNX"]) == "(q0,1,0)\n"
    reader.shell("tm2tfr export shuffle-dyck-1 --to torch -o shuffle-dyck-1-torch --no-verify")
    shell, python = texts["Weights that label a sequence"]
    assert "balanced: F F F" in "".join(reader.shell(shell))
    reader.python(f"{python}print(load('.').labels('(()')['balanced'])", tmp_path / "shuffle-dyck-1-torch")


TOKENS = ("B", "O", "S", "BOS", "(q,B,0)")


@pytest.mark.parametrize(
    ("word", "vocabulary", "shown"),
    [
        ("BOB", TOKENS, "BOB"),
        ("BOS", TOKENS, "B O S"),
        ("OBOS", TOKENS, "O B O S"),
        ("", TOKENS, ""),
        ("BOS", (*TOKENS, " "), "BOS"),  # a space is a symbol there: nothing may be put between
    ],
)
def test_a_word_as_it_is_given_to_a_tokenizer(word: str, vocabulary: tuple[str, ...], shown: str) -> None:
    assert typed(word, vocabulary) == shown


def test_a_word_as_an_argument() -> None:
    assert [argument(word) for word in ("11", "-1", "a b", "")] == ["11", "-- -1", "'a b'", "''"]
