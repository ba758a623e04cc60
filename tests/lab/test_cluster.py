"""The pool without a cluster: a client that carries nothing out, so that what is asked of it can be seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from tm2tfr.base.errors import DatasetError
from tm2tfr.lab.line.pool import AHEAD, Cluster, Job, Pool

distributed: Any = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'tm2tfr[cluster]'")
JOBS = [Job(number, None) for number in range(20)]


@dataclass
class Future:
    """What will come of a job."""

    number: int
    fault: Exception | None = None
    released: bool = False

    def done(self) -> bool:
        return True

    def result(self) -> int:
        if self.fault is not None:
            raise self.fault
        return self.number

    def release(self) -> None:
        self.released = True


@dataclass
class Client:
    """All jobs are done at once, but those that have a fault."""

    faults: dict[int, Exception] = field(default_factory=dict)
    submitted: list[Future] = field(default_factory=list)
    cancelled: list[Future] = field(default_factory=list)

    def submit(self, task: Any, job: Job[None], how: str, *, pure: bool) -> Future:
        assert (how, pure) == ("how", False)
        self.submitted.append(Future(task(job, how), self.faults.get(job.number)))
        return self.submitted[-1]

    def cancel(self, futures: list[Future]) -> None:
        self.cancelled += futures


def mapped(client: Client | None) -> Iterator[int]:
    pool = Pool() if client is None else Cluster(client, 2)
    return pool.map(lambda job, _: job.number, JOBS, "how")


def test_every_job_is_done_once_and_results_come_in_their_order() -> None:
    client = Client()
    assert list(mapped(client)) == list(mapped(None)) == list(range(20))
    assert [future.number for future in client.submitted] == list(range(20))
    assert all(future.released for future in client.submitted)
    assert client.cancelled == []


def test_only_a_few_jobs_are_waiting_and_none_after_the_last_that_was_asked_for() -> None:
    client = Client()
    results = mapped(client)
    for n in range(5):
        assert next(results) == n
        assert len(client.submitted) == n + 2 * AHEAD
    results.close()
    assert [future.number for future in client.cancelled] == list(range(4, 4 + 2 * AHEAD))


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (
            distributed.KilledWorker("made", SimpleNamespace(address="tcp://somewhere"), 4),
            "one job killed several workers, perhaps for lack of memory: use fewer workers, or smaller shards",
        ),
        (
            distributed.CancelledError("made"),
            r"lost the connection to the cluster \(\w*CancelledError\): start it again, and resume",
        ),
        (
            OSError("gone"),
            r"lost the connection to the cluster \(OSError\): start it again, and resume with resume=True",
        ),
    ],
    ids=["killed", "cancelled", "gone"],
)
def test_a_job_that_is_lost_is_told_of(fault: Exception, said: str) -> None:
    results = mapped(Client({2: fault}))
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(DatasetError, match=said):
        next(results)
