"""A consumer inside a Celery task: each run of the task handles a batch of a service's messages, commits, and ends.

    app = Service("shop", bootstrap_servers="localhost:9092")

    @app.handler("orders")
    def charge(order: Order) -> None: ...

    consume_orders = consume_task(celery, app, "shop.consume_orders", max_seconds=25)
    celery.conf.beat_schedule = {"orders": {"task": "shop.consume_orders", "schedule": 60, "options": {"expires": 60}}}

The handlers are those of the service, which `odradek service run` could run as well. Messages do not pass Celery's
broker: a task carries nothing but the order to look for them.

Offsets are committed only once their messages are finished. A worker that dies in the middle loses nothing: its task is
delivered again (`acks_late`, `reject_on_worker_lost`) where Celery's broker does that, or the next period comes, and
begins at what was committed. Each message is handled at least once.

One run at a time is the rule. A period that is longer than `max_seconds` and the service's `drain_limit_s` together
keeps runs apart; so does a queue that one worker with `--concurrency 1` consumes. With `chain` a run that leaves
something behind starts the next one itself. Runs that overlap nevertheless handle messages twice and lose none
(`batch`). With `parallel` they share the partitions of the group instead.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from odradek.common.failures import InputError
from odradek.service.application import Service
from odradek.service.batch import BatchEnd, BatchResult

logger = logging.getLogger("odradek.service")


def consume_task(
    celery: Any,
    service: Service,
    name: str,
    *,
    max_records: int = 10_000,
    max_seconds: float = 60,
    chain: bool = False,
    parallel: bool = False,
    **options: Any,
) -> Any:
    """Registers a Celery task that runs `service.run_batch`, and returns it. Its result is a dict of the run's figures.

    `options` are those of Celery's `task`: time_limit, autoretry_for, … A `time_limit` must leave room for
    `max_seconds` and then the service's `drain_limit_s`.
    """
    if not hasattr(celery, "task"):
        raise InputError(f"consume_task takes a celery.Celery, not a {type(celery).__name__}.")
    settings = {"acks_late": True, "reject_on_worker_lost": True} | options

    def consume(task: Any) -> dict[str, object]:
        result = asyncio.run(
            service.run_batch(max_records=max_records, max_seconds=max_seconds, parallel=parallel),
        )
        if result.end is BatchEnd.OVERLAP:
            logger.warning("%s: another run is under way; this one has ended and committed nothing more", name)
        if chain and result.has_more:
            task.apply_async()
        return figures_of(result)

    return celery.task(name=name, bind=True, **settings)(consume)


def figures_of(result: BatchResult) -> dict[str, object]:
    """For a result backend, whatever its serializer."""
    return {
        "end": result.end.value,
        "handled": result.handled,
        "retried_later": result.retried_later,
        "dead": result.dead,
        "dropped": result.dropped,
        "skipped": result.skipped,
        "waiting": result.waiting,
        "lag": result.lag,
    }
