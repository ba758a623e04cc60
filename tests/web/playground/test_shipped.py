"""Everything that the playground lists can be opened, and is what the list says."""

from __future__ import annotations

import pytest

from tm2tfr.sources.registry import kind_of_text
from tm2tfr.web.playground.shipped import shipped, shipped_text

pytestmark = pytest.mark.slow


def test_each_shipped_source_is_of_the_kind_and_the_format_that_the_list_says() -> None:
    names = [each["name"] for each in shipped()]
    assert len(names) == len(set(names)) > 140
    for each in shipped():
        text = shipped_text(each["name"])
        assert kind_of_text(text, format=each["format"])[0] == each["kind"], each["name"]
        assert kind_of_text(text)[0] == each["kind"], each["name"]
