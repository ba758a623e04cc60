"""Slides: what they say, where things are on them, and the files that they are written to."""

from __future__ import annotations

import json
import re
import sys
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

import tm2tfr
from tests.cli.lines import said
from tests.readme import ROOT
from tests.web.slides import pictures
from tm2tfr.api.pages import moments
from tm2tfr.base.errors import EngineError, OutputError
from tm2tfr.base.text import svg
from tm2tfr.cli import main
from tm2tfr.web.palette import palette
from tm2tfr.web.slides import write
from tm2tfr.web.slides.scene import HIGH, LOOKS, WIDE, Caption, Frame, Stroke
from tm2tfr.web.slides.slide import alt_text, slide
from tm2tfr.web.slides.write import INDEX, shown_positions, write_animation, write_frames

RUNS = {
    "palindromes": "abba",
    "primes": "1111",
    "left-edge": "11",
    "full-adder": "110",
    "reverse": "abcab",
    "starts-110": "0110",
    "most-frequent": None,
}


def test_what_a_slide_shows_is_said_in_words() -> None:
    run = moments("chapter", "11")
    assert [alt_text(run, i).split(" Heads")[0] for i in range(run.first, len(run))] == [
        "chapter on 11, step 0 of 6: the input has been read; the answer is (q0,1,0). Tape: [1]1_.",
        "chapter on 11, step 1 of 6: δ(q0, 1) → (q1,_,+1). Tape: [1]1_.",
        "chapter on 11, step 2 of 6: δ(q1, 1) → (q2,x,+1). Tape: _[1]_.",
        "chapter on 11, step 3 of 6: δ(q2, _) → (q4,_,-1). Tape: _x[_].",
        "chapter on 11, step 4 of 6: δ(q4, x) → (q4,x,-1). Tape: _[x]_.",
        "chapter on 11, step 5 of 6: δ(q4, _) → (q1,_,+1). Tape: [_]x_.",
        "chapter on 11, step 6 of 6: δ(q1, x) → ACC. Tape: _[x]_.",
    ]
    stuck = moments("divisible-by-3", "111")
    assert [alt_text(stuck, i).split(". ")[0] for i in (stuck.first + 3, len(stuck) - 1)] == [
        "divisible-by-3 on 111, step 3 of 3: δ(remainder-0, 1) → (remainder-1,1,+1)",
        "divisible-by-3 on 111, after 3 steps: no rule for _ in remainder-1 → REJ",
    ]
    assert alt_text(run, 8).endswith(" Heads: layer 3, cell h → 1; layer 3, cell hᵢ₋₁ → 0; layer 4, latest write → 7.")
    gates = moments("full-adder", "110")
    assert [alt_text(gates, i).split(". Heads")[0] for i in (2, 3)] == [
        "full-adder on 110, gate 1 of 2: sum = XOR(a=1, b=1, c=0) = 0",
        "full-adder on 110, gate 2 of 2: carry = MAJ(a=1, b=1, c=0) = 1",
    ]
    assert (
        alt_text(moments("reverse", "abc"), 0) == "reverse on abc, position 0 of 2: reverse = c. Heads: layer 2, flip → 2."
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_everything_is_on_the_slide_and_no_two_boxes_overlap(name: str) -> None:
    subject = tm2tfr.compile(name, left_boundary="chapter") if name == "left-edge" else name
    run = moments(subject, RUNS[name])
    for position in range(run.first, len(run), 1 + len(run) // 12):
        scene = slide(run, position)
        for shape in scene.shapes:
            for x, y in corners(shape):
                assert -0.5 <= x <= WIDE + 0.5, shape
                assert -0.5 <= y <= HIGH + 0.5, shape
        tokens = [shape for shape in scene.shapes if isinstance(shape, Frame) and shape.kind in ("token", "here", "answer")]
        assert tokens
        assert all(one.x + one.wide <= other.x or other.x + other.wide <= one.x for one, other in combinations(tokens, 2))
        lines = [shape for shape in scene.shapes if isinstance(shape, Caption) and shape.y > 500]
        assert all(left.y != right.y or left.x + wide(left) <= right.x + 1 for left, right in pairwise(lines))


def wide(shape: Caption) -> float:
    return min(svg.taken_by(svg.cut(shape.content, shape.most, shape.size), shape.size), shape.most)


def corners(shape: Caption | Frame | Stroke) -> list[tuple[float, float]]:
    match shape:
        case Frame():
            return [(shape.x, shape.y), (shape.x + shape.wide, shape.y + shape.high)]
        case Stroke():
            return list(shape.points)
    left = shape.x - wide(shape) * {"start": 0, "middle": 0.5, "end": 1}[shape.anchor]
    return [(left, shape.y - shape.size / 2), (left + wide(shape), shape.y + shape.size / 2)]


def test_a_slide_in_svg_has_a_title_and_its_letters_as_text() -> None:
    run = moments("palindromes", "abba")
    text = slide(run, 12).svg()
    found = ElementTree.fromstring(text)
    assert found.attrib["role"] == "img"
    assert found[0].text == alt_text(run, 12)
    shown = ["".join(part.itertext()) for part in found.iter("{http://www.w3.org/2000/svg}text")]
    assert {"palindromes on abba", "step 8 of 15", "return", "δ(return, b) → (return,b,-1)", "latest write → 7"} <= set(
        shown
    )
    assert slide(run, 12).svg() == text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_what_layers_write_is_wrapped_and_not_cut_and_has_typeset_names() -> None:
    run = moments("palindromes", "abba")
    lines = [shape for shape in slide(run, 12).shapes if isinstance(shape, Caption) and shape.y > 500]
    assert all(svg.cut(line.content, line.most, line.size) == line.content for line in lines)
    assert all(line.size >= 16 for line in lines)
    texts = [line.content for line in lines]
    at = texts.index("read input")
    assert texts[at + 1 : at + 7] == [
        *("cell h⁺ → 1", "cell h⁻ → 0", "cell hᵢ₋₁⁺ → 2", "cell hᵢ₋₁⁻ → 0"),
        *("h = 1, h² = 1, xₕ₊ = b, xₕ = b,", "hᵢ₋₁ = 2, hᵢ₋₁² = 4"),
    ]
    assert "hⱼ⁎₋₁ = 1, bⱼ⁎₋₁ = b, [hⱼ⁎₋₁=h] = 1" in texts


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_no_name_is_left_as_it_is_typed(name: str) -> None:
    run = moments(name, RUNS[name])
    for position in range(run.first, len(run), 1 + len(run) // 12):
        scene = slide(run, position)
        lines = [shape.content for shape in scene.shapes if isinstance(shape, Caption)]
        assert [line for line in [*lines, scene.alt] if "_{" in line or "^" in line] == []


def test_a_sign_that_the_font_of_pixels_lacks_is_in_the_other_one() -> None:
    fonts = pytest.importorskip("matplotlib.ft2font", reason="matplotlib is not installed: pip install 'tm2tfr[plot]'")
    for bold in (False, True):
        mono, other = (fonts.FT2Font(write._file(name, bold)).get_charmap() for name in (write.MONO, write.OTHER))
        assert ord("⁎") not in mono
        assert ord("⁎") in other


def test_the_picture_of_the_documentation_is_the_slide_of_today() -> None:
    assert pictures.slide_text() == (ROOT / "docs/figures/slide.svg").read_text(encoding="utf-8"), pictures.__doc__


def test_slides_have_the_colours_of_the_explorer_and_letters_can_be_read_on_them() -> None:
    stated = dict(
        re.findall(r"--([\w-]+): light-dark\((#\w{6}), #\w{6}\);", (ROOT / "explorer/src/palette.css").read_text("utf-8"))
    )
    assert {colour.light for colour in palette().values()} == set(stated.values())
    assert len(stated) > 15
    used = {colour for look in LOOKS.values() for colour in (look.fill, look.stroke) if colour}
    assert used <= set(stated.values())
    for kind in ("plain", "note", "accent", "wrong", "good", *(f"head{n}" for n in range(6))):
        assert contrast(LOOKS[kind].fill or "", LOOKS["page"].fill or "") >= 4.5, kind
        assert contrast(LOOKS[kind].fill or "", LOOKS["here"].fill or "") >= 4.5, kind


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours (WCAG 2, 1.4.3)."""
    parts = [[int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)] for colour in (one, other)]
    linear = [[c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in part] for part in parts]
    low, high = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in linear)
    return (high + 0.05) / (low + 0.05)


def test_what_differs_is_said_on_the_slide() -> None:
    run = moments(tm2tfr.compile("left-edge", left_boundary="chapter"), "11")
    texts = [shape.content for shape in slide(run, 5).shapes if isinstance(shape, Caption) and shape.kind == "wrong"]
    assert texts[1].startswith("simulator: h = 1")


def test_a_folder_has_a_picture_for_each_step_and_says_what_each_shows(tmp_path: Path) -> None:
    folder = tmp_path / "slides"
    written = tm2tfr.frames("chapter", "11", folder=folder, format="svg")
    assert [path.name for path in written] == [f"00{n}.svg" for n in range(7)]
    index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    assert (index["of"], index["input"], [each["position"] for each in index["frames"]]) == (
        "chapter",
        "11",
        list(range(2, 9)),
    )
    for each in index["frames"]:
        assert ElementTree.parse(folder / each["files"][0]).getroot()[0].text == each["alt"]
    done: list[tuple[int, int]] = []
    shorter = tm2tfr.frames("chapter", "", folder=folder, format="svg", counting=lambda *each: done.append(each))
    assert sorted(path.name for path in folder.iterdir()) == [*(path.name for path in shorter), INDEX]
    assert done == [(n + 1, len(shorter)) for n in range(len(shorter))]


def test_an_index_that_names_files_elsewhere_removes_none(tmp_path: Path) -> None:
    folder, thesis = tmp_path / "slides", tmp_path / "thesis.tex"
    tm2tfr.frames("chapter", "", folder=folder, format="svg")
    thesis.touch()
    index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    index["frames"][0]["files"] += ["../../thesis.tex", str(thesis)]
    (folder / INDEX).write_text(json.dumps(index), encoding="utf-8")
    tm2tfr.frames("chapter", "", folder=folder, format="svg")
    assert sorted(tmp_path.iterdir()) == [folder, thesis]


def test_a_folder_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    run, folder = moments("chapter", "11"), tmp_path / "slides"

    def stop(done: int, _: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_frames(run, folder, format="svg", counting=stop)
    assert list(tmp_path.iterdir()) == []
    before = [path.name for path in write_frames(run, folder, format="svg")]
    with pytest.raises(KeyboardInterrupt):
        write_frames(run, folder, format="svg", counting=stop)
    assert sorted(path.name for path in folder.iterdir()) == [*before, INDEX]
    assert list(tmp_path.iterdir()) == [folder]
    (folder / "thesis.tex").touch()
    with pytest.raises(
        OutputError, match="contains 'thesis.tex', which this command has not made: choose another name, or rem"
    ):
        write_frames(run, folder, format="svg")
    assert len(list(folder.iterdir())) == len(before) + 2


@pytest.mark.slow
def test_too_many_slides_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown_positions(moments("chapter", "11"), 7) == range(2, 9)
    with pytest.raises(
        EngineError, match="^this run has more than 6 slides, and no more are drawn: use a shorter input, or cut it of"
    ):
        shown_positions(moments("chapter", "11"), 6)
    with pytest.raises(EngineError, match="^this run has more than 2 slides, and no more are drawn: use a shorter input$"):
        shown_positions(moments("reverse", "abc"), 2)
    assert len(shown_positions(moments("chapter", "11", max_steps=5), 6)) == 6
    monkeypatch.setattr(write, "MOST_ANIMATED", 6)
    pytest.importorskip("PIL.Image", reason="install the extra plot")
    with pytest.raises(EngineError, match="and no more are drawn: use a shorter input, or cut it off after 5 steps$"):
        write_animation(moments("chapter", "11"), "never.gif")


@pytest.mark.slow
@pytest.mark.parametrize("subject", ["never-halts", "sha256"])
def test_a_run_with_too_many_slides_is_not_made_whole(subject: str, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="^this run has more than 500 slides, and no more are drawn"):
        tm2tfr.frames(subject, folder=tmp_path / "slides", max_steps=50_000)
    with pytest.raises(EngineError, match="^max_steps must be"):
        tm2tfr.frames(subject, folder=tmp_path / "slides", max_steps="many")  # type: ignore[arg-type]


@pytest.mark.slow
def test_pixels_are_the_same_bytes_every_time(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="install the extra plot")
    run = moments("half-adder", "11")
    for folder in ("a", "b"):
        write_frames(run, tmp_path / folder, format="png")
    for name in ("000.png", "001.png", INDEX):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    with image.open(tmp_path / "a" / "001.png") as picture:
        assert (picture.size, picture.text["Description"]) == ((1920, 1080), alt_text(run, 2))
        assert picture.getpixel((5, 800)) == (255, 255, 255)
    for ending in ("gif", "apng", "png"):
        paths = [tmp_path / f"{n}.{ending}" for n in "ab"]
        for path in paths:
            write_animation(run, path, seconds=0.5)
        assert paths[0].read_bytes() == paths[1].read_bytes()
        with image.open(paths[0]) as shown:
            assert (shown.size, shown.n_frames, shown.info["loop"]) == ((1280, 720), 2, 0)
            times = []
            for n in range(shown.n_frames):
                shown.seek(n)
                times.append(shown.info["duration"])
                assert shown.convert("RGB").getpixel((5, 600)) == (255, 255, 255)
            assert times == [500, 1500]


def test_explore_writes_slides_and_no_page_unless_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(
            [
                "explore",
                "left-edge",
                "--input",
                "11",
                "--left-boundary",
                "chapter",
                "--frames",
                "f",
                "--frame-format",
                "svg",
            ]
        )
    printed = capsys.readouterr()
    assert (end.value.code, printed.err) == (1, "wrote f\n")
    assert "check: FAILED after 42 cells: position 5: h should be 1, is 0" in printed.out
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    with pytest.raises(SystemExit):
        main(["explore", "chapter", "--frames", "f", "--frame-format", "svg", "-o", "p.html"])
    assert capsys.readouterr().err == "wrote p.html\nwrote f\n"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("--seconds 2", "tm2tfr explore: --seconds is about an animation: add --animation FILE"),
        ("--frame-format svg", "tm2tfr explore: --frame-format is about the pictures in a folder: add --frames DIR"),
        (
            "--frames f --compare chapter",
            "tm2tfr explore: a slide shows one run, and --compare is about two: omit one of them",
        ),
        ("--frames f --open", "tm2tfr explore: --open is about the page, and only slides are asked for: add -o run.html"),
        ("--animation run.mp4", "run.mp4: animations are written as .gif, .apng, .png: name the file run.gif"),
        (
            "--animation run.gif --seconds 0",
            "seconds must be from 0.02 to 600 (how long a slide is shown), not 0.0: use for example 1",
        ),
        (
            "--frames f",
            "f: this folder is not empty and was not made by this command; it contains 'mine': choose another name",
        ),
    ],
)
def test_what_goes_not_together_is_refused(
    arguments: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "mine").touch()
    assert said(capsys, "explore", "chapter", *arguments.split()).startswith(why)


def test_without_pillow_there_is_svg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("PIL.Image", "PIL.ImageDraw", "PIL.ImageFont"):
        monkeypatch.setitem(sys.modules, module, None)
    words = re.escape("pip install 'tm2tfr[plot]', or write SVG alone")
    with pytest.raises(OutputError, match=rf"f: pictures of pixels need Pillow and matplotlib \(.*\): {words}$"):
        tm2tfr.frames("half-adder", "11", folder=tmp_path / "f")
    assert list(tmp_path.iterdir()) == []
    assert len(tm2tfr.frames("half-adder", "11", folder=tmp_path / "f", format="svg")) == 2


def test_what_is_no_name_is_refused() -> None:
    with pytest.raises(OutputError, match="^folder must be the name of a file, not None: use text or a pathlib.Path$"):
        tm2tfr.frames("chapter", "11", folder=None)  # type: ignore[arg-type]
    with pytest.raises(OutputError, match="^path must be the name of a file, not 3: use text or a pathlib.Path$"):
        tm2tfr.animate("chapter", "11", path=3)  # type: ignore[arg-type]
    with pytest.raises(EngineError, match="^counting must be a function, not 3: omit it, or pass one$"):
        tm2tfr.animate("chapter", "11", path="x.gif", counting=3)  # type: ignore[arg-type]
    with pytest.raises(OutputError, match="^format must be one of svg, png, both, not 'jpg'$"):
        tm2tfr.frames("chapter", "11", folder="f", format="jpg")  # type: ignore[arg-type]
