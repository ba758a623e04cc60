"""Colours at a terminal: green for what agrees, red for what differs. Never in data."""

from __future__ import annotations

import os
import re
import sys

CODES = {"bold": "1", "red": "31", "green": "32", "yellow": "33"}


def styled(text: str, style: str, *, err: bool = False) -> str:
    """Return text in a style if it goes to a terminal that shows colours and ``NO_COLOR`` is not set."""
    return f"\x1b[{CODES[style]}m{text}\x1b[0m" if text and coloured(err=err) else text


def coloured(*, err: bool = False) -> bool:
    """Return whether standard output, or standard error, is a terminal that shows colours, and they are wanted."""
    stream = sys.stderr if err else sys.stdout
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream is not None and stream.isatty()


def judged(text: str) -> str:
    """Return the lines about a check, green for what agrees and red for what differs, where colours are shown."""
    if not coloured():
        return text
    text = re.sub(r"\ball agree\b|^ok\b|^certified\b", lambda found: styled(found[0], "green"), text, flags=re.MULTILINE)
    wrong = r"\bFAILED\b|^FAIL\b|^NOT certified\b|^▸|^cause:|!\S+?≠\S+"
    return re.sub(wrong, lambda found: styled(found[0], "red"), text, flags=re.MULTILINE)


def cautioned(text: str) -> str:
    """Return a warning for standard error with the word "warning" in yellow, where colours are shown."""
    return re.sub(r"\bwarning:", lambda found: styled(found[0], "yellow", err=True), text, count=1)
