"""How the runs of machines are made: each with weights of its own, or all in the prompt of one decoder."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tm2tfr.lab.datasets.shard import How
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.universal.compiler import compile_universal, renamed
from tm2tfr.sources.turing.universal.names import Entry
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.prompt import prompt
from tm2tfr.transformer.weights import Decoder, digest


@dataclass(frozen=True)
class MachineHow(How):
    """How the runs of machines are made: each is compiled to weights of its own; see `PromptedHow` for the other case.

    A *program* is a machine as it stands before the weights for its run on a word: here the machine itself.

    Args:
        max_steps: at most this many steps of the machine.
        left_boundary: as for `tm2tfr.compile`.
    """

    max_steps: int
    left_boundary: str | None = None

    @property
    def same_for_all_words(self) -> bool:
        """Whether what stands before the input is the same in all runs."""
        return True

    def program(self, machine: Machine, word: str) -> Any:
        """Return `machine` as it stands for its run on `word`."""
        return machine

    def machine(self, program: Any) -> Machine:
        """Return the machine of a program."""
        found: Machine = program
        return found

    def decoder(self, program: Any) -> Decoder:
        """Return the decoder that runs a program, with the names of its machine."""
        return compile_machine(program, left_boundary=self.left_boundary)

    def shared(self, one: Any, other: Any) -> bool:
        """Return whether two programs have the same decoder, with the same names."""
        return False

    def fed(self, program: Any, word: str) -> Sequence[str]:
        """Return the tokens before BOS."""
        return word

    def vocabulary(self, decoder: Decoder) -> tuple[str, ...]:
        """Return the tokens of data sets."""
        return decoder.vocabulary

    def split_key(self, program: Any) -> str:
        """Return a digest of the machine, by which its runs are put into splits."""
        return fingerprint(program)

    @property
    def keys(self) -> Mapping[str, object]:
        """The fields of a spec that say so."""
        return {}

    def options(self, program: Any) -> tuple[str, ...]:
        """Return the options of a command that runs the machine as it is run here."""
        return () if self.left_boundary is None else ("--left-boundary", self.left_boundary)


@dataclass(frozen=True)
class PromptedHow(MachineHow):
    """All machines stand in the prompt of one decoder, where its names are canonical.

    Args:
        universal: the class of machines that it runs.
        seed: of the order of the rules, a new one for each run; None: the machine's own order.
        weights: the decoder, if it is given; by default it is compiled.
        file: its file, if it was read from one.
    """

    universal: Universal = field(kw_only=True)
    seed: int | None = None
    weights: Decoder | None = None
    file: str | None = None

    @property
    def same_for_all_words(self) -> bool:
        return self.seed is None

    @property
    def weights_digest(self) -> str | None:
        return None if self.weights is None else digest(renamed(self.weights, self.universal))

    def title(self, name: str) -> str:
        return f"{name} in the prompt of {self.universal.name}"

    def program(self, machine: Machine, word: str) -> Universal:
        seed = None
        if self.seed is not None:
            said = "\n".join([str(self.seed), fingerprint(machine), word])
            seed = int.from_bytes(hashlib.sha256(said.encode("utf-8", "surrogatepass")).digest()[:4])
        return self.universal.holding(machine, seed=seed)

    def machine(self, program: Universal) -> Machine:
        return program.right

    @cached_property
    def _matrices(self) -> Decoder:
        """The decoder, with its canonical names."""
        return compile_universal(self.universal) if self.weights is None else self.weights

    def decoder(self, program: Universal) -> Decoder:
        return renamed(self._matrices, program)

    def shared(self, one: Universal, other: Universal) -> bool:
        return one.names == other.names

    def fed(self, program: Universal, word: str) -> Sequence[str]:
        return prompt(program, word)

    def vocabulary(self, decoder: Decoder) -> tuple[str, ...]:
        return self.universal.vocabulary

    def split_key(self, program: Universal) -> str:
        return rule_fingerprint(program)

    @property
    def keys(self) -> Mapping[str, object]:
        return {"universal": self.universal, "order": self.seed}

    def options(self, program: Universal) -> tuple[str, ...]:
        seed = () if program.seed is None else ("--seed", str(program.seed))
        if self.file is not None:
            return ("--universal", self.file, *seed)
        return ("--universal", f"{program.states},{program.symbols}", "--tape", program.tape, *seed)


def fingerprint(machine: Machine) -> str:
    """Return a digest of what a machine does, regardless of its name or the order in which it is written."""
    rules = sorted((q, a, *rule) for (q, a), rule in machine.transitions.items())
    ends = [sorted(machine.accept_states), sorted(machine.reject_states)]
    facts = [machine.tape, machine.blank, machine.start, ends, sorted(machine.input_alphabet or ()), rules]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def called(program: Universal) -> dict[str, dict[str, str]]:
    """Return the canonical names of the machine's states and symbols, as far as they are its own."""
    machine, own, names = program.right, program.names, program.canonical
    states = {q: name for q, name in zip(own.states, names.states, strict=True) if q in machine.states}
    symbols = {a: name for a, name in zip(own.symbols, names.symbols, strict=True) if a in machine.tape_alphabet}
    return {"states": states, "symbols": symbols}


def rule_fingerprint(program: Universal) -> str:
    """Return a digest of the rules in a prompt, whatever their order, the tape, and whatever number each state has.

    States are numbered anew, in the order in which they are met from the start state, symbol by symbol; rules of states
    that no rule leads to are left out, as they are never used.
    """
    rules = {(entry.state, entry.symbol): entry for entry in program.entries}
    number, waiting = {0: 0}, deque([0])
    while waiting:
        state = waiting.popleft()
        for to in _entered(rules, state, program.symbols):
            if to not in number:
                number[to] = len(number)
                waiting.append(to)
    facts = sorted(
        (number[q], a, *((answer,) if isinstance(answer, str) else (number[answer.state], *map(str, answer[1:]))))
        for (q, a), (_, _, answer) in rules.items()
        if q in number
    )
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _entered(rules: Mapping[tuple[int, int], Entry], state: int, symbols: int) -> Iterator[int]:
    """Yield the states that the rules of a state lead to, by symbol."""
    for symbol in range(symbols):
        entry = rules.get((state, symbol))
        if entry is not None and not isinstance(entry.answer, str):
            yield entry.answer.state
