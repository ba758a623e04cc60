"""The page on the architecture: its picture is what the code imports, and it names every part of the package."""

from __future__ import annotations

import re
from itertools import pairwise

import networkx as nx
import pytest

from tests.house.architecture import BOTTOM, FILE, HIDDEN, drawn, parts, places, rows
from tests.house.test_imports import MAY_IMPORT, PARTS

PAGE = FILE.with_name("architecture.md").read_text(encoding="utf-8")


def test_the_picture_is_drawn_from_the_imports() -> None:
    assert FILE.read_text(encoding="utf-8") == drawn(), "draw it anew: python -m tests.house.architecture"


@pytest.mark.slow
def test_every_part_is_in_the_picture_and_on_the_page() -> None:
    shown = PARTS - HIDDEN
    assert set(places(parts())) == shown
    assert {
        name for row in re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    } == shown


@pytest.mark.slow
def test_every_box_is_in_the_picture_and_beside_the_others() -> None:
    width = float(re.findall(r'viewBox="0 0 (\d+) ', drawn())[0])
    boxes = [tuple(map(float, box)) for box in re.findall(r'<rect class="b" x="(.*?)" y="(.*?)" width="(.*?)"', drawn())]
    assert len(boxes) == len(places(parts()))
    assert all(x >= 0 and x + wide <= width for x, _, wide in boxes)
    for row in {y for _, y, _ in boxes}:
        beside = sorted((x, x + wide) for x, y, wide in boxes if y == row)
        assert all(end <= start for (_, end), (start, _) in pairwise(beside))


def test_arrows_point_down_and_say_what_the_walls_say() -> None:
    graph = parts()
    level = {part: n for n, row in enumerate(rows(graph)) for part in row}
    assert all(level[user] < level[used] for user, used in graph.edges)
    assert nx.is_directed_acyclic_graph(graph)
    assert all(used in MAY_IMPORT[user] for user, used in graph.edges)


def test_what_is_below_the_line_imports_nothing_above_it() -> None:
    assert all(MAY_IMPORT[part] <= {*BOTTOM, "_version"} for part in BOTTOM)
