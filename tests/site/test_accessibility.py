"""What axe-core, a checker of accessibility, says of the site: nothing serious, in light and in dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.web.explorer.accessibility import missing, violations

pytestmark = pytest.mark.slow

PAGES = ("index", "lecture/exercises", "lecture/slides", "notebooks/exercises")


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_is_found(site: Path, chromium: Any, scheme: str) -> None:
    context = chromium.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 850})
    page = context.new_page()
    for name in PAGES if scheme == "light" else PAGES[:2]:
        page.goto((site / f"{name}.html").as_uri())
        assert violations(page, impacts=["serious", "critical"]) == [], name
    context.close()
