"""Machines of a data set or a sweep in the prompt of one universal decoder, which runs them all."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tm2tfr.dataset.spec import IN_PROMPT_BY, SPLIT_BY, CommonSpec, Spec, fingerprint, several_splits
from tm2tfr.errors import CompileError, DatasetError, visible
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.universal.compiler.compiler import (
    class_asked,
    compile_universal,
    in_prompt,
    renamed,
    weights_given,
)
from tm2tfr.sources.turing.universal.names import Entry
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.transformer.weights import Decoder, digest


@dataclass(frozen=True)
class Prompting:
    """One decoder, and how machines stand in its prompt.

    Args:
        universal: the class of machines that it runs.
        seed: of the order of the rules, a new one for each run; None: the machine's own order.
        weights: the decoder, if it is given; by default it is compiled.
        file: its file, if it was read from one.
    """

    universal: Universal
    seed: int | None = None
    weights: Decoder | None = None
    file: str | None = None

    def options(self, program: Universal) -> tuple[str, ...]:
        """Return the options of a command that runs the machine in `program` as it is run here."""
        seed = () if program.seed is None else ("--seed", str(program.seed))
        if self.file is not None:
            return ("--universal", self.file, *seed)
        return ("--universal", f"{program.states},{program.symbols}", "--tape", program.tape, *seed)

    def program(self, machine: Machine, word: str) -> Universal:
        """Return `machine` in the prompt for its run on `word`."""
        seed = None
        if self.seed is not None:
            said = "\n".join([str(self.seed), fingerprint(machine), word])
            seed = int.from_bytes(hashlib.sha256(said.encode("utf-8", "surrogatepass")).digest()[:4])
        return self.universal.holding(machine, seed=seed)

    @cached_property
    def decoder(self) -> Decoder:
        """The decoder, with its canonical names."""
        return compile_universal(self.universal) if self.weights is None else self.weights

    @property
    def weights_digest(self) -> str | None:
        """The digest of the weights that are given, with their canonical names; None if they are compiled."""
        return None if self.weights is None else digest(renamed(self.weights, self.universal))

    def named(self, program: Universal) -> Decoder:
        """Return the decoder with the names of the machine in `program`: the same matrices."""
        return renamed(self.decoder, program)


def prompting(spec: Any, options: Mapping[str, Any]) -> Prompting | None:
    """Return how the machines of a spec stand in prompts: as the options or the spec say; None if they do not.

    Args:
        options: ``universal``, ``tape``, ``seed`` and ``left_boundary``, see `tm2tfr.compile`; `seed`: of all orders.

    Raises:
        CompileError: if a machine does not fit, with the numbers that would do; if the spec is not about machines.
        WeightFileError: if weights cannot be read.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if not isinstance(spec, Spec):
        if option := next((name for name in ("universal", "tape", "seed") if name in given), None):
            what = f"{visible(spec.name)}: only machines stand in the prompt of a universal decoder, not a {spec.noun}"
            raise CompileError(f"{what}: omit the {option} option")
        return None
    if spec.universal is not None:
        own = {"universal": spec.universal} | ({} if spec.order is None else {"seed": spec.order})
        given = own | given
    weights = weights_given(given.get("universal"))
    file = str(given["universal"]) if weights is not None and weights is not given["universal"] else None
    given |= {} if weights is None else {"universal": weights}
    for machine in spec.fitting:
        in_prompt(machine, given)
    if "universal" not in given:
        return None
    return Prompting(class_asked(given), given.get("seed"), weights, file)


def in_prompts(spec: CommonSpec, within: Prompting | None) -> Any:
    """Return the spec of a data set whose machines stand in prompts as options say; its text says so as well.

    Raises:
        DatasetError: if the spec says so itself, or a machine would be in several splits.
    """
    if within is None or not isinstance(spec, Spec):
        return spec
    if spec.universal is not None:
        what = f"{visible(spec.name)}: the spec puts its machines into prompts already"
        raise DatasetError(f"{what}: omit --universal, or remove the key 'universal' from the spec")
    if spec.split_by not in IN_PROMPT_BY and (spec.split_chosen or spec.split_by != SPLIT_BY[0]):
        raise DatasetError(": ".join([visible(spec.name), *several_splits(spec.split_by)]))
    made = within.universal
    order = "" if within.seed is None else f", order: shuffled, seed: {within.seed}"
    line = f"universal: {{states: {made.states}, symbols: {made.symbols}, tape: {made.tape}{order}}}"
    text = f"{spec.text.rstrip()}\n{line}\n"
    return replace(spec, universal=made, order=within.seed, split_by=IN_PROMPT_BY[0], text=text)


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
