"""Certificates of Turing machines, in words and as JSON: the table of certified lengths, or the answer to one question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from textwrap import wrap
from typing import ClassVar

from tm2tfr.base.errors import addressed, counted
from tm2tfr.base.text.shown import aligned
from tm2tfr.certificates.kit import Certificate, Report


@dataclass(frozen=True, kw_only=True)
class Bound:
    """One condition of a certificate, and its slack at N and H: from 1 (all is left) down to 0; negative: violated."""

    layer: int
    part: str
    where: str
    claim: str
    formula: str
    slack: float


@dataclass(frozen=True, kw_only=True)
class MachineCertificate(Certificate):
    """The proved statement about weights on one engine in one dtype.

    Args:
        machine: the machine's name.
        positions: the largest N that is certified for `max_head`; None: no limit; 0: nothing is certified.
        max_head: H; None: no bound but |h| ≤ N - 1, which always holds.
        asked: the requested N, if any.
        bounds: the conditions, with their slack at the requested N, else at `positions`; the tightest first.
        every: what it is for, in words.

    Raises:
        ValueError: if it grants positions in spite of a refusal.
    """

    subject: ClassVar = "machine"
    place: ClassVar = ("layer", "layer_name", "part")

    machine: str
    positions: int | None
    max_head: int | None
    asked: int | None
    bounds: tuple[Bound, ...]
    every: str = "every input"

    def __post_init__(self) -> None:
        if self.refusals and self.positions != 0:
            raise ValueError(f"{self.machine}: refused weights are certified for no position, not for {self.positions}")

    @property
    def granted(self) -> bool:
        """Whether the requested claim is proved; without a request, whether any claim is."""
        return self.positions is None or self.positions >= max(1, self.asked or 1)

    def covers(self, positions: int, max_head: int) -> bool:
        """Return whether a run with this many positions and |h| ≤ `max_head` is certified to be the simulator's."""
        within = self.max_head is None or max_head <= self.max_head
        return self.positions is None or (within and positions <= self.positions)

    @property
    def statement(self) -> str:
        """The proved statement, as text; refused weights have none."""
        if self.positions == 0:
            return f"nothing is certified for the engine {self.engine} in {self.dtype}"
        many = self.asked if self.asked is not None and self.granted else self.positions
        extent = "every run" if many is None else f"every run with at most {many:,} positions"
        if self.max_head is not None and many is not None:
            extent += f" and |h| ≤ {self.max_head:,}"
        text = f"for {self.every} and {extent}, {self.engine} in {self.dtype} generates exactly the simulator's tokens"
        return text if self.granted else f"{text}; the {self.asked or 0:,} positions asked for are not certified"

    def as_dict(self) -> dict[str, object]:
        """Return the certificate as plain data."""
        plain, limited = super().as_dict(), {"unlimited": self.positions is None, "granted": self.granted}
        first = ("machine", "weights", "engine", "dtype", "positions", "max_head", "asked")
        last = {"statement": self.statement, "refusals": plain["refusals"], "bounds": [asdict(b) for b in self.bounds]}
        return {**{key: plain[key] for key in first}, **limited, **last}


@dataclass(frozen=True)
class CertifiedRuns:
    """All runs of at most `steps` steps of the machine on inputs of at most `symbols` symbols.

    Args:
        lead: the number of tokens before the input, which describe the machine.

    Raises:
        ValueError: for a negative number.
    """

    steps: int
    symbols: int
    lead: int = 0

    def __post_init__(self) -> None:
        if min(self.steps, self.symbols, self.lead) < 0:
            raise ValueError(f"runs of {self.steps} steps on {self.symbols} symbols: use 0 or more of each")

    @property
    def positions(self) -> int:
        """The largest number of positions of such a run: the prompt, BOS, and one more than its steps."""
        return self.lead + self.symbols + 1 + self.steps + 1

    def __str__(self) -> str:
        """Return the question in words, with the number of positions."""
        inputs = f"every input of at most {counted(self.symbols, 'symbol')}" if self.symbols else "the empty input"
        lead = f"{counted(self.lead, 'token')} for the machine, " if self.lead else ""
        counts = f"{lead}{counted(self.symbols, 'symbol')}, BOS, {counted(self.steps, 'step')} + 1"
        return (
            f"runs of at most {counted(self.steps, 'step')} on {inputs}: {counted(self.positions, 'position')} ({counts})"
        )


