"""All machines of a size, in other people's programs: one model, whose prompt begins with the machine that it runs.

An export is of the class alone: its tokens have the canonical names, whichever machine is in the prompt.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

from tm2tfr._version import __version__
from tm2tfr.choices import UNIVERSAL
from tm2tfr.errors import CompileError, counted
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.sources.turing.spec import Machine, Rule, TapeKind
from tm2tfr.sources.turing.tokens import BOS
from tm2tfr.sources.turing.universal.compiler.compiler import layout
from tm2tfr.sources.turing.universal.names import ARROW
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.prompt import read, text
from tm2tfr.sources.turing.universal.spelled import written
from tm2tfr.sources.turing.universal.truth import UniversalTruth
from tm2tfr.targets.common.fitting import Recipe
from tm2tfr.text.markdown import code, escaped
from tm2tfr.transformer import provenance
from tm2tfr.transformer.weights import Decoder

SHOWN = ("binary-increment", "parity", "busy-beaver-3", "busy-beaver-2", "complement", "accept-all")
"""Shipped machines, of which the first one that fits is shown in a model card if no machine is given."""
TAPES = ("one-way", "two-way")
"""The tokens with which a prompt may begin."""
TRIED, DRAWN = 4, 4
"""The number of shipped machines, and of random ones, that an export is tried on."""
LONGEST_TRIED = 96
"""The most positions of a run on which an export is tried, but for the last one, which goes on to the last position."""
LONGEST_GENERATED = 128
"""Such a run is generated up to this position, and teacher-forced beyond: a class has many names and large tensors."""


@dataclass(frozen=True)
class Prompted:
    """All machines of a size as what says which tokens are right: by the simulator of the one that is in a prompt.

    A prompt is text as `tm2tfr.sources.turing.universal.prompt.text` writes it; BOS may be left out.

    Args:
        universal: the class, and perhaps a machine, which is shown in model cards.
    """

    universal: Universal

    @property
    def name(self) -> str:
        """That of the class, such as ``universal-8-4``."""
        return self.universal.empty.name

    @property
    def title(self) -> str:
        """What the class is, in words, as the beginning of a sentence."""
        every = self.universal
        tape = "" if every.tapes else f" with a {every.tape} tape,"
        sizes = f"{counted(every.states, 'state')} and {counted(every.symbols, 'symbol')}"
        return f"Every Turing machine{tape} with at most {sizes}"

    @property
    def sizes(self) -> dict[str, int]:
        """The most states and symbols of a machine, as `PromptedRecipe` takes them."""
        return {"states": self.universal.states, "symbols": self.universal.symbols}

    def read(self, prompt: str) -> Universal:
        """Return the class with the machine that is described in a prompt, and its input.

        Raises:
            SpecError: if the text is not a prompt.
        """
        return read(prompt, self.universal.empty)

    def tokens(self, prompt: str) -> tuple[str, ...]:
        """Return the tokens of a prompt, BOS included. Raises SpecError."""
        found = self.read(prompt)
        return (*found.description, *(found.right.input or ""), BOS)

    def pairs(self, prompt: str, most: int) -> list[tuple[str, str]]:
        """Return the token at each of the first `most` positions of a run, and the right answer there. Raises SpecError."""
        found = self.read(prompt)
        rows: Iterator[Any] = UniversalTruth(found, found.right.input or "", max_steps=most).rows()
        return [(str(row.x), row.y) for row in islice(rows, most)]

    # ── machines to show, and to try ────────────────────────────────────────────────────────────────────────
    @cached_property
    def example(self) -> Universal:
        """The class with a machine to show: its own, or a shipped one that fits."""
        if self.universal.machine is not None:
            return self.universal
        fitting = (found for name in SHOWN if (found := self._holding(load(name))) is not None)
        return next(fitting, None) or self.universal.holding(
            Machine(transitions={}, start="q0", name="no rules", **self._tape)
        )

    @cached_property
    def shown(self) -> str:
        """The prompt of that machine with its own input or that of its first example that has one, without BOS."""
        return self._prompts(self.example)[0]

    @property
    def parted(self) -> tuple[str, str]:
        """The same in two parts: the machine's description, and the input."""
        found = self.read(self.shown)
        return " ".join(found.description), " ".join(found.right.input or "")

    def prompts(self, positions: int) -> list[str]:
        """Return the prompts that an export of that many positions is tried on.

        The own machine's if there is one, or the one shown; shipped machines that fit, and random ones: those with runs
        that end soon, and at last one that does not end.
        """
        own = self._prompts(self.example)
        others = (found for name in shipped() if (found := self._holding(load(name))) is not None)
        tried = islice((p for found in others for p in self._prompts(found)[:1] if self._ends(p)), TRIED)
        drawn = islice((p for p in self.drawn() if self._ends(p)), DRAWN)
        every = dict.fromkeys([*own, *tried, *drawn, self._endless])
        return [p for p in every if len(self.tokens(p)) <= positions] or [self._endless]

    def _ends(self, prompt: str) -> bool:
        return len(self.pairs(prompt, LONGEST_TRIED + 1)) <= LONGEST_TRIED

    def _holding(self, machine: Machine) -> Universal | None:
        with suppress(CompileError):
            return self.universal.holding(machine)
        return None

    def _prompts(self, found: Universal) -> list[str]:
        machine = found.right
        own = [] if machine.input is None else [machine.input]
        examples = sorted((example.input for example in machine.examples), key=lambda word: not word)
        words = dict.fromkeys([*own, *examples]) or {"": None}
        return [without_bos(text(found, word)) for word in words]

    @property
    def _tape(self) -> dict[str, Any]:
        kind: TapeKind = "one-way" if self.universal.tape == "one-way" else "two-way"
        names = self.universal.canonical
        return {
            "blank": names.blank,
            "input_alphabet": names.symbols[1:],
            "tape_alphabet": names.symbols,
            "tape": kind,
        }

    @property
    def _endless(self) -> str:
        """The prompt of a machine that runs right for ever."""
        blank, start = self.universal.canonical.blank, self.universal.canonical.states[0]
        machine = Machine(transitions={(start, blank): Rule(start, blank, 1)}, start=start, **self._tape)
        return without_bos(text(self.universal.holding(machine), ""))

    def drawn(self, seed: int = 0) -> Iterator[str]:
        """Yield prompts of random machines with random inputs, always the same."""
        draw, names = random.Random(seed), self.universal.canonical
        tapes = self.universal.tapes or ("",)
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


