"""Phrases that a reader has to parse twice, and the words to write instead.

``python -m tests.house.words [PATH…]`` lists where they are; without paths, in everything that a person reads:
documents, docstrings, messages and comments of the package, and the texts of shipped sources.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

BANNED = {
    r"whoever": "name the person: the caller, a reader, a user",
    r"(that|which|who) (is|are) none": "invalid, unsupported",
    r"(?<!there )is none": "is not a …; there is no …",
    r"(as|so) of no": "name what has none",
    r"such a one|none such": "name it",
    r"so many": "that many, or the number",
    r"what (is|was|are) (kept|given|said|asked|right|meant|wanted|allowed)": "name it: cache, argument, reference, …",
    r"what (may|can|must) be": "name it",
    r"what (nothing|nobody) \w+": "name it: an unused …",
    r"what has to": "name it",
    r"says what is right": "the reference",
    r"at the (most|least)": "at most, at least",
    r"worked out": "computed",
    r"likewise": "name it again",
    r"shelf|shelves": "shipped file, registry",
    r"leftovers?": "temporary file",
    r"siblings?": "machines that differ in δ only, or name them",
    r"mend(s|ed|ing)?": "fix",
    r"thereof|wherein|hereby|thereby|whence|whereof|wherefore|therein|thereon": "by it, in it, …: name it",
    r"(has|have) not(?=[.,;:)]| and| to\b)": "does not have, lacks",
    r"nothing but": "only",
    r"one (line|token|row|head|layer|file|position) (a|an) \w+": "one … per …",
    r"some \d[\d,]*": "about",
    r"how it goes": "name it",
    r"it goes without": "leave it out",
    r"as is \w+ed": "say it with a verb",
    r"is no (?!longer|more|less|faster|slower|larger|smaller|better|worse|other|different)(?<!there is no )": "is not a",
    r"are no (?!longer|more|less|faster|slower|larger|smaller|better|worse)(?<!there are no )": "are not",
    r"stands? still": "is static, does not move",
    r"by hand of|on behalf": "leave it out",
    r"goes? (in|into) and|comes? out of it": "name the input and the output",
    r"one (cannot|can|may|must|has to)": "you can …; or name the subject",
}
"""Pattern (whole words, any case) -> what to write."""

_WORDS = {
    re.compile(rf"(?<![\w-])(?:{pattern})" + (r"\b" if pattern[-1].isalpha() or pattern[-1] == "?" else "")): advice
    for pattern, advice in BANNED.items()
}
_QUICK = [re.compile(pattern) for pattern in BANNED]
"""The same without a look at what is before: it begins with a literal, which `re` searches much faster."""
_NOT_PROSE = re.compile(r"```.*?^\s*```|`[^`\n]*`|^>>>.*$|^\.\.\. .*$|\]\([^)]*\)|\$[^$\n]*\$|<[^>\n]*>", re.S | re.M)
_ADVICE = Path("tests/house/words.py")
"""This file names the phrases."""


def read(path: Path) -> str:
    """Return the prose of a file, with everything else as blanks, so that lines keep their numbers."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        text = "".join(_of_python(text))
    elif path.suffix not in (".md", ".txt"):
        text = re.sub(r"""^(?!.*(#|//|description|title|meaning|says|["'`])).*$""", "", text, flags=re.M)
    return _NOT_PROSE.sub(lambda code: "\n" * code.group().count("\n") or " ", text)


def _of_python(text: str) -> Iterator[str]:
    """Yield a module's comments and texts, in their lines."""
    line = 1
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING) or token.type == getattr(tokenize, "FSTRING_MIDDLE", -1):
            yield "\n" * (token.start[0] - line) + " " + token.string
            line = token.end[0]


def _flat(text: str) -> str:
    """Return a text in one line and in lower case; Python's None is not the word."""
    return text.replace("\n", " ").replace("None", "____").lower()


def found(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield line, phrase and advice for each banned phrase of a text."""
    flat = _flat(text)
    for pattern, advice in _WORDS.items():
        for match in pattern.finditer(flat):
            yield text.count("\n", 0, match.start()) + 1, match.group(), advice


def everything() -> list[Path]:
    """Return all files that a person reads."""
    top = [
        ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "benchmarks/README.md", "traces/README.md")
    ]
    documents = [path for path in (ROOT / "docs").rglob("*.md") if path.name != "CHANGELOG.md"]
    package = list((ROOT / "tm2tfr").rglob("*.py"))
    shipped = [
        path
        for folder in ("machines", "programs", "formulas", "automata", "specs")
        for path in (ROOT / folder).rglob("*.*")
    ]
    return sorted(
        {*top, *documents, *package, *(path for path in shipped if path.suffix not in (".blif", ".v", ".bench", ".aag"))}
    )


def listed(path: Path) -> list[str]:
    """Return the places of a file with a banned phrase, each with its advice."""
    if (
        path.suffix not in (".md", ".py", ".yaml", ".rasp", ".srasp", ".tl", ".ts", ".txt", ".css")
        or path == ROOT / _ADVICE
    ):
        return []
    raw = _flat(path.read_text(encoding="utf-8"))
    if not any(pattern.search(raw) for pattern in _QUICK):
        return []
    return [f"{path.relative_to(ROOT)}:{line}: {phrase!r}: {advice}" for line, phrase, advice in found(read(path))]


def main(paths: list[str]) -> int:
    """Print each place, and return 1 if there is any."""
    files = [Path(path).resolve() for path in paths]
    files = [each for path in files for each in (sorted(path.rglob("*.*")) if path.is_dir() else [path])] or everything()
    places = [place for path in files for place in listed(path)]
    print("\n".join(places) or "no banned phrase")
    return bool(places)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
