"""The page as a file: what is in it, how large it is, and the words of the command and the errors."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import webbrowser
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tests.installed import needs_dot
from tests.readme import ROOT
from tests.web.explorer.reading import buffer, column, embedded
from tm2tfr.base.errors import CompileError, EngineError, InputError
from tm2tfr.cli import main
from tm2tfr.sources.turing.drawing import rule_lines, to_dot

MEGABYTE = 1_000_000
CHECKED = """\
ACC: the machine accepts, after T = 6 intermediate steps
simulator: accept after 6 steps, 3 cells visited, final tape '_x'
engine: dense, float64, 9 positions
check: 63 cells compared with the simulator, all agree
"""


def command(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["explore", *arguments])
    return int(ended.value.code or 0)


# ── the file ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("dot", [pytest.param(True, marks=needs_dot), False])
def test_it_is_small_and_asks_nothing_of_a_network(monkeypatch: pytest.MonkeyPatch, dot: bool) -> None:
    if not dot:
        monkeypatch.setenv("PATH", "")
    html = tm2tfr.explore("chapter", "11").html
    assert len(html.encode()) < (0.5 if dot else 2.9) * MEGABYTE
    outside = re.sub(r"<script>\n/\*! Graphviz in WebAssembly.*?</script>", "", html, flags=re.DOTALL)
    assert len(outside.encode()) < 0.5 * MEGABYTE
    assert "default-src 'none'" in html
    addresses = set(re.findall(r"(?:src|href)=[\"']?([^\"'\s>]+)|url\(([^)]+)\)|(https?://[^\s\"'`)\\\\]+)", outside))
    assert {next(filter(None, found)) for found in addresses} <= {
        "data:,",
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


def test_it_shows_itself_in_a_notebook() -> None:
    page = tm2tfr.explore("chapter", "11")
    shown = page._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert 'sandbox="allow-scripts"' in shown
    assert repr(page).startswith("Explorer(traces=(Trace(")


@pytest.mark.parametrize(("drawing", "scripts"), [("<?xml?>\n<svg><!--x--><text></script>é→⊥</text></svg>", 3), (None, 4)])
def test_only_text_goes_into_the_page(monkeypatch: pytest.MonkeyPatch, drawing: str | None, scripts: int) -> None:
    """With a drawing by ``dot``, and with the program that draws where there is no ``dot``."""
    monkeypatch.setattr("tm2tfr.sources.turing.page.svg_or_none", lambda machine, **_: drawing)
    machine = tm2tfr.Machine(
        transitions={("</script>", "<"): ("<!--x", "_", "R")}, start="</script>", blank="_", name="<b>&"
    )
    html = tm2tfr.explore(machine, "<").html
    assert "<title>&lt;b&gt;&amp; on &#x27;&lt;&#x27;</title>" in html
    assert html.count("</script>") == html.count("<script") == scripts
    assert ("Graphviz in WebAssembly" in html) == (drawing is None)
    if drawing:
        packed = column(buffer(html), embedded(html)["machine"]["graph"]["svg"])
        assert packed.tobytes().decode() == drawing.removeprefix("<?xml?>\n")
    assert embedded(html)["machine"]["states"][0] == {"name": "</script>", "end": None}


def test_the_lines_of_the_arrows() -> None:
    wide = "abcdefghij"
    machine = tm2tfr.Machine(
        transitions={**{("p", a): ("q", a, "R") for a in wide}, ("p", "_"): ("q", "x", "L"), ("q", "a"): ("q", "b", "S")},
        start="p",
        blank="_",
    )
    lines = rule_lines(machine)
    assert [lines["p", a] for a in wide] == [0] * 5 + [1] * 5
    assert (lines["p", "_"], lines["q", "a"]) == (2, 0)
    labels = re.search(r's0 -> s1 \[label="([^"]*)"', to_dot(machine))
    assert labels is not None
    assert [line.strip() for line in labels[1].split(r"\n")] == ["a,b,c,d,e,", "f,g,h,i,j → R", "_ → x, L"]


def test_a_graph_that_nobody_could_read_is_left_out() -> None:
    rules: dict[tuple[str, str], Any] = {(f"q{n}", "_"): (f"q{n + 1}", "_", "R") for n in range(100)}
    data = embedded(tm2tfr.explore(tm2tfr.Machine(transitions=rules, start="q0", blank="_"), "").html)
    assert data["machine"]["graph"] == {"none": "a drawing of 101 states would be unreadable"}


def test_a_head_says_its_score_from_its_matrices() -> None:
    layers = embedded(tm2tfr.explore("chapter", "11").html)["runs"][0]["layers"]
    assert [head["score"] for layer in layers for head in layer["heads"]] == [
        "0",
        "⟨2·h/(i+1)⟩_i·⟨i⟩_j − ⟨1/(i+1)⟩_i·⟨i^2⟩_j",
        "⟨-2·m/(i+1) + 2·h/(i+1)⟩_i·⟨i⟩_j − ⟨1/(i+1)⟩_i·⟨i^2⟩_j",
        "⟨2·h⟩_i·⟨h_{i-1}⟩_j − ⟨h_{i-1}^2⟩_j + ⟨1/2·1/(i+1)⟩_i·⟨i⟩_j",
    ]
    assert layers[1]["heads"][0]["moves"] == [["m", "h/(i+1)"]]
    assert all(layer["equation"] for layer in layers)


# ── colours ─────────────────────────────────────────────────────────────────────────────────────────────────
def palettes() -> dict[str, dict[str, str]]:
    """Return the colours of the light and the dark page, by name."""
    css = (Path(tm2tfr.__file__).parent / "web" / "explorer" / "assets" / "explorer.css").read_text(encoding="utf-8")
    pairs = re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);", css)
    light, dark = ({name: colours[n] for name, *colours in pairs} for n in range(2))
    return {"light": light, "dark": dark}


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours (WCAG 2.2)."""

    def luminance(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_all_that_is_written_can_be_read(theme: str) -> None:
    colours = palettes()[theme]
    inks = ["ink", "soft", "good", "bad", "accent", *(f"hue{n}" for n in range(7))]
    pairs = [*product(inks, ["panel", "faint"]), ("ink", "paper"), ("ink", "tint"), ("ink", "written"), ("bad", "bad-tint")]
    ratios = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in [*pairs, ("on-accent", "accent")]}
    assert {pair: ratio for pair, ratio in ratios.items() if ratio < 4.5} == {}


