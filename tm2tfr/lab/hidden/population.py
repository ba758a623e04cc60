"""The population that hidden suites draw from: shipped sources, and random ones of four stated families.

A shipped source can be recognised by what it computes, and then its weights are known. A random source cannot be looked
up: it must be understood. The families, each from a seed of any size:

- *machine*: 2 or 3 states, 2 or 3 symbols, moves -1, 0 and +1, on a one-way or two-way tape, accepting or rejecting; about
  (15 · 3)⁹ of the largest size.
- *circuit*: 2 to 4 inputs, 4 to 9 gates, each with a random table of one to three nets before it.
- *program*: RASP over the letters a and b: 2 to 4 variables that are counts, comparisons, tests and what is aggregated by
  selectors of tokens and positions, each made of those before it, and a number as the answer.
- *formula*: past temporal logic with counting over a, b and c: 2 to 4 definitions by ¬, ∧, ∨, previous, once, historically,
  since and comparisons of counts, each made of those before it.

What is drawn is kept if it compiles, is small (`MOST_WIDTH`, `MOST_HEADS`) but not trivial, and its answers vary;
otherwise it is drawn again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from tm2tfr.base.choices import LOGIC, RASP
from tm2tfr.base.errors import Tm2tfrError
from tm2tfr.engines.decode import run_whole
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.reading import answered
from tm2tfr.lab.datasets.machines.family import Family
from tm2tfr.lab.hidden.dead_code import prompts_of, sequences
from tm2tfr.runs.plan import is_count
from tm2tfr.sources.registry import built, of_text

if TYPE_CHECKING:
    from tm2tfr.transformer.weights import Decoder

MOST_WIDTH, LEAST_HEADS, MOST_HEADS = 96, 2, 16
"""The most directions, and the least and most heads, of a random source's weights."""
POSITIONS, RUNS = 24, 12
"""The runs that are looked at for answers that vary."""
LEAST_STEPS = 4
"""A machine's runs have more different steps than this, BOS among them."""


@dataclass(frozen=True)
class Member:
    """What a hidden model is made from.

    Args:
        name: that of a shipped source, or of a family.
        options: those with which a shipped source is compiled.
        drawn: the seed of a random source; None: it is a shipped one.
    """

    name: str
    options: Mapping[str, object] = field(default_factory=dict)
    drawn: int | None = None

    def __post_init__(self) -> None:
        if self.drawn is not None and (self.name not in FAMILIES or not is_count(self.drawn, 0)):
            raise ValueError(f"{self.name!r} with seed {self.drawn!r} is not a random source of a family")


def sources(member: Member) -> Iterator[Any]:
    """Yield the random sources of a member's seed, in the order in which they are tried; some cannot be compiled."""
    for attempt in count():
        chance = random.Random(f"tm2tfr {member.name} {member.drawn} {attempt}")
        try:
            yield FAMILIES[member.name](chance)
        except Tm2tfrError:
            continue  # a text that the language refuses, such as a test that is always true


def suitable(decoder: Decoder, source: object) -> bool:
    """Return whether the weights of a random source are small, and what they answer varies."""
    small = decoder.layout.width <= MOST_WIDTH and decoder.heads in range(LEAST_HEADS, MOST_HEADS + 1)
    return small and _varies(decoder, source)


def _varies(decoder: Decoder, source: object) -> bool:
    """Return whether runs of a machine have enough different steps, and others end in two different answers."""
    prompts = prompts_of(decoder, source, positions=POSITIONS, runs=RUNS)
    if not decoder.labeller:
        given = {token for prompt in prompts for token in prompt}
        runs = list(sequences(decoder, source, positions=POSITIONS, runs=RUNS))
        made = {token for tokens in runs for token in tokens} - given
        return len(made) > LEAST_STEPS or len({tokens[-1] for tokens in runs}) > 1
    found = set[str]()
    for prompt in prompts:
        numbers = [decoder.numbers[token] for token in prompt]
        found |= {str(answered(decoder, passed.logits)) for passed in run_whole(decoder, numbers, engine=Dense())}
    return len(found) > 1


# ── the families
def _machine(chance: random.Random) -> object:
    family = Family(
        states=chance.randint(2, 3),
        symbols=chance.randint(2, 3),
        moves=(-1, 0, 1),
        tape=chance.choice(("one-way", "two-way")),
        ends="verdict",
    )
    return family.machine(chance.randrange(family.size))


