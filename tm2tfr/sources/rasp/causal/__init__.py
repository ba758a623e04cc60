"""The causal model of a RASP program's run: s-ops by what they are made of, at the positions that selectors select.

Weights keep some of a program's s-ops in subspaces of their own, and compute others from those that these are made of:
which is data of the weights, the pattern of their entries that are not 0 (`tm2tfr.transformer.listing`). What is computed
from what is read is said by the program alone. A variable's equation is: its s-op by definition, in which every s-op that
is kept in what is read has the value that is held there, and any other one is computed by its own definition, down to the
tokens. So an s-op that is set is seen by all that read its subspace, and not by what is computed from its parts past it.

The variables are, by what subspaces hold (see `tm2tfr.sources.rasp.specification`): ``token``; ``value s12``, the label of
an s-op, or of the kind that values of several are of; ``picked s12`` and ``mean s12 K L``, what an aggregate brings from
the positions that its head attends to, a label, or K (mean - L); ``found c7``, whether the selector selects anything.
``steps`` and ``share`` are computed from these, can be seen and not set.

Tables of weights have entries for what can occur. So where values come together that do not in any of some hundred runs,
or an s-op has a value that it has in none, or a selector selects nothing that always selects something, what the weights do
is not known: such a cell has a doubt, and so has all that is computed from it.

Nothing here is taken from the compiler.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from tm2tfr.base.errors import CompileError
from tm2tfr.contract.causality import CausalRun, CausalValue, Settings
from tm2tfr.contract.model import ModelVariable
from tm2tfr.sources.rasp.causal.about import FIXED, PLACE, RaspProgram
from tm2tfr.sources.rasp.causal.run import RaspRun
from tm2tfr.sources.rasp.evaluate import evaluate
from tm2tfr.sources.rasp.library import word_of
from tm2tfr.sources.rasp.program import Program, Word, shown_atom
from tm2tfr.sources.rasp.sops import Atom
from tm2tfr.sources.rasp.specification import shown_value
from tm2tfr.transformer.weights import Decoder


class RaspCausal:
    """The causal model of a run, see `tm2tfr.contract.causality.CausalModel`."""

    def __init__(self, about: RaspProgram, word: Word) -> None:
        self._about, self._word = about, word
        self.variables: Mapping[str, ModelVariable] = about.variables()
        self.fixed: Mapping[str, str] = dict.fromkeys((what for what in about.spaces if what in FIXED), PLACE)
        named = {sop.name: about.same[sop].number for sop in about.sops.values() if sop.name}
        self.aliases: Mapping[str, str] = {
            name: f"value s{n}" for name, n in named.items() if f"value s{n}" in about.spaces and name not in self.variables
        } | {"tokens": "token"}

    def run(self, settings: Settings, max_positions: int) -> CausalRun:
        """Return the run in which variables have these values."""
        run, n = RaspRun(self._about, self._word, settings), len(self._word)
        cells: list[dict[str, CausalValue]] = [{} for _ in range(n)]
        doubts: dict[tuple[str, int], str] = {}
        for what in self.variables:
            for i in range(n):
                cells[i][what], why = run.held(what, i)
                if why:
                    doubts[what, i] = why
        answers, unanswered = [], dict[int, dict[int, str]]()
        for i in range(n):
            own = []
            for k, (output, sop) in enumerate(self._about.answers):
                value, why = run.seen(sop, i, self._about.outputs[output.name])
                own.append(_answered(value, output.labels, self._about.numeric[sop]))
                if why:
                    unanswered.setdefault(i, {})[k] = why
            answers.append(tuple(own))
        tokens = tuple(map(shown_atom, self._word))
        return CausalRun(tokens, tuple(answers), tuple(cells), doubts, unanswered)


def _answered(value: Atom, labels: tuple[str, ...] | None, as_number: bool) -> Any:
    if labels is not None or isinstance(value, str):
        return shown_value(value, as_number)
    found = Fraction(value)
    return found.numerator if found.denominator == 1 else found


_LAST: list[RaspProgram] = []
"""The programs of the last models: what occurs in their runs is found once."""


def causal_model(program: Program, word: str, decoder: Decoder) -> RaspCausal:
    """Return the causal model of the run of a program's weights on `word`.

    Raises:
        InputError, Undefined: if it is not an input of the program, or the program is undefined on it.
        CompileError: for weights for inputs of any length, and those that are not wired as compiled ones are.
    """
    about = next((each for each in _LAST if each.of(program, decoder)), None)
    given = word_of(program, word)
    evaluate([program.choosing(output.name).sop for output in decoder.outputs], given)
    if about is None:
        about = RaspProgram(program, decoder)
        try:
            for stages in about.stages:
                RaspRun(about, stages.word, {}).all()
        except (KeyError, TypeError) as error:
            what = f"{program.name}: the weights are not wired as compiled ones are (what brings {error.args[0]!r}?)"
            raise CompileError(f"{what}: see what is wrong with them with 'tm2tfr check'") from error
        about.learning = False
        _LAST[:] = [about, *_LAST[:3]]
    return RaspCausal(about, given)
