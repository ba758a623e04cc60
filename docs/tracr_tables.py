"""The tables of "Coming from tracr", from what was measured: ``python docs/tracr_tables.py`` writes them anew.

``python benchmarks/rasp_tracr.py TRACR --json docs/rasp-tracr.json`` measures.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("coming-from-tracr.md")
DATA = Path(__file__).with_name("rasp-tracr.json")
MARKED = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- end -->\n)", re.DOTALL)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def sizes(found: dict[str, Any]) -> str:
    """Return blocks, heads, width and weights, ours beside tracr's."""
    head = [
        "program",
        "tracr's name",
        "N",
        *("blocks", "heads", "width", "not 0", "parameters"),
        "of tracr: blocks",
        *("heads", "width"),
    ]
    rows = []
    for program in found["programs"]:
        for length, both in program["sizes"].items():
            ours, theirs = both["ours"], both["tracr"]
            mine = [f"{ours[key]:,}" for key in ("blocks", "heads", "width", "nonzero", "parameters")]
            other = [f"{theirs[key]:,}" for key in ("blocks", "heads", "width", "nonzero", "parameters")]
            rows.append([f"`{program['program']}`", f"`{program['tracr']}`", length, *mine, *other])
    return table([*head, "not 0", "parameters"], rows)


def speed(found: dict[str, Any]) -> str:
    """Return positions a second, and seconds to compile."""
    head = [
        "program",
        "`apply`",
        "jit, one input",
        "jit, batched",
        "ours, batched",
        "÷ `apply`",
        "÷ jit, one",
        "÷ jit, batched",
        "ours, checked",
        "÷ jit, batched",
    ]
    rows = []
    for program in found["programs"]:
        rate = program["tokens a second"]
        measured = [rate[key] for key in ("apply", "jit, one input", "jit, batched", "ours")]
        ratios = [measured[-1] / each for each in measured[:-1]]
        checked = rate["ours, checked"], rate["ours, checked"] / rate["jit, batched"]
        took = program["compile"][min(program["compile"], key=int)]
        rows.append(
            [f"`{program['program']}`", *(f"{each:,.0f}" for each in measured)]
            + [f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}" for ratio in ratios]
            + [f"{checked[0]:,.0f}", f"{checked[1]:,.0f}" if checked[1] >= 10 else f"{checked[1]:.2g}"]
            + [f"{took['tracr']:.1f} s", f"{took['ours']:.2f} s"]
        )
    return table([*head, "tracr compiles in", "ours"], rows)


def refused(found: dict[str, Any]) -> str:
    """Return what tracr says."""
    return table(["program", "tracr says"], ([each["program"], f"`{each['says']}`"] for each in found["refused"]))


def long(found: dict[str, Any]) -> str:
    """Return the first length at which tracr is wrong."""
    head = ["program", "compiled for N =", "first wrong at", "on the input", "right", "tracr says", "ours wrong at"]
    rows = []
    for each in found["long"]:
        says = [f"`{' '.join(each[key])}`" for key in ("right", "says")] if each["tracr"] else ["", ""]
        row = [f"`{each['program']}`", each["compiled for"], each["tracr"], f"`{each.get('input', '')}`", *says]
        rows.append([*row, each["ours"] or "none"])
    return table(head, rows)


def silent(found: dict[str, Any]) -> str:
    """Return on how many short inputs tracr's answer is not what the program says."""
    head = ["program", "inputs of 3 and 4 tokens", "wrong", "for example", "right", "tracr says"]
    rows = (
        [each["program"], each["inputs"], each["wrong"], f"`{each['input']}`"]
        + [f"`{' '.join(each[key])}`" for key in ("right", "says")]
        for each in found["silent"]
    )
    return table(head, rows)


TABLES = {"sizes": sizes, "speed": speed, "refused": refused, "long": long, "silent": silent}


def written(page: str, found: dict[str, Any]) -> str:
    """Return the page with the tables of what was found."""
    return MARKED.sub(lambda match: f"{match[1]}\n{TABLES[match[2]](found)}\n{match[3]}", page)


if __name__ == "__main__":
    PAGE.write_text(
        written(PAGE.read_text(encoding="utf-8"), json.loads(DATA.read_text(encoding="utf-8"))), encoding="utf-8"
    )
