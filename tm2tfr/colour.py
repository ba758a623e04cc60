"""Colour, for people at a terminal: what agrees in green, what differs in red. Never in data."""

from __future__ import annotations

import os
import re
import sys

CODES = {"bold": "1", "red": "31", "green": "32", "yellow": "33"}


def styled(text: str, style: str, *, err: bool = False) -> str:
    """Return text in a style, if what it goes to is a terminal that shows it and the user has not set ``NO_COLOR``."""
    return f"\x1b[{CODES[style]}m{text}\x1b[0m" if text and coloured(err=err) else text


def coloured(*, err: bool = False) -> bool:
    """Return whether standard output, or standard error, is a terminal that shows colours that are welcome."""
    stream = sys.stderr if err else sys.stdout
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream is not None and stream.isatty()


def judged(text: str) -> str:
    """Return lines about a check with what agrees in green and what differs in red, where colours are shown."""
    if not coloured():
        return text
    text = re.sub(r"\ball agree\b|^ok\b|^certified\b", lambda found: styled(found[0], "green"), text, flags=re.MULTILINE)
    wrong = r"\bFAILED\b|^FAIL\b|^NOT certified\b|^▸|^cause:|!\S+?≠\S+"
    return re.sub(wrong, lambda found: styled(found[0], "red"), text, flags=re.MULTILINE)


def cautioned(text: str) -> str:
    """Return a warning, which goes to standard error, with the word in yellow where colours are shown."""
    return re.sub(r"\bwarning:", lambda found: styled(found[0], "yellow", err=True), text, count=1)