def _circuit(chance: random.Random) -> object:
    sizes = {"inputs": chance.randint(2, 4), "gates": chance.randint(4, 9), "seed": chance.getrandbits(31)}
    return built("random", {**sizes, "kinds": "any"}).program


def _program(chance: random.Random) -> object:
    numbers, flags = ["indices"], ['(tokens == "a")', '(tokens == "b")']
    selectors = ["select(tokens, tokens, ==)"]
    selectors += [f"select(indices, indices, {relation})" for relation in ("<", "<=", "==")]
    text = ["# alphabet: ab", ""]
    for name in "uvwx"[: chance.randint(2, 4)]:
        number, flag, selector = (chance.choice(known) for known in (numbers, flags, selectors))
        kind = chance.choice(("number", "number", "flag", "selector"))
        if kind == "number":
            value = chance.choice(
                (
                    f"selector_width({selector})",
                    f"aggregate({selector}, indicator({flag}))",
                    f"{number} + {chance.randint(1, 3)}",
                    f"{number} - {chance.choice(numbers)}",
                    f"(1 if {flag} else {number})",
                )
            )
            numbers.insert(0, name)
        elif kind == "flag":
            relation = chance.choice(("==", "<", ">="))
            tests = f"({number} {relation} {chance.randint(0, 2)})", f"has_focus({selector})"
            value = chance.choice(
                (*tests, f"({flag} and not {chance.choice(flags)})", f"({flag} or {chance.choice(flags)})")
            )
            flags.insert(0, name)
        else:
            value = chance.choice((f"select({flag}, True, ==)", f"select(indices, {number}, ==)"))
            value = f"{value} {chance.choice(('and', 'or'))} {selector}"
            selectors.insert(0, name)
        text.append(f"{name} = {value};")
    text.append(f"answer = {numbers[0]} + (1 if {flags[0]} else 0);")
    return of_text("\n".join(text) + "\n", (RASP, RASP)).program


def _formula(chance: random.Random) -> object:
    known = [f"Q[{letter}]" for letter in "abc"]
    text = ["# alphabet: abc", ""]
    for name in ("u", "v", "w", "x")[: chance.randint(2, 4)]:
        one, other = chance.choice(known[:3]), chance.choice(known)
        counts = f"count({one}) {chance.choice(('<', '<=', '='))} count({other})"
        value = chance.choice(
            (
                f"!{one} & {other}",
                f"{one} | prev {other}",
                f"prev {one}",
                f"once ({one} & prev {other})",
                f"historically ({one} -> {other})",
                f"({one} | {other}) since {other}",
                f"!{one} since {other}",
                counts,
                f"{counts} + {chance.randint(1, 2)}",
            )
        )
        text.append(f"{name} := {value}")
        known.insert(0, name)
    text.append(f"{known[0]} & !{known[1]} | {known[2]} & {known[1]}")
    return of_text("\n".join(text) + "\n", (LOGIC, "tl")).program


FAMILIES: Mapping[str, Callable[[random.Random], object]] = {
    "machine": _machine,
    "circuit": _circuit,
    "program": _program,
    "formula": _formula,
}
"""Name -> what makes a random source from what is drawn."""

MACHINES = (
    *("chapter", "busy-beaver-3", "parity", "palindromes", "binary-increment", "copy", "same-ends", "never-halts"),
    *("a-b-c", "find-a-one", "unary-subtraction", "divisible-by-3", "left-edge", "busy-beaver-5"),
)
CIRCUITS = ("full-adder", "half-adder", "c17", "multiplexer", "majority", "comparator")
PROGRAMS = (
    *("histogram", "sort-unique", "reverse", "shift", "mark-first", "detect-pattern", "smooth", "running-maximum"),
    *("swap-neighbours", "length"),
)
FORMULAS = (
    *("since-b", "a-n-b-n", "hop-1", "ends-in-110", "nearest-mark", "dyck-1-by-counting"),
    *("odd-ones-without-predicates", "last-write"),
)
SHIPPED = (
    *(Member(name) for name in (*MACHINES, *CIRCUITS, *PROGRAMS, *FORMULAS)),
    Member("full-adder", {"variant": "paper-hard"}),
    Member("busy-beaver-2", {"universal": (3, 2)}),
)
"""The shipped sources that a suite draws from."""
