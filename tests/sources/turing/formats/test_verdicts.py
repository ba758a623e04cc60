"""Machines that halt without a verdict, converted to formats in which every run accepts or rejects."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import graphviz
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tm2tfr
from tests.installed import NO_DOT, NO_LATEX
from tests.sources.turing.formats.test_complaints import read
from tests.strategies import machines
from tm2tfr import convert as convert_any
from tm2tfr.base.choices import HALT_VERDICTS, MACHINE_TEXTS, PICTURES, HaltVerdict
from tm2tfr.base.errors import ConversionError
from tm2tfr.sources.turing.conversion import convert, format_for, with_verdict
from tm2tfr.sources.turing.drawing import to_dot, to_mermaid
from tm2tfr.sources.turing.formats import registry
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Example, Machine, Rule

STRICT = ("jflap", "doty", "turingmachinesimulator.com", "automata-lib")
"""The formats in which every run accepts or rejects."""
UNDECIDED = Machine(
    transitions={("a", "1"): Rule("a", "0", 1), ("a", "_"): Rule("end", "1", 0)},
    start="a",
    blank="_",
    input_alphabet=("1", "0"),
    name="undecided",
    description="Inverts.",
    examples=(Example(input="11", outcome="halt", steps=3, tape="001"), Example(input="10", outcome="halt", steps=1)),
)
WORDS = ("", "1", "11", "0", "10")


def test_rejecting_changes_no_run() -> None:
    declared = with_verdict(UNDECIDED, "reject")
    machine = declared.machine
    assert (machine.accept, machine.reject, machine.transitions) == ((), ("end",), UNDECIDED.transitions)
    assert machine.description == "Inverts. Every halt is taken to reject."
    assert [(e.outcome, e.steps) for e in machine.examples] == [("reject", 3), ("reject", 1)]
    for word in WORDS:
        before, after = result(UNDECIDED, word), result(machine, word)
        assert (after.outcome, after.steps, after.tape) == ("reject", before.steps, before.tape)


def test_accepting_takes_a_step_where_a_rule_is_missing() -> None:
    declared = with_verdict(UNDECIDED, "accept")
    machine = declared.machine
    assert (machine.accept, machine.reject, machine.transitions["a", "0"]) == (("end",), (), Rule("end", "0", 0))
    assert [(e.outcome, e.steps) for e in machine.examples] == [("accept", None), ("accept", None)]
    for word in WORDS:
        before, after = result(UNDECIDED, word), result(machine, word)
        assert (after.outcome, after.steps, after.tape) == ("accept", before.steps + ("0" in word), before.tape)


def test_a_state_is_added_if_none_halts() -> None:
    rules = {("accept", "1"): Rule("accept", "1", 1)}
    machine = with_verdict(Machine(transitions=rules, start="accept", blank="_"), "accept").machine
    assert (machine.accept, result(machine, "11").outcome) == (("accept_1",), "accept")


@pytest.mark.slow
@pytest.mark.parametrize("format", STRICT)
@pytest.mark.parametrize("verdict", HALT_VERDICTS)
@given(machine=machines().filter(lambda m: not m.decides), data=st.data())
def test_what_is_written_runs_alike(format: str, verdict: HaltVerdict, machine: Machine, data: st.DataObject) -> None:
    declared = with_verdict(machine, verdict).machine
    word = data.draw(st.text(st.sampled_from(machine.input_alphabet or ("1",)), max_size=4))
    own, before = result(machine, word, max_steps=60), result(declared, word, max_steps=61)
    assert before.tape == own.tape or own.outcome == "limit"
    if own.outcome == "halt":
        assert (before.outcome, before.steps - own.steps in {"accept": (0, 1), "reject": (0,)}[verdict]) == (verdict, True)
    try:
        written = registry.write(declared, format)
    except ConversionError:
        return
    other = registry.read(written.text, file="f", format=format).machine
    after = result(other, "".join(written.symbols.get(a, a) for a in word), max_steps=61)
    assert (after.outcome, after.steps) == (before.outcome, before.steps)


@pytest.mark.parametrize("format", STRICT)
def test_a_machine_without_verdicts_goes_everywhere(format: str) -> None:
    machine = load("busy-beaver-3") if format != "doty" else UNDECIDED
    with pytest.raises(
        ConversionError, match=r"every run there accepts or rejects: say what every halt is taken for, with"
    ):
        tm2tfr.convert(machine, format)
    for verdict in HALT_VERDICTS:
        text = tm2tfr.convert(machine, format, verdict=verdict)
        assert f"Every halt is taken to {verdict}" in text
        assert result(read(text, format)).outcome == verdict


# ── machines in other people's formats by the ending of a file, and in LaTeX and TikZ, which compile
def has(package: str) -> bool:
    """Whether pdflatex and a package of LaTeX are installed."""
    if not shutil.which("pdflatex") or not shutil.which("kpsewhich"):
        return False
    return bool(subprocess.run(["kpsewhich", package], capture_output=True, check=False).stdout)


def compiled(*parts: str, folder: Path) -> None:
    """Compile some pieces of LaTeX, with nothing more than they ask for in the preamble."""
    asked = {line.split("needs ")[1].split(" in ")[0] for part in parts for line in part.splitlines() if "% needs" in line}
    packages = "\n".join(sorted(asked))
    body = "\n\n".join(rf"\noindent {part.replace('% needs', '%% needs')}" for part in parts)
    tex = rf"\documentclass{{article}}{packages}\begin{{document}}{body}\end{{document}}"
    (folder / "t.tex").write_text(tex, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Missing character" not in (folder / "t.log").read_text(errors="replace", encoding="utf-8")


def nasty() -> Machine:
    """A machine whose names mean something to LaTeX."""
    symbols = ["_", "#", "%", "&", "$", "\\", "{", "}", "~", "^", "é", "λ", ",", "]", " "]
    rules = {
        (f"q_{k}" if k else "[%", a): Rule("a,b]{", b, (-1, 0, 1)[k % 3])
        for k, (a, b) in enumerate(zip(symbols, symbols[::-1], strict=True))
    }
    rules["a,b]{", "#"] = Rule("a,b]{", "%", 0)
    return Machine(transitions=rules, start="[%", blank="_", accept="#1;", name="nasty")


@pytest.mark.slow
@pytest.mark.parametrize("program", ["dot", "no-such-program"])
@pytest.mark.skipif(not has("tikz.sty"), reason=NO_LATEX)
def test_tikz_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setattr(graphviz.backend.dot_command, "DOT_BINARY", Path(program))
    compiled(*(convert(m, "tikz").text for m in [nasty(), *map(load, shipped())]), folder=tmp_path)


@pytest.mark.skipif(not has("booktabs.sty"), reason=NO_LATEX)
def test_the_table_compiles(tmp_path: Path) -> None:
    compiled(*(convert(m, "latex").text for m in [nasty(), *map(load, shipped())]), folder=tmp_path)


def test_the_table_of_delta() -> None:
    partial = Machine(transitions={("A", "1"): Rule("A", "1", 1)}, start="A", blank="_")
    assert r"$A$ (start) & $(A, 1, \mathrm{R})$ & -- \\" in convert(partial, "latex").text


@pytest.mark.skipif(shutil.which("dot") is None, reason=NO_DOT)
def test_the_picture_is_laid_out_by_graphviz() -> None:
    machine = load("palindromes")
    text = convert(machine, "tikz").text
    nodes = re.findall(
        r"^  \\node\[state(.*), minimum size=[\d.]+cm\] \(s(\d+)\) at \((-?[\d.]+), (-?[\d.]+)\)", text, re.M
    )
    assert [int(number) for _, number, _, _ in nodes] == list(range(len(machine.states)))
    columns = {machine.states[int(number)]: float(x) for _, number, x, _ in nodes}
    assert min(columns, key=lambda q: columns[q]) == machine.start
    assert columns["first"] < columns["have-a"] < columns["match-a"] < columns["accept"]
    pairs = {(q, rule.state) for (q, _), rule in machine.transitions.items()}
    assert (text.count(r"\draw[->]"), text.count(r"\node[label]")) == (len(pairs) + 1, len(pairs))
    assert len({(x, y) for _, _, x, y in nodes}) == len(nodes)


def test_the_picture_without_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphviz.backend.dot_command, "DOT_BINARY", Path("no-such-program"))
    lines = convert(load("busy-beaver-2"), "tikz").text.splitlines()
    assert r"  \node[state] (s0) at (-2.20, 0.00) {$A$};" in lines
    assert r"  \node[state, rectangle, rounded corners] (s2) at (1.10, -1.91) {$Z$};" in lines
    assert r"  \draw[->] (s0) to[bend left=14] node[label, pos=0.4] {$0$ $\to$ $1$, R \\ $1$ $\to$ L} (s1);" in lines


def test_drawings_are_those_of_the_graph() -> None:
    machine = load("chapter")
    assert (convert(machine, "dot").text, convert(machine, "mermaid").text) == (to_dot(machine), to_mermaid(machine))


def test_the_library_call() -> None:
    assert convert_any("busy-beaver-2", "bbchallenge") == "1RB1LB_1LA1RZ\n"


def test_the_format_is_that_of_the_ending() -> None:
    texts = {ending: text.name for text in MACHINE_TEXTS if text.writes and text.name != "doty" for ending in text.endings}
    pictures = {".mmd": "mermaid", ".dot": "dot", ".gv": "dot", ".tikz": "tikz", ".tex": "latex"}
    wanted = {**texts, **pictures}
    assert {ending: format_for(Path(f"f{ending}")) for ending in wanted} == wanted
    assert (wanted[".yml"], wanted[".tm"], wanted[".jff"]) == ("yaml", "morphett", "jflap")
    assert {*pictures.values()} == {*PICTURES}
