"""Text: columns, Markdown, SVG and JSON."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import tries
from tests.targets.matrices.programs import right_of
from tm2tfr.api.targets import export_to
from tm2tfr.base.errors import SpecError
from tm2tfr.base.text.json_nodes import compose_json
from tm2tfr.base.text.nodes import List, Map, Node, Scalar
from tm2tfr.base.text.shown import aligned, block, code, escaped, quoted, width
from tm2tfr.base.text.source import SourceText
from tm2tfr.base.text.svg import Picture, beside, box, cut, number, page, stacked, taken_by, text, wrapped
from tm2tfr.lab.datasets.machines.spec import MachineSpec
from tm2tfr.lab.datasets.make import card as dataset_card
from tm2tfr.lab.datasets.shard import Tally
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.spec import Machine, Rule
from tm2tfr.targets.common.verdict import checking

HOSTILE = "x\n\n# <script>alert(1)</script> [a](javascript:b) `c` <!-- ![](//d) \r\n---\n\u202e| *e*"
SHOWN = r"x \# \<script\>alert(1)\</script\> \[a\](javascript\:b) \`c\` \<\!-- \!\[\](//d) --- \| \*e\*"
NEEDED = {"gpt2": "transformers", "lens": "transformer_lens", "torch": "torch", "onnx": "onnxruntime"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (HOSTILE, SHOWN),
        ("busy-beaver 3", "busy-beaver 3"),
        ("- a list", r"\- a list"),
        ("1. a list", r"\1. a list"),
        ("=====", r"\====="),
        ("a\\b_c", r"a\\b\_c"),
        (" \t ", ""),
    ],
)
def test_what_is_escaped(text: str, shown: str) -> None:
    assert escaped(text) == shown


@pytest.mark.parametrize(("text", "shown"), [("a b", "`a b`"), ("a`b", "``a`b``"), ("``a", "``` ``a ```")])
def test_code(text: str, shown: str) -> None:
    assert code(text) == shown


@pytest.mark.parametrize("word", ["", "abba", "it's", "a b", "-x", "$HOME", "a\nb", "'\n\\", "\t`\u2028é"])
def test_a_word_for_a_shell_is_one_line(word: str) -> None:
    text = quoted(word)
    assert "\n" not in text
    assert "\u2028" not in text
    line = f"printf %s {text}".encode()  # whatever the locale of the tests
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"})
    assert done.stdout.decode() == word
    if word.isprintable():
        assert shlex.split(text) == [word]


def hostile() -> Machine:
    """Return a small machine whose every text is hostile."""
    rules = {("<b>\n```", a): Rule("<b>\n```", a, 1) for a in "1`\n"}
    return Machine(transitions=rules, start="<b>\n```", blank="_", input="1`\n`1", name=HOSTILE, description=HOSTILE)


@pytest.mark.parametrize("to", NEEDED)
def test_model_cards_show_names_and_do_not_obey_them(to: str, tmp_path: Path) -> None:
    if find_spec(NEEDED[to]) is None:
        pytest.skip(f"{NEEDED[to]} is not installed: pip install 'tm2tfr[lens,onnx]'")
    export_to(to, hostile(), tmp_path / "model", positions=8, verify=False)
    text = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    (title,) = re.findall(r"^# (.*)$", text, re.MULTILINE)
    assert title.startswith(f"{SHOWN} ")
    assert SHOWN in text.splitlines()[text.splitlines().index(f"# {title}") + 2]
    outside = re.sub(r"^```\w+$.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"(?<!\\)<script", outside)
    assert outside.count("\n# ") == 1
    assert "```" not in outside


def test_the_line_that_says_how_to_check() -> None:
    assert r"``tm2tfr verify-export . --input $'1`\n`1'``" in checking(right_of(hostile()))


def test_the_card_of_a_data_set() -> None:
    inputs: Any = None
    spec = MachineSpec(text="", name=HOSTILE, named=(("chapter", load("chapter")),), families=(), inputs=inputs)
    assert dataset_card(spec, Tally(), {s: {} for s, _ in spec.splits}, ("jsonl",)).startswith(f"# {SHOWN}\n")


def test_a_block_ends_where_it_should() -> None:
    assert block("Q[a]\nQ[b]\n") == "```text\nQ[a]\nQ[b]\n```"
    assert block("# ```\nQ[a]") == "````text\n# ```\nQ[a]\n````"


@pytest.mark.parametrize(("text", "columns"), [("", 0), ("abc", 3), ("⊥…⋮▸≠␣", 6), ("あ", 2), ("e\u0301", 1), ("😀x", 3)])
def test_width(text: str, columns: int) -> None:
    assert width(text) == columns


def test_columns_are_as_wide_as_their_widest_cell_and_end_without_spaces() -> None:
    rows = [["name", "n", "what"], ["あ", "10", "x"], ["b", "7", ""]]
    assert aligned(rows, {1}) == ["name   n  what", "あ    10  x", "b      7"]
    assert aligned(rows) == ["name  n   what", "あ    10  x", "b     7"]
    assert aligned([["x"]]) == ["x"]


def test_rows_are_of_one_length() -> None:
    with pytest.raises(ValueError, match="zip"):
        aligned([["a", "b"], ["c"]])


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


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-99, 99)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def value(node: Node | None) -> Any:
    """Return what a node means in Python."""
    if isinstance(node, Map):
        return {value(key): value(item) for key, item in node.pairs}
    if isinstance(node, List):
        return [value(item) for item in node.items]
    assert isinstance(node, Scalar)
    return json.loads(node.text) if node.plain else node.text


def compose(text: str) -> Node | None:
    return compose_json(SourceText(text, "f"))


@pytest.mark.slow
@settings(max_examples=tries(1_000))
@given(given=VALUES, indent=st.sampled_from([None, 0, 3, "\t"]), ascii=st.booleans())
def test_it_means_what_python_says(given: Any, indent: int | str | None, ascii: bool) -> None:
    text = json.dumps(given, indent=indent, ensure_ascii=ascii)
    assert value(compose(text)) == given


@pytest.mark.slow
@settings(max_examples=tries(2_000))
@given(
    given=VALUES,
    at=st.integers(0, 60),
    text=st.sampled_from([*'{}[],:"\\ 0-e.t', "true", "//", "\n"]),
    cut=st.integers(0, 3),
)
def test_a_damaged_text_is_refused_if_python_refuses_it(given: Any, at: int, text: str, cut: int) -> None:
    whole = json.dumps(given)
    damaged = whole[:at] + text + whole[at + cut :]
    try:
        want = json.loads(damaged, parse_constant=int)
        json.dumps(want, ensure_ascii=False).encode()  # half a character is none
    except (ValueError, RecursionError):
        with pytest.raises(SpecError, match=r"^f:\d+:\d+: "):
            compose(damaged or " ,")
    else:
        assert value(compose(damaged)) == want


def test_nodes_know_their_places() -> None:
    root = compose('{\n\t"a": [1, "x\\u0041"]\n}\n')
    assert isinstance(root, Map)
    ((key, items),) = root.pairs
    assert (key.start, key.end) == ((1, 1), (1, 4))
    assert isinstance(items, List)
    number, word = items.items
    assert (number, number.start, number.end) == (Scalar((1, 7), (1, 8), "1", plain=True), (1, 7), (1, 8))  # type: ignore[arg-type]
    assert isinstance(word, Scalar)
    assert (word.text, word.plain, word.start, word.end) == ("xA", False, (1, 10), (1, 19))


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_nothing_is_no_document(text: str) -> None:
    assert compose(text) is None
