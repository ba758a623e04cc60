"""A slide as pixels, by Pillow, with the letters that matplotlib brings along: the same everywhere."""

from __future__ import annotations

from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

from tm2tfr.errors import OutputError
from tm2tfr.extras import required
from tm2tfr.slides.scene import HIGH, LOOKS, WIDE, Caption, Frame, Slide, Stroke
from tm2tfr.text import svg

FINE = 2
"""Shapes are painted so many times larger, and reduced, so that their edges are smooth."""
_ANCHORS = {"start": "lm", "middle": "mm", "end": "rm"}


def pillow(what: object) -> tuple[Any, Any, Any]:
    """Return Pillow's modules Image, ImageDraw and ImageFont.

    Args:
        what: where the picture goes, for complaints.

    Raises:
        OutputError: if Pillow or matplotlib is missing.
    """
    modules = ["PIL.Image", "PIL.ImageDraw", "PIL.ImageFont", "matplotlib"]
    need = f"{what}: pictures of pixels need Pillow and matplotlib"
    image, draw, font, _ = required(need, modules, "plot", otherwise="write SVG alone", error=OutputError)
    return image, draw, font


@lru_cache(maxsize=256)
def _font(size: int, bold: bool) -> Any:
    (mpl,) = required("letters need matplotlib", ["matplotlib"], "plot", error=OutputError)
    name = "DejaVuSansMono-Bold.ttf" if bold else "DejaVuSansMono.ttf"
    return pillow(name)[2].truetype(str(Path(mpl.get_data_path(), "fonts", "ttf", name)), size)


def painted(scene: Slide, wide: int, what: object) -> Any:
    """Return a slide as an image of Pillow that is `wide` pixels wide.

    Raises:
        OutputError: if Pillow or matplotlib is missing.
    """
    image, draws, _ = pillow(what)
    scale = FINE * wide / WIDE
    canvas = image.new("RGB", (FINE * wide, round(HIGH * scale)), LOOKS["page"].fill)
    draw = draws.Draw(canvas)
    for shape in scene.shapes:
        look = LOOKS[shape.kind]
        width = max(1, round(look.width * scale)) if look.stroke else 0
        match shape:
            case Caption():
                content = svg.cut(shape.content, shape.most, shape.size)
                font = _font(round(shape.size * scale), look.bold)
                place = (shape.x * scale, shape.y * scale)
                draw.text(place, content, fill=look.fill, font=font, anchor=_ANCHORS[shape.anchor])
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
