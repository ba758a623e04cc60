"""A slide as plain marks: boxes, lines of text and paths of a few kinds, which are written as SVG and painted as pixels.

Coordinates are those of a slide of 1280 by 720. Letters are all of one width, so that both have them in the same place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tm2tfr.base.text import svg
from tm2tfr.web.palette import palette

WIDE, HIGH = 1280, 720
MARGIN = 40
FAMILY = "'DejaVu Sans Mono',Menlo,Consolas,'Liberation Mono',monospace"
SCOPE = "slide"


class Ink(NamedTuple):
    """How a kind of shape looks: colours as ``#rrggbb`` or None, the width of its line, whether letters are bold."""

    fill: str | None = None
    stroke: str | None = None
    width: float = 0
    bold: bool = False


def _colour(name: str) -> str:
    """Return a colour of the palette: slides are light, on a wall and on paper."""
    return palette()[name].light


HEADS = tuple(map(_colour, ("hue0", "hue1", "hue2", "hue3", "hue4", "hue5")))
"""The colours of a layer's heads, one after the other: each at least 4.5 to 1 on white."""
DARK, GREY, PALE, ACCENT, WHITE = map(_colour, ("ink", "soft", "line", "accent", "panel"))

LOOKS: Mapping[str, Ink] = {
    "page": Ink(WHITE),
    "title": Ink(DARK, bold=True),
    "plain": Ink(DARK),
    "note": Ink(GREY),
    "accent": Ink(ACCENT, bold=True),
    "wrong": Ink(_colour("bad"), bold=True),
    "good": Ink(_colour("good"), bold=True),
    "light": Ink(WHITE, bold=True),
    "track": Ink(PALE),
    "done": Ink(ACCENT),
    "cell": Ink(WHITE, GREY, 2),
    "head": Ink(_colour("written"), ACCENT, 5),
    "flag": Ink(ACCENT),
    "token": Ink(_colour("faint"), GREY, 1.5),
    "here": Ink(_colour("written"), ACCENT, 4),
    "answer": Ink(WHITE, ACCENT, 2.5),
    "rule": Ink(None, PALE, 2),
    **{f"head{n}": Ink(colour, bold=True) for n, colour in enumerate(HEADS)},
    **{f"arc{n}": Ink(None, colour, 3.5) for n, colour in enumerate(HEADS)},
    **{f"tip{n}": Ink(colour) for n, colour in enumerate(HEADS)},
}


@dataclass(frozen=True)
class Caption:
    """A line of text with its middle at `y`; what is wider than `most` is cut with …."""

    x: float
    y: float
    content: str
    kind: str = "plain"
    size: float = 20
    anchor: svg.Anchor = "start"
    most: float = 1e9


@dataclass(frozen=True)
class Frame:
    """A rectangle."""

    x: float
    y: float
    wide: float
    high: float
    kind: str
    round: float = 0


@dataclass(frozen=True)
class Stroke:
    """A line through points; `closed`: filled."""

    points: tuple[tuple[float, float], ...]
    kind: str
    closed: bool = False


Drawable = Caption | Frame | Stroke


@dataclass(frozen=True)
class Slide:
    """A slide: its shapes, each over those before it, and what it shows, for readers that do not see it."""

    alt: str
    shapes: tuple[Drawable, ...]

    def svg(self) -> str:
        """Return the slide as an SVG file, whose title is what it shows."""
        drawn = svg.over([_drawn(shape) for shape in self.shapes])
        page = svg.Picture(WIDE, HIGH, drawn.elements)
        return svg.page(page, title=self.alt, style=style(), scope=SCOPE, margin=0)


def style() -> str:
    """Return the looks as CSS."""
    rules = [f".{SCOPE}{{font-family:{FAMILY}}}"]
    for kind, look in LOOKS.items():
        found = [f"fill:{look.fill or 'none'}"]
        found += [f"stroke:{look.stroke}", f"stroke-width:{look.width:g}"] if look.stroke else []
        found += ["font-weight:bold"] if look.bold else []
        rules.append(f".{SCOPE} .{kind}{{{';'.join(found)}}}")
    return "".join(rules)


def _drawn(shape: Drawable) -> svg.Picture:
    match shape:
        case Caption():
            return svg.text(
                shape.x, shape.y, shape.content, kind=shape.kind, size=shape.size, anchor=shape.anchor, most=shape.most
            )
        case Frame():
            return svg.box(shape.x, shape.y, shape.wide, shape.high, kind=shape.kind, round=shape.round)
        case Stroke():
            return svg.path(shape.points, kind=shape.kind)


def arc(start: float, end: float, y: float, rise: float) -> tuple[tuple[float, float], ...]:
    """Return points from (start, y) to (end, y) on a curve that rises by `rise` pixels."""
    fractions = [n / 24 for n in range(25)]
    return tuple((start + (end - start) * (3 * t**2 - 2 * t**3), y - rise * 4 * t * (1 - t)) for t in fractions)


def tip(x: float, y: float, *, size: float = 7) -> tuple[tuple[float, float], ...]:
    """Return the corners of an arrow's tip that points down to (x, y)."""
    return ((x, y), (x - size, y - 1.7 * size), (x + size, y - 1.7 * size), (x, y))


def fitted(content: str, most: float, size: float, *, least: float = 12) -> float:
    """Return the largest size of letters, from `least` to `size`, at which a text is at most `most` wide."""
    wide = svg.taken_by(content, size)
    return size if wide <= most else max(least, size * most / wide)
