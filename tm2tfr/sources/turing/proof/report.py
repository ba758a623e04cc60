"""Certificates in words and as JSON: the table of certified lengths, or the answer to one question."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from tm2tfr.base.errors import counted, visible
from tm2tfr.base.text.shown import aligned
from tm2tfr.sources.turing.proof.certificate import ENGINES, Certificate, Proof, checked


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


@dataclass(frozen=True)
class CertificateReport:
    """The report of ``certify``: `certificates`, one for each engine and dtype, or the one that was asked for.

    Args:
        runs: the runs asked about, if the question was asked in steps.

    Raises:
        ValueError: without any certificate.
    """

    certificates: tuple[Certificate, ...]
    runs: CertifiedRuns | None = None

    def __post_init__(self) -> None:
        if not self.certificates:
            raise ValueError("a report needs at least one certificate: name an engine that exists")

    @property
    def granted(self) -> bool:
        """Whether the weights are right and the claim asked for is proved."""
        return all(certificate.granted for certificate in self.certificates)

    def text(self) -> str:
        """Return the report for people."""
        first = self.certificates[0]
        lines = [f"{visible(first.machine)}, weights {first.weights[:16]}"]
        if first.refusals:
            lines += ["NOT certified: the weights could not be proved right"]
            lines += [f"  {refusal}" for refusal in first.refusals]
        elif first.asked is not None:
            lines += [] if self.runs is None else [f"asked: {self.runs}"]
            lines += _answer(first)
        else:
            told = f"the weights are right in exact arithmetic; largest N such that for {first.every} and every run with"
            told += " at most N positions (prompt, BOS, steps + 1) the engine generates exactly the simulator's tokens:"
            lines += wrap(told, width=100)
            lines += ["", *_table(self.certificates)]
        return "\n".join(lines) + "\n"

    def json(self) -> str:
        """Return the report as JSON: what all certificates share, once, then each of them."""
        first = self.certificates[0]
        shared = ("machine", "weights", "refusals")
        rows = [{k: v for k, v in c.as_dict().items() if k not in shared} for c in self.certificates]
        whole: dict[str, Any] = {"machine": first.machine, "weights": first.weights, "granted": self.granted}
        if self.runs is not None:
            lead = {"lead": self.runs.lead} if self.runs.lead else {}
            whole["runs"] = {
                "steps": self.runs.steps,
                "symbols": self.runs.symbols,
                "positions": self.runs.positions,
                **lead,
            }
        refusals = [refusal.as_dict() for refusal in first.refusals]
        return json.dumps({**whole, "refusals": refusals, "certificates": rows}, ensure_ascii=False, indent=2) + "\n"


def report(
    proof: Proof,
    *,
    engine: str | None = None,
    dtype: str | None = None,
    positions: int | None = None,
    runs: CertifiedRuns | None = None,
    max_head: int | None = None,
) -> CertificateReport:
    """Return the answer for N = `positions` on one engine (by default ``dense``), or the table if N is not given.

    The table has each engine and dtype, or those named: for H = N, and for H = `max_head` if that is given.

    Args:
        runs: asks for the largest number of positions of these runs.

    Raises:
        EngineError: for an unknown engine or dtype.
        ValueError: if both `positions` and `runs` are given.
    """
    if runs is not None:
        if positions is not None:
            raise ValueError("positions and runs cannot be combined: omit one of them")
        positions = runs.positions
    if positions is not None:
        return CertificateReport(
            (proof.certificate(engine or "dense", dtype, positions=positions, max_head=max_head),), runs
        )
    if engine is not None:
        checked(engine, dtype)
    pairs = [(e, d) for e, dtypes in ENGINES.items() for d in dtypes if engine in (None, e) and dtype in (None, d)]
    bounds = [None] if max_head is None else [None, max_head]
    return CertificateReport(tuple(proof.certificate(e, d, max_head=h) for e, d in pairs for h in bounds))


def _answer(certificate: Certificate) -> list[str]:
    if certificate.granted:
        return [f"certified: {certificate.statement}", *_bounds(certificate)]
    head = "" if certificate.max_head is None else f" and |h| ≤ {certificate.max_head:,}"
    wanted = f"at most {certificate.asked:,} positions{head} on {certificate.engine} in {certificate.dtype}"
    lines = [f"NOT certified: runs with {wanted}", f"at most {certificate.positions:,} positions are certified"]
    lines[1] += f"; use {_remedies(certificate)}, or state a smaller bound on |h| with --max-head"
    return [*lines, *_bounds(certificate)]


def _remedies(certificate: Certificate) -> str:
    """Return the dtypes and engines that may be certified for more, without those in use."""
    wider = ["a wider dtype"] if certificate.dtype == "float32" else []
    faster = ["the fast engine"] if certificate.engine == "dense" else []
    return " or ".join([", ".join([*wider, *faster]), "the exact engine"]) if wider or faster else "the exact engine"


def _bounds(certificate: Certificate) -> list[str]:
    """Return one line for each of the tightest conditions."""
    if not certificate.bounds:
        return ["rational numbers are not rounded: there is no bound on positions or head"]
    lines = [f"{'slack':>8}  condition"]
    for bound in certificate.bounds[:5]:
        place = f"layer {bound.layer}, {bound.where}" if bound.layer else bound.where
        slack = f"{bound.slack:.1%}" if bound.slack >= 0 else "exceeded"
        lines.append(f"{slack:>8}  {place}: {bound.claim}: {bound.formula}")
    return lines


def _table(certificates: Sequence[Certificate]) -> list[str]:
    rows = [("engine", "dtype", "|h|", "largest N", "binding condition")]
    for c in certificates:
        head = "≤ N - 1" if c.max_head is None else f"≤ {c.max_head:,}"
        tight = c.bounds[0] if c.bounds else None
        binds = "-" if tight is None else f"{tight.where}: {tight.formula}"
        rows.append((c.engine, c.dtype, head, "no limit" if c.positions is None else f"{c.positions:,}", binds))
    return aligned(rows, {3})
