"""What came of random interventions: their numbers, those that differ, and the text of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tm2tfr.base.errors import counted
from tm2tfr.lab.interventions.intervention import Intervention

MOST_FAILURES = 3
"""The most failures that are kept."""


@dataclass
class Tried:
    """The results of random interventions.

    Args:
        subject, engine: the subject that was run, and the engine that ran it.
        keep_unknown: whether those with an unknown answer are in the data.
        effective: whether they were drawn until an answer changes that is known.
        balanced: the variables that are set in turn; none: any variable is set.
        unbalanced: variable -> why it is not set in turn.
        inputs: outcome -> the number of inputs that interventions are made on; empty: not known.
        number: the number of interventions.
        drawn: the number of draws that gave them.
        unknown: the number of those with an unknown answer.
        why_unknown: why the first unknown answer is unknown; empty: all are known, or the folder already had them.
        causal: the number of those that are in the data and change an answer that is known.
        explained: the number of those with known answers and unknown cells, see `Intervention.explained`.
        failures: the first interventions in which the patched weights are wrong; differing: the number of all of them.
        folder: the folder of the data; None: no data are written.
        reused: the number of interventions that the folder already had.
    """

    subject: str
    engine: str
    keep_unknown: bool = False
    effective: bool = False
    balanced: tuple[str, ...] = ()
    unbalanced: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, int] = field(default_factory=dict)
    number: int = 0
    drawn: int = 0
    unknown: int = 0
    why_unknown: str = ""
    causal: int = 0
    explained: int = 0
    differing: int = 0
    failures: list[Intervention] = field(default_factory=list)
    folder: Path | None = None
    reused: int = 0

    @property
    def agrees(self) -> bool:
        """Whether the patched weights do what is expected in all of them."""
        return self.differing == 0

    @property
    def left_out(self) -> int:
        """The number that is not in the data, since expected answers are not known."""
        return 0 if self.keep_unknown else self.unknown

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of interventions, as the manifest has them."""
        counts = {"interventions": self.number, "drawn": self.drawn, "left_out": self.left_out, "unknown": self.unknown}
        return {**counts, "causal": self.causal, "explained": self.explained}

    @property
    def redrawn(self) -> str:
        """How many were drawn, in words; empty: no more than there are."""
        if self.drawn == self.number:
            return ""
        why = "" if self.effective else ": of the others not all answers are known"
        return f"{self.drawn:,} were drawn to get them{why}"

    @property
    def spread(self) -> str:
        """How often variables are set in turn, in words."""
        numbers = sorted(set(self.each.values()))
        return f"{counted(len(self.balanced), 'variable')}, each set in {' or '.join(f'{n:,}' for n in numbers)} of them"

    def takes(self, done: Intervention) -> bool:
        """Return whether an intervention is in the data."""
        return done.known or self.keep_unknown

    @property
    def each(self) -> dict[str, int]:
        """The number of interventions that set each variable, where variables are set in turn."""
        every, rest = divmod(self.number, len(self.balanced) or 1)
        return {name: every + (place < rest) for place, name in enumerate(self.balanced)}

    def add(self, done: Intervention, draws: int = 1) -> None:
        """Count an intervention; draws: the number of draws that gave it."""
        self.number += 1
        self.drawn += draws
        self.unknown += not done.known
        self.why_unknown = self.why_unknown or done.expected.why_unanswered
        self.causal += self.takes(done) and done.causal
        self.explained += done.known and bool(done.explained)
        self.differing += not done.agrees
        if not done.agrees and len(self.failures) < MOST_FAILURES:
            self.failures.append(done)

    def include(self, counts: Mapping[str, int], *, reused: bool = False) -> None:
        """Count the interventions of a shard, see `counts`; reused: whether the folder already had them."""
        self.number += counts["interventions"]
        self.drawn += counts["drawn"]
        self.unknown += counts["unknown"]
        self.causal += counts["causal"]
        self.explained += counts["explained"]
        self.reused += counts["interventions"] if reused else 0

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        names = {"subject": self.subject, "engine": self.engine}
        counts = {**self.counts, "differ": self.differing, "agrees": self.agrees, "reused": self.reused}
        counts |= {"effective": self.effective}
        choice = {"balanced": self.each, "unbalanced": dict(self.unbalanced), "inputs": dict(self.inputs)}
        return {**names, **counts, **choice, "failures": [each.as_dict() for each in self.failures]}

    def __str__(self) -> str:
        known, kept = self.number - self.unknown, self.number - self.left_out
        said = [f"{self.subject}: {self.number:,} random interventions, {self._outcome(known)}"]
        changing = "change an answer that is known" if kept > known else "change an answer"
        said += [f"  {self.causal:,} {changing}, {kept - self.causal:,} do not"] if kept else []
        said += [f"  {self.redrawn}"] if self.redrawn else []
        said += [f"  {self.spread}"] if self.balanced else []
        said += [f"  not set: {name}: {why}" for name, why in self.unbalanced.items()]
        if self.unknown:
            kept_as = "are left out" if self.left_out else "are kept, with null in the place of what is not known"
            said.append(f"  {self.unknown:,} {kept_as}: the expected answers are not known, and not compared")
            said[-1] += f"; the first: {self.why_unknown}" if self.why_unknown and not known else ""
        if self.explained:
            said.append(f"  {self.explained:,} have cells of which nothing is known, which are not compared")
        if self.inputs:
            said.append(f"  {counted(sum(self.inputs.values()), 'input')}: {shown_outcomes(self.inputs)}")
        if self.folder is not None:
            more = f", {self.reused:,} of which were there" if self.reused else ""
            said.append(f"  written to {self.folder}{more}")
        return "\n".join([*said, *(f"\n{failure}" for failure in self.failures[:1])])

    def _outcome(self, known: int) -> str:
        if not self.agrees:
            return f"the patched weights ({self.engine}) differ from what is expected in {self.differing:,}"
        if self.unknown and not known:
            return "no run was compared in full: none has expected answers that are all known"
        every = f"all {known:,} whose answers are known" if self.unknown else "all of them"
        return f"the patched weights ({self.engine}) do what is expected in {every}"


def shown_outcomes(outcomes: Mapping[str, int]) -> str:
    """Return the numbers of inputs by outcome, as text."""
    return ", ".join(f"{number:,} {outcome}" for outcome, number in outcomes.items())
