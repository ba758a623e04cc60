"""All words of a small machine in one call, for sweeps: nothing is kept of a run but what is counted.

The same comparison as in `tm2tfr.dataset.runs`, of the same cells, with a compiled simulator's rows. Where any differs,
the runs are made again, one after the other, which says what and why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tm2tfr.dataset.runs import How, Runs
from tm2tfr.dataset.tally import Tally
from tm2tfr.errors import Tm2tfrError
from tm2tfr.runs.truths import machine_truth_of
from tm2tfr.sources.turing.columns import CHECKED, OUTCOME_OF_TOKEN
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.transformer.weights import Decoder

MOST_ROWS = 2**18
"""Runs that may have more rows than this, taken together, are made one after the other."""


def may_be_together(how: How, words: Sequence[str]) -> bool:
    """Return whether the runs on `words` may be made in one call."""
    longest = max(map(len, words), default=0) + how.max_steps + 2
    return how.engine == "fast" and how.prompting is None and longest * len(words) <= MOST_ROWS


def agree(runs: Runs, words: Sequence[str], how: How, tally: Tally) -> bool:
    """Run a machine on words; count the runs if they agree with the simulator's. False, and nothing counted: ask `Runs`."""
    try:
        return _agree(runs.decoder, runs.machine, words, how.max_steps, tally)
    except Tm2tfrError:  # which `Runs` raises as well
        return False


def _agree(decoder: Decoder, machine: Machine, words: Sequence[str], max_steps: int, tally: Tally) -> bool:
    from tm2tfr.engines.fast.many import REFUSED, ManyRuns  # noqa: PLC0415  (they need Numba, which is optional)
    from tm2tfr.runs.batches.given import of_machine_again  # noqa: PLC0415
    from tm2tfr.runs.batches.kept import kernel  # noqa: PLC0415
    from tm2tfr.runs.batches.machines import MachineRuns  # noqa: PLC0415
    from tm2tfr.runs.batches.probes import probes_of  # noqa: PLC0415

    truth = machine_truth_of(machine, "", decoder, max_steps)
    if truth.ending(decoder) is not None:
        return False
    given, probes = of_machine_again(decoder, truth, tuple(words)), probes_of(decoder)
    room = 64 + int(given.start[-1]) + min(max_steps, 128) * len(words)
    right = MachineRuns([decoder], [truth], max_steps).rows(given.words, 0, len(words), room)
    if len(right.offsets) <= len(words):  # there was no room for some of them
        return False
    most, size = np.diff(right.offsets), int(right.offsets[-1])
    session = ManyRuns(decoder, labels=probes.labels, numbers=probes.numbers)
    found = session.run(given.tokens, given.start, most, size)
    if len(found.answers) != size or (found.ends == REFUSED).any():
        return False
    tokens, differs = np.empty(size, dtype=np.int32), np.full(len(words), -1, dtype=np.int64)
    read = found.answers, found.codes, found.numbers
    kernel("fed")(given.tokens, given.start, found.offsets, found.answers, tokens)
    kernel("compared")(found.offsets, tokens, *read, "x" in probes.codes, right, differs)
    if (differs >= 0).any():
        return False
    last, begun = found.answers[found.offsets[1:] - 1], np.diff(found.offsets) > given.size
    counted = AgreedRuns(size, last.tolist(), begun.tolist(), right.steps.tolist(), right.ones.tolist())
    counted.into(tally, machine, decoder, words)
    return True


class AgreedRuns(NamedTuple):
    """What is counted of a machine's runs: the rows, and of each run the last answer, whether it came after BOS …"""

    rows: int
    last: Sequence[int]
    begun: Sequence[bool]
    steps: Sequence[int]
    ones: Sequence[int]

    def into(self, tally: Tally, machine: Machine, decoder: Decoder, words: Sequence[str]) -> None:
        """Count the runs of a machine on these words."""
        tally.runs += len(words)
        tally.rows += self.rows
        tally.cells += len(CHECKED) * self.rows
        for word, answer, after_bos, steps, ones in zip(words, *self[1:], strict=True):
            outcome = OUTCOME_OF_TOKEN.get(decoder.vocabulary[answer], "limit") if after_bos else "limit"
            tally.outcomes[outcome] += 1
            if outcome == "halt" and not word:
                tally.halted(machine.name, steps, ones)


def agreed_runs(every: Sequence[Runs], words: Sequence[str], how: How) -> Sequence[AgreedRuns | None]:
    """Run many machines on words; return what is to be counted of each that agrees with the simulator, None of others."""
    nothing: list[AgreedRuns | None] = [None] * len(every)
    try:
        from tm2tfr.runs.batches.siblings import compared_runs  # noqa: PLC0415  (it needs Numba, which is optional)

        runs = compared_runs([each.decoder for each in every], [each.machine for each in every], words, how.max_steps)
    except Tm2tfrError:
        return nothing
    if runs is None:
        return nothing
    found, right, number = runs.found, runs.right, len(words)
    last = found.answers[np.maximum(found.offsets[1:] - 1, 0)] if len(found.answers) else np.zeros(0, dtype=np.int32)
    sizes = np.diff(found.offsets)
    begun = sizes > np.tile(runs.size, len(sizes) // number)
    columns = [column.reshape(-1, number).tolist() for column in (last, begun, right.steps, right.ones)]
    rows = sizes.reshape(-1, number).sum(axis=1).tolist()
    return [AgreedRuns(rows[at], *(column[at] for column in columns)) if at >= 0 else None for at in runs.at.tolist()]
