"""The page on the universal decoder: its numbers are those of the weights, its figures those of a run."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import tm2tfr
from tests.readme import ROOT
from tm2tfr.base.errors import CompileError
from tm2tfr.sources.turing.library import shipped
from tm2tfr.transformer.weights import matrices

PAGE = (ROOT / "docs/universal.md").read_text(encoding="utf-8")


def section(heading: str) -> str:
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    """Return the cells of the tables of a text, without headings."""
    found = [[cell.strip() for cell in row.split(" | ")] for row in re.findall(r"^\| ?(.*?) \|$", text, re.MULTILINE)]
    return [row for n, row in enumerate(found) if n > 0 and set(row[0]) != set("-|")]


def test_the_table_of_sizes_is_computed() -> None:
    said = rows(section("Sizes"))[:7]
    assert len(said) == 7
    for sizes, tape, *numbers in said:
        states, symbols = map(int, sizes.split(", "))
        decoder = tm2tfr.compile(tm2tfr.Universal(states=states, symbols=symbols, tape=tape))
        found = matrices(decoder).values()
        heads = sum(len(layer.heads) for layer in decoder.layers)
        weights = sum(matrix.values.size for matrix in found)
        assert max(abs(matrix.values).max() for matrix in found if matrix.values.size) <= 3
        computed = (len(decoder.vocabulary), decoder.layout.width, heads, weights)
        assert len(decoder.layers) == 7
        assert numbers == [f"{number:,}" for number in computed], (sizes, tape)


@pytest.mark.parametrize(("states", "symbols"), [(1, 1), (2, 2), (8, 4), (20, 6)])
def test_the_vocabulary_is_as_large_as_the_table_says(states: int, symbols: int) -> None:
    forms = [row[-1] for row in rows(section("The sequence"))]
    assert len(forms) == 7
    *parts, whole = (_value(form, states, symbols) for form in forms)
    every = tm2tfr.Universal(states=states, symbols=symbols)
    assert sum(parts) == whole == len(every.vocabulary)


def _value(form: str, states: int, symbols: int) -> int:
    """Return the value of a product such as ``3(S + 1)K + 2``."""
    text = re.sub(r"(?<=[\w)])(?=[SK(])", "*", form.replace("−", "-"))
    assert re.fullmatch(r"[\dSK+*() -]+", text)
    return int(eval(text, {"S": states, "K": symbols}))


def test_the_number_of_shipped_machines_that_fit_is_said() -> None:
    every = tm2tfr.Universal(states=8, symbols=4)
    (said,) = re.findall(r"(\d+) of the shipped machines fit \(8, 4\)", PAGE)
    assert int(said) == sum(_fits(every, name) for name in shipped())


def _fits(every: tm2tfr.Universal, name: str) -> bool:
    try:
        return len(every.holding(tm2tfr.load(name)).description) > 0
    except CompileError:
        return False


def test_the_layers_are_those_of_the_decoder() -> None:
    decoder = tm2tfr.compile(tm2tfr.Universal(states=2, symbols=2))
    said = [row[0].strip() for row in rows(section("Layers"))]
    assert said == [f"{n} {layer.name}" for n, layer in enumerate(decoder.layers, start=1)]
    for head in ("last key", "rule for q, a", "tape"):
        assert f"`{head}`" in PAGE
        assert head in {each.name for layer in decoder.layers for each in layer.heads}


@pytest.mark.slow
def test_the_figures_show_a_run_that_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'tm2tfr[docs]'")
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs"), *sys.path])
    from figures.chapter import STYLE
    from figures.universal import FIGURES, run
    from matplotlib import rcParams

    before = {key: rcParams[key] for key in STYLE}
    assert before != STYLE
    assert set(re.findall(r"\(figures/([\w-]+)\.svg\)", PAGE)) == set(FIGURES)
    found = run()
    here = found.where("carry", "1")
    assert (here, found.lead) == (19, 13)
    assert list(found.seen("rule for q, a", here)[1]) == [8]
    assert [found.tokens[i] for i in (7, 8)] == ["carry,1", "→(carry,0,-1)"]
    assert list(found.seen("input symbol", here)[1]) == [14]
    assert list(found.seen("rule for q, a", found.where("done", "_"))[1]) == [6, 12]
    drawn = FIGURES["rule"]()
    assert drawn.startswith(b"<?xml")
    assert b"<text" in drawn  # letters, no outlines
    assert all(rcParams[key] == value for key, value in before.items())


@pytest.mark.slow
def test_the_lines_of_transformers_print_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed: pip install 'tm2tfr[hf]'")
    page = (ROOT / "docs/how-to/universal.md").read_text(encoding="utf-8")
    lines, _ = re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (said,) = re.findall(r"^# (.*)$", lines, re.MULTILINE)
    folder = tmp_path / "universal-gpt2"
    tm2tfr.export_to("gpt2", tm2tfr.Universal(states=2, symbols=3), folder, verify=False)
    monkeypatch.chdir(folder)
    capsys.readouterr()
    exec(lines, {})
    assert capsys.readouterr().out.splitlines()[-1] == said


def test_the_lines_of_python_print_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs/how-to/universal.md").read_text(encoding="utf-8")
    _, lines = re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    exec(lines, {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"^# (.*)$", lines, re.MULTILINE)
    called = [name for name in ("tokens", "ids", "states") if f"found.{name}" in lines]
    prompt = tm2tfr.prompt_of("busy-beaver-2", universal=(2, 3))
    assert [hasattr(prompt, name) for name in called] == [True] * 3
