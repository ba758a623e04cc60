"""All measurements of one run under softmax: the errors at one temperature, and the largest temperature that works."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, Literal

from tm2tfr.base.errors import EngineError
from tm2tfr.contract.source import Truth
from tm2tfr.engines.decode import Engine
from tm2tfr.lab.softness.measure import HeadError, LayerError, Softness, measure, refuse_unmeasured
from tm2tfr.lab.softness.temperature import Search, Warmest, exponent, growth_exponent, lengths
from tm2tfr.runs.comparison import STOP, Trace, check, run
from tm2tfr.transformer.soft import power_of_two, smallest_gap, softened, theorem_26
from tm2tfr.transformer.weights import Decoder

COLDER = 4
"""By default errors are measured at this fraction of the largest temperature that works."""


@dataclass(frozen=True, kw_only=True)
class SoftRun:
    """The measurements.

    Args:
        machine, input, dtype: the run.
        softness: the errors and bounds, by position.
        growth: the largest temperatures for the first n positions of the run, with n growing up to its length.
    """

    machine: str
    input: str
    dtype: str
    softness: Softness
    growth: tuple[Warmest, ...]

    @property
    def holds(self) -> bool:
        """Whether the scores are what the bounds are about: of all heads that are not uniform, without ties."""
        return self.softness.uniform_tieless

    @property
    def found_exponent(self) -> float | None:
        """The measured exponent of 1/τ in n, None if there are too few lengths."""
        return growth_exponent(self.growth)

    @property
    def guaranteed_exponent(self) -> float | None:
        """The exponent of Theorem 26's temperature over the same lengths: 1, and a little for the logarithm."""
        return exponent([(w.positions, w.guaranteed) for w in self.growth if w.known])

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row per position, layer and head (None: a layer without heads), each with the values for its layer."""
        heads: dict[tuple[int, int], list[HeadError | None]] = {}
        for head in self.softness.heads:
            heads.setdefault((head.position, head.layer), []).append(head)
        for layer in self.softness.layers:
            for each in heads.get((layer.position, layer.layer)) or [None]:
                yield _row(layer, each)

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        measured = self.softness
        return {
            "machine": self.machine,
            "input": self.input,
            "dtype": self.dtype,
            "positions": measured.positions,
            "temperature": measured.temperature,
            "first_wrong": measured.first_wrong,
            "uniform_tieless": measured.uniform_tieless,
            "growth": [asdict(w) for w in self.growth],
            "exponent": self.found_exponent,
            "theorem_exponent": self.guaranteed_exponent,
            "errors": list(self.rows()),
        }


def _row(layer: LayerError, head: HeadError | None) -> dict[str, Any]:
    names = ("head", "gap", "claimed", "holds", "scores", "weights", "lemma_6", "lemma_33", "place", "lemma_7")
    values = {name: getattr(head, name, None) for name in names}
    if head is not None and not isfinite(head.gap):
        values["gap"] = None
    own = {"position": layer.position, "layer": layer.layer, "name": layer.name}
    return {**own, **values, "before": layer.before, "after": layer.after, "lemma_25": layer.lemma_25}


def soft_run(
    decoder: Decoder,
    word: str,
    *,
    truth: Truth | None,
    engine: Engine,
    temperature: float | Literal["auto"] | None = None,
    max_steps: int | None = None,
) -> SoftRun:
    """Run `decoder` on `word`, and measure the effect of softmax on the run.

    Args:
        decoder: with average-hard attention.
        truth: the run of the reference against which this one is checked first, with the same limit; None: no check.
        temperature: where the errors are measured; ``auto``: where Theorem 26 guarantees all tokens; None: at a quarter
            of the largest that works. Both are rounded down to a power of two.

    Raises:
        EngineError: if the average-hard run is itself wrong; for weights with a part that is not measured.
        CompileError: if a head is not one of the construction; for an invalid temperature.
    """
    refuse_unmeasured(decoder)
    if temperature is not None and temperature != "auto":
        softened(decoder, temperature)  # refuses an invalid temperature before anything is run
    trace = right_run(decoder, word, truth, engine, max_steps)
    tokens, answers = [str(row.x) for row in trace.rows], [row.y for row in trace.rows]
    search, growth = Search(decoder, tokens, answers, engine=engine), list[Warmest]()
    for n in lengths(len(tokens)):
        guaranteed = theorem_26(decoder, n, smallest_gap(decoder, n))
        growth.append(Warmest(n, search.largest(n, power_of_two(guaranteed)), guaranteed))
    if temperature == "auto":
        temperature = power_of_two(growth[-1].guaranteed)
    elif temperature is None:
        temperature = power_of_two((growth[-1].found or growth[-1].guaranteed) / COLDER)
    measured = measure(decoder, tokens, temperature, engine=engine)
    return SoftRun(machine=trace.machine, input=word, dtype=engine.dtype, softness=measured, growth=tuple(growth))


def right_run(decoder: Decoder, word: str, truth: Truth | None, engine: Engine, max_steps: int | None) -> Trace:
    """Run `decoder` with average-hard attention, and compare it with `truth`, if there is one.

    Raises:
        EngineError: if the run is wrong.
    """
    if truth is None:
        return run(decoder, word, engine=engine, max_steps=max_steps)
    trace = check(decoder, truth, engine=engine, max_steps=max_steps, keep_rows=True)
    if trace.divergence is not None:
        gap = trace.divergence
        where = str(gap).partition("\n")[0] if gap.column == STOP else f"position {gap.position}, {gap.column}"
        raise EngineError(f"the run is wrong even with average-hard attention ({where}): see tm2tfr trace")
    return trace
