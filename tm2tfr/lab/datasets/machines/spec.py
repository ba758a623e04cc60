"""The specification of a data set or a sweep of Turing machines: named ones, families of them, and their inputs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain
from typing import Any, ClassVar, Unpack

from tm2tfr.base.choices import AUTO
from tm2tfr.base.errors import DatasetError, counted, visible
from tm2tfr.contract.shown import PlainData
from tm2tfr.lab.datasets.balance import Judged, judged
from tm2tfr.lab.datasets.machines.family import Members
from tm2tfr.lab.datasets.machines.prompting import MachineHow, PromptedHow, called
from tm2tfr.lab.datasets.machines.runs import checked_machines, made
from tm2tfr.lab.datasets.shard import BY_TOKENS, Failure, Piece, ShardMaker, ShardSweeper, Tally, swept
from tm2tfr.lab.datasets.spec import PROMPT_OPTIONS, DatasetSpec, HowOptions
from tm2tfr.runs.choose import for_many_runs
from tm2tfr.sources.turing.compiler.layout import vocabulary
from tm2tfr.sources.turing.formats import native
from tm2tfr.sources.turing.formats.bbchallenge import is_argument
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.universal.compiler import class_asked, in_prompt, weights_given
from tm2tfr.sources.turing.universal.program import Universal

SPLIT_BY = ("run", "machine", "input", BY_TOKENS)
IN_PROMPT_BY = ("machine",)
"""Where machines stand in prompts, no machine is in two splits: the question is what is done with rules never seen."""
UNFINISHED = ("leave out", "keep")
_COLUMNS = {
    "machine": "the machine's name; `machines.jsonl` has each machine and its vocabulary",
    "input": "the input word",
    "form": "`answer`, `steps shown` or `steps scored`",
    "prompt": "the given tokens: the input and BOS",
    "target": "the tokens to predict",
    "loss_mask": "1 for each token of the target that is scored, 0 for one that is only shown",
    "verdict": "accept, reject or halt; null for a run that was cut off",
    "T": "the number of intermediate steps; null for a run that was cut off",
    "tape": "the final tape",
}
_PROMPTED_COLUMNS = {
    **_COLUMNS,
    "machine": "the machine's name; `machines.jsonl` has each machine, and what prompts call its states and symbols",
    "prompt": "the given tokens: the machine's rules, the input and BOS; nothing of it is scored",
    "input": "the input word, in the machine's own symbols",
    "tape": "the final tape, in the machine's own symbols",
    "prompt_ids": "the numbers of the tokens of the prompt: their places in `vocabulary.json`, from 0",
    "target_ids": "those of the target",
}


@dataclass(frozen=True, kw_only=True)
class MachineSpec(DatasetSpec):
    """A data set, or a sweep, of Turing machines.

    Args:
        named: the named machines, each with the argument that names it.
        families: further machines, made from their numbers.
        max_steps: at most this many steps of a machine.
        universal: the class of the universal decoder in whose prompt each machine stands; None: each has its own decoder.
        order: the seed of the order of the rules in the prompt, a new one for each run; None: the machine's own order.
        split_chosen: whether `split_by` is in the text, rather than the default.
    """

    noun: ClassVar[str] = "machine"

    named: tuple[tuple[str, Machine], ...]
    families: tuple[Members, ...]
    max_steps: int = 1_000
    universal: Universal | None = None
    order: int | None = None
    split_chosen: bool = False

    @property
    def fitting(self) -> Iterator[Machine]:
        """Yield machines of which all fit a universal decoder if these do: all members of a family have the same size."""
        yield from (machine for _, machine in self.named)
        yield from (family[0] for family in self.families if len(family))

    @property
    def machines(self) -> tuple[Sequence[Machine], ...]:
        """All machines, the named ones first."""
        named: tuple[Sequence[Machine], ...] = (tuple(machine for _, machine in self.named),)
        return (*named, *self.families) if self.named else self.families

    # ── its runs
    def pieces(self) -> list[Piece]:
        shared = cache(self.inputs.over)

        def words(machine: Machine) -> tuple[str, ...]:
            letters = machine.input_alphabet or ()
            if not self.inputs.balanced:
                return shared(letters)
            return self.inputs.over(letters, self.judged(machine))

        alone = ((machine,) for _, machine in self.named)
        groups = chain(alone, (family for family in self.families if len(family)))
        found = (Piece(machines, words(machines[0])) for machines in groups)
        return [piece for piece in found if piece.runs]

    @property
    def several(self) -> bool:
        return len(self.named) + sum(map(len, self.families)) > 1

    def judged(self, program: Machine) -> Judged:
        return judged(program, self.max_steps)

    def how(self, engine: str = AUTO, **options: Unpack[HowOptions]) -> MachineHow:
        given: PlainData = {name: value for name, value in options.items() if value is not None}
        steps = given.pop("max_steps", self.max_steps)
        if self.universal is not None:
            own = {"universal": self.universal} | ({} if self.order is None else {"seed": self.order})
            given = own | given
        weights = weights_given(given.get("universal"))
        file = str(given["universal"]) if weights is not None and weights is not given["universal"] else None
        given |= {} if weights is None else {"universal": weights}
        for machine in self.fitting:
            in_prompt(machine, given)
        chosen = for_many_runs(engine)
        if "universal" not in given:
            return MachineHow(chosen, steps, given.get("left_boundary"))
        return PromptedHow(chosen, steps, universal=class_asked(given), seed=given.get("seed"), weights=weights, file=file)

    def prompted(self, how: Any, options: Mapping[str, Any]) -> MachineSpec:
        within = how.keys
        if not within or all(options.get(name) is None for name in PROMPT_OPTIONS):
            return self
        if self.universal is not None:
            what = f"{visible(self.name)}: the spec puts its machines into prompts already"
            raise DatasetError(f"{what}: omit --universal, or remove the key 'universal' from the spec")
        if self.split_by not in IN_PROMPT_BY and (self.split_chosen or self.split_by not in (SPLIT_BY[0], BY_TOKENS)):
            raise DatasetError(": ".join([visible(self.name), *several_splits(self.split_by)]))
        made, seed = within["universal"], within["order"]
        order = "" if seed is None else f", order: shuffled, seed: {seed}"
        line = f"universal: {{states: {made.states}, symbols: {made.symbols}, tape: {made.tape}{order}}}"
        return replace(self, **within, split_by=IN_PROMPT_BY[0], text=f"{self.text.rstrip()}\n{line}\n")

    @property
    def maker(self) -> ShardMaker:
        return made

    @property
    def sweeper(self) -> ShardSweeper:
        return partial(swept, checked_machines)

    def again(self, failure: Failure, how: MachineHow) -> str:
        named = {machine.name: argument for argument, machine in self.named}
        name = failure.program.name
        argument = named.get(name, name if is_argument(name) else "-")
        options = ["--input", failure.word, "--max-steps", str(how.max_steps), "--engine", how.engine]
        command = shlex.join(["tm2tfr", "trace", argument, *options, *how.options(failure.program)])
        if argument != "-":
            return command
        return f"{command} <<'END'\n{native.write(how.machine(failure.program))}END"

    # ── its files
    @property
    def columns(self) -> Mapping[str, str]:
        return _COLUMNS if self.universal is None else _PROMPTED_COLUMNS

    def listed(self) -> Iterator[Mapping[str, object]]:
        """Yield of each machine its name, its YAML, and the vocabulary of its decoder.

        In the prompt of a universal decoder, whose vocabulary is in a file of its own, the canonical names of its states
        and symbols take the place of the vocabulary.
        """
        for machine in chain.from_iterable(self.machines):
            told: dict[str, object] = {"machine": machine.name, "yaml": machine.yaml or native.write(machine)}
            if self.universal is None:
                told["vocabulary"] = vocabulary(machine, "none" if machine.tape == "two-way" else "repaired")
            else:
                told |= called(self.universal.holding(machine))
            yield told

    @property
    def vocabulary(self) -> tuple[str, ...] | None:
        return None if self.universal is None else self.universal.vocabulary

    # ── descriptions
    def about(self, tally: Tally, made: str) -> str:
        compared = f"{tally.runs:,} runs, {tally.rows:,} positions, each compared with a reference simulator"
        return f"Runs of Turing machines as a transformer decoder generates them, {made}: {compared}"

    @property
    def notes(self) -> str:
        if (made := self.universal) is None:
            return super().notes
        tape = "its first token names the tape" if made.tape == "both" else f"all tapes are {made.tape}"
        order = "in the machine's own order" if self.order is None else "in a random order, a new one for each run"
        size = f"{counted(made.states, 'state')} and {counted(made.symbols, 'symbol')}"
        text = (
            f"Each machine is given in the prompt of one decoder for machines with at most {size}: {tape}, then come the "
            f"rules, two tokens each, {order}; then the input and BOS. All examples have one vocabulary, "
            "`vocabulary.json`. What is to be learned is to follow rules that are given, not those of one machine: no "
            "machine is in two splits, in whatever order its rules are and whatever its states are called."
        )
        return f"{text}\n\n{super().notes}"

    def summed(self, tally: Tally) -> str:
        return tally.summed()

    def records(self, tally: Tally) -> str:
        """Return the records of the runs from the blank tape, where there are families of machines."""
        if not self.families or tally.steps is None or tally.ones is None:
            return ""
        (steps, longest), (ones, fullest) = tally.steps, tally.ones
        most = f"{counted(steps, 'step')} ({visible(longest)}), {counted(ones, 'non-blank symbol')} ({visible(fullest)})"
        return f"the most among those that halt from the blank tape: {most}"


def several_splits(by: str) -> tuple[str, str]:
    """Return why machines in prompts are not split in this way, and what to do."""
    what = f"with 'split by: {by}', a machine would be in several splits"
    return what, "remove it: machines in prompts are split by machine"
