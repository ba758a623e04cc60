"""The README is true: every command in it is run, every output compared; its Python examples are doctests."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

import tm2tfr
from tests.readme import BLOCK, DOCUMENTS, ROOT, executed, shown

LONG = {"docs/lecture/exercises.md"}
"""Documents whose Python examples take more than a second."""
NEEDS = {"tm2tfr.api.training": "torch"}
"""Modules whose examples need an extra."""


def with_examples() -> list[str]:
    """Return the modules that show examples, by name."""
    found = [path for path in (ROOT / "tm2tfr").rglob("*.py") if ">>>" in path.read_text(encoding="utf-8")]
    return sorted(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in found)


@pytest.mark.slow
@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_output_is_what_the_command_prints(document: str, programs: Path) -> None:
    assert executed(document, programs) == (ROOT / document).read_text(encoding="utf-8")


MOST_WORDS, MOST_LINES = 700, 3
"""The most words of the README, code and markup included, and the most lines of one of its examples."""


def test_the_readme_is_short() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert 500 <= len(text.split()) <= MOST_WORDS
    assert text.count("<img ") == 3, "two pictures, and the logo"
    assert max(len(block.splitlines()) for block in BLOCK.findall(text)) <= MOST_LINES
    assert "equations.md#beside-" in text


def test_there_is_a_command_to_run_for_each_kind_of_source() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [command for block in BLOCK.findall(text) for command, _ in shown(block)]
    for source in ("palindromes", "-e ", "histogram", "-f ", "regex:", "--set "):
        assert any(source in command for command in commands), source


@pytest.mark.parametrize("document", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in DOCUMENTS])
def test_the_python_examples(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    examples = "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    test = doctest.DocTestParser().get_doctest(examples, {}, document, document, 0)
    assert len(test.examples) >= (5 if document == "README.md" else 0)
    assert doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.parametrize(
    "module", [pytest.param(name, marks=[pytest.mark.slow] * (name in NEEDS)) for name in with_examples()]
)
def test_the_examples_of_the_library(module: str) -> None:
    if module in NEEDS:
        pytest.importorskip(
            NEEDS[module], reason=f"{NEEDS[module]} is not installed: pip install 'tm2tfr[{NEEDS[module]}]'"
        )
    found = doctest.testmod(importlib.import_module(module))
    assert found.attempted
    assert not found.failed


def test_the_site_says_the_set_up_that_ci_runs() -> None:
    setups = [(ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/index.md")]
    readme, site = (re.findall(r"^```sh(?: setup)?\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)[0] for text in setups)
    assert site.splitlines() == readme.split(" && ")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_that_is_linked_to_is_there(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:|#|figures/)([^)#]+)", text)  # figures are drawn when the site is built
    assert [link for link in links if not (ROOT / document).parent.joinpath(link).exists()] == []
    assert links or document != "README.md"


def test_the_reference_of_the_library_has_every_public_name() -> None:
    pages = sorted((ROOT / "docs/reference/api").glob("*.md"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    assert len(pages) > 10
    for name in set(tm2tfr.__all__) - {"__version__"}:
        home, own = getattr(tm2tfr, name).__module__, name
        listed = re.findall(rf"^::: {re.escape(home)}$\n((?: .*\n)*)", text, re.MULTILINE)
        whole = any("members" not in options or re.search(rf"\b{own}\b", options) for options in listed)
        assert whole or f"::: {home}.{own}\n" in text, f"tm2tfr.{name} is on no page of docs/reference/api"
