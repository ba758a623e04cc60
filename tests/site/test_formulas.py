"""Formulas look like formulas where no font for them is installed: the site brings one along."""

from __future__ import annotations

import io
import re
import struct
import zlib
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow

FACE = re.compile(r"@font-face\s*{(?P<rules>[^}]*)}")
SCALE = 4
"""Dots per pixel of the pictures that are measured."""


def tables(woff: bytes) -> dict[str, bytes]:
    """Return the tables of a font in WOFF 1 by their tags."""
    signature, _, _, count = struct.unpack_from(">4sIIH", woff)
    assert signature == b"wOFF"
    found = {}
    for n in range(count):
        tag, start, packed, size, _ = struct.unpack_from(">4sIIII", woff, 44 + 20 * n)
        data = woff[start : start + packed]
        found[tag.decode()] = data if packed == size else zlib.decompress(data)
    return found


def characters(cmap: bytes) -> set[str]:
    """Return the characters that a font has, by its subtable of format 12."""
    (count,) = struct.unpack_from(">H", cmap, 2)
    starts = [struct.unpack_from(">HHI", cmap, 4 + 8 * n)[2] for n in range(count)]
    (start,) = {s for s in starts if struct.unpack_from(">H", cmap, s) == (12,)}
    (groups,) = struct.unpack_from(">I", cmap, start + 12)
    ranges = [struct.unpack_from(">II", cmap, start + 16 + 12 * n) for n in range(groups)]
    return {chr(code) for first, last in ranges for code in range(first, last + 1)}


def italic(sign: str) -> str:
    """Return what a browser draws for a letter that is alone in an ``mi``."""
    if sign == "h":
        return "\u210e"
    for first, last, home in (("A", "Z", 0x1D434), ("a", "z", 0x1D44E), ("Α", "Ω", 0x1D6E2), ("α", "ω", 0x1D6FC)):
        if first <= sign <= last:
            return chr(home + ord(sign) - ord(first))
    return sign


def test_the_style_sheet_names_a_font_with_a_math_table(site: Path) -> None:
    sheet = (site / "site.css").read_text(encoding="utf-8")
    (face,) = [match["rules"] for match in FACE.finditer(sheet)]
    (family,) = re.findall(r'font-family: ("[^"]+");', face)
    assert re.search(rf"math {{ font-family: {family}", sheet)
    (address,) = re.findall(r'url\("([^"]+)"\)', face)
    found = tables((site / address).read_bytes())
    assert len(found["MATH"]) > 1000
    assert "SIL Open Font License" in (site / address).with_name("OFL.txt").read_text(encoding="utf-8")


def test_the_font_has_every_sign_of_every_formula(site: Path) -> None:
    has = characters(tables((site / "fonts/math.woff").read_bytes())["cmap"])
    pages = [page.read_text(encoding="utf-8") for page in site.rglob("*.html")]
    formulas = [formula for page in pages for formula in re.findall(r"<math.*?</math>", page, re.DOTALL)]
    assert len(formulas) > 150
    letters = {italic(unescape(text)) for m in formulas for text in re.findall(r"<mi>(.|&[^;]+;)</mi>", m)}
    signs = {sign for m in formulas for sign in unescape(re.sub(r"<[^>]*>", "", m)) if not sign.isspace()}
    assert (letters | signs) - has == set()


def feet(page: Any, formula: Any) -> list[int]:
    """Return the lowest row with ink of the base and of the subscript of an ``msub``, in dots from its top."""
    from matplotlib.image import imread

    formula.scroll_into_view_if_needed()
    places = formula.evaluate("sub => [sub, ...sub.children].map(part => part.getBoundingClientRect().toJSON())")
    whole, *parts = places
    clip = {"x": whole["x"], "y": whole["y"], "width": whole["width"], "height": whole["height"]}
    picture = imread(io.BytesIO(page.screenshot(clip=clip)))
    ink = np.abs(picture - picture[-1, 0]).sum(axis=2) > 0.5
    sides = [[round(SCALE * (part[side] - whole["left"])) for side in ("left", "right")] for part in parts]
    return [int(np.flatnonzero(ink[:, left:right].any(axis=1))[-1]) for left, right in sides]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_subscript_stands_lower_than_its_base(site: Path, chromium: Any, scheme: str) -> None:
    page = chromium.new_page(color_scheme=scheme, device_scale_factor=SCALE)
    page.goto((site / "construction/repairs.html").as_uri())
    page.evaluate("document.fonts.ready.then(() => 0)")
    formulas = [f for f in page.query_selector_all("math > mrow > msub") if f.text_content() == "hi"]
    assert len(formulas) > 5
    for formula in formulas[:6]:
        base, low = feet(page, formula)
        assert low - base > 0.1 * 16 * SCALE, "the letters of h_i stand on one line"
    page.close()
