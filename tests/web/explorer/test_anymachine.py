"""The page in which any machine runs reads, refuses and runs what Python does: the same words, machines and tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

import tm2tfr
from tests.sources.turing.formats import test_jflap as jflap
from tests.sources.turing.formats.test_complaints import BROKEN, GOLDEN
from tests.sources.turing.formats.test_fuzz import damaged
from tests.strategies import some
from tests.web.explorer import browser
from tests.web.explorer.anymachine import (
    EVERY,
    FILE,
    SCRIPT,
    as_read,
    machines,
    page,
    placed_in_the_page,
    plain,
    read_as_jflap,
    read_in_the_page,
    run_in_the_page,
)
from tests.web.explorer.browser import Open
from tests.web.explorer.reading import buffer, column, embedded
from tm2tfr.base.errors import CompileError, ConversionError, SpecError
from tm2tfr.sources.turing.formats import native, registry
from tm2tfr.sources.turing.library import shipped, shipped_text
from tm2tfr.sources.turing.universal import prompt
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.tables.sheet import shower
from tm2tfr.transformer.weights import matrices, replaced

in_a_browser = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing())),
]
STEPS = 60
ONE = native.read("blank: _\nstart state: a\ntable:\n  a:\n", file=FILE).machine
BB2 = "1RB1LB_1LA1RZ"

NO_STEPS = "the largest number of steps must be a whole number from 1 to 50,000: change it"
NO_INPUT = "input of chapter: position 1: '2' is not in the input alphabet: use only its symbols ({1})"

# ── texts that are no machines, beside the golden ones
ROWS = (
    BB2,
    f"{BB2}  # the second",
    "1RB 1LB  1LA 1RZ",
    "1RB ...  1LA 0RB",
    "B1R B1L A1L Z1R",
    "B1L C1R C1L B1L D1L E0R A1R D1R H1L A0R",
    "1RB1LB_1XA1RZ_1RA",
    "1RB2LB_1LA1RZ",
    "1RB1LB_1LA1R",
    "1RB1LB_1LA1RZ_1RA",
    "1NB1LB_1LA1RZ",
    "_".join(["1RA"] * 27),
    "1RA" * 11,
    "1RB1LB1LA1RZ",
    "1RB1LC1LD1RZ",
    f"{BB2}\n\n1RB---_1LA1RZ",
    f"{BB2}\n1RB1RZ_1LB0RC_1LC1LA\n{BB2}",
    "0LA",
    "---",
    "",
    " \n\n",
)
ODD = (
    "".join(f"key{i}: 1\n" for i in range(100)) + "blank: __\n",
    "blank: _\nstart state: a\ntable:\n  a:\n" + "".join(f"    {chr(0x4E00 + i)}: X{i}\n" for i in range(43)),
    "name: a\0b\nblank: _\n",
    "name: a\x1b[2J\n",
    "blank: 😀\nstart state: a\ntable:\n  a:\n    😀: {R: b}\n    'é': {write: 😀😀, R}\n",
    "blank: _\nstart state: a\nnum_tapes: 2\ntable:\n  a:\n",
    "hello",
    "- 1",
)


def said(text: str) -> str:
    """Return all that Python says of a text in a file."""
    try:
        return "\n".join(map(str, registry.read(text, file=FILE).warnings))
    except SpecError as error:
        return str(error)


# ── without a browser
def test_the_page_is_small_and_has_everything_in_it() -> None:
    large = tm2tfr.explore("chapter", standalone=True).html
    assert embedded(large)["class"] == {"states": 16, "symbols": 8, "tape": "both"}
    assert len(large.encode()) < 410_000
    html = page().html
    data = embedded(html)
    assert data["class"] == {"states": 8, "symbols": 4, "tape": "both"}
    assert len(data["examples"]) == 27
    assert data["opens"]["text"] == shipped_text("chapter")
    assert not any(each in html for each in ("<!--title-->", "<!--heading-->", "<!--script-->"))
    assert 'src="' not in html.split("<script")[0]


def test_no_sign_for_a_name_is_in_any_text_of_the_page() -> None:
    """The signs are replaced wherever they are, so that nothing else may look like one."""
    assert not any("\ua000" <= sign <= "\ua4cf" or "\uac00" <= sign <= "\ud7a3" for sign in SCRIPT)
    data = embedded(page().html)
    known = {*data["signs"]["states"], *data["signs"]["symbols"]}
    assert len(known) == 9 + 4
    signed = json.loads(column(buffer(page().html), data["signed"]).tobytes())
    assert known <= set("".join(signed["run"]["decoder"]["vocabulary"]))
    assert known.isdisjoint(json.dumps(signed["model"], ensure_ascii=False))


def test_the_machine_is_what_the_editor_opens_with() -> None:
    opens = embedded(page("1RB1LB_1LA1RZ", "").html)["opens"]
    assert native.read(opens["text"], file=FILE).machine.transitions == tm2tfr.load(BB2).transitions
    assert (opens["input"], opens["steps"]) == ("", 10_000)
    one_way = embedded(page("chapter", tape="one-way").html)
    assert one_way["class"]["tape"] == "one-way"
    assert {tm2tfr.load(each["name"]).tape for each in one_way["examples"]} == {"one-way"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda: tm2tfr.explore("mod-3", standalone=True), "and this is an automaton: omit it"),
        (
            lambda: tm2tfr.explore(tm2tfr.compile("chapter"), standalone=True),
            "the weights of one source: omit it",
        ),
        (lambda: tm2tfr.explore(prompt.read("two-way q0,1 →ACC", EVERY), standalone=True), "and a prompt was given"),
        (lambda: page("chapter", "a"), "'a' is not in the input alphabet"),
        (lambda: page("binary-multiplication"), "use the size 13,8 or a larger one"),
        (lambda: tm2tfr.explore(Universal(1_001, 1).holding(ONE), standalone=True), "signs for 1,000 states"),
    ],
)
def test_what_no_page_is_made_of(given: Any, words: str) -> None:
    with pytest.raises(tm2tfr.Tm2tfrError, match=words.replace("(", "\\(")):
        given()


# ── JFLAP's files
STATES = jflap.state(0, "initial") + jflap.state(1) + jflap.state(2, "final")
BLOCK = f"{jflap.BLOCKS_HEAD}{jflap.block(0, 'a', 'initial')}{jflap.block(1, 'b', 'final')}"
FILES = (
    jflap.document(jflap.ENDS, jflap.step(0, 0, "a", "b", "L"), jflap.step(0, 1, "", "a", "S")),
    jflap.document(STATES, jflap.step(1, 2, "□", "□"), jflap.step(0, 1, "b", "", None), jflap.step(0, 0, "a", "~", "S")),
    jflap.document(STATES, jflap.step(0, 0, "!1", "~"), jflap.step(0, 1, "1", "x", "S"), jflap.step(2, 0, "1", "1")),
    jflap.document(jflap.ENDS, jflap.step(0, 0, "~", "1"), jflap.step(0, 0, "1", "1")),
    jflap.document("<!-- tape alphabet: _ -->", jflap.ENDS, jflap.step(0, 1, "_", "")),
    jflap.document("<!-- blank: # -->", jflap.ENDS, jflap.step(0, 1, "_", ""), jflap.step(0, 0, "λ", "ε")),
    jflap.document("<!-- input alphabet: {a,b} --><!-- alphabet: a -->", jflap.ENDS, jflap.step(0, 1, "a", "X")),
    jflap.document(
        "<!-- name: mine --><!-- input: 10 -->", "<!-- input alphabet: 0 1 --><!-- tape alphabet: 0 1 _ x -->", jflap.ENDS
    ),
    jflap.document("<!-- input alphabet:  -->", jflap.ENDS, jflap.step(0, 1, "~", "a")),
    jflap.document(jflap.state(0, "initial", name=" "), jflap.state(1, name="no"), jflap.state(2, "final", name="it's")),
    jflap.document(jflap.state(0, "initial", "final")),
    jflap.document(jflap.state(0, "initial"), jflap.step(0, 0, "#", "&lt;"), jflap.step(0, 0, "&amp;", "'")),
    f"{BLOCK}{jflap.step(0, 0, '!a', '~')}{jflap.step(0, 1, 'b', 'b')}<a/><b/>{jflap.BLOCKS_TAIL}",
    f'{BLOCK}<transition block="true"><from>0</from><to>1</to><read>x</read></transition><a/><b/>{jflap.BLOCKS_TAIL}',
    jflap.document(jflap.state(0, "initial", name="a"), jflap.state(1, "final", name="a"), jflap.step(0, 1, "1", "1")),
)


def as_jflap() -> Iterator[str]:
    """Yield the machines that JFLAP can hold as JFLAP files."""
    for run in machines():
        try:
            yield registry.write(run.machine, "jflap").text
        except ConversionError:  # it halts without a verdict, or its tape has an end
            continue


class TestJflap:
    pytestmark = in_a_browser

    def test_a_file_is_the_machine_that_python_reads_and_becomes_its_yaml(self, chromium: Any) -> None:
        texts = [*FILES, *as_jflap()]
        assert len(texts) > 80
        for text, each in zip(texts, read_as_jflap(chromium, texts), strict=True):
            right = registry.read(text, file=FILE)
            assert {name: each["machine"][name] for name in plain(right.machine)} == plain(right.machine), text
            assert each["said"] == said(text), text
            comments = [
                f"# warning, line {warning.span.line} of the JFLAP file: {warning.what}: {warning.remedy}\n"
                for warning in right.warnings
                if warning.span
            ]
            assert each["editable"] == "".join(comments) + native.write(right.machine), text
            assert native.read(each["editable"], file=FILE).machine == right.machine
            assert each["edited"] == {**each["machine"], "aboutInput": ""}

    def test_other_files_are_refused_in_the_same_words(self, chromium: Any) -> None:
        """But for the machine in a block, which is taken out here, and the words of readers of XML."""
        cases = [case.text for case in BROKEN.cases if case.file == "jflap" and case.text.startswith("<")]
        texts = [re.sub(r"(<find\.jff>).*?(?=</find)", r"\1", text, flags=re.DOTALL) for text in cases]
        same = 0
        for text, each in zip(texts, read_as_jflap(chromium, texts), strict=True):
            if "html" in text or "other.jff" in text:  # one is not taken for JFLAP, one has two machines for a block
                continue
            where, _, words = said(text).partition(": ")
            xml = re.match("this is not XML|this closing tag|there is text after", words)
            if xml is None:
                assert each["said"] == said(text)
            else:
                assert each["said"].startswith(f"{where.rsplit(':', 1)[0]}:")
                assert "this is not XML: fix it, or save the file again" in each["said"]
            if each["machine"] is None:
                assert each["editable"] == text
                same += xml is None
        assert same >= 28

    def test_what_python_reads_and_the_page_does_not(self, chromium: Any) -> None:
        machine = f"<a>{jflap.ERASE}</a>"
        (found,) = read_as_jflap(chromium, [f"{BLOCK}{jflap.step(0, 1, '1', '')}{machine}<b/>{jflap.BLOCKS_TAIL}"])
        assert found["said"].splitlines()[0] == (
            "machine.yaml:3:1: the building block 'b0' contains a machine, which this page does not read: "
            "convert the file with tm2tfr convert machine.jff -o machine.yaml, and open machine.yaml here"
        )


# ── in a browser: the same words
class TestReading:
    pytestmark = in_a_browser

    def test_every_complaint_about_a_document_in_the_same_words(self, chromium: Any) -> None:
        """Syntax errors too: the place and the words are those of the command line."""
        found = read_in_the_page(chromium, [case.text for case in GOLDEN.cases], file="f.yaml", name="f")
        wrong = [case.id for case, each in zip(GOLDEN.cases, found, strict=True) if each["said"].rstrip("\n") != case.says]
        assert wrong == []

    def test_other_texts_are_refused_in_the_same_words(self, chromium: Any) -> None:
        texts = [*ROWS, *ODD]
        for text, each in zip(texts, read_in_the_page(chromium, texts), strict=True):
            assert each["said"] == said(text), text

    def test_two_hundred_machines_are_the_same(self, chromium: Any) -> None:
        texts = [*(run.text for run in machines()), *map(shipped_text, shipped())]
        for text, each in zip(texts, read_in_the_page(chromium, texts), strict=True):
            machine = each["machine"]
            assert {name: machine[name] for name in plain(as_read(text))} == plain(as_read(text))
            assert each["said"] == said(text)

    def test_damaged_documents_are_machines_or_errors_as_in_python(self, chromium: Any) -> None:
        """Whether there is a machine is always the same; of 20 errors, 19 are in the same words and the same place."""
        texts = [text for text in map(_text, damaged(seed=32, count=1_200)) if text is not None]
        same = 0
        for text, each in zip(texts, read_in_the_page(chromium, texts), strict=True):
            try:
                right, words = native.read(text, file=FILE), ""
                words = "\n".join(map(str, right.warnings))
            except SpecError as error:
                right, words = None, str(error)
            assert (each["machine"] is None) == (right is None), text
            same += each["said"] == words
        assert same >= 0.95 * len(texts)


def _text(document: bytes) -> str | None:
    """Return a document as text with the line breaks of a text area; None if it is no text, or begins like another format.

    The question mark and the tab are left out: PyYAML and libyaml disagree about them themselves.
    """
    try:
        text = document.decode()
    except UnicodeDecodeError:
        return None
    other = any(sign in text for sign in "?\t\r\x85\u2028\u2029") or not native.looks_like(text)
    return None if other or len(text) > 20_000 else text


# ── the same prompts and tokens
class TestRunning:
    pytestmark = in_a_browser

    def test_machines_have_the_tokens_of_the_dense_engine(self, chromium: Any) -> None:
        assert len(machines()) == 200
        runs = some(machines())
        for run, found in zip(runs, run_in_the_page(chromium, runs, STEPS), strict=True):
            held = EVERY.holding(run.machine)
            checked = tm2tfr.check(held, run.word, max_steps=STEPS, engine="dense", keep_rows=True)
            show = shower(checked.columns, checked.rows)
            assert found["tokens"] == [show(row.x) for row in checked.rows], run.text
            assert found["answers"] == [show(row.y) for row in checked.rows], run.text
            assert (found["agrees"], found["compared"], found["answer"]) == (True, checked.compared, checked.answer)
            assert found["prompt"] == " ".join(held.described_in(held.canonical))

    def test_a_machine_that_does_not_fit_is_told_the_size_that_would_do(self, chromium: Any) -> None:
        texts = [*map(shipped_text, shipped()), *(run.text for run in machines())]
        for size in ({"states": 3, "symbols": 2, "tape": "both"}, {"states": 4, "symbols": 4, "tape": "two-way"}):
            universal = Universal(**size)
            for text, found in zip(texts, placed_in_the_page(chromium, texts, size), strict=True):
                machine = as_read(text)
                try:
                    held = universal.holding(machine)
                    right = " ".join(held.described_in(held.canonical))
                except CompileError as error:
                    right = error.typed
                assert found == right


# ── the page itself
class TestThePage:
    pytestmark = in_a_browser

    def test_it_opens_with_a_run_and_runs_what_is_written(self, opened: Open) -> None:
        shown = opened(page("palindromes", "abba"))
        assert shown.locator(".bar h1").inner_text() == "Run your machine in one transformer"
        assert shown.locator(".bar .ran").inner_text() == "palindromes on abba"
        assert "399 cells compared with the simulator, all agree" in shown.locator(".said-live").inner_text()
        assert shown.locator(".prompt-text").inner_text().startswith("two-way q0,1 →(q1,0,+1) q0,2 →(q2,0,+1) q0,0 →ACC")
        run(shown, BB2, "")
        assert shown.locator(".verdict").inner_text() == "✓ halts after T = 7"
        assert shown.locator(".rules-panel .prompt-rule").count() == 4
        assert shown.locator(".graph .node[id]").count() == 3
        assert (
            shown.locator(".names")
            .inner_text()
            .replace("\n", " ")
            .startswith("states A is q0 B is q1 Z is halt symbols 0 is 0")
        )
        assert shown.locator(".row [data-mark=right]").count() > 50

    def test_what_is_wrong_is_said_at_its_place_and_the_page_stays(self, opened: Open) -> None:
        shown = opened(page("chapter", "11"))
        before = shown.locator(".rows").inner_text()
        text = shipped_text("chapter").replace("{R: q3}", "{R: q33}")
        write(shown, text)
        shown.locator("#machine").press("Control+Enter")
        (problem,) = shown.locator(".problems li").all()
        line = text[: text.index("q33")].count("\n") + 1
        assert problem.inner_text().split("\n") == [
            f"line {line}, column 12",
            "unknown state 'q33' (did you mean 'q3'?): use a state in the table, or add this one to it",
        ]
        assert shown.locator(".below .error").inner_text() == "q33"
        assert shown.locator(".numbers .error").inner_text() == str(line)
        assert shown.locator("#machine").get_attribute("aria-invalid") == "true"
        assert shown.locator(".said-live").inner_text().startswith("Nothing was run: 1 problem with the machine.")
        assert shown.locator(".rows").inner_text() == before
        assert browser.violations(shown) == []
        problem.locator("button").click()
        assert shown.evaluate("document.getSelection() && document.activeElement.selectionStart") == text.index("q33")

    @pytest.mark.parametrize(
        ("box", "given", "words"),
        [
            (
                "#live-input",
                "12",
                "input of chapter: position 1: '2' is not in the input alphabet: use only its symbols ({1})",
            ),
            ("#live-steps", "0", "the largest number of steps must be a whole number from 1 to 50,000: change it"),
            ("#live-steps", "", "the largest number of steps must be a whole number from 1 to 50,000: change it"),
        ],
    )
    def test_another_box_is_refused_as_on_the_command_line(self, opened: Open, box: str, given: str, words: str) -> None:
        shown = opened(page("chapter", "11"))
        before = shown.locator(".rows").inner_text()
        shown.locator(box).fill(given)
        shown.locator("#live-input").press("Enter")
        assert shown.locator(".live-error").inner_text().split("\n")[0] == words
        assert shown.locator(".rows").inner_text() == before

    def test_a_machine_that_does_not_fit(self, opened: Open) -> None:
        shown = opened(page("chapter", "11"))
        write(shown, shipped_text("binary-multiplication"))
        shown.get_by_role("button", name="Run", exact=True).click()
        with pytest.raises(CompileError) as refused:
            EVERY.holding(tm2tfr.load("binary-multiplication"))
        assert shown.locator(".problems li").inner_text() == str(refused.value)

        assert shown.locator(".problems .hint").inner_text() == (
            "What counts: the states 'next', 'to-star', 'to-last', 'take', 'add-0', 'add-1', 'carry', 'restore' and 5 "
            "more; the symbols '_', '0', '1', '*', 'o', 'i', 'O', 'I'. Save the text as machine.yaml; a page for its size "
            "is made by tm2tfr explore machine.yaml --universal 13,8 --standalone -o page.html."
        )

    def test_a_jflap_file_is_pasted_dropped_or_opened_as_yaml(self, opened: Open) -> None:
        shown = opened(page("chapter", "11"), permissions=["clipboard-read", "clipboard-write"])
        editor = shown.locator("#machine")
        before = editor.input_value()
        shown.evaluate("text => navigator.clipboard.writeText(text)", FILES[0])
        editor.press("Control+v")
        shown.locator(".bar .ran", has_text="machine on (empty)").wait_for()
        yaml = "blank: _\nstart state: q0\naccept: q1\ntape alphabet: [a, b, _]\ntable:\n  q0:\n    a: {write: b, L}\n"
        assert editor.input_value() == f"name: machine\n{yaml}    _: {{write: a, S: q1}}\n  q1:\n"
        assert shown.locator(".verdict").inner_text() == "✓ accepts after T = 1"
        editor.press("Control+z")
        assert editor.input_value() == before
        drop(shown, "b.jff", FILES[0].replace("<write>a", "<write>aa"))
        shown.locator(".said-live", has_text="Nothing was run: 1 problem with the machine.").wait_for()
        (problem,) = shown.locator(".problems li").all()
        assert problem.inner_text().split("\n")[1] == (
            "the transition from q0 to q1 writes 'aa': a symbol is exactly one character"
        )
        assert shown.locator(".below .error").inner_text() == "<write>"
        drop(shown, "dropped.jff", FILES[0])
        shown.locator(".bar .ran", has_text="dropped on (empty)").wait_for()
        file = {"name": "opened.jff", "mimeType": "text/xml", "buffer": FILES[2].encode()}
        shown.locator("input[type=file]").set_input_files(file)
        shown.locator(".bar .ran", has_text="opened on (empty)").wait_for()
        assert editor.input_value().startswith("# warning, line 12 of the JFLAP file: 'q2' is final, so a run stops")
        assert browser.violations(shown) == []

    def test_a_link_carries_the_machine_and_its_input(self, opened: Open) -> None:
        html = page("chapter", "11")
        first = opened(html)
        run(first, shipped_text("parity"), "101")
        address = first.evaluate("location.hash")
        assert address.startswith("#source=")
        second = opened(html, address)
        assert second.locator("#machine").input_value() == shipped_text("parity")
        assert (second.locator("#live-input").input_value(), second.title()) == ("101", first.title())
        assert "agree" in second.locator(".said-live").inner_text()
        broken = opened(html, "#source=abc")
        assert broken.locator(".live-error").inner_text().startswith("This link cannot be opened: the link is damaged")
        assert broken.locator(".verdict").inner_text() == "✓ accepts after T = 6"

    def test_the_button_copies_the_link(self, opened: Open) -> None:
        shown = opened(page("chapter", "11"), permissions=["clipboard-read", "clipboard-write"])
        shown.get_by_role("button", name="Copy link").click()
        shown.locator(".said-live", has_text="The link is copied").wait_for()
        copied = shown.evaluate("navigator.clipboard.readText()")
        assert copied.split("#")[0] == shown.url.split("#")[0]
        assert copied.split("#")[1].startswith("source=")

    def test_the_keys_of_the_editor(self, opened: Open) -> None:
        shown = opened(page("chapter", "11"))
        write(shown, "table:")
        editor = shown.locator("#machine")
        editor.press("End")
        for key in ("Enter", "a", ":", "Enter", "Tab", "b"):
            editor.press(key)
        assert editor.input_value() == "table:\n  a:\n      b"
        editor.press("Shift+Tab")
        assert editor.input_value() == "table:\n  a:\n    b"
        editor.press("Control+z")
        assert editor.input_value() == "table:\n  a:\n      b"
        editor.press("Escape")
        editor.press("Tab")
        assert shown.evaluate("document.activeElement.id") != "machine"

    @pytest.mark.parametrize("width", [390, 1400])
    def test_it_fits_the_window_and_axe_finds_nothing(self, opened: Open, width: int) -> None:
        shown = opened(page("palindromes", "abba"), viewport={"width": width, "height": 900})
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        shown.locator(".made summary").click()
        assert browser.violations(shown) == []
        shown.emulate_media(color_scheme="dark")
        assert browser.violations(shown, rules=["color-contrast"]) == []

    def test_weights_that_go_wrong_are_said_to(self, opened: Open) -> None:
        decoder = tm2tfr.compile(EVERY.holding(tm2tfr.load("chapter")))
        path = "layers.6.heads.0.query"
        row, column, value = next(matrices(decoder)[path].entries())
        broken = replaced(decoder, {path: matrices(decoder)[path].with_entry(row, column, -value)})
        shown = opened(tm2tfr.explore(broken, standalone=True))
        assert "and it differs at position" in shown.locator(".said-live").inner_text()
        assert shown.locator(".notice").count() == 1


def drop(shown: Any, name: str, text: str) -> None:
    """Drop a file on the editor."""
    script = "([text, name]) => { const data = new DataTransfer(); data.items.add(new File([text], name)); return data; }"
    shown.locator("#machine").dispatch_event("drop", {"dataTransfer": shown.evaluate_handle(script, [text, name])})


def write(shown: Any, text: str) -> None:
    """Write a text into the editor."""
    shown.locator("#machine").fill(text)


def run(shown: Any, text: str, word: str) -> None:
    """Run a machine on a word, and wait until the page shows that."""
    write(shown, text)
    shown.locator("#live-input").fill(word)
    shown.locator("#live-input").press("Control+Enter")
    for _ in range(600):
        if shown.evaluate("location.hash.startsWith('#source=')"):
            return
        shown.wait_for_timeout(50)
    raise AssertionError("it was not run")
