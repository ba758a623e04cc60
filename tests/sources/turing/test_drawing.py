"""Drawings: whole golden texts, odd names through the real ``dot``, and what happens without it."""

from __future__ import annotations

import os
import re
import stat
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.installed import needs_dot
from tm2tfr.base.errors import OutputError
from tm2tfr.sources.turing.drawing import html_table, render, save, svg_or_none, to_dot, to_mermaid, to_svg
from tm2tfr.sources.turing.spec import Machine

posix = pytest.mark.skipif(
    os.name != "posix", reason="the stand-in for 'dot' is a shell script: run the tests on Linux or macOS"
)

EVEN = Machine(
    name="even",
    description="is the number of 1s even?",
    transitions={
        ("even", "0"): ("even", "0", "R"),
        ("even", "1"): ("odd", "x", "R"),
        ("even", " "): ("yes", " ", "S"),
        ("odd", "0"): ("odd", "0", "R"),
        ("odd", "1"): ("even", "1", "R"),
        ("odd", "x"): ("odd", "x", "R"),
        ("odd", "#"): ("odd", "1", "L"),
    },
    start="even",
    blank=" ",
    accept=("yes",),
    reject=("no",),
)


def one_edge(table: dict[str, tuple[str, str]], **more: object) -> Machine:
    """Return a machine with all its rules, symbol -> (write, move), on one edge."""
    rules = {("q", a): ("end", b, m) for a, (b, m) in table.items()}
    return Machine(transitions=rules, start="q", blank="_", **more)  # type: ignore[arg-type]


def label(machine: Machine) -> str:
    """Return the label of the last edge of the DOT text."""
    return re.findall(r'-> s1 \[label="(.*?)" tooltip', to_dot(machine))[-1]


# ── DOT and Mermaid ─────────────────────────────────────────────────────────────────────────────────────


def test_a_halt_without_a_verdict_is_a_box() -> None:
    machine = one_edge({"_": ("1", "R")})
    assert '\ts1 [label=end fillcolor="#ececec" shape=box style="filled,rounded" tooltip=end]\n' in to_dot(machine)
    assert '\n  s1["end"]\n' in to_mermaid(machine)


def test_long_names_are_drawn_in_ellipses() -> None:
    long = Machine(transitions={("look for a 1", "0"): ("b", "0", "R")}, start="look for a 1", blank="0")
    assert " shape=ellipse " in to_dot(long)


@pytest.mark.parametrize(
    ("table", "want"),
    [
        ({"0": ("0", "R"), "1": ("1", "R")}, " 0,1 → R "),
        ({"0": ("x", "R"), "1": ("x", "R"), "x": ("x", "R")}, r" 0,1 → x, R \n x → R "),
        ({"0": ("0", "L"), "1": ("1", "S"), "2": ("2", "L")}, r" 0,2 → L \n 1 → S "),
        ({a: (a, "R") for a in "abcdefgh"}, " a,b,c,d,e,f,g,h → R "),
        ({a: (a, "R") for a in "abcdefghi"}, r" a,b,c,d,e, \n f,g,h,i → R "),
        (dict.fromkeys("abcdefghijklmnopqrst", ("x", "R")), r" a,b,c,d,e,f,g, \n h,i,j,k,l,m,n, \n o,p,q,r,s,t → x, R "),
        ({" ": ("_", "R")}, " ␣ → _, R "),
        ({" ": ("␣", "R")}, " ' ' → ␣, R "),
        ({",": ("→", "R")}, " ',' → '→', R "),
        ({"\n": ("\u200b", "R")}, r" '\\n' → '\\u200b', R "),
        ({"\\": ('"', "R")}, r" \\ → \", R "),
        ({"&": ("<", "R")}, " &amp; → <, R "),
    ],
)
def test_the_label_of_an_edge(table: dict[str, tuple[str, str]], want: str) -> None:
    assert label(one_edge(table)) == want


ODD = st.text(st.sampled_from("ab01 \"'\\/#;|<>&:%{}[]()lt$`_*-=~^→␣ΩN\n\t\u200b\u00e9"), min_size=1, max_size=8)
ANY = ODD | st.text(min_size=1, max_size=8)


@st.composite
def oddities(draw: st.DrawFn) -> Machine:
    """A machine with up to four states and symbols whose names are anything at all."""
    states = draw(st.lists(ANY, min_size=1, max_size=4, unique=True))
    symbols = draw(st.lists(ANY.map(lambda text: text[0]), min_size=1, max_size=4, unique=True))
    rule = st.tuples(st.sampled_from(states), st.sampled_from(symbols), st.sampled_from("LRS"))
    table = draw(st.dictionaries(st.tuples(st.sampled_from(states), st.sampled_from(symbols)), rule, max_size=8))
    return Machine(
        transitions=table,
        start=states[0],
        blank=symbols[0],
        states=tuple(states),
        tape_alphabet=tuple(symbols),
        accept=tuple(q for q in states if q not in {q for q, _ in table}),
        name=draw(ANY),
    )


