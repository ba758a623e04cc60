"""Drawings put together from parts: how much room they take, what is cut, and numbers as SVG has them."""

from __future__ import annotations

import pytest

from tm2tfr.base.text.svg import Picture, beside, box, cut, number, page, stacked, taken_by, text, wrapped

BOX = box(0, 0, 30, 10, kind="a")


@pytest.mark.parametrize(
    ("value", "said"), [(0, "0"), (-0.01, "0"), (3.0, "3"), (3.25, "3.2"), (-0.5, "-0.5"), (100, "100"), (-10.0, "-10")]
)
def test_numbers(value: float, said: str) -> None:
    assert number(value) == said


def test_parts_take_the_room_that_they_need() -> None:
    assert [(p.wide, p.high) for p in (stacked([BOX, BOX], 2), beside([BOX, BOX], 2))] == [(30, 22), (62, 10)]
    assert [(p.wide, p.high) for p in (wrapped([BOX] * 3, 62, 2), wrapped([BOX], 10))] == [(62, 22), (30, 10)]
    assert stacked([BOX, BOX], 2).elements == (
        '<rect x="0" y="0" width="30" height="10" class="a"/>',
        '<g transform="translate(0 12)">',
        '<rect x="0" y="0" width="30" height="10" class="a"/>',
        "</g>",
    )


def test_a_text_that_is_too_wide_is_cut_and_wide_letters_count_twice() -> None:
    assert taken_by("日本", 10) == taken_by("abcd", 10) == pytest.approx(24.4)
    assert cut("abcdefgh", taken_by("abcd")) == "abc…"
    assert cut("abcd", taken_by("abcd")) == "abcd"
    assert text(0, 6, "abcdefgh", most=taken_by("abcd")).elements == (
        '<text x="0" y="10.2" font-size="12"><title>abcdefgh</title>abc…</text>',
    )
    assert text(5, 6, "<b>\n", anchor="end").elements == (
        '<text x="5" y="10.2" font-size="12" text-anchor="end">&lt;b&gt;\\n</text>',
    )


def test_a_page() -> None:
    assert page(BOX, title="a & b", style=".s .a{fill:red}", scope="s", margin=1) == (
        '<svg xmlns="http://www.w3.org/2000/svg" class="s" role="img" width="32" height="12" viewBox="0 0 32 12">\n'
        "<title>a &amp; b</title>\n<style>.s .a{fill:red}</style>\n"
        '<rect class="page" width="32" height="12"/>\n<g transform="translate(1 1)">\n'
        '<rect x="0" y="0" width="30" height="10" class="a"/>\n</g>\n</svg>\n'
    )
    assert Picture(0, 0).moved(3, 4) == Picture(3, 4)
