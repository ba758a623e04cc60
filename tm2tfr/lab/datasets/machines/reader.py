"""YAML -> the spec of a data set or a sweep of machines, with every complaint at its place in the text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tm2tfr.base.choices import UNIVERSAL_TAPES, UniversalTape
from tm2tfr.base.errors import CompileError, counted, visible
from tm2tfr.base.text.nodes import List, Map, Node, Reading, Scalar, Section
from tm2tfr.lab.datasets.common import BALANCED, BEGIN, END, CommonReader
from tm2tfr.lab.datasets.machines.family import MOST_STATES, MOST_SYMBOLS, Family, Members, NormalForm, drawn, too_many
from tm2tfr.lab.datasets.machines.spec import IN_PROMPT_BY, SPLIT_BY, UNFINISHED, MachineSpec, several_splits
from tm2tfr.lab.datasets.spec import Inputs
from tm2tfr.sources.names import is_circuit
from tm2tfr.sources.turing.formats.bbchallenge import is_argument
from tm2tfr.sources.turing.library import load_with_warnings, shipped
from tm2tfr.sources.turing.spec import MOVES, TAPES, Machine
from tm2tfr.sources.turing.universal.names import CHARACTERS, size_of
from tm2tfr.sources.turing.universal.program import Universal

KEYS = (*BEGIN, "machines", "inputs", "max steps", "universal", "supervision", "unfinished", *END)
FAMILY_KEYS = ("states", "symbols", "moves", "tape", "ends")
FORM_KEYS = ("states", "symbols", "complete")
_SIZES = re.compile(r"\s*([0-9]{1,9})\s*,\s*([0-9]{1,9})\s*")
MOST_MACHINES = 10**9
MOST_UNIVERSAL = 1_000
"""The most states of a universal decoder."""


def read_machines(reading: Reading, root: Map, folder: Path | None, text: str, name: str) -> MachineSpec:
    """Return the spec of a document; `name` is for one that does not give its own.

    Raises:
        SpecError: with every error of the document, in the order of the text.
    """
    return _Reader(reading, Section.of(reading, "a spec", root, KEYS), folder).spec(text, name)


class _Chosen(NamedTuple):
    name: str
    argument: str
    machine: Machine


@dataclass
class _Reader(CommonReader):
    def spec(self, text: str, name: str) -> MachineSpec:
        """Return the spec of the whole document."""
        top = self.top
        self.needs("machines", "inputs")
        steps = top.number("max steps", 1_000, least=1)
        named, families = self.machines(steps) if "machines" in top else ((), ())
        values: dict[str, Any] = {
            "named": named,
            "families": families,
            "inputs": self.inputs() if "inputs" in top else Inputs(),
            "max_steps": steps,
            "keep_unfinished": top.choice("unfinished", UNFINISHED) == "keep",
            **self.common(text, name, self.split_by(), several=len(named) + sum(map(len, families)) > 1),
            "split_chosen": "split by" in top,
        }
        spec = MachineSpec(**{**values, **self.universal()})
        if families and spec.inputs.balanced:
            what = f"{BALANCED!r}: the machines of a family share their inputs, whose outcomes differ"
            self.reading.error(self.top.place("inputs"), what, "remove the key, or name the machines")
        self.check_words(spec)
        self.check_sizes(spec)
        self.reading.log.conclude()
        return spec

    # ── machines ────────────────────────────────────────────────────────────────────────────────────────────
    def machines(self, steps: int) -> tuple[tuple[tuple[str, Machine], ...], tuple[Members, ...]]:
        """Return the machines that are named, and the families; steps: where runs are cut off."""
        value = self.top.found["machines"][1]
        if not isinstance(value, Map):
            return self.named(value), ()
        within = Section.of(self.reading, "'machines'", value, ("named", "all", "random", "normal form"))
        if not within.found:
            remedy = "add 'named', 'all', 'random' or 'normal form'"
            self.reading.error(self.top.found["machines"][0], "there are no machines", remedy)
        families = [self.whole(s) for s in within.sections("all", FAMILY_KEYS, "{states: 2, symbols: 2}")]
        sources = within.sections("random", (*FAMILY_KEYS, "count", "seed"), "{states: 3, symbols: 2, count: 100}")
        families += [self.some(s, place) for place, s in enumerate(sources)]
        forms = within.sections("normal form", FORM_KEYS, "{states: 3, symbols: 2}")
        families += [self.normal(s, steps) for s in forms]
        named = self.named(within.found["named"][1]) if "named" in within else ()
        return named, tuple(f for f in families if f is not None)

    def named(self, node: Node) -> tuple[tuple[str, Machine], ...]:
        """Return the machines of a list of names and files, each with the argument that names it."""
        items = self.names(node, "machine", "[chapter, mine.yaml]")
        found = self.loaded(items, "machine", "'name'", self.chosen)
        return tuple((chosen.argument, chosen.machine) for chosen in found)

    def chosen(self, item: Scalar) -> _Chosen | None:
        """Return the machine that an item of the list names."""
        argument = self.argument(item.text, known=item.text in shipped() or is_argument(item.text))
        if is_circuit(item.text) and not Path(argument).is_file():
            self.reading.error(item, "this is a circuit", "name circuits under 'circuits', in another spec")
            return None
        machine = load_with_warnings(argument).machine
        return _Chosen(machine.name, argument, machine)

    def family(self, section: Section) -> Family:
        """Return the family that a mapping describes."""
        for key in ("states", "symbols"):
            section.needs(key, "2")
        moves = section.choices("moves", tuple(MOVES)) if "moves" in section else ("L", "R")
        return Family(
            section.number("states", 1, least=1, most=MOST_STATES),
            section.number("symbols", 2, least=2, most=MOST_SYMBOLS),
            tuple(MOVES[m] for m in moves),
            section.choice("tape", TAPES[::-1]),  # type: ignore[arg-type]  # one of them
            section.choice("ends", ("halt", "verdict")),  # type: ignore[arg-type]
        )

    def whole(self, section: Section) -> Members | None:
        """Return all machines of a family."""
        family = self.family(section)
        if family.size > MOST_MACHINES:
            what = f"there are {_shown(family.size)} such machines"
            self.reading.error(section.node, what, "use 'random' with a 'count' to draw some of them")
            return None
        return Members(family, range(family.size))

    def some(self, section: Section, place: int) -> Members | None:
        """Return random machines of a family."""
        family, (count, seed) = self.family(section), self.count_and_seed(section)
        if count > family.size // 2:
            remedy = f"ask for at most {family.size // 2:,}, or use 'all' for all of them"
            self.reading.error(section.node, f"there are only {family.size:,} such machines", remedy)
            return None
        return drawn(family, count, f"machines {place}, seed {seed}")

    def normal(self, section: Section, steps: int) -> Members | None:
        """Return the machines in tree normal form."""
        for key in ("states", "symbols"):
            section.needs(key, "2")
        states = section.number("states", 1, least=1, most=MOST_STATES)
        symbols = section.number("symbols", 2, least=2, most=MOST_SYMBOLS)
        complete = section.choice("complete", ("leave out", "keep")) == "keep"
        if (what := too_many(states, symbols, complete=complete)) is not None:
            self.reading.error(section.node, what, "use 'random' with a 'count' to draw some of them")
            return None
        return NormalForm(states=states, symbols=symbols, steps=steps, complete=complete).machines()

    # ── one decoder for all ─────────────────────────────────────────────────────────────────────────────────
    def split_by(self) -> tuple[str, ...]:
        """Return the keys that machines may be split by; report the keys that do not apply in prompts."""
        if "universal" not in self.top:
            return SPLIT_BY
        value = self.top.found["split by"][1] if "split by" in self.top else None
        if isinstance(value, Scalar) and value.text in SPLIT_BY and value.text not in IN_PROMPT_BY:
            self.reading.error(value, *several_splits(value.text))
            return SPLIT_BY
        return IN_PROMPT_BY

    def sizes(self) -> dict[str, object] | None:
        """Return the class whose sizes are written as ``8,4`` or ``[8, 4]``; None if a mapping has to describe it."""
        place, value = self.top.place("universal"), self.top.found["universal"][1]
        items = value.items if isinstance(value, List) else (value,)
        texts = [item.text for item in items if isinstance(item, Scalar) and not item.empty]
        if not texts or len(texts) < len(items):
            return None
        found = _SIZES.fullmatch(",".join(texts))
        states, symbols = (int(found[1]), int(found[2])) if found else (0, 0)
        if not (1 <= states <= MOST_UNIVERSAL and 1 <= symbols <= len(CHARACTERS)):
            what = f"universal is {', '.join(texts)!r}, not the size of a decoder"
            most = f"at most {MOST_UNIVERSAL:,} states and {len(CHARACTERS)} symbols"
            self.reading.error(place, what, f"write for example 8,4 or {{states: 8, symbols: 4}}, {most}")
            return {}
        return {"universal": self.of_size(states, symbols), "order": None}

    def of_size(self, states: int, symbols: int, tape: UniversalTape = "both") -> Universal | None:
        """Return the class of that size; report one that is too large."""
        try:
            return Universal(states=states, symbols=symbols, tape=tape)
        except CompileError as error:
            what, _, remedy = str(error).partition(": ")
            self.reading.error(self.top.place("universal"), what, remedy)
            return None

    def universal(self) -> dict[str, object]:
        """Return the class of the decoder in whose prompt the machines stand, and the seed of the order of their rules."""
        if "universal" not in self.top:
            return {}
        if (sizes := self.sizes()) is not None:
            return sizes
        within = self.top.section("universal", ("states", "symbols", "tape", "order", "seed"), "{states: 8, symbols: 4}")
        if within is None:
            return {}
        within.needs("states", "8")
        within.needs("symbols", "4")
        shuffled = within.choice("order", ("own", "shuffled")) == "shuffled"
        if "seed" in within and not shuffled:
            self.reading.error(within.place("seed"), "no order is drawn", "add 'order: shuffled', or remove the seed")
        universal = self.of_size(
            states=within.number("states", 1, least=1, most=MOST_UNIVERSAL),
            symbols=within.number("symbols", 1, least=1, most=len(CHARACTERS)),
            tape=within.choice("tape", UNIVERSAL_TAPES),  # type: ignore[arg-type]  # one of them
        )
        return {"universal": universal, "order": within.number("seed", self.seed, least=0) if shuffled else None}

    def check_sizes(self, spec: MachineSpec) -> None:
        """Report the first machine that does not fit the decoder in whose prompt it is to stand."""
        if spec.universal is None or self.reading.log.found:
            return
        place, room = self.top.place("universal"), spec.universal
        for machine in spec.fitting:
            states, symbols = size_of(machine)
            if states > room.states or symbols > room.symbols:
                needs = f"{counted(states, 'state')} and {counted(symbols, 'symbol')}"
                sizes = f"states: {max(states, room.states)}, symbols: {max(symbols, room.symbols)}"
                self.reading.error(place, f"{visible(machine.name)} needs {needs} in the prompt", f"write {{{sizes}}}")
                return
            if room.tape not in ("both", machine.tape):
                what = f"the tape of {visible(machine.name)} is {machine.tape}"
                self.reading.error(place, what, "write 'tape: both', or omit it")
                return

    # ── inputs ──────────────────────────────────────────────────────────────────────────────────────────────
    def check_words(self, spec: MachineSpec) -> None:
        """Report listed words that a machine cannot take, and requests for more words than exist or fit in memory."""
        alphabets: dict[tuple[str, ...], str] = {}
        for machine in spec.fitting:
            alphabets.setdefault(machine.input_alphabet or (), machine.name)
        for alphabet, name in alphabets.items():
            for word, node in self.listed.items():
                wrong = next((i for i, a in enumerate(word) if a not in alphabet), None)
                if wrong is not None:
                    what = f"{word[wrong]!r} is not in the input alphabet of {visible(name)}"
                    remedy = f"use only {', '.join(map(visible, alphabet))}" if alphabet else "its only input is ''"
                    self.reading.log.add(self.reading.span(node, wrong), what, remedy)
            self.check_numbers(name, len(alphabet), spec.inputs)


def _shown(number: int) -> str:
    return f"{number:,}" if number < 10**15 else f"about 10^{len(str(number)) - 1}"