def test_no_text_is_faded() -> None:
    """Else the contrast would be less than that of its colours; only a button that does nothing now may be."""
    css = (Path(tm2tfr.__file__).parent / "web" / "explorer" / "assets" / "explorer.css").read_text(encoding="utf-8")
    faded = [rule.strip() for rule, text in re.findall(r"([^{}]+)\{([^{}]*)\}", css) if "opacity" in text]
    assert faded == [".zooming .small:disabled"]


# ── the command and the errors ──────────────────────────────────────────────────────────────────────────────
def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.html"
    assert command("-o", str(path)) == 0
    said = capsys.readouterr()
    assert said.out == CHECKED
    assert said.err == f"wrote {path}\n"
    assert embedded(path.read_text(encoding="utf-8"))["title"] == "chapter on '11'"


def test_the_page_is_called_run_and_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    assert command("palindromes", "--input", "ab", "--open") == 0
    assert opened == [(tmp_path / "run.html").as_uri()]
    assert (tmp_path / "run.html").is_file()


def test_without_a_browser_it_says_what_to_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    assert command("palindromes", "--input", "ab", "--open") == 0
    assert capsys.readouterr().err.splitlines() == ["wrote run.html", "note: no browser was found: open run.html in one"]


def test_a_run_that_differs_ends_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.html"
    assert command("left-edge", "--left-boundary", "chapter", "-o", str(path)) == 1
    assert "check: FAILED after 42 cells: position 5: h should be 1, is 0" in capsys.readouterr().out
    assert path.is_file()


def test_to_see_the_other_run_fail_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.html"
    assert command("left-edge", "--compare", "chapter", "-o", str(path)) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "left boundary: repaired"
    assert said[5] == "left boundary: chapter"
    runs = embedded(path.read_text(encoding="utf-8"))["runs"]
    assert [(run["boundary"], run["agrees"], run["answer"]) for run in runs] == [
        ("repaired", True, "accept"),
        ("chapter", False, "reject"),
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["no-such"],
            "no-such: there is no such file, and no machine, circuit, program, formula or automaton of that name",
        ),
        (["chapter", "--input", "2"], "'2'"),
        (["chapter", "-o", "{}/run.pdf"], "pages are written as .html, .htm: name the file run.html"),
        (["chapter", "-o", "{}/none/run.html"], "there is no folder"),
        (
            ["chapter", "--max-steps", "50001"],
            "50,001 steps are too many: use at most 50,000, or tm2tfr trace --quiet, which keeps no rows",
        ),
        (["palindromes", "--compare", "chapter"], "the tape is two-way and has no left boundary"),
        (["{}/m.html", "-o", "{}/m.html"], "that is the machine itself"),
        (
            ["{}/w.safetensors", "--compare", "chapter"],
            "these weights are already compiled, so there is nothing to compare with: name the machine",
        ),
    ],
)
def test_errors_say_what_and_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    (tmp_path / "m.html").write_text("blank: _\nstart state: q\ntable:\n  q:\n", encoding="utf-8")
    tm2tfr.save_weights(tm2tfr.compile("chapter"), tmp_path / "w.safetensors")
    before = sorted(tmp_path.iterdir())
    if "-o" not in arguments:
        arguments = [*arguments, "-o", "{}/run.html"]
    assert command(*(argument.replace("{}", str(tmp_path)) for argument in arguments)) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""
    assert sorted(tmp_path.iterdir()) == before


