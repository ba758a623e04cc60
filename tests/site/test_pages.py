"""What pages have to say, on their subject and about the project."""

from __future__ import annotations

import doctest
import importlib.util
import json
import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tests.readme import ROOT, shown
from tm2tfr.base.choices import CIRCUIT_VARIANTS
from tm2tfr.sources.circuit.formats.registry import CIRCUIT_FORMATS
from tm2tfr.sources.turing.formats.document import EXAMPLE_KEYS, KEYS
from tm2tfr.transformer.weights import matrices

# ── what pages have to say, and what the site says of the project
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


# ── the page for those who come from tracr shows what was measured, and what was measured meets what was asked for
DATA: dict[str, Any] = json.loads((ROOT / "docs/rasp-tracr.json").read_text(encoding="utf-8"))


def test_the_tables_are_those_of_the_data() -> None:
    spec = importlib.util.spec_from_file_location("tracr_tables", ROOT / "docs/tracr_tables.py")
    assert spec is not None
    assert spec.loader is not None
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    page = tables.PAGE.read_text(encoding="utf-8")
    assert page == tables.written(page, DATA), "write them anew: python docs/tracr_tables.py"
    assert page.count("<!-- end -->") == len(tables.TABLES)


def test_ours_is_never_wrong() -> None:
    assert [row["program"] for row in DATA["programs"] if row["wrong"]["ours"]] == []
    assert [row["program"] for row in DATA["long"] if row["ours"] is not None] == []


def test_ours_has_at_most_two_blocks_more() -> None:
    for row in DATA["programs"]:
        for size in row["sizes"].values():
            assert size["ours"]["blocks"] <= size["tracr"]["blocks"] + 2, row["program"]


def test_speed_is_what_was_asked_for() -> None:
    for row in DATA["programs"]:
        speed = row["tokens a second"]
        assert speed["ours"] >= 100 * speed["apply"], row["program"]
        assert speed["ours"] >= speed["jit, one input"], row["program"]


# ── the exercises are one text: the notebook is made from the page, and shows what the page shows
MADE = runpy.run_path(str(ROOT / "docs/lecture/notebook.py"))
PAGE, NOTEBOOK = Path(MADE["PAGE"]), Path(MADE["NOTEBOOK"])


def told(cell: dict[str, Any]) -> str:
    """Return what a cell of the notebook shows, without spaces: Jupyter breaks long values."""
    texts = [output.get("text") or output["data"]["text/plain"] for output in cell["outputs"]]
    return "".join("".join("".join(text) for text in texts).split())


def test_the_notebook_is_made_from_the_page() -> None:
    found = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    made = MADE["cells"]()
    assert [cell["id"] for cell in found] == [cell["id"] for cell in made], "python docs/lecture/notebook.py"
    for cell, right in zip(found, made, strict=True):
        assert ("".join(cell["source"]), cell["cell_type"]) == (right["source"], right["cell_type"])


def test_the_notebook_shows_what_the_page_shows() -> None:
    cells = iter(c for c in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code")
    for kind, block in MADE["FENCE"].findall(PAGE.read_text(encoding="utf-8")):
        if kind == "python":
            examples = doctest.DocTestParser().get_examples(block)
            wanted = [example.want for example in examples if example.want]
            rest = bool(examples) and not examples[-1].want
        else:
            wanted, rest = ["".join(output for _, output in shown(block))], False
        for want in wanted:
            assert told(next(cells)) == "".join(want.split())
        if rest:
            assert told(next(cells)) == ""
    assert list(cells) == []


@pytest.mark.parametrize("text", ["\\(", "<details", "\n$ ", ">>> "])
def test_nothing_of_the_page_is_left_in_the_notebook(text: str) -> None:
    assert [cell["source"] for cell in MADE["cells"]() if text in cell["source"]] == []


def test_every_exercise_has_a_solution_that_runs() -> None:
    exercises = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert len(exercises) == 10
    for exercise in exercises:
        _, solution = exercise.split("<summary>Solution</summary>\n")
        assert MADE["FENCE"].search(solution), exercise.splitlines()[0]


# ── the pages on circuits: the misprints are numbered as in the code and the tests, and mentions lead to their repairs
REPAIRS = "docs/circuits/repairs.md"


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def rows() -> dict[int, str]:
    """Return the rows of the table of misprints by their numbers."""
    return {int(number): row for number, row in re.findall(r"^\| (\d+) \|(.*)$", read(REPAIRS), re.MULTILINE)}


def test_the_misprints_are_numbered_from_1_to_20() -> None:
    assert list(rows()) == list(range(1, 21))


def test_every_repair_that_the_code_mentions_is_a_row() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tm2tfr/sources/circuit").rglob("*.py"))
    mentioned = {
        int(n) for found in re.findall(r"\brepairs? (\d+(?:(?:, |-)\d+)*)", text) for n in re.findall(r"\d+", found)
    }
    assert mentioned >= {1, 2, 3, 4, 6, 14, 15}
    assert mentioned - rows().keys() == set()


def test_the_rows_that_are_said_to_be_tests_are() -> None:
    (said,) = re.findall(r"^Rows ([\d, and]+) are tests", read(REPAIRS), re.MULTILINE)
    tests = read("tests/sources/circuit/compiler/test_misprints.py")
    tested = {
        n for found in re.findall(r"^def test_rows?_(\d+(?:_and_\d+)*)", tests, re.MULTILINE) for n in found.split("_and_")
    }
    assert set(re.findall(r"\d+", said)) == tested


def test_a_repair_with_a_section_is_linked_to_from_its_row() -> None:
    headings = re.findall(r"^### (\d+)(?: and (\d+))?\.", read(REPAIRS), re.MULTILINE)
    for number in (int(n) for heading in headings for n in heading if n):
        assert re.search(rf"\(#(?:\d+-and-)?{number}-", rows()[number]), number


def test_the_number_of_weights_is_said_as_it_is() -> None:
    found = matrices(tm2tfr.compile("sha256-round"))
    own = sum(matrix.values.size for path, matrix in found.items() if path != "position_table")
    for page in ("README.md", "docs/index.md", "docs/circuits/index.md"):
        assert set(re.findall(r"\b(\d+) weights\b", read(page))) & {str(own)}, page


def test_every_format_and_variant_is_in_a_table() -> None:
    formats = re.findall(r"^\| ([^|]*)\|", read("docs/how-to/circuits.md"), re.MULTILINE)
    assert CIRCUIT_FORMATS.keys() - set(re.findall("`([^`]*)`", "".join(formats))) == set()
    (heading,) = re.findall(r"^\| \| (`lookup`.*) \|$", read("docs/circuits/index.md"), re.MULTILINE)[:1]
    assert set(re.findall("`([^`]*)`", heading)) == set(CIRCUIT_VARIANTS)


@pytest.mark.slow
def test_a_mention_of_a_repair_leads_to_the_appendix_s_on_pages_of_circuits(site: Path) -> None:
    html = (site / "reference/circuits.html").read_text(encoding="utf-8")
    assert '<a class="source" href="../circuits/repairs.html#1-dimensions-of-their-own">repair 1</a>' in html
    assert '<a class="source" href="../circuits/repairs.html#14-the-epsilon-of-the-norms">repair 14</a>' in html
    assert "construction/repairs.html#" not in re.sub(r"<nav.*?</nav>", "", html, flags=re.DOTALL)