def seen(name: str) -> str:
    """Return how the drawings show the name of a state."""
    return name if name.isprintable() and name.strip() == name else repr(name)


@pytest.mark.slow
@given(oddities())
def test_mermaid_says_every_name_back(machine: Machine) -> None:
    """Read back with Mermaid's own rule for entities, the quoted texts are the names."""
    node = re.compile(r'  s\d+(?:\(|\(\(\()"([\w ,→␣#;]+)"(?:\)|\)\)\))')
    lines = to_mermaid(machine).split("\n")[2 : 2 + len(machine.states)]
    quoted = [match[1] for line in lines if (match := node.fullmatch(line))]
    assert [re.sub(r"#(\d+);", lambda m: chr(int(m[1])), text) for text in quoted] == [*map(seen, machine.states)]


# ── through dot ─────────────────────────────────────────────────────────────────────────────────────────
SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str, kind: str) -> list[list[str]]:
    """Return the lines of text in each ``node`` or ``edge`` of an SVG by Graphviz."""
    groups = (g for g in ET.fromstring(svg).iter(f"{SVG}g") if g.get("class") == kind)
    return [[(t.text or "").replace("\u00a0", " ") for t in g.iter(f"{SVG}text")] for g in groups]


@needs_dot
def test_svg_shows_states_and_rules() -> None:
    svg = to_svg(EVEN)
    assert sorted(texts(svg, "node")) == [[], ["even"], ["no"], ["odd"], ["yes"]]
    assert [[line.strip() for line in edge] for edge in sorted(texts(svg, "edge"))] == [
        [],
        ["0 → R"],
        ["0,x → R", "# → 1, L"],
        ["1 → R"],
        ["1 → x, R"],
        ["␣ → S"],
    ]
    assert svg_or_none(EVEN) == svg == to_svg(EVEN)


@pytest.mark.slow
@needs_dot
@settings(max_examples=40, deadline=None)
@given(oddities())
@example(Machine(transitions={}, start="&lt;", blank="&", states=("&lt;", "\\N", "<b>", "a\\", "&#65;")))
@example(Machine(transitions={("a", "\\"): ("a", '"', "R")}, start="a", blank="\\", name='\\" <i>"'))
def test_dot_draws_any_name(machine: Machine) -> None:
    assert sorted(texts(to_svg(machine), "node")) == sorted([[], *([seen(q)] for q in machine.states)])


@needs_dot
def test_formats_are_what_they_say() -> None:
    assert render(EVEN, "svg").startswith(b"<?xml")
    assert render(EVEN, "png").startswith(b"\x89PNG")
    assert render(EVEN, "pdf").startswith(b"%PDF")


# ── without dot ─────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def no_dot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Leave an empty folder as the whole PATH, and return it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def pretend(folder: Path, script: str, *, mode: int = stat.S_IRWXU) -> None:
    """Put a shell script into `folder` that goes as ``dot``."""
    dot = folder / "dot"
    dot.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    dot.chmod(mode)


@pytest.mark.usefixtures("no_dot")
def test_without_dot_the_error_says_how_to_get_it() -> None:
    with pytest.raises(OutputError) as error:
        to_svg(EVEN)
    assert str(error.value) == (
        "drawing even: Graphviz's program 'dot' is not on the PATH: install it with one of "
        "'apt install graphviz', 'brew install graphviz', 'choco install graphviz', "
        "'conda install -c conda-forge graphviz', or choose .dot or .mmd, which need no program"
    )
    assert svg_or_none(EVEN) is None


@posix
@pytest.mark.parametrize(
    ("script", "said"),
    [("echo 'no such font' >&2; exit 3", "no such font"), ("kill -SEGV $$", "exit status -11")],
    ids=["fails", "crashes"],
)
def test_dot_fails(script: str, said: str, no_dot: Path) -> None:
    pretend(no_dot, script)
    words = rf"^drawing even: Graphviz's 'dot' failed \({said}\): fix its installation, or choose"
    with pytest.raises(OutputError, match=words):
        to_svg(EVEN)


@posix
def test_dot_may_not_be_run(no_dot: Path) -> None:
    pretend(no_dot, "", mode=stat.S_IRUSR)
    with pytest.raises(OutputError, match=r"^drawing even: Graphviz's 'dot' does not start \(Permission denied\): fix its"):
        to_svg(EVEN)


def test_a_machine_too_large_to_be_read_is_not_drawn_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tm2tfr.sources.turing.drawing.to_svg", lambda machine, **_: "drawn")
    states = tuple(f"q{i}" for i in range(101))
    assert svg_or_none(Machine(transitions={}, start="q0", blank="_", states=states)) is None
    assert svg_or_none(Machine(transitions={}, start="q0", blank="_", states=states[:100])) == "drawn"