def without_bos(prompt: str) -> str:
    """Return a prompt without the BOS at its end."""
    return prompt.removesuffix(BOS).rstrip()


def prompted(universal: Universal, word: str | None) -> str:
    """Return the prompt of the machine in a class with the input `word`; of a class without one, `word` as it is.

    Without a word it is the machine's own input, or the prompt that is shown in model cards.

    Raises:
        InputError: if `word` is not over the machine's input alphabet.
        SpecError: if it is not a prompt.
    """
    truth = Prompted(universal)
    if word is None:
        return truth.shown
    if universal.machine is None:
        truth.read(word)
        return word
    return without_bos(text(universal, word))


def of_class(decoder: Decoder) -> bool:
    """Return whether weights say that they were compiled for a class of machines."""
    return provenance.construction(decoder.provenance) == UNIVERSAL


def split(prompt: str, vocabulary: Collection[str]) -> list[str]:
    """Return the tokens of a prompt, without BOS; the symbols of the input need no spaces between them."""
    parts = without_bos(prompt.replace("->", ARROW)).split()
    return [token for part in parts for token in ([part] if part in vocabulary else part)]


def canonical(decoder: Decoder, program: object) -> Decoder:
    """Return `decoder` as it is exported: that of a class of machines with the names of the class, any other as it is.

    Args:
        program: what it was compiled from; of a class perhaps with a machine, whose names the decoder then has.
    """
    if not isinstance(program, Universal):
        return decoder
    every = program.empty
    stated = {**decoder.provenance, provenance.SOURCE: written(every), provenance.NAME: every.name}
    return replace(decoder, layout=layout(every, every.names), vocabulary=every.vocabulary, provenance=stated)


