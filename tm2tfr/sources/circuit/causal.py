"""The causal model of a circuit's run: each gate's bit is a function of the bits at the positions of its operands.

The variables at position i, which answers the bit of symbol i + 1, in ``lookup``:

- ``x`` is the bit fed; ``a``, ``b``, ``c`` are the positions of the operands and ``t000`` to ``t111`` the truth table of
  that gate; before the last input there is no gate, and all of them are 0;
- ``x_a``, ``x_b``, ``x_c`` are ``x`` at these positions; one that there is not yet is replaced by the nearest, 0 or i;
- ``y`` is the entry of the truth table for the three bits; the bit answered is 1 where it is more than ½.

In ``paper-hard`` and ``paper``, ``s`` is the sign of the bit, ``mean`` that of the operands' signs; ``one`` and ``zero``
are what each gate makes of it, see `tm2tfr.sources.circuit.truth`, and 1 is answered where ``one`` is larger.
``paper`` keeps each number twice, with both signs, so that a norm finds the mean 0: an intervention sets both. Its softmax
comes close to these numbers, and its bits are the same.

Nothing here is taken from the compiler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from tm2tfr.contract.causality import CausalCells, CausalRun, Settings, only
from tm2tfr.contract.model import ModelVariable
from tm2tfr.sources.circuit.columns import OPERANDS, TRUTH, widened
from tm2tfr.sources.circuit.truth import LOOKUP_WRITTEN, PAPER_WRITTEN, CircuitSpecification, CircuitTruth
from tm2tfr.transformer.weights import Decoder

_PLACE = "it says where a position is, and has no cause: set the bit there, or the positions of operands"
_MIRROR = "it is another variable with the opposite sign, which is overwritten with that one"
_CLOSE = 0.1
"""By how much the numbers of ``paper`` may be off those in the limit."""


class CircuitCausal:
    """The causal model of a run, see `tm2tfr.contract.causality.CausalModel`.

    Args:
        decoder: of these weights, what their subspaces are claimed to hold.
    """

    def __init__(self, truth: CircuitTruth, decoder: Decoder) -> None:
        self._truth, self._prompt = truth, truth.prompt
        self._specification: CircuitSpecification = truth.specification(0)
        self._lookup = truth.variant == "lookup"
        held = [subspace.holds for subspace in decoder.layout.subspaces]
        every = _of_lookup() if self._lookup else _of_paper(twice=truth.variant == "paper")
        self.variables: Mapping[str, ModelVariable] = only(held, every)
        self.aliases: Mapping[str, str] = {} if self._lookup else {"x": "s"}
        self.fixed: Mapping[str, str] = {
            what: _MIRROR if what.startswith("-") and what != "-1" else _PLACE
            for what in held
            if what not in self.variables
        }

    def run(self, settings: Settings, max_positions: int) -> CausalRun:
        """Return the run in which variables have these values, up to so many positions."""
        rows: list[Mapping[str, Any]] = []
        tokens, answers = list[str](), list[str]()
        for i in range(min(max_positions, self._truth.positions)):
            tokens.append(self._prompt[i] if i < len(self._prompt) else answers[-1])
            here = CausalCells(settings, i)
            if self._lookup:
                answers.append(self._looked_up(here, rows, int(tokens[-1])))
            else:
                answers.append(self._by_signs(here, rows, int(tokens[-1])))
            rows.append(here)
        return CausalRun(tuple(tokens), tuple(answers), tuple(rows))

    def _looked_up(self, here: CausalCells, rows: Sequence[Mapping[str, Any]], bit: int) -> str:
        i, specification = len(rows), self._specification
        gate = specification.gate(i)
        here["x"] = bit
        places = specification.addresses(i)
        for operand, place in zip(OPERANDS, places, strict=True):
            here[operand] = place
        for case, entry in zip(TRUTH, "0" * len(TRUTH) if gate is None else widened(gate), strict=True):
            here[case] = int(entry)
        for operand in OPERANDS:
            place = min(max(here[operand], 0), i)
            here[f"x_{operand}"] = [*rows, here][place]["x"]
        here["y"] = here["t" + "".join(str(here[f"x_{operand}"]) for operand in OPERANDS)]
        return str(int(2 * here["y"] > 1))

    def _by_signs(self, here: CausalCells, rows: Sequence[Mapping[str, Any]], bit: int) -> str:
        i, specification = len(rows), self._specification
        here["s"] = 2 * bit - 1
        places = range(i + 1) if specification.gate(i) is None else specification.addresses(i)[:2]
        every = [*rows, here]
        here["mean"] = Fraction(sum(every[place]["s"] for place in places), len(places))
        here["one"], here["zero"] = specification.flags(i, Fraction(here["mean"]))
        return str(int(here["one"] > here["zero"]))


def _of_lookup() -> Iterator[ModelVariable]:
    def number(name: str, meaning: str, read_by: str, largest: int | None = 1) -> ModelVariable:
        since = LOOKUP_WRITTEN[name]
        return ModelVariable(
            name=name, meaning=meaning, kind="number", since=since, read_by=read_by, least=0, largest=largest
        )

    yield number("x", "the bit", "the gates of which it is an operand, at their positions")
    for operand in OPERANDS:
        yield number(operand, f"the position of operand {operand}", "the head that looks it up, here", None)
    for case in TRUTH:
        yield number(case, f"the gate's value for the operands {case[1:]}", "the answer here, if these are the operands")
    for operand in OPERANDS:
        yield number(f"x_{operand}", f"the bit of operand {operand}", "the gate, here")
    yield number("y", "the answer", "the token answered")


def _of_paper(*, twice: bool) -> Iterator[ModelVariable]:
    def number(name: str, meaning: str, read_by: str, least: int | None) -> ModelVariable:
        mirrors, tolerance = ((f"-{name}",), _CLOSE if name != "s" else 0.0) if twice else ((), 0.0)
        return ModelVariable(
            name=name,
            meaning=meaning,
            kind="number",
            since=PAPER_WRITTEN[name],
            read_by=read_by,
            least=least,
            largest=1,
            among=(-1, 1) if name == "s" else (),
            mirrors=mirrors,
            tolerance=tolerance,
        )

    yield number("s", "the sign of the bit", "the gates of which it is an operand, at their positions", -1)
    yield number("mean", "the mean of the operands' signs", "the gate, here", -1)
    yield number("one", "the flag for 1", "the token answered", 0)
    yield number("zero", "the flag for 0", "the token answered", 0)
