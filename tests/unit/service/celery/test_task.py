"""The Celery task around a batch: what it is registered with, what it returns, when it starts the next one."""

from typing import Any

import pytest
from celery import Celery, Task

from odradek.common.failures import InputError
from odradek.service import BatchEnd, BatchResult, Service
from odradek.service.celery.task import consume_task


class Batches(Service):
    """A service whose batches end as a test says."""

    def __init__(self, end: BatchEnd, lag: int) -> None:
        super().__init__("shop")
        self.calls: list[dict[str, Any]] = []
        self._result = BatchResult(end, handled=3, retried_later=1, dead=1, dropped=0, skipped=0, waiting=2, lag=lag)

    async def run_batch(self, **limits: Any) -> BatchResult:
        self.calls.append(limits)
        return self._result


def run(service: Batches, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[Any, dict[str, object], int]:
    """The task, its result, and how often it has enqueued itself."""
    task = consume_task(Celery("shop", broker="memory://"), service, "shop.consume", **options)
    enqueued: list[object] = []
    monkeypatch.setattr(Task, "apply_async", lambda *given, **named: enqueued.append(given))
    return task, task.apply().get(), len(enqueued)


def test_a_worker_that_dies_gives_its_task_back(monkeypatch: pytest.MonkeyPatch) -> None:
    task, _, _ = run(Batches(BatchEnd.CAUGHT_UP, 0), monkeypatch, time_limit=120)
    assert (task.name, task.acks_late, task.reject_on_worker_lost, task.time_limit) == (
        "shop.consume",
        True,
        True,
        120,
    )


def test_the_result_has_the_figures_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Batches(BatchEnd.MAX_RECORDS, 40)
    _, result, enqueued = run(service, monkeypatch, max_records=5, max_seconds=7)
    assert service.calls == [{"max_records": 5, "max_seconds": 7, "parallel": False}]
    assert result == {
        "end": "max_records",
        "handled": 3,
        "retried_later": 1,
        "dead": 1,
        "dropped": 0,
        "skipped": 0,
        "waiting": 2,
        "lag": 40,
    }
    assert enqueued == 0


@pytest.mark.parametrize(
    ("end", "lag", "enqueued"),
    [
        (BatchEnd.MAX_RECORDS, 40, 1),
        (BatchEnd.CAUGHT_UP, 2, 1),
        (BatchEnd.CAUGHT_UP, 0, 0),
        (BatchEnd.OVERLAP, 40, 0),
    ],
)
def test_a_chain_goes_on_while_there_is_lag(
    end: BatchEnd, lag: int, enqueued: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(Batches(end, lag), monkeypatch, chain=True)[2] == enqueued


def test_it_takes_a_celery_application() -> None:
    with pytest.raises(InputError, match=r"takes a celery\.Celery, not a str"):
        consume_task("shop", Service("shop"), "shop.consume")
