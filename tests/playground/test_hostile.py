"""Five hundred mutated sources: each is answered with a page or with what is wrong, in bounded time, never with a bug."""

from __future__ import annotations

import json
import time

import pytest

from tests.playground.hostile import mutated
from tm2tfr.playground.answer import answer
from tm2tfr.playground.query import Query

LONGEST = 3.0
"""Seconds of a processor; the slowest takes 0.4 of an idle one."""


@pytest.mark.slow
def test_mutated_sources_are_answered() -> None:
    pages = 0
    for what, format, text in mutated(500):
        start = time.process_time()
        found = answer(Query(source=text, format=format or ""))
        assert (what, time.process_time() - start < LONGEST) == (what, True)
        json.dumps(found, allow_nan=False)
        pages += found["page"] is not None
        errors = [each for each in found["diagnostics"] if each["severity"] == "error"]
        assert (what, bool(errors) or found["about_input"] is not None) == (what, found["page"] is None)
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for each in found["diagnostics"]:
            assert (what, each["what"] != "", "internal error" in each["what"]) == (what, True, False)
            if each["line"] is not None:
                assert (what, 1 <= each["line"] <= len(lines)) == (what, True)
                width = len(lines[each["line"] - 1].encode("utf-16-le", "surrogatepass")) // 2
                assert (what, 1 <= each["column"] <= width + 1) == (what, True)
    assert 100 < pages < 400  # a test of errors alone, or of none, would be a test of nothing
