"""A real browser for the tests: Chromium, as the system has it, with Playwright; and axe-core, which checks a page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# ── a real browser for the tests: Chromium, as the system has it, with Playwright
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")

FOLLOW = """address => new Promise(done => {
  if (location.hash === address) return done();
  addEventListener("hashchange", () => done(), { once: true });
  location.hash = address;
})"""
Open = Callable[..., Any]
"""What the fixture ``opened`` is: it opens an `Explorer`."""


def program() -> str | None:
    """Return where Chromium is: what the variable CHROMIUM says, or the first on the PATH."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


def missing() -> str | None:
    """Return why there is no browser, or None if there is one."""
    if find_spec("playwright") is None:
        return "Playwright is not installed: pip install playwright"
    return None if program() else "Chromium is not installed: apt-get install chromium"


@contextmanager
def browser(**options: Any) -> Iterator[Any]:
    """Yield a headless Chromium, launched with ``options``.

    A worker has one at a time: while Playwright runs, its thread has a running event loop, so that neither a second
    Playwright nor ``asyncio.run`` starts. A fixture that yields a browser therefore lasts a module, not a session.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program(), args=list(ARGUMENTS), **options)
        yield chromium
        chromium.close()


class Window:
    """A page in the browser that has nothing but its own file: every other request is refused and remembered."""

    def __init__(self, chromium: Any, **options: Any) -> None:
        self.context = chromium.new_context(**{"viewport": {"width": 1400, "height": 950}, **options})
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.context.route(lambda url: not url.startswith("file:"), lambda route: route.abort())

    def open(self, path: Path, address: str = "") -> Any:
        """Open a page and wait until it is drawn."""
        self.page.goto(path.as_uri() + address)
        self.page.wait_for_selector("html[data-ready=true]")
        return self.page

    def close(self) -> None:
        self.context.close()


def settled(page: Any) -> None:
    """Wait until what was changed is drawn; a changed address is told of in an event, some time after."""
    page.evaluate("new Promise(done => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 20))")


def position(page: Any) -> int:
    settled(page)
    return int(page.locator(".rows .row.now").first.get_attribute("data-row"))


def follow(page: Any, address: str) -> None:
    """Change the address behind the #, and wait until the page was told of it and has drawn what that changes."""
    page.evaluate(FOLLOW, address)
    settled(page)


def gone_to(page: Any, i: int) -> int:
    """Go to position i by the address, and return where the page is then."""
    follow(page, f"#i={i}")
    return position(page)


# ── checks a page with axe-core (the package axe-playwright-python has it)
def without_axe() -> str | None:
    """Return why nothing can be checked, or None if it can."""
    return None if find_spec("axe_playwright_python") else "axe-core is not installed: pip install axe-playwright-python"


def violations(page: Any, *, rules: Sequence[str] | None = None, impacts: Sequence[str] | None = None) -> list[str]:
    """Return what axe-core finds wrong with a page, one line each.

    Args:
        rules: those that are checked; None: all.
        impacts: only what is as grave as one of these, such as ``serious``; None: everything.
    """
    from axe_playwright_python.sync_playwright import Axe

    options = {"resultTypes": ["violations"], **({} if rules is None else {"runOnly": list(rules)})}
    return [
        f"{each['impact']}: {each['id']}: {node['html']}: {node['failureSummary']}"
        for each in Axe().run(page, options=options).response["violations"]
        for node in each["nodes"]
        if impacts is None or each["impact"] in impacts
    ]