# ── files ───────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.usefixtures("no_dot")
@pytest.mark.parametrize(("name", "want"), [("m.dot", to_dot), ("m.gv", to_dot), ("m.mmd", to_mermaid), ("M.DOT", to_dot)])
def test_texts_are_saved_without_dot(tmp_path: Path, name: str, want: object) -> None:
    assert callable(want)
    save(EVEN, tmp_path / name)
    assert (tmp_path / name).read_bytes().decode() == want(EVEN)


@needs_dot
@pytest.mark.parametrize(("name", "magic"), [("m.svg", b"<?xml"), ("m.png", b"\x89PNG"), ("m.PDF", b"%PDF")])
def test_pictures_are_saved(tmp_path: Path, name: str, magic: bytes) -> None:
    save(EVEN, str(tmp_path / name))
    assert (tmp_path / name).read_bytes().startswith(magic)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize(("name", "suffix"), [("m.gif", "'.gif'"), ("m", "''")])
def test_an_unknown_extension_names_the_known_ones(tmp_path: Path, name: str, suffix: str) -> None:
    known = ".dot, .gv, .mmd, .svg, .png, .pdf"
    with pytest.raises(OutputError, match=rf"{name}: {suffix} is not a drawing format: use one of {known}$"):
        save(EVEN, tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_a_drawing_that_cannot_be_made_leaves_the_old_file(tmp_path: Path, no_dot: Path) -> None:
    old = tmp_path / "m.svg"
    old.write_text("old", encoding="utf-8")
    with pytest.raises(OutputError, match="is not on the PATH"):
        save(EVEN, old)
    assert old.read_text(encoding="utf-8") == "old"
    assert sorted(os.listdir(tmp_path)) == [no_dot.name, "m.svg"]


@pytest.mark.parametrize("broken", ["os.fsync", "pathlib.Path.replace"])
def test_nothing_is_left_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    old = tmp_path / "m.dot"
    old.write_text("old", encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(broken, full)
        with pytest.raises(OutputError, match=r"m\.dot: the disk is full: free some space"):
            save(EVEN, old)
    assert old.read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["m.dot"]


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"m\.dot: there is no folder .*nowhere: make it first"):
        save(EVEN, tmp_path / "nowhere" / "m.dot")


def test_a_file_where_a_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(OutputError, match=r"m\.dot: .*file is not a folder: choose a place"):
        save(EVEN, tmp_path / "file" / "m.dot")


@posix
def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "link.dot").symlink_to(tmp_path / "real.dot")
    save(EVEN, tmp_path / "link.dot")
    assert (tmp_path / "link.dot").is_symlink()
    assert (tmp_path / "real.dot").read_text(encoding="utf-8") == to_dot(EVEN)


# ── HTML ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_start_state_that_halts_has_both_marks() -> None:
    machine = Machine(transitions={}, start="a", blank="_", name="")
    assert "<caption></caption>" in html_table(machine)
    assert '<tr><th scope="row">a (start, halt)</th><td colspan="1">halt</td></tr>' in html_table(machine)


@pytest.mark.slow
@given(oddities())
def test_html_is_escaped(machine: Machine) -> None:
    """The table is well-formed XML, and its rows are headed by the states."""
    table = ET.fromstring(html_table(machine))
    heads = [(th.text or "").split(" (")[0] for th in table.iter("th") if th.get("scope") == "row"]
    assert heads == [seen(q).split(" (")[0] for q in machine.states]


def test_the_notebook_shows_table_and_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tm2tfr.sources.turing.drawing.to_svg", lambda machine, **_: f"<?xml?>\n<svg>{machine.name}</svg>")
    assert EVEN._repr_html_() == f"<svg>even</svg>{html_table(EVEN)}"


def test_the_notebook_shows_the_table_alone_where_dot_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tm2tfr.sources.turing.drawing.svg_or_none", lambda _: None)
    assert EVEN._repr_html_() == html_table(EVEN)


def test_with_large_letters_it_is_the_same_graph() -> None:
    plain, large = to_dot(EVEN), to_dot(EVEN, large=True)
    assert "fontsize=17" in large
    assert "fontsize=17" not in plain
    assert plain.splitlines()[4:] == large.splitlines()[4:]


@posix
def test_permissions_stay_and_a_pipe_is_written_to(tmp_path: Path) -> None:
    private, pipe = tmp_path / "private.dot", tmp_path / "pipe.dot"
    private.write_text("old", encoding="utf-8")
    private.chmod(0o600)
    save(EVEN, private)
    assert private.stat().st_mode & 0o777 == 0o600
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as reader:
        got = reader.submit(pipe.read_text, encoding="utf-8")
        save(EVEN, pipe)
        assert got.result() == to_dot(EVEN)
    assert pipe.is_fifo()
