"""Names for people: short enough for a table, each given once.

A name says what a thing is, and never by a number that the whole program decides: names must stay the same when a line
is added elsewhere. So a long text is shortened by itself alone, and of two things with one name the first keeps it.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

MOST = 40
"""The most characters of a name."""
LONG = 500
"""Of a text of more than twice as many characters, the beginning and the end are looked at alone."""
CUT = "…"
MARK = "'"
"""What a name gets at its end, once more for each that is taken."""
_PAIRS = {"(": ")", "[": "]", "{": "}"}


@lru_cache(maxsize=4_096)  # hidden units of one table all ask for the same
def shortened(text: str, most: int = MOST) -> str:
    """Return a text in at most `most` characters, on one line.

    Words in the innermost brackets are left out first, as few as will do:

    >>> shortened("select(indices, length - indices - 1, ==)")
    'select(indices, … - indices - 1, ==)'
    >>> shortened("aggregate(select(tokens, tokens, ==), indicator(indices == 0))")
    'aggregate(select(…), indicator(… == 0))'
    >>> shortened("the_number_of_tokens_that_are_like_this_one_or_another")
    'the_number_of_tokens_that…one_or_another'
    """
    text = " ".join(text.split())
    if len(text) > 2 * LONG:  # every choice of words is tried below
        text = f"{text[:LONG]}{CUT}{text[-LONG:]}"
    while len(text) > most:
        start, end = _innermost(text)
        cut = _words(text, start, end, len(text) + len(CUT) - most)
        if cut is None:
            tail = (most - 1) * 3 // 8
            return f"{text[: most - 1 - tail]}{CUT}{text[len(text) - tail :]}"
        text = f"{text[: cut[0]]}{CUT}{text[cut[1] :]}".replace(f"{CUT} {CUT}", CUT)
    return text


def unique(name: str, taken: Collection[str], most: int = MOST) -> str:
    """Return a name in at most `most` characters that is not taken: with marks at its end if need be.

    >>> unique("share", {"share", "share'"})
    "share''"
    """
    found, marks = shortened(name, most), 0
    while found in taken:
        marks += 1
        found = marked(name, marks, most)
    return found


def marked(name: str, marks: int, most: int = MOST) -> str:
    """Return a name with `marks` marks at its end; from four on, with their number."""
    return ended(name, MARK * marks if marks < 4 else f"{MARK}{marks}", most)


def ended(name: str, end: str, most: int = MOST) -> str:
    """Return a name with something at its end, shortened before it.

    >>> ended("same_tok", " #2")
    'same_tok #2'
    """
    end = shortened(end, most // 2) if len(end) > most // 2 else end
    return f"{shortened(name, most - len(end))}{end}"


def role(words: str, name: str, most: int = MOST) -> str:
    """Return the name of what is made for something: the words of its role, and that one's name, shortened.

    >>> role("found by", "same_tok")
    'found by same_tok'
    """
    return f"{words} {shortened(name, most - len(words) - 1)}"


def _innermost(text: str) -> tuple[int, int]:
    """Return where the longest of the innermost bracketed texts begins and ends; where none can be cut, the whole text."""
    opened: list[int] = []
    groups = [(-1, len(text), 0)]
    for n, letter in enumerate(text):
        if letter in _PAIRS:
            opened.append(n + 1)
        elif opened and letter == _PAIRS[text[opened[-1] - 1]]:
            start = opened.pop()
            if n - start > len(CUT):
                groups.append((len(opened), n - start, start))
    _, size, start = max(groups)
    return start, start + size


def _words(text: str, start: int, end: int, size: int) -> tuple[int, int] | None:
    """Return the fewest characters, of whole words from `start` to `end`, that have at least this size: without commas if
    it can be, from the middle.

    Where all of them are fewer, that is all; None: of the whole text, they would leave nothing.
    """
    blanks = [n for n in range(start, end) if text[n] == " "]
    lasts, spans, n = [*blanks, end], list[tuple[int, int]](), 0
    for first in [start, *(blank + 1 for blank in blanks)]:
        while n < len(lasts) and lasts[n] - first < size:
            n += 1
        if n < len(lasts):  # a longer one loses no less
            spans.append((first, lasts[n]))
    if end - start == len(text):
        spans = [(a, b) for a, b in spans if (a, b) != (start, end)]
        if not spans:
            return None
    middle = start + end

    def loss(span: tuple[int, int]) -> tuple[bool, bool, int, int]:
        a, b = span
        return "," in text[a:b], start == a or b == end, b - a, abs(a + b - middle)

    return min(spans, key=loss, default=(start, end))