@dataclass(frozen=True, kw_only=True)
class PromptedRecipe(Recipe):
    """The choices for an export of a class of machines, of which one is in the prompt; N counts the prompt.

    Args:
        states, symbols: the most that a machine has.
    """

    states: int
    symbols: int

    @property
    def statement(self) -> str:
        """What the bounds on rounding guarantee, in words."""
        every = f"every machine with at most {counted(self.states, 'state')} and {counted(self.symbols, 'symbol')}"
        head = "" if self.max_head >= self.positions - 1 else f" and |h| ≤ {self.max_head:,}"
        run = f"every run with at most {counted(self.positions, 'position')}{head}, the prompt included"
        return f"for {every}, every input and {run}, greedy generation in {self.dtype} gives exactly the machine's run"


# ── What the model cards of a class of machines say: how a prompt is written, and how one's own machine is run.
SHOWN_NAMES = 12
"""How many names of states a model card shows beside the canonical ones."""


TOKENIZER = """The tokenizer takes `->` for `→` and input symbols without spaces, and puts
`BOS` at the end. A token that it does not know becomes `[UNK]`, and nothing is promised for the run."""
"""What to know of a tokenizer that reads prompts."""


def introduction(truth: Prompted, given: str) -> str:
    """Return the paragraphs that say what the model is, and how a machine is written into its prompt.

    Args:
        given: what is to be known of the program that reads prompts.
    """
    every, names = truth.universal, truth.universal.canonical
    key, value = names.key(0, 0), names.value(next(names.answers()))
    tape = "\n- the tape: `one-way`, on which a move left of cell 0 stays there, or `two-way`;" if every.tapes else ""
    word = f"the input, symbols {_range(names.symbols[1:])}, and" if len(names.symbols) > 1 else "at the end"
    last, more = code(names.states[-1]), f"\n\n{given}" if given else ""
    return f"""{truth.title}: one model that runs whichever of them is in its prompt.

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

{_example(truth)}"""


def _example(truth: Prompted) -> str:
    """Return the paragraph about the machine that is shown, and what its names are in the prompt."""
    held = truth.example
    machine, own, every = held.right, held.names, held.canonical
    known, signs = set(machine.states), set(machine.tape_alphabet)
    states, symbols = zip(every.states, own.states, strict=True), zip(every.symbols, own.symbols, strict=True)
    pairs = [(q, mine) for q, mine in states if mine in known and q != mine]
    pairs += [(a, mine.replace(" ", "␣")) for a, mine in symbols if mine in signs and a != mine]
    shown = [f"{code(q)} is {code(mine)}" for q, mine in pairs[:SHOWN_NAMES]]
    more = ", …" if len(pairs) > SHOWN_NAMES else ""
    called = f"\nIn its prompt {', '.join(shown)}{more}." if shown else ""
    said = f": {escaped(machine.description)}" if machine.description else "."
    return f"**An example.** {escaped(machine.name)}{said}{called}"


def checking() -> str:
    """Return the paragraph that says how to check the model."""
    return """**How to check it.** `tm2tfr verify-export .` compares the weights with those compiled anew for the class,
runs them, and compares every token with the simulator's; `--input` takes another prompt, `--machine` puts a machine in it.
`tm2tfr prompt MACHINE --universal S,K` writes the prompt of any machine that tm2tfr reads."""


def _range(names: tuple[str, ...]) -> str:
    shown = names if len(names) < 5 else (*names[:2], "…", names[-1])
    return ", ".join(name if name == "…" else code(name) for name in shown)
