"""The rows that the simulator expects: the chapter's table, from configurations alone.

Nothing here is taken from the compiler; both follow Section 8.2 of the chapter independently.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from tm2tfr.base.errors import CompileError, listing, visible
from tm2tfr.contract.source import AnyRow, Column, Ending, unreadable
from tm2tfr.sources.turing.columns import TURING, Row
from tm2tfr.sources.turing.simulator import Configuration, Result, Simulation
from tm2tfr.sources.turing.spec import Machine, Outcome
from tm2tfr.sources.turing.tokens import BOS, VERDICTS, Triple
from tm2tfr.transformer.provenance import option
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder

if TYPE_CHECKING:
    from tm2tfr.contract.specification import Specification


class TuringTruth:
    """A run of the simulator, see `tm2tfr.contract.source.Truth`.

    Args:
        max_steps: stop after this many steps of the machine; None: run until it halts.
        nominal: whether m is δ's own move even where the head stays at cell 0, as in the chapter's step 4 (Exercise 8.3);
            otherwise it is the head's.

    Raises:
        InputError: if `word` is not over the machine's input alphabet.
    """

    def __init__(self, machine: Machine, word: str, *, max_steps: int | None = None, nominal: bool = False) -> None:
        self.machine, self.input, self.nominal, self._max_steps = machine, machine.check_input(word), nominal, max_steps
        self._simulation = Simulation(machine, self.input, max_steps=max_steps)

    noun, reference = "machine", "simulator"
    unruled: Mapping[tuple[str, str], str] = MappingProxyType({})
    """The verdicts that the prompt alone has: (state, symbol) without a rule -> it."""

    @property
    def name(self) -> str:
        """The machine's name."""
        return self.machine.name

    @property
    def lead(self) -> tuple[str, ...]:
        """The tokens of the prompt before the input."""
        return ()

    @property
    def prompt(self) -> Sequence[str]:
        """The tokens of the prompt: each symbol of the word is one."""
        return self.input

    @property
    def blank(self) -> str:
        """The machine's blank."""
        return self.machine.blank

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """How the machine can halt."""
        return ("accept", "reject") if self.machine.decides else ("halt",)

    def refuse(self, layout: Residual) -> None:
        """Raise CompileError if a decoder with this stream does not have the columns of the chapter's table."""
        if lacking := unreadable(TURING, layout):
            why = f"no subspace of their residual stream holds {listing(lacking, most=3)}"
            problem = f"{visible(self.name)}: these weights cannot be compared with a Turing machine, since {why}"
            raise CompileError(f"{problem}: run them without a check")

    # ── what is answered where a run ends ───────────────────────────────────────────────────────────────────
    @property
    def first(self) -> str:
        """The answer to BOS: the verdict of the start state if it has one, otherwise its triple."""
        verdict = self.machine.outcome_of(self.machine.start)
        return VERDICTS[verdict] if verdict else Triple(self.machine.start, self.under, 0).token

    def entered(self, state: str) -> str | None:
        """Return the verdict that a step into `state` answers; None: its triple."""
        verdict = self.machine.outcome_of(state) if self.machine.decides else None
        return VERDICTS[verdict] if verdict else None

    def stopped(self, state: str, symbol: str) -> str:
        """Return the verdict in `state` on `symbol`, where no step is made."""
        return VERDICTS[self.machine.outcome_of(state) or self.machine.missing_outcome]

    def judged(self, found: Result, state: str, symbol: str) -> Result:
        """Return the result of a run that ends in `state` on `symbol`, with its verdict."""
        return found

    # ── the run ─────────────────────────────────────────────────────────────────────────────────────────────
    @property
    def under(self) -> str:
        """The symbol under the head at the start."""
        return self.input[0] if self.input else self.machine.blank

    def on(self, word: str) -> Self:
        """Return the run of the same machine on another word.

        Raises:
            InputError: if `word` is not over its input alphabet.
        """
        return type(self)(self.machine, word, max_steps=self._max_steps, nominal=self.nominal)

    def rows(self, columns: tuple[Column, ...] = TURING) -> Iterator[AnyRow]:
        """Yield the rows of the chapter's table, or the columns of it that have these names."""
        rows = self.rows_of(self._simulation)
        if columns == TURING:
            return rows
        return (tuple(getattr(row, column.name) for column in columns) for row in rows)

    def rows_of(self, simulation: Simulation) -> Iterator[Row]:
        """Yield the rows of the chapter's table, from the configurations of `simulation`.

        The configuration at which a step limit cuts the run off has no row.
        """
        machine, lead, under = self.machine, self.lead, self.under
        for i, token in enumerate(lead):
            yield Row(i, token, None, None, 0, 0, machine.blank, token)
        for i, symbol in enumerate(self.input, start=len(lead)):
            yield Row(i, symbol, None, None, 0, 0, under, symbol)
        i, token, written, move = len(lead) + len(self.input), self.first, under, 0
        yield Row(i, BOS, None, None, 0, 0, under, token)
        if token in VERDICTS.values():
            return
        for here, after in pairwise(simulation):
            i += 1
            row = (i, token, here.state, written, move, here.head, here.symbol)
            token, written, move = self._step(here, after)
            yield Row(*row, token)
            if token in VERDICTS.values():
                return
        if simulation.stopped:
            end = simulation.last
            yield Row(i + 1, token, end.state, written, move, end.head, end.symbol, self.stopped(end.state, end.symbol))

    def _step(self, here: Configuration, after: Configuration) -> tuple[str, str, int]:
        """Return the token of the step between two configurations, the symbol written and the move."""
        rule = here.rule
        if rule is None:  # a configuration that has a successor has a rule
            raise RuntimeError("the simulator continued without a rule")
        move = rule.move if self.nominal else after.head - here.head
        return self.entered(rule.state) or Triple(rule.state, rule.write, move).token, rule.write, move

    def result(self) -> Result:
        """Return the simulator's result, as far as its rows have been taken."""
        found, last = self._simulation.result(), self._simulation.last
        return self.judged(found, last.state, last.symbol)

    def specification(self, upto: int) -> Specification:
        """Return the specification of the run up to position `upto`."""
        from tm2tfr.sources.turing.specification import TuringSpecification  # noqa: PLC0415  (most runs agree)

        return TuringSpecification.of(self.machine, self.rows_upto(upto), repaired=not self.nominal)

    def rows_upto(self, upto: int) -> list[Row]:
        """Return the rows up to position `upto`, of a simulation of its own."""
        simulation = Simulation(self.machine, self.input, max_steps=self._max_steps)
        return list(islice(self.rows_of(simulation), upto + 1))

    def ending(self, decoder: Decoder) -> Ending | None:
        """Return the error about the stop tokens: a decoder must stop after a verdict, and nowhere else.

        No weight says so (Definition 8.1): the stop tokens are a list beside the matrices. A run whose every cell is right
        continues for ever if that list lacks its verdict, and ends too early if it holds anything else. It has to hold the
        verdicts that the machine can give; another verdict does no harm.
        """
        due = [VERDICTS[o] for o in self.outcomes]
        lacking = [token for token in due if token not in decoder.stop]
        early = [token for token in decoder.stop if token not in VERDICTS.values()]
        if not lacking and not early:
            return None
        whys = [f"a run does not end with {token}" for token in lacking[:1]]
        whys += [f"a run ends with {token}, which is not a verdict" for token in early[:1]]
        return Ending(
            what="stop tokens",
            part="the list",
            expected=_listed(due),
            found=_listed(decoder.stop),
            why=f"the weights are right so far, but {' and '.join(whys)}: compile the machine again",
        )


def truth_for(machine: Machine, word: str, decoder: Decoder, max_steps: int | None = None) -> TuringTruth:
    """Return the run that `decoder` has to be compared with: its left boundary says whose moves are right.

    Raises:
        InputError: if `word` is not over the machine's input alphabet.
    """
    nominal = option(decoder.provenance, "left_boundary") == "chapter"
    return TuringTruth(machine, word, max_steps=max_steps, nominal=nominal)


def _listed(tokens: Iterable[str]) -> str:
    return ", ".join(tokens) or "empty"
