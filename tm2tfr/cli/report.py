"""What ``check`` prints: a line or a JSON object for each run, and a summary."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tm2tfr.cli.cautions import certified
from tm2tfr.cli.wording import shortened
from tm2tfr.errors import counted, visible

if TYPE_CHECKING:
    from tm2tfr.api.subject import Subject
    from tm2tfr.trace.check import Trace


class Report:
    """The output of ``check``, one line per run."""

    def __init__(self, subject: Subject, *, as_json: bool) -> None:
        self._subject = subject
        self._json, self._name = as_json, visible(subject.right.name)
        self._runs = self._compared = self._failed = 0

    @property
    def passed(self) -> bool:
        """Whether every run agreed and every example was met."""
        return self._failed == 0

    def line(self, trace: Trace, example: Any, *, judged: bool) -> str:
        """Return the line of one run; with `judged`, the example's expected result counts as well."""
        unmet = _unmet(trace, example) if judged else []
        self._runs += 1
        self._compared += trace.compared
        self._failed += bool(unmet) or not trace.agrees
        if self._json:
            extra: dict[str, Any] = {}
            if trace.noun == "machine":
                most = certified(trace, self._subject)
                extra["certified"] = most is None or trace.tokens <= most
            extra |= {"example": {"met": not unmet, "unmet": unmet}} if judged else {}
            return json.dumps({**trace.as_dict(), **extra}, ensure_ascii=False)
        truth = trace.as_dict()
        good = "ok  " if trace.agrees and not unmet else "FAIL"
        done = (
            counted(truth["steps"], "step")
            if trace.noun == "machine"
            else counted(max(0, trace.tokens - len(trace.input) + 1), "gate")
        )
        counts = f"{done}, {counted(trace.tokens, 'token' if trace.noun == 'machine' else 'position')}"
        text = f"{good}  {shortened(trace.input):<14} {_outcome(trace):<6}  {counts}, {trace.compared:,} cells "
        text += "agree" if trace.agrees else f"compared\n      {str(trace.divergence).replace(chr(10), chr(10) + '      ')}"
        notes = [*(f"scanned: {line}" for line in trace.scanned), *(f"the example says {line}" for line in unmet)]
        return "\n      ".join([text, *notes])

    def summary(self) -> str:
        """Return the last line."""
        counts = f"{self._name}: {counted(self._runs, 'run')}, {counted(self._compared, 'cell')} compared"
        return f"{counts}, all agree" if self.passed else f"{counts}, {counted(self._failed, 'run')} FAILED"


def _outcome(trace: Trace) -> str:
    """Return what came out, in a word; of a circuit, its outputs."""
    if trace.noun == "machine" or trace.result.cut_off:
        return str(trace.as_dict()["outcome"])
    return visible(trace.result.shown)


def _unmet(trace: Trace, example: Any) -> list[str]:
    """Return in what the result is not what the example says."""
    truth = trace.result
    if truth is None:
        return []
    if trace.noun == "circuit":
        bits = dict(truth.outputs)
        wrong = {name: bit for name, bit in example.outputs.items() if str(bits[name]) != bit}
        return [f"{name} = {bit}, the evaluator {bits[name]}" for name, bit in wrong.items()]
    if truth.outcome == "limit" != example.outcome:
        return [f"{example.outcome}, but the run was cut off after {counted(truth.steps, 'step')}: raise --max-steps"]
    wanted = {"outcome": example.outcome, "steps": example.steps, "tape": example.tape}
    got = {"outcome": truth.outcome, "steps": truth.steps, "tape": truth.tape}
    return [f"{k} {v!r}, the simulator {got[k]!r}" for k, v in wanted.items() if v is not None and v != got[k]]
