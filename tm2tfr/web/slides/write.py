"""The slides of a run as files: a folder with a picture for each step, or one animation; whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from functools import lru_cache
from io import BytesIO
from itertools import groupby
from math import inf
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING

from tm2tfr.base import tempfiles
from tm2tfr.base.choices import FRAMES, FrameFormat
from tm2tfr.base.errors import EngineError, OutputError, listing, required
from tm2tfr.base.files import check_folder, refusal, write_whole
from tm2tfr.base.text import svg
from tm2tfr.runs.comparison import Progress
from tm2tfr.web.explorer.moments import Moments
from tm2tfr.web.slides.scene import HIGH, LOOKS, WIDE, Caption, Frame, Slide, Stroke
from tm2tfr.web.slides.slide import alt_text, slide

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

# ── A slide as pixels, by Pillow, with the letters that matplotlib brings along: the same everywhere.
FINE = 2
"""Shapes are painted this many times larger and then reduced, so that their edges are smooth."""


def pillow(what: object) -> tuple[ModuleType, ...]:
    """Return Pillow's modules Image, ImageDraw and ImageFont.

    Args:
        what: where the picture goes, for messages.

    Raises:
        OutputError: if Pillow or matplotlib is missing.
    """
    modules = ["PIL.Image", "PIL.ImageDraw", "PIL.ImageFont", "matplotlib"]
    need = f"{what}: pictures of pixels need Pillow and matplotlib"
    image, draw, font, _ = required(need, modules, "plot", otherwise="write SVG alone", error=OutputError)
    return image, draw, font


MONO, OTHER = "DejaVuSansMono", "DejaVuSans"
"""The fonts: what the first has no letter for, such as the star of j* as a subscript, is painted with the second."""


def _file(name: str, bold: bool) -> str:
    (mpl,) = required("letters need matplotlib", ["matplotlib"], "plot", error=OutputError)
    return str(Path(mpl.get_data_path(), "fonts", "ttf", f"{name}-Bold.ttf" if bold else f"{name}.ttf"))


@lru_cache(maxsize=256)
def _font(name: str, size: int, bold: bool) -> FreeTypeFont:
    font: FreeTypeFont = pillow(name)[2].truetype(_file(name, bold), size)
    return font


@lru_cache(maxsize=2)
def _letters(bold: bool) -> frozenset[int]:
    """Return the characters that the first font has."""
    (fonts,) = required("letters need matplotlib", ["matplotlib.ft2font"], "plot", error=OutputError)
    return frozenset(fonts.FT2Font(_file(MONO, bold)).get_charmap())


def _write(draw: ImageDraw, line: Caption, content: str, scale: float) -> None:
    """Paint a line of text."""
    look, size = LOOKS[line.kind], round(line.size * scale)
    fonts = {has: _font(MONO if has else OTHER, size, look.bold) for has in (True, False)}
    known = _letters(look.bold)
    parts = [(fonts[has], "".join(signs)) for has, signs in groupby(content, lambda sign: ord(sign) in known)]
    wide = sum(font.getlength(part) for font, part in parts)
    x = line.x * scale - wide * {"start": 0, "middle": 0.5, "end": 1}[line.anchor]
    for font, part in parts:
        draw.text((x, line.y * scale), part, fill=look.fill, font=font, anchor="lm")
        x += font.getlength(part)


def painted(scene: Slide, wide: int, what: object) -> Image:
    """Return a slide as an image of Pillow that is `wide` pixels wide.

    Raises:
        OutputError: if Pillow or matplotlib is missing.
    """
    image, draws, _ = pillow(what)
    scale = FINE * wide / WIDE
    canvas: Image = image.new("RGB", (FINE * wide, round(HIGH * scale)), LOOKS["page"].fill)
    draw = draws.Draw(canvas)
    for shape in scene.shapes:
        look = LOOKS[shape.kind]
        width = max(1, round(look.width * scale)) if look.stroke else 0
        match shape:
            case Caption():
                _write(draw, shape, svg.cut(shape.content, shape.most, shape.size), scale)
            case Frame():
                half = look.width / 2 if look.stroke else 0
                corners = [shape.x - half, shape.y - half, shape.x + shape.wide + half, shape.y + shape.high + half]
                at = [round(value * scale) for value in corners]
                radius = round((shape.round + half if shape.round else 0) * scale)
                draw.rounded_rectangle(at, radius=radius, fill=look.fill, outline=look.stroke, width=width)
            case Stroke():
                points = [(x * scale, y * scale) for x, y in shape.points]
                if look.fill is not None:
                    draw.polygon(points, fill=look.fill)
                else:
                    draw.line(points, fill=look.stroke, width=width, joint="curve")
    return canvas.reduce(FINE)


def png(scene: Slide, wide: int, what: object) -> bytes:
    """Return a slide as a PNG file with what it shows as its description.

    Raises:
        OutputError: if Pillow or matplotlib is missing.
    """
    (info,) = required(f"{what}: a PNG file needs Pillow", ["PIL.PngImagePlugin"], "plot", error=OutputError)
    about = info.PngInfo()
    about.add_itxt("Description", scene.alt)
    file = BytesIO()
    painted(scene, wide, what).save(file, format="PNG", pnginfo=about)
    return file.getvalue()


ANIMATIONS = (".gif", ".apng", ".png")
"""The endings of animations; the last two are animated PNG."""
MOST_FRAMES, MOST_ANIMATED = 500, 300
"""The most slides in a folder, and in an animation, whose pixels are all in memory: nobody looks at more."""
INDEX = "frames.json"
"""The file that lists and describes the pictures, by which such a folder is recognised."""
PIXELS, SMALLER = 1920, 1280
"""How wide a PNG file is, and an animation."""


def most_steps(max_steps: int | None, most: int = MOST_FRAMES) -> int:
    """Return the limit of a run that is drawn: a run that is cut off there has too many slides for `shown_positions`."""
    return most + 1 if max_steps is None else min(max_steps, most + 1)


def shown_positions(run: Moments, most: int = MOST_FRAMES) -> range:
    """Return the positions of which there is a slide: from the first answer that counts on.

    Raises:
        EngineError: if they are too many.
    """
    found = range(run.first, len(run))
    if len(found) > most:
        what = f"this run has more than {most} slides, and no more are drawn"
        remedy = "use a shorter input" if run.trace.labels else f"use a shorter input, or cut it off after {most - 1} steps"
        raise EngineError(f"{what}: {remedy}")
    return found


def write_frames(
    run: Moments, folder: str | Path, *, format: FrameFormat = "both", counting: Progress | None = None
) -> tuple[Path, ...]:
    """Write a picture of each step into a folder, whole or not at all, and return their paths.

    They are called ``000.svg``, ``001.svg`` and so on; `INDEX` lists and describes them. An earlier folder of this kind is
    replaced.

    Raises:
        OutputError: if it cannot be written, or is a folder with anything else in it; if Pillow is missing.
        EngineError: if there are too many steps.
    """
    if format not in FRAMES:
        raise OutputError(f"format must be one of {', '.join(FRAMES)}, not {format!r}")
    folder, positions = Path(folder), shown_positions(run)
    check_folder(folder, ours=[INDEX])
    _refuse_others(folder)
    endings = ("svg", "png") if format == "both" else (format,)
    if "png" in endings:
        pillow(folder)
    target = Path(os.path.realpath(folder))
    beside = tempfiles.beside(target)
    try:
        beside.mkdir()
        try:
            names = list(_drawn(run, positions, beside, endings, counting))
            (beside / INDEX).write_text(_index(run, positions, endings), encoding="utf-8")
            # refused again: drawing may have taken minutes
            tempfiles.replace_folder(beside, target, refuse=_refuse_others, names=_own_last)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
    except OSError as error:
        raise refusal(folder, error, target.parent) from error
    return tuple(folder / name for name in names)


def _drawn(
    run: Moments, positions: range, folder: Path, endings: tuple[str, ...], counting: Progress | None
) -> Iterator[str]:
    """Write the pictures and yield their names."""
    for n, position in enumerate(positions):
        scene = slide(run, position)
        for ending in endings:
            name = f"{n:03}.{ending}"
            (folder / name).write_bytes(scene.svg().encode() if ending == "svg" else png(scene, PIXELS, folder))
            yield name
        if counting is not None:
            counting(n + 1, len(positions))


def _index(run: Moments, positions: range, endings: tuple[str, ...]) -> str:
    found = [
        {"files": [f"{n:03}.{ending}" for ending in endings], "position": position, "alt": alt_text(run, position)}
        for n, position in enumerate(positions)
    ]
    return (
        json.dumps({"of": run.trace.machine, "input": run.trace.input, "frames": found}, ensure_ascii=False, indent=1)
        + "\n"
    )


def _own(folder: Path) -> set[str]:
    """Return the names in a folder that its index lists, and its own; none if it has no index."""
    try:
        found = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        listed = {INDEX, *(name for frame in found["frames"] for name in frame["files"])}
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    return listed.intersection(os.listdir(folder))


def _own_last(folder: Path) -> list[str]:
    """Return the names of `_own`, the index last: it says whose the folder is."""
    return sorted(_own(folder), key=INDEX.__eq__)


def _refuse_others(folder: Path) -> None:
    """Raise OutputError if a folder contains anything that its index does not list."""
    held = sorted(os.listdir(folder)) if folder.is_dir() else []
    if others := [name for name in held if name not in _own(folder)]:
        what = f"{folder}: this folder contains {listing(others, most=3)}, which this command has not made"
        raise OutputError(f"{what}: choose another name, or remove it")


def write_animation(run: Moments, path: str | Path, *, seconds: float = 1.0, counting: Progress | None = None) -> None:
    """Write the slides of a run as one animation, whole or not at all; it is shown again and again.

    Args:
        path: a .gif file, or a .apng or .png file, which is an animated PNG.
        seconds: how long each slide is shown; the last one three times as long.

    Raises:
        OutputError: for another extension, a time that cannot be, if Pillow is missing, or if the file cannot be written.
        EngineError: if there are too many steps.
    """
    path = Path(path)
    check_animation(path, seconds)
    positions = shown_positions(run, MOST_ANIMATED)
    image = pillow(path)[0]
    palette = image.new("P", (1, 1))
    palette.putpalette(_colours())

    def images() -> Iterator[Image]:
        for n, position in enumerate(positions):
            yield painted(slide(run, position), SMALLER, path).quantize(palette=palette, dither=image.Dither.NONE)
            if counting is not None:
                counting(n + 1, len(positions))

    first, *rest = images()  # all of them: Pillow goes through those of a PNG file twice
    milliseconds = [round(seconds * 1000)] * (len(positions) - 1) + [round(seconds * 3000)]
    form = "GIF" if path.suffix.lower() == ".gif" else "PNG"
    kept = {"optimize": False, "disposal": 1} if form == "GIF" else {"disposal": 0, "blend": 0}

    def save(file: IO[bytes]) -> None:
        first.save(file, form, save_all=True, append_images=rest, duration=milliseconds, loop=0, **kept)

    write_whole(path, save)


def _colours() -> list[int]:
    """Return the colours of an animation, one after the other: those of all shapes, and blends of each with its ground."""
    inks = dict.fromkeys(colour for look in LOOKS.values() for colour in (look.fill, look.stroke) if colour)
    grounds = [LOOKS[kind].fill or "" for kind in ("page", "here", "token", "flag")]
    pairs = [(a, b) for b in grounds for a in inks if abs(sum(_rgb(a)) - sum(_rgb(b))) > 200]
    blends = [(a, b, part) for a, b in pairs for part in (0.2, 0.4, 0.6, 0.8)]
    found = [_rgb(a) for a in inks] + [
        tuple(round(x * part + y * (1 - part)) for x, y in zip(_rgb(a), _rgb(b), strict=True)) for a, b, part in blends
    ]
    return [value for colour in list(dict.fromkeys(found))[:256] for value in colour]


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))


def check_animation(path: Path, seconds: float) -> None:
    """Raise OutputError if no animation can be written to such a file, or shown at that speed."""
    if path.suffix.lower() not in ANIMATIONS:
        raise OutputError(f"{path}: an animation is written as {', '.join(ANIMATIONS)}: use for example {path.stem}.gif")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0.02 <= seconds < inf or seconds > 600:
        raise OutputError(
            f"seconds must be from 0.02 to 600 (how long a slide is shown), not {seconds!r}: use for example 1"
        )
    pillow(path)
