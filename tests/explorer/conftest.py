"""A browser, and pages opened in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tests.explorer import browser
from tests.explorer.browser import Open
from tm2tfr.web.explorer.document import Explorer


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser.browser() as found:
        yield found


@pytest.fixture
def opened(chromium: Any, tmp_path: Path) -> Iterator[Open]:
    """Open an `Explorer`; afterwards nothing may have been complained of, and nothing asked of any network."""
    windows = []

    def opener(page: Explorer, address: str = "", **options: Any) -> Any:
        window = browser.Window(chromium, **options)
        windows.append(window)
        path = tmp_path / f"{len(windows)}.html"
        page.save(path)
        return window.open(path, address)

    yield opener
    for window in windows:
        window.close()
        assert window.complaints == []
        assert [url for url in window.requests if not re.match(r"file:|data:|blob:", url)] == []
        assert len({url.split("#")[0] for url in window.requests if url.startswith("file:")}) == 1


@pytest.fixture(scope="module")
def chapter() -> Explorer:
    return tm2tfr.explore("chapter", "11")


@pytest.fixture(scope="session")
def endless() -> Explorer:
    return tm2tfr.explore("never-halts", "", max_steps=1_300)
