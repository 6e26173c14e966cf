"""Orders handled by Celery: the application that its workers run, and the bridge that hands them messages.

Its queue and its results are files below SHOP_DIRECTORY: no other program is needed. A task that fails is tried again
by Celery. A task's effect is a row of SQLite under the number of its order, so that it happens once however often the
task runs.
"""

import sqlite3
from typing import Any

from odradek.service.celery.bridge import CeleryBridge
from support.service.celery_files import file_celery
from support.service.shop import DATABASE, DIRECTORY, maybe_fail

#: A worker that was killed takes with it what it had fetched; that is sent again after this.
RESEND_AFTER_S = 3

celery = file_celery(DIRECTORY, worker_prefetch_multiplier=4)


@celery.task(name="shop.handle_order", bind=True, autoretry_for=(LookupError,), max_retries=1, default_retry_delay=1)
def handle_order(self: Any, order: dict[str, int]) -> None:
    number = order["number"]
    maybe_fail(number, self.request.retries + 1)
    connection = sqlite3.connect(DATABASE, timeout=60)
    with connection:
        connection.execute("INSERT INTO effects SELECT ?1 WHERE ?1 NOT IN (SELECT number FROM effects)", (number,))
    connection.close()


bridge = CeleryBridge(
    celery,
    "bridge",
    sends_max=1_000,
    consumer={"group.instance.id": "bridge-1"},
    commit_interval_ms=200,
    drain_limit_s=60,
)
bridge.forward("orders", handle_order, in_flight=100, resend_after_s=RESEND_AFTER_S)