def test_the_library_refuses_what_it_cannot_show() -> None:
    with pytest.raises(CompileError, match="these weights are soft: explore the machine instead"):
        tm2tfr.explore(tm2tfr.soften("chapter"), "11")
    with pytest.raises(EngineError, match="60,000 steps are too many"):
        tm2tfr.explore("never-halts", "", max_steps=60_000)
    with pytest.raises(InputError, match="'2'"):
        tm2tfr.explore("chapter", "2")


def test_weights_are_explored_without_their_machine_file(tmp_path: Path) -> None:
    tm2tfr.save_weights(tm2tfr.compile("palindromes"), tmp_path / "w.safetensors")
    path = tmp_path / "run.html"
    assert command(str(tmp_path / "w.safetensors"), "--input", "abba", "--dtype", "float32", "-o", str(path)) == 0
    run = embedded(path.read_text(encoding="utf-8"))["runs"][0]
    assert (run["dtype"], run["input"], run["agrees"]) == ("float32", "abba", True)


SOURCES = ROOT / "explorer"
BUNDLED = re.compile(r"^  // node_modules/((?:@[^/]+/)?[^/]+)/", re.MULTILINE)
WEB = Path(tm2tfr.__file__).parent / "web"
ASSETS = WEB / "explorer" / "assets"
BUILT = {
    "explorer": [
        "anymachine.css",
        "anymachine.html",
        "anymachine.js",
        "explorer.css",
        "explorer.js",
        "home.js",
        "page.html",
        "viz.js",
    ],
    "playground": ["LICENSE-codemirror.txt", "draws.js", "index.html", "playground.css", "playground.js"],
}


@pytest.mark.skipif(
    not (SOURCES / "node_modules").is_dir() or shutil.which("npm") is None,
    reason="what builds the explorer is not installed: apt-get install npm, then npm ci in explorer/",
)
def test_the_assets_are_built_from_the_sources(tmp_path: Path) -> None:
    subprocess.run(["npm", "run", "--silent", "build", "--", str(tmp_path)], cwd=SOURCES, check=True, timeout=300)
    assert {part.name: sorted(path.name for path in part.iterdir()) for part in tmp_path.iterdir()} == BUILT
    for part, names in BUILT.items():
        for name in names:
            wanted, found = (tmp_path / part / name).read_bytes(), (WEB / part / "assets" / name).read_bytes()
            assert found == wanted, f"{part}/assets/{name} is not what explorer/ gives: npm run build there"


def test_the_explorers_script_can_be_read_and_the_lock_names_no_registry() -> None:
    lines = (ASSETS / "explorer.js").read_text(encoding="utf-8").splitlines()
    assert max(map(len, lines)) < 400
    lock = (SOURCES / "package-lock.json").read_text(encoding="utf-8")
    assert "resolved" not in lock
    assert re.findall(r"https?://([^/\"]+)", lock) == ["github.com"]  # where the package yaml asks for funding


def test_the_licences_of_what_is_not_ours_are_there() -> None:
    notice = (ASSETS / "viz.js").read_text(encoding="utf-8").splitlines()[0]
    version = notice.split("@viz-js/viz ")[1].split(";")[0]
    text = (ASSETS / "LICENSE-viz.txt").read_text(encoding="utf-8")
    assert f"@viz-js/viz {version}" in text
    for name in ("MIT licence", "Eclipse Public License - v 1.0", "Expat"):
        assert name in text
    lock = (SOURCES / "package-lock.json").read_text(encoding="utf-8")
    assert f'"@viz-js/viz": "{version}"' in lock


def test_the_licences_of_what_the_playground_bundles_are_there() -> None:
    text = (WEB / "playground" / "assets" / "LICENSE-codemirror.txt").read_text(encoding="utf-8")
    packages = json.loads((SOURCES / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    code = (WEB / "playground" / "assets" / "playground.js").read_text(encoding="utf-8")
    bundled = set(BUNDLED.findall(code))
    assert {"@codemirror/view", "@lezer/yaml", "crelt"} <= bundled
    for name in bundled:
        assert f"\n{name} {packages[f'node_modules/{name}']['version']}\n" in text
    assert text.count("Permission is hereby granted, free of charge") == text.count("Copyright (C)")
