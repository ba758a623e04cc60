"""What pages have to say, and what the site says of the project."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.readme import ROOT
from tm2tfr.sources.turing.formats.document import EXAMPLE_KEYS, KEYS

DRAWN = {f"docs/{page}.md" for page in ("construction/index", "universal", "lecture/slides")}
"""Pages with figures that are drawn while the site is built."""
URL = re.compile(r"https://[\w.-]+/[\w./-]+")


def first_column(text: str) -> set[str]:
    """Return what stands in code in the first column of the tables of a page."""
    return {word for row in re.findall(r"^\| ([^|]*)\|", text, re.MULTILINE) for word in re.findall("`([^`]*)`", row)}


def test_every_key_of_a_machine_is_in_a_table() -> None:
    text = (ROOT / "docs/how-to/machines.md").read_text(encoding="utf-8")
    assert {*KEYS, *EXAMPLE_KEYS} - first_column(text) == set()


def test_the_complete_machines_accept_and_reject_on_both_kinds_of_tape() -> None:
    text = (ROOT / "docs/how-to/machines.md").read_text(encoding="utf-8")
    written = re.findall(r"^\$ cat > (\S+) <<END\n(.*?)^> END$", text, re.MULTILINE | re.DOTALL)
    whole = [machine for _, machine in written if "> examples:" in machine]
    assert ["> tape: one-way" in machine for machine in whole] == [True, False]
    for machine in whole:
        assert "outcome: accept" in machine
        assert "outcome: reject" in machine


def test_links_to_files_lead_to_files_where_pages_are_read_as_they_are() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
    assert len(pages) > 30
    for page in pages:
        name = page.relative_to(ROOT).as_posix()
        links = {link.partition("#")[0] for link in re.findall(r"\]\(([^)\s:]+)\)", page.read_text(encoding="utf-8"))}
        if name in DRAWN:
            links = {link for link in links if not re.fullmatch(r"figures/[\w-]+\.svg", link)}
        assert [link for link in links if link and not (page.parent / link).exists()] == [], name


def test_the_project_has_addresses_that_are_its_sources() -> None:
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    site = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    assert len(urls) >= 4
    for label, url in urls.items():
        assert len(label) <= 32, "an index of packages refuses longer labels"
        assert URL.fullmatch(url)
        assert url in site


@pytest.mark.parametrize("address", [None, "https://forge.invalid/somebody/tm2tfr"])
def test_the_link_to_the_repository_is_set_where_it_is_hosted(address: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    load = pytest.importorskip("mkdocs.utils.yaml", reason="mkdocs is not installed: pip install 'tm2tfr[docs]'").yaml_load
    monkeypatch.delenv("TM2TFR_REPOSITORY", raising=False)
    if address:
        monkeypatch.setenv("TM2TFR_REPOSITORY", address)
    assert load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["repo_url"] == address
    assert "TM2TFR_REPOSITORY" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
