"""Pages of HTML with names that are HTML: what a machine's author wrote is text in all of them, and runs nothing."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser

import pytest

import tm2tfr
import tm2tfr as api
from tm2tfr.sources.turing import drawing
from tm2tfr.sources.turing.spec import Machine, Rule

EVIL = "</script></style></title>--><img src=x onerror=alert(1)><script>alert(2)</script>\" onmouseover='alert(3)'"


def hostile() -> Machine:
    """Return a machine whose every text is an attack."""
    rules = {(EVIL, a): Rule(EVIL, "<", 1) for a in "<>&\"'"}
    return Machine(transitions=rules, start=EVIL, blank="_", input="<>&\"'", name=EVIL, description=EVIL)


class Tags(HTMLParser):
    """Collects what a page would do: its elements, and their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += attrs


def of_trace() -> str:
    return api.run(api.compile(hostile()), hostile().input or "")._repr_html_()


PAGES: dict[str, Callable[[], str]] = {
    "table": lambda: tm2tfr.table(api.check(hostile()), "html"),
    "wrong table": lambda: tm2tfr.table(
        api.check(api.compile("chapter"), "11", machine=tm2tfr.load("power-of-two")), "html"
    ),
    "trace": lambda: api.check(hostile())._repr_html_(),
    "unchecked trace": of_trace,
    "decoder": lambda: api.compile(hostile())._repr_html_(),
    "machine": lambda: hostile()._repr_html_(),
    "drawing": lambda: drawing.html(hostile()),
    "proof": lambda: api.certify(hostile())._repr_html_(),
}


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_names_are_text(page: Callable[[], str]) -> None:
    text = page()
    found = Tags()
    found.feed(text)
    found.close()
    assert not {"img", "script", "iframe", "object", "embed", "link", "meta", "base", "form"} & set(found.elements) - {
        "meta"
    }
    assert not [name for name, _ in found.attributes if name.startswith("on")]
    assert not [value for name, value in found.attributes if name in ("href", "src") and "alert" in (value or "")]
    assert found.elements


def test_the_attack_would_be_seen() -> None:
    found = Tags()
    found.feed(f'<p title="{EVIL}">{EVIL}</p>')
    assert {"img", "script"} <= set(found.elements)
    assert [name for name, _ in found.attributes if name.startswith("on")]
