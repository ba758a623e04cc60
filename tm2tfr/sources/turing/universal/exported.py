"""The export of all machines of a size: one model, whose prompt begins with the machine that it runs.

An export is of the class alone: its tokens have the canonical names, whichever machine is in the prompt.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar

from tm2tfr._version import __version__
from tm2tfr.base.errors import CompileError, ExportError, counted, visible
from tm2tfr.base.text.shown import code, escaped
from tm2tfr.contract.exported import ExportReference
from tm2tfr.contract.source import ANSWER, Truth
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.sources.turing.page import TAG
from tm2tfr.sources.turing.spec import Machine, Rule, TapeKind
from tm2tfr.sources.turing.tokens import ARROW, BOS
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.prompt import read, text
from tm2tfr.sources.turing.universal.proof.prove import prove
from tm2tfr.sources.turing.universal.truth import UniversalTruth

SHOWN = ("binary-increment", "parity", "busy-beaver-3", "busy-beaver-2", "complement", "accept-all")
"""Shipped machines, of which the first one that fits is shown in a model card if no machine is given."""
TRIED, DRAWN = 4, 4
"""The number of shipped machines, and of random ones, that an export is tried on."""
LONGEST_TRIED = 96
"""The most positions of a run on which an export is tried, but for the last one, which continues to the last position."""
LONGEST_GENERATED = 128
"""Such a run is generated up to this position, and teacher-forced beyond: a class has many names and large tensors."""
SHOWN_NAMES = 12
"""The most names of states that a model card shows beside the canonical ones."""


@dataclass(frozen=True)
class ExportedClass(ExportReference):
    """All machines of a size as an export is compared with them: by the simulator of the one that is in a prompt.

    An input is a prompt, as `tm2tfr.sources.turing.universal.prompt.text` writes it; BOS may be left out. The program is
    the class, perhaps with a machine, which is shown in model cards.
    """

    in_prompt: ClassVar[bool] = True
    longest_generated: ClassVar[int | None] = LONGEST_GENERATED

    @property
    def name(self) -> str:
        """The name of the class, such as ``universal-8-4``."""
        return str(self.program.empty.name)

    @property
    def tag(self) -> str:
        """The first tag of a model card."""
        return TAG

    @property
    def _sizes(self) -> str:
        return f"{counted(self.program.states, 'state')} and {counted(self.program.symbols, 'symbol')}"

    @property
    def title(self) -> str:
        """The class as text, as the beginning of a sentence."""
        tape = "" if self.program.tapes else f" with a {self.program.tape} tape,"
        return f"Every Turing machine{tape} with at most {self._sizes}"

    @property
    def scope(self) -> str:
        """The machines that the weights run, for what the bounds on rounding guarantee."""
        return f"every machine with at most {self._sizes}"

    def read(self, prompt: str) -> Universal:
        """Return the class with the machine that is described in a prompt, and its input.

        Raises:
            SpecError: if the text is not a prompt.
        """
        return read(prompt, self.program.empty)

    def truth(self, word: str) -> Truth:
        """Return the simulator's run of a prompt. Raises SpecError."""
        found = self.read(word)
        return UniversalTruth(found, found.right.input or "")

    def word(self, word: str | None) -> str:
        """Return the prompt of the machine in the class with the input `word`; of a class without one, `word` itself.

        Without a word it is the machine's own input, or the prompt that is shown in model cards.

        Raises:
            InputError: if `word` is not over the machine's input alphabet.
            SpecError: if it is not a prompt.
        """
        if word is None:
            return self.example
        if self.program.machine is None:
            self.read(word)
            return word
        return without_bos(text(self.program, word))

    def taking(self, program: object, name: str, noun: str) -> Any:
        """Return the reference of an export of the class for another program: a machine in the prompt.

        Raises:
            ExportError: for a program that is not a machine, or a class of another size.
        """
        if isinstance(program, Machine):
            return self.program.holding(program)
        remedy = "name a machine, which is put into its prompt, or omit --machine"
        if not isinstance(program, Universal):
            raise ExportError(f"{visible(name)}: it is a {noun}, and this export runs Turing machines: {remedy}")
        if program.empty != self.program.empty:
            both = (program, self.program)
            sizes = [f"{u.states} states, {u.symbols} symbols and the tape {u.tape!r}" for u in both]
            problem = f"{visible(name)}: it is the universal decoder of {sizes[0]}, and this export that of {sizes[1]}"
            raise ExportError(f"{problem}: {remedy}")
        return program

    def prove(self) -> Any:
        """Return the proof about the weights for the whole class."""
        return prove(self.decoder, self.program.empty)

    def counted(self, fed: int) -> str:
        """Return how long a prompt is, in words."""
        return f"the prompt has {fed:,} tokens"

    # ── machines to show, and to try ────────────────────────────────────────────────────────────────────────
    @cached_property
    def held(self) -> Universal:
        """The class with a machine to show: its own, or a shipped one that fits."""
        own: Universal = self.program
        if own.machine is not None:
            return own
        fitting = (found for name in SHOWN if (found := self._holding(load(name))) is not None)
        return next(fitting, None) or own.holding(Machine(transitions={}, start="q0", name="no rules", **self._tape))

    @cached_property
    def example(self) -> str:
        """The prompt of that machine with its own input or that of its first example that has one, without BOS."""
        return self._prompts(self.held)[0]

    @property
    def parted(self) -> tuple[str, str]:
        """The same in two parts: the machine's description, and the input."""
        found = self.read(self.example)
        return " ".join(found.description), " ".join(found.right.input or "")

    def inputs(self, positions: int) -> list[str]:
        """Return the prompts that an export of that many positions is tried on.

        The own machine's if there is one, or the one shown; shipped machines that fit, and random ones: those with runs
        that end soon, and at last one that does not end.
        """
        own = self._prompts(self.held)
        others = (found for name in shipped() if (found := self._holding(load(name))) is not None)
        tried = islice((p for found in others for p in self._prompts(found)[:1] if self._ends(p)), TRIED)
        drawn = islice((p for p in self.drawn() if self._ends(p)), DRAWN)
        every = dict.fromkeys([*own, *tried, *drawn, self._endless])
        return [p for p in every if len(self.truth(p).prompt) < positions] or [self._endless]

    def _ends(self, prompt: str) -> bool:
        return sum(1 for _ in islice(self.truth(prompt).rows((ANSWER,)), LONGEST_TRIED + 1)) <= LONGEST_TRIED

    def _holding(self, machine: Machine) -> Universal | None:
        found: Universal | None = None
        with suppress(CompileError):
            found = self.program.holding(machine)
        return found

    def _prompts(self, found: Universal) -> list[str]:
        machine = found.right
        own = [] if machine.input is None else [machine.input]
        examples = sorted((example.input for example in machine.examples), key=lambda word: not word)
        words = dict.fromkeys([*own, *examples]) or {"": None}
        return [without_bos(text(found, word)) for word in words]

    @property
    def _tape(self) -> dict[str, Any]:
        kind: TapeKind = "one-way" if self.program.tape == "one-way" else "two-way"
        names = self.program.canonical
        return {"blank": names.blank, "input_alphabet": names.symbols[1:], "tape_alphabet": names.symbols, "tape": kind}

    @property
    def _endless(self) -> str:
        """The prompt of a machine that runs right for ever."""
        blank, start = self.program.canonical.blank, self.program.canonical.states[0]
        machine = Machine(transitions={(start, blank): Rule(start, blank, 1)}, start=start, **self._tape)
        return without_bos(text(self.program.holding(machine), ""))

    def drawn(self, seed: int = 0) -> Iterator[str]:
        """Yield prompts of random machines with random inputs, always the same."""
        draw, names = random.Random(seed), self.program.canonical
        tapes = self.program.tapes or ("",)
        for _ in range(1_000):
            rules = [
                f"{names.key(q, a)} {draw.choice(names.values)}"
                for q in range(len(names.ruled))
                for a in range(len(names.symbols))
                if draw.random() < 0.8
            ]
            draw.shuffle(rules)
            letters = names.symbols[1:]
            word = " ".join(draw.choices(letters, k=draw.randrange(6))) if letters else ""
            yield " ".join(filter(None, (draw.choice(tapes), *rules, word)))

    # ── the texts of an export ──────────────────────────────────────────────────────────────────────────────────
    def introduction(self, given: str, tokenizer: str = "") -> str:
        """Return the paragraphs of a model card about the model, and how to write a machine into its prompt.

        Args:
            given: nothing of it is said; tokenizer: what to know of the program that reads prompts.
        """
        every, names = self.program, self.program.canonical
        key, value = names.key(0, 0), names.value(next(names.answers()))
        tape = "\n- the tape: `one-way`, on which a move left of cell 0 stays there, or `two-way`;" if every.tapes else ""
        word = f"the input, symbols {_range(names.symbols[1:])}, and" if len(names.symbols) > 1 else "at the end"
        last, more = code(names.states[-1]), f"\n\n{tokenizer}" if tokenizer else ""
        return f"""{self.title}: one model that runs whichever of them is in its prompt.

This model was not trained: its weights were compiled by tm2tfr {__version__}. There is no machine in them. Its rules are
read in the prompt, and the run is generated: one token `(state,symbol written,move)` per step, until ACC, REJ or HALT.

**How to write a machine.** As tokens with spaces between them:
{tape}
- its rules, in any order, two tokens each: a state and a symbol, {code(key)}, and what is answered, such as
  {code(value)}: the new state, the symbol written, and the move, -1, 0 or +1; or `→ACC` or `→REJ`;
- {word} {code(BOS)}.

The states are {_range(names.ruled)}, of which {code(names.states[0])} is the start, and {last}, which has no rules;
further states in which a machine halts count among the others. The symbols are {_range(names.symbols)},
of which {code(names.blank)} is the blank. Where there is no rule, the answer is HALT.
Two rules for the same state and symbol are an error that the model does not report.{more}

{_example(self)}"""

    def checking(self, command: str) -> str:
        """Return the paragraph of a model card that says how to check the model."""
        return """**How to check it.** `tm2tfr verify-export .` compares the weights with those compiled anew for the class,
runs them, and compares every token with the simulator's; `--input` takes another prompt, `--machine` puts a machine in it.
`tm2tfr prompt MACHINE --universal S,K` writes the prompt of any machine that tm2tfr reads."""


