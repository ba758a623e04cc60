"""Drawings in SVG, put together from parts: texts, boxes and lines that know how much room they take.

Letters are all of one width, so that nobody has to measure them; what is too wide for its place is cut, and its whole text
is the tooltip. The same drawing is the same text, byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from tm2tfr.base.errors import visible
from tm2tfr.base.text.shown import width

Anchor = Literal["start", "middle", "end"]
ADVANCE = 0.61
"""The width of a letter of size 1; those of the fonts named in `page` are at most as wide."""
BASELINE = 0.35
"""How far below the middle of a line its letters stand, at size 1."""


@dataclass(frozen=True)
class Picture:
    """Elements of SVG in a rectangle from (0, 0) to (wide, high), in pixels."""

    wide: float
    high: float
    elements: tuple[str, ...] = ()

    def moved(self, x: float, y: float) -> Picture:
        """Return the drawing that many pixels further right and down."""
        if x == y == 0:
            return self
        moved = f'<g transform="translate({number(x)} {number(y)})">'
        return Picture(self.wide + x, self.high + y, (moved, *self.elements, "</g>") if self.elements else ())


def number(value: float) -> str:
    """Return a coordinate as SVG has it, to a tenth of a pixel."""
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")  # + 0.0 makes 0 of -0


def over(parts: Sequence[Picture]) -> Picture:
    """Return all drawings, each over those before it."""
    wide, high = (max([getattr(part, side) for part in parts], default=0.0) for side in ("wide", "high"))
    return Picture(wide, high, tuple(element for part in parts for element in part.elements))


def stacked(parts: Sequence[Picture], gap: float = 0) -> Picture:
    """Return drawings one below the other, with a gap between."""
    placed, y = [], 0.0
    for part in parts:
        placed.append(part.moved(0, y))
        y += part.high + gap
    return over(placed)


def beside(parts: Sequence[Picture], gap: float = 0) -> Picture:
    """Return drawings one to the right of the other, with a gap between."""
    placed, x = [], 0.0
    for part in parts:
        placed.append(part.moved(x, 0))
        x += part.wide + gap
    return over(placed)


def wrapped(parts: Sequence[Picture], most: float, gap: float = 0) -> Picture:
    """Return drawings in rows that are at most `most` wide, but where one alone is wider."""
    rows: list[list[Picture]] = [[]]
    taken = 0.0
    for part in parts:
        if rows[-1] and taken + gap + part.wide > most:
            rows.append([])
        taken = part.wide if not rows[-1] else taken + gap + part.wide
        rows[-1].append(part)
    return stacked([beside(row, gap) for row in rows], gap)


def taken_by(content: str, size: float = 12) -> float:
    """Return how wide a text is, in pixels."""
    return width(visible(content)) * ADVANCE * size


def cut(content: str, most: float, size: float = 12) -> str:
    """Return a text, cut with … where it is wider than `most` pixels."""
    content = visible(content)
    if taken_by(content, size) <= most:
        return content
    while content and taken_by(f"{content}…", size) > most:
        content = content[:-1]
    return f"{content}…"


def text(
    x: float, y: float, content: str, *, kind: str = "", size: float = 12, anchor: Anchor = "start", most: float = 1e9
) -> Picture:
    """Return a text whose line has its middle at `y`.

    Args:
        x: of its start, middle or end, as `anchor` says.
        kind: the class of the element.
        most: how wide it may be, in pixels.
    """
    shown = cut(content, most, size)
    about = f"<title>{escape(visible(content))}</title>" if shown != visible(content) else ""
    style = f' class="{kind}"' if kind else ""
    place = f' text-anchor="{anchor}"' if anchor != "start" else ""
    element = f'<text x="{number(x)}" y="{number(y + BASELINE * size)}" font-size="{number(size)}"{style}{place}>'
    room = taken_by(shown, size) * {"start": 1, "middle": 0.5, "end": 0}[anchor]
    return Picture(x + room, y + size / 2, (f"{element}{about}{escape(shown)}</text>",))


def box(
    x: float, y: float, wide: float, high: float, *, kind: str, round: float = 0, opacity: float | None = None
) -> Picture:
    """Return a rectangle of a class; `opacity`: of what fills it."""
    more = f' rx="{number(round)}"' if round else ""
    more += "" if opacity is None else f' fill-opacity="{opacity:.2f}"'
    place = f'x="{number(x)}" y="{number(y)}" width="{number(wide)}" height="{number(high)}"'
    return Picture(x + wide, y + high, (f'<rect {place} class="{kind}"{more}/>',))


def path(points: Sequence[tuple[float, float]], *, kind: str) -> Picture:
    """Return a line through points."""
    steps = " ".join(f"{'L' if n else 'M'}{number(x)} {number(y)}" for n, (x, y) in enumerate(points))
    return Picture(max(x for x, _ in points), max(y for _, y in points), (f'<path d="{steps}" class="{kind}"/>',))


def page(picture: Picture, *, title: str, style: str, scope: str, margin: float = 16) -> str:
    """Return a drawing as a file, on a white page.

    Args:
        title: what it shows, for readers that do not see it.
        style: the CSS of the classes; each rule is for elements within the class `scope`, since a page of HTML that the
            drawing is put into shares its rules.
    """
    wide, high = (number(side + 2 * margin) for side in (picture.wide, picture.high))
    shown = picture.moved(margin, margin)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="{scope}" role="img" width="{wide}" height="{high}"'
            f' viewBox="0 0 {wide} {high}">',
            f"<title>{escape(visible(title))}</title>",
            f"<style>{style}</style>",
            f'<rect class="page" width="{wide}" height="{high}"/>',
            *shown.elements,
            "</svg>",
            "",
        ]
    )
