"""Machines in other people's formats by the ending of a file, and in LaTeX and TikZ, which compile."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import graphviz
import pytest

from tests.installed import NO_DOT, NO_LATEX
from tm2tfr import convert as convert_any
from tm2tfr.sources.turing.conversion import TARGETS, convert, format_for
from tm2tfr.sources.turing.drawing import to_dot, to_mermaid
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.sources.turing.spec import Machine, Rule


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
    assert convert(load("busy-beaver-2"), "latex").text == (
        "% needs \\usepackage{booktabs} in the preamble, and nothing else\n"
        "\\begin{tabular}{lll}\n"
        "\\toprule\n"
        "$\\delta$ & $0$ (blank) & $1$ \\\\\n"
        "\\midrule\n"
        "$A$ (start) & $(B, 1, \\mathrm{R})$ & $(B, 1, \\mathrm{L})$ \\\\\n"
        "$B$ & $(A, 1, \\mathrm{L})$ & $(Z, 1, \\mathrm{R})$ \\\\\n"
        "$Z$ & \\multicolumn{2}{l}{halt} \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
    )
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
    endings = [".yaml", ".yml", ".tm", ".jff", ".json", ".py", ".mmd", ".dot", ".gv", ".tikz", ".tex"]
    formats = ["yaml", "yaml", "morphett", "jflap", "ft_turing", "automata-lib", "mermaid", "dot", "dot", "tikz", "latex"]
    assert [format_for(Path(f"f{ending}")) for ending in endings] == formats
    without = {"advent-of-code", "bbchallenge", "doty", "turingmachine.io", "turingmachinesimulator.com"}
    assert set(formats) == {*TARGETS} - without