def without_bos(prompt: str) -> str:
    """Return a prompt without the BOS at its end."""
    return prompt.removesuffix(BOS).rstrip()


def split(prompt: str, vocabulary: Collection[str]) -> list[str]:
    """Return the tokens of a prompt, without BOS; the symbols of the input need no spaces between them."""
    parts = without_bos(prompt.replace("->", ARROW)).split()
    return [token for part in parts for token in ([part] if part in vocabulary else part)]


def _example(exported: ExportedClass) -> str:
    """Return the paragraph about the example machine, and its names in the prompt."""
    held = exported.held
    machine, own, every = held.right, held.names, held.canonical
    known, signs = set(machine.states), set(machine.tape_alphabet)
    states, symbols = zip(every.states, own.states, strict=True), zip(every.symbols, own.symbols, strict=True)
    pairs = [(q, mine) for q, mine in states if mine in known and q != mine]
    pairs += [(a, mine.replace(" ", "␣")) for a, mine in symbols if mine in signs and a != mine]
    shown = [f"{code(q)} is {code(mine)}" for q, mine in pairs[:SHOWN_NAMES]]
    more = ", …" if len(pairs) > SHOWN_NAMES else ""
    called = f"\nIn its prompt {', '.join(shown)}{more}." if shown else ""
    description = f": {escaped(machine.description)}" if machine.description else "."
    return f"**An example.** {escaped(machine.name)}{description}{called}"


def _range(names: tuple[str, ...]) -> str:
    shown = names if len(names) < 5 else (*names[:2], "…", names[-1])
    return ", ".join(name if name == "…" else code(name) for name in shown)