@dataclass(frozen=True, kw_only=True)
class MachineReport(Report[MachineCertificate]):
    """The report of ``certify`` of a machine, or a class of machines.

    Args:
        runs: the runs in question, if the question was in steps.
    """

    runs: CertifiedRuns | None = None

    @property
    def granted(self) -> bool:
        """Whether the weights are right and the requested claim is proved."""
        return all(certificate.granted for certificate in self.certificates)

    def lines(self) -> list[str]:
        """Return the report for people, without its heading."""
        first = self.certificates[0]
        if first.refusals:
            refusals = [f"  {refusal}" for refusal in first.refusals]
            return ["NOT certified: the weights could not be proved right", *refusals]
        if first.asked is not None:
            return [*([] if self.runs is None else [f"asked: {self.runs}"]), *_answer(first)]
        claim = f"the weights are right in exact arithmetic; largest N such that for {first.every} and every run with"
        claim += " at most N positions (prompt, BOS, steps + 1) the engine generates exactly the simulator's tokens:"
        return [*wrap(claim, width=100), "", *_table(self.certificates)]

    def shared(self) -> dict[str, object]:
        """Return the common fields of the certificates as plain data, in the order of the JSON, with ``granted``."""
        first = self.certificates[0]
        shared: dict[str, object] = {"machine": first.machine, "weights": first.weights, "granted": self.granted}
        if (runs := self.runs) is not None:
            lead = {"lead": runs.lead} if runs.lead else {}
            shared["runs"] = {"steps": runs.steps, "symbols": runs.symbols, "positions": runs.positions, **lead}
        return {**shared, "refusals": first.as_dict()["refusals"]}


def _answer(certificate: MachineCertificate) -> list[str]:
    if certificate.granted:
        return [f"certified: {certificate.statement}", *_bounds(certificate)]
    head = "" if certificate.max_head is None else f" and |h| ≤ {certificate.max_head:,}"
    wanted = f"at most {certificate.asked:,} positions{head} on {certificate.engine} in {certificate.dtype}"
    lines = [f"NOT certified: runs with {wanted}", f"at most {certificate.positions:,} positions are certified"]
    lines[1] += addressed(f"; use {_remedies(certificate)}, or state a smaller bound on |h| with --max-head")
    return [*lines, *_bounds(certificate)]


def _remedies(certificate: MachineCertificate) -> str:
    """Return the dtypes and engines that may be certified for more, without those in use."""
    wider = ["a wider dtype"] if certificate.dtype == "float32" else []
    faster = ["the fast engine"] if certificate.engine == "dense" else []
    return " or ".join([", ".join([*wider, *faster]), "the exact engine"]) if wider or faster else "the exact engine"


def _bounds(certificate: MachineCertificate) -> list[str]:
    """Return one line for each of the tightest conditions."""
    if not certificate.bounds:
        return ["rational numbers are not rounded: there is no bound on positions or head"]
    lines = [f"{'slack':>8}  condition"]
    for bound in certificate.bounds[:5]:
        place = f"layer {bound.layer}, {bound.where}" if bound.layer else bound.where
        slack = f"{bound.slack:.1%}" if bound.slack >= 0 else "exceeded"
        lines.append(f"{slack:>8}  {place}: {bound.claim}: {bound.formula}")
    return lines


def _table(certificates: Sequence[MachineCertificate]) -> list[str]:
    rows = [("engine", "dtype", "|h|", "largest N", "binding condition")]
    for c in certificates:
        head = "≤ N - 1" if c.max_head is None else f"≤ {c.max_head:,}"
        tight = c.bounds[0] if c.bounds else None
        binds = "-" if tight is None else f"{tight.where}: {tight.formula}"
        rows.append((c.engine, c.dtype, head, "no limit" if c.positions is None else f"{c.positions:,}", binds))
    return aligned(rows, {3})
