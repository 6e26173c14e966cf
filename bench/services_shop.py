"""What `services` measures: one handler, run by a service, by the bridge to Celery, and inside a Celery task.

Each message that was handled is a line in BENCH_DIRECTORY/handled: when, and when it was produced, in milliseconds.
Celery's queue and results are files, as in the tests: no other program is needed, and none of its time is measured.
"""

import json
import os
import time
import uuid
from pathlib import Path

from celery import Celery  # type: ignore[import-untyped]
from kombu.transport import filesystem

from odradek.service import Context, Service
from odradek.service.celery.bridge import CeleryBridge
from odradek.service.celery.task import consume_task

DIRECTORY = Path(os.environ["BENCH_DIRECTORY"])
BOOTSTRAP = os.environ["BENCH_BOOTSTRAP"]
PERIOD_S = 1.0

for _name in ("queue", "results"):
    (DIRECTORY / _name).mkdir(exist_ok=True)

_handled = os.open(DIRECTORY / "handled", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)


class _WholeFiles(filesystem.Channel):
    """Celery's file queue writes messages where they are read, and a worker that reads half a message ends."""

    def _put(self, queue: str, payload: object, **options: object) -> None:  # type: ignore[override]
        name = f"{time.monotonic_ns()}_{uuid.uuid4()}.{queue}.msg"
        partial = DIRECTORY / f"{name}.partial"
        partial.write_text(json.dumps(payload))
        partial.rename(Path(self.data_folder_out) / name)


filesystem.Transport.Channel = _WholeFiles


def note(produced_ms: int) -> None:
    os.write(_handled, b"%d %d\n" % (time.time() * 1000, produced_ms))


celery = Celery("bench", broker="filesystem://", backend=f"file://{DIRECTORY / 'results'}")
celery.conf.update(
    broker_transport_options={
        "data_folder_in": str(DIRECTORY / "queue"),
        "data_folder_out": str(DIRECTORY / "queue"),
        "control_folder": str(DIRECTORY / "control"),
        "polling_interval": 0.02,
    },
    broker_connection_retry_on_startup=True,
    beat_schedule={"orders": {"task": "bench.consume", "schedule": PERIOD_S, "options": {"expires": PERIOD_S}}},
)


def _service(name: str, **options: object) -> Service:
    app = Service(name, bootstrap_servers=BOOTSTRAP, **options)  # type: ignore[arg-type]

    @app.handler("orders")
    def handle(order: dict[str, str], context: Context) -> None:
        note(context.record.timestamp_ms)

    return app


app = _service("bench-service")
static = _service("bench-static", consumer={"group.instance.id": "bench-1"})


@celery.task(name="bench.handle")  # type: ignore[untyped-decorator]
def handle_order(order: dict[str, str], produced_ms: int) -> None:
    note(produced_ms)


bridge = CeleryBridge(celery, "bench-bridge", bootstrap_servers=BOOTSTRAP, consumer={"group.instance.id": "bridge-1"})
bridge.forward(
    "orders",
    handle_order,
    in_flight=200,
    resend_after_s=10,
    arguments=lambda order, context: ((order, context.record.timestamp_ms), {}),
)

consume_orders = consume_task(celery, _service("bench-task"), "bench.consume", max_records=5_000, chain=True)
