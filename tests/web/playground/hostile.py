"""Sources that somebody means harm with, or types by mistake: shipped ones in every format, mutated; and catastrophes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache

import tm2tfr
from tm2tfr.web.playground.query import shipped_text

SCRIPT = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
NAMES = {
    "yaml": ("chapter", "full-adder"),
    "rasp": ("reverse", "histogram", "dyck-1"),
    "tl": ("a-n-b-n", "since-b"),
    "srasp": ("associative-recall",),
}


@cache
def sound() -> tuple[tuple[str, str], ...]:
    """The sources that are mutated, each with its format."""
    shipped = [(format, shipped_text(name)) for format, names in NAMES.items() for name in names]
    machines = ("turingmachine.io", "morphett", "jflap", "ft_turing")
    circuits = ("bench", "aag", "blif", "pla", "truth-table", "expression")
    written = [(format, str(tm2tfr.convert("palindromes", format))) for format in machines]
    written += [(format, str(tm2tfr.convert("full-adder", format))) for format in circuits]
    return (*shipped, *written, ("bbchallenge", "1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA"))


def _line(text: str, rng: random.Random, change: Callable[[list[str], int], None]) -> str:
    lines = text.split("\n")
    change(lines, rng.randrange(len(lines)))
    return "\n".join(lines)


def _deleted(text: str, rng: random.Random) -> str:
    return _line(text, rng, lambda lines, n: lines.__delitem__(n))


def _doubled(text: str, rng: random.Random) -> str:
    return _line(text, rng, lambda lines, n: lines.insert(n, lines[n]))


def _swapped(text: str, rng: random.Random) -> str:
    return _line(text, rng, lambda lines, n: lines.insert(0, lines.pop(n)))


def _signs(text: str, rng: random.Random) -> str:
    signs = list(text or "?")
    for _ in range(rng.randint(1, 6)):
        signs[rng.randrange(len(signs))] = rng.choice("{}[]():;,'\"\\<>&|*#-=+.~^\t\n 01aZ_")
    return "".join(signs)


def _bytes(text: str, rng: random.Random) -> str:
    """Any bytes, also what is no UTF-8, as a page would send it."""
    data = bytearray(text.encode())
    for _ in range(rng.randint(1, 9)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return data.decode(errors=rng.choice(["replace", "surrogateescape"]))


def _number(text: str, rng: random.Random) -> str:
    huge = rng.choice(["9" * 30, "-1", "9" * 5000, "1e400", "0x" + "f" * 80, "4294967296", "nan"])
    return _word(text, rng, huge)


def _name(text: str, rng: random.Random) -> str:
    return _word(text, rng, rng.choice([SCRIPT, "__proto__", "../../etc/passwd", "!!python/object:os", "a" * 20_000]))


def _word(text: str, rng: random.Random, other: str) -> str:
    words = text.split(" ")
    words[rng.randrange(len(words))] = other
    return " ".join(words)


def _odd(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(["\0", "\ud800", "\u202e", "\ufeff", "\x1b[31m", "\u2028", "𝔘", "\r"]) + text[at:]


def _deep(text: str, rng: random.Random) -> str:
    at, sign = rng.randrange(len(text) + 1), rng.choice(["(", "[", "{", "!", "not ", "- ", "<a>"])
    return text[:at] + sign * rng.choice([50, 3_000, 20_000]) + text[at:]


def _long(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(["x", " ", "ab ", "0,"]) * 60_000 + text[at:]


def _cut(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text))]


def _mixed(text: str, rng: random.Random) -> str:
    return text + "\n" + rng.choice(sound())[1]


MUTATIONS = (_deleted, _doubled, _swapped, _signs, _bytes, _number, _name, _odd, _deep, _long, _cut, _mixed)


def mutated(number: int) -> Iterator[tuple[str, str | None, str]]:
    """Yield that many sources: what was done, the format that is claimed or None, and the text."""
    for seed in range(number):
        rng = random.Random(seed)
        format, text = sound()[seed % len(sound())]
        change = MUTATIONS[seed // len(sound()) % len(MUTATIONS)]
        text = change(text, rng)
        if rng.random() < 0.3:
            text = _signs(text, rng)
        yield f"{seed} {format} {change.__name__}", format if rng.random() < 0.6 else None, text


ENDLESS = "# length: 60\n# alphabet: abcdefghijklmnop\ny0 = selector_width(select(tokens, tokens, ==));\n" + "".join(
    f"y{n} = selector_width(select(y{n - 1}, y{n - 1}, <));\n" for n in range(1, 100)
)
"""A program that takes minutes to compile: none of its 100 layers asks for too many values, and each has many."""


def catastrophes() -> Iterator[tuple[str, str | None, str]]:
    """Yield sources that ask for too much of something, likewise."""
    laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
    )
    yield "billion laughs", None, f"{laughs}blank: _\nstart state: *a11\ntable: *a11\n"
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 9}">' for n in range(1, 12))
    yield "XML entities", "jflap", f'<!DOCTYPE x [<!ENTITY e0 "ha">{entities}]><structure><type>&e11;</type></structure>'
    yield (
        "XML file",
        "jflap",
        '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><structure><type>&e;</type></structure>',
    )
    yield "XML without end", "jflap", "<structure>" * 50_000
    yield "YAML tag", "yaml", "!!python/object/apply:os.system ['touch /tmp/owned']\n"
    yield "YAML depth", None, "[" * 100_000
    yield "JSON depth", None, '{"a":' * 100_000
    yield "many states", None, "blank: _\nstart state: q0\ntable:\n" + "".join(f"  q{n}:\n" for n in range(90_000))
    yield "wildcards", None, _many_rules()
    yield "aag counts", "aag", f"aag {10**9} {10**9} 0 1 {10**9}\n"
    yield "aag huge counts", "aag", f"aag {'9' * 400} 1 0 1 1\n2\n2\n"
    yield "aig counts", "aig", f"aig {10**8} 0 0 1 {10**8}\n2\n"
    yield "wide table", "truth-table", "y = " + "01" * 262_144
    yield "powers", "expression", "y = " + "**".join(["9"] * 12)
    yield "long expression", "expression", "y = " + " ^ ".join(f"x{n}" for n in range(30_000))
    yield "deep expression", "expression", "y = " + "~" * 60_000 + "a"
    yield "RASP doubling", "rasp", "a = tokens;\n" + "a = a + a;\n" * 60
    calls = "".join(f"def f{n}(x) {{ return f{n - 1}(f{n - 1}(x)); }}\n" for n in range(1, 40))
    yield "RASP calls", "rasp", f"def f0(x) {{ return x + 1; }}\n{calls}y = f39(indices);\n"
    yield "RASP powers", "rasp", "a = indices + 2;\n" + "a = a ^ a;\n" * 30
    yield "RASP recursion", "rasp", "def f(x) { return f(x); }\ny = f(indices);\n"
    yield "RASP loop", "rasp", f"for x in [{'1,' * 50_000}1] {{ y = indices + x; }}\ny = indices;\n"
    yield "RASP load", "rasp", 'load "../../../../etc/passwd";\ny = indices;\n'
    yield "RASP length", "rasp", "# length: 5000\n# alphabet: ab\ny = selector_width(select(tokens, tokens, ==));\n"
    yield "RASP text", "rasp", 'a = "' + "x" * 500_000 + '";\ny = indices;\n'
    yield "formula depth", "tl", "(" * 40_000 + "Q[a]" + ")" * 40_000
    yield "formula nots", "tl", "!" * 40_000 + "Q[a]"
    doubled = "".join(f"a{n} = a{n - 1} since a{n - 1};\n" for n in range(1, 300))
    yield "formula doubling", "tl", f"a0 = Q[a];\n{doubled}"
    yield "counting", "tl", " + ".join(["#[Q[a]]"] * 400) + f" <= {'9' * 3000}"
    yield "alphabet", "tl", f"# alphabet: {''.join(map(chr, range(0x4E00, 0x9000)))}\nonce Q[a]\n"
    named = f"name: {SCRIPT!r}\nblank: _\nstart state: '{SCRIPT}'\ntable:\n  '{SCRIPT}':\n    _: L\n"
    yield "script in a name", None, named
    yield "tape of a million", None, f"blank: _\ninput: '{'1' * 900_000}'\nstart state: q\ntable:\n  q:\n    1: R\n"
    yield "never ends", None, shipped_text("never-halts")


def _many_rules() -> str:
    signs = ", ".join(f"'{chr(n)}'" for n in range(0x4E00, 0x4E00 + 3_000))
    return "blank: _\nstart state: q0\ntable:\n" + "".join(f"  q{n}:\n    [{signs}]: R\n" for n in range(25))
