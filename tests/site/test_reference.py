"""The reference: a page for each command and each topic of the library, with what the code says, that fits every window."""

from __future__ import annotations

import re
from html import unescape
from importlib.util import find_spec
from pathlib import Path

import pytest

import tm2tfr
from tests.readme import BLOCK, ROOT, run, shown
from tm2tfr.cli import COMMANDS, app

COMMAND_LINE = ROOT / "docs/reference/cli"
PAGES = {name: COMMAND_LINE / panel.lower() / f"{name}.md" for panel, rows in COMMANDS.items() for name in rows}
"""Name of a command -> its page."""
TYPED = re.compile(r"(?<=^```sh\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
"""An example that no test of the documents runs: it needs an extra, or does not end by itself."""
SERVED = "playground"
"""The command that does not end by itself: `tests/web/playground/test_command.py` runs the same example."""


# ── the pages of commands
def test_each_command_has_a_page_in_the_folder_of_its_panel() -> None:
    assert set(PAGES) == set(app.commands)
    assert {*COMMAND_LINE.rglob("*.md")} == {*PAGES.values(), COMMAND_LINE / "index.md"}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_begins_with_an_example_and_leads_to_a_how_to(name: str) -> None:
    text = PAGES[name].read_text(encoding="utf-8")
    heading, help, example = re.split(r"\n\n(?=[^ ])", text)[:3]
    assert heading == f"# tm2tfr {name}"
    assert help == f"<!-- help of {name} -->"
    assert example.startswith(("```console\n", "```sh\n"))
    commands = [command for block in BLOCK.findall(text) for command, _ in shown(block)] + TYPED.findall(text)
    assert re.search(rf"^tm2tfr {name}\b", "\n".join(commands), re.MULTILINE)
    assert text.endswith(f"\n<!-- options of {name} -->\n")
    assert re.search(r"\]\((\.\./)+\w", text), "a link to a page that says more"


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, path in PAGES.items() if TYPED.search(path.read_text(encoding="utf-8"))])
def test_an_example_that_needs_an_extra_runs(name: str, tmp_path: Path) -> None:
    (block,) = TYPED.findall(PAGES[name].read_text(encoding="utf-8"))
    if name == SERVED:
        assert f"\n{block}" in (ROOT / "docs/how-to/playground.md").read_text(encoding="utf-8")
        return
    if find_spec("torch") is None:
        pytest.skip("torch is not installed: pip install 'tm2tfr[torch]'")
    said = run(f"set -e\n{block}echo all done", tmp_path)
    assert "all done" in said.splitlines(), said


@pytest.mark.slow
def test_every_option_of_a_command_is_on_its_page(site: Path) -> None:
    for name, path in PAGES.items():
        html = (site / path.relative_to(ROOT / "docs").with_suffix(".html")).read_text(encoding="utf-8")
        listed = {word for term in re.findall(r"<dt[^>]*><code>(.*?)</code>", html) for word in re.split("[ ,]+", term)}
        params = [param for param in app.commands[name].command.params if not getattr(param, "hidden", False)]
        wanted = {option for param in params for option in param.opts if option.startswith("-")}
        assert wanted - {unescape(word) for word in listed} == set(), name


@pytest.mark.slow
def test_the_first_mention_of_a_command_leads_to_its_page(site: Path) -> None:
    html = (site / "how-to/labels.html").read_text(encoding="utf-8")
    place = "../reference/cli/research/labels.html"
    mention = html.index("<code>tm2tfr labels</code>")
    assert html[:mention].endswith(f'<a href="{place}">')
    assert html.count(f'href="{place}"><code>') == 1
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"<(a|pre|h\d)\b[^>]*>(?:(?!</\1>).)*<a [^>]*><code>tm2tfr", text), path


# ── the index of the library
@pytest.mark.slow
def test_the_index_leads_to_every_public_name(site: Path) -> None:
    html = (site / "reference/api/index.html").read_text(encoding="utf-8")
    linked = re.findall(r'<dt><a href="[\w/]+\.html#[\w.]+"><code>(\w+)</code></a></dt><dd>\S', html)
    assert sorted(linked) == sorted(set(tm2tfr.__all__) - {"__version__"})
