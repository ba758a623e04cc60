"""Random prompts as text, random machines with names of their own, and decoders that run them all."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from string import ascii_letters

from tm2tfr.engines import generate
from tm2tfr.engines.decode import Engine
from tm2tfr.engines.fast import Fast
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.universal import prompt
from tm2tfr.sources.turing.universal.compiler import compile_universal
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.transformer.weights import Decoder

EVERY = Universal(states=8, symbols=4)
"""The class of machines that most of the tests are about, and its only decoder."""
SIZES = tuple(product(range(1, 9), range(1, 5)))
"""All sizes of machines up to (8, 4)."""
CHARACTERS = "0123456789" + ascii_letters
"""The canonical symbols."""
MOVES = ("-1", "-1", "0", "+1", "+1")
ENDS: tuple[dict[str, tuple[str, ...]], ...] = (
    {"accept": ("yes",), "reject": ("no",)},
    {"accept": ("yes", "yea")},
    {"reject": ("no",)},
    {},
    {},
)
"""How the states that end a run are told apart; {}: the machine only halts."""


@cache
def compiled(universal: Universal = EVERY) -> Decoder:
    return compile_universal(universal)


# ── prompts ─────────────────────────────────────────────────────────────────────────────────────────────────
def random_prompt(chance: random.Random, states: int, symbols: int, tape: str | None) -> str:
    """Return a prompt: rules in any order, some missing, ACC, REJ and `halt` among their answers, and an input."""
    signs, density = CHARACTERS[:symbols], chance.choice((0.6, 0.85, 1.0))
    names = [f"q{n}" for n in range(states)]
    odds = chance.choice((0.0, 0.05, 0.2))
    rules = []
    for key in (f"{q},{a}" for q in names for a in signs):
        triple = f"({chance.choice(names)},{chance.choice(signs)},{chance.choice(MOVES)})"
        ends = ("ACC", "REJ", f"(halt,{chance.choice(signs)},{chance.choice(MOVES)})")
        rules.append(f"{key} →{chance.choice(ends) if chance.random() < odds else triple}")
    chance.shuffle(rules)
    word = chance.choices(signs[1:], k=chance.randrange(7)) if symbols > 1 else []
    kept = [rule for rule in rules if chance.random() < density]
    return " ".join([*([tape] if tape else []), *kept, *word, "BOS"])


# ── machines ────────────────────────────────────────────────────────────────────────────────────────────────
def random_machine(chance: random.Random, states: int, symbols: int, tape: str) -> Machine:
    """Return a machine with that many states to be told apart, verdicts or none, missing rules, and several ends."""
    names, ends = [f"S{n}" for n in range(states)], chance.choice(ENDS)
    given = [q for named in ends.values() for q in named]
    last = [*given, *(["stuck"] if chance.random() < 0.3 and given else [])] or ["end"]
    signs, odds, density = "_1xy"[:symbols], chance.choice((0.05, 0.2)), chance.choice((0.6, 0.85, 1.0))
    rules = {}
    for q, a in product(names, signs):
        if chance.random() < density or (a == "_" and q != names[0]):
            target = chance.choice(last if chance.random() < odds else names)
            rules[q, a] = (target, chance.choice(signs), int(chance.choice(MOVES)))
    keep: dict[str, object] = dict(ends)
    return Machine(
        transitions=rules,  # type: ignore[arg-type]
        start=names[0],
        blank="_",
        states=(*names, *last),
        input_alphabet=tuple(signs[1:]),
        tape_alphabet=tuple(chance.sample(signs, len(signs))),
        tape=tape,  # type: ignore[arg-type]
        name="random",
        **keep,  # type: ignore[arg-type]
    )


def random_word(chance: random.Random, machine: Machine) -> str:
    return "".join(chance.choices(machine.input_alphabet, k=chance.randrange(7))) if machine.input_alphabet else ""


def described(text: str, universal: Universal = EVERY) -> tuple[Universal, str]:
    """Return the program and the input that a prompt says."""
    program = prompt.read(text, universal)
    return program, program.right.input or ""


def random_programs(chance: random.Random, number: int, universal: Universal = EVERY) -> Iterator[tuple[Universal, str]]:
    """Yield programs of all sizes of `universal`, by turns as a prompt and as a machine, each with an input."""
    sizes = [(s, k) for s, k in SIZES if s <= universal.states and k <= universal.symbols]
    for n in range(number):
        size = sizes[n % len(sizes)]
        tape = chance.choice(("one-way", "two-way")) if universal.tape == "both" else universal.tape
        if n // len(sizes) % 2:
            yield described(random_prompt(chance, *size, tape if universal.tapes else None), universal)
        else:
            machine = random_machine(chance, *size, tape)
            yield universal.holding(machine, seed=chance.choice((None, n))), random_word(chance, machine)


# ── runs ────────────────────────────────────────────────────────────────────────────────────────────────────
def positions(text: str, steps: int) -> int:
    """Return the number of positions of a run of at most `steps` steps: those of the prompt, and one per step."""
    return len(text.split()) + steps


def answered(decoder: Decoder, text: str, engine: Engine, most: int) -> list[str]:
    """Return all answers of an engine to a prompt and then to itself, from position 0 on."""
    return [step.output for step in generate(decoder, text.split()[:-1], engine=engine, max_positions=most)]


class Running:
    """One fast session that runs one prompt after the other."""

    def __init__(self, decoder: Decoder) -> None:
        self.decoder, self._session = decoder, Fast().start(decoder)

    def answered(self, text: str, most: int) -> list[str]:
        """Return all answers to a prompt and then to itself, from position 0 on."""
        self._session.restart()
        self._session.prompt([self.decoder.numbers[token] for token in text.split()])
        return [self.decoder.vocabulary[n] for n in self._session.extend(most).answers.tolist()]


def due(text: str, said: Sequence[str]) -> list[str]:
    """Return all answers of a run: the prompt's own tokens, and what comes after BOS."""
    return [*text.split()[:-1], *said]


# ── what a prompt must be answered with, from its text alone: an interpreter that shares nothing with the package
def answers(prompt: str, most: int, tape: str | None = None) -> list[str]:
    """Return the canonical tokens that come after BOS: triples, until ACC, REJ or HALT, at most `most`.

    Args:
        prompt: canonical tokens with spaces between them, with BOS at the end.
        tape: that of the decoder; None: the first token says it.
    """
    *tokens, _ = prompt.split()
    tape = tape or tokens.pop(0)
    keys = [n for n, token in enumerate(tokens) if "," in token and not token.startswith("→")]
    rules = {tokens[n]: tokens[n + 1].removeprefix("→") for n in keys}
    cells = dict(enumerate(token for token in tokens if len(token) == 1))
    state, head, said = "q0", 0, [f"(q0,{cells.get(0, '0')},0)"]
    while len(said) < most:
        answer = rules.get(f"{state},{cells.get(head, '0')}", "HALT")
        if not answer.startswith("("):
            return [*said, answer]
        state, symbol, move = answer[1:-1].split(",")
        cells[head] = symbol
        if tape == "one-way" and head == 0 and move == "-1":
            move = "0"
        head += int(move)
        said.append(f"({state},{symbol},{move})")
    return said
