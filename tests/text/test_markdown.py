"""What others wrote, in pages of Markdown: names and descriptions with line breaks, HTML, links and back ticks."""

from __future__ import annotations

import re
import shlex
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.targets.matrices.programs import right_of
from tm2tfr.api.targets import export_to
from tm2tfr.base.text.shown import block, code, escaped, quoted
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
