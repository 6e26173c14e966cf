"""A Celery application whose queue and results are files below a directory: no other program is needed."""

from pathlib import Path
from typing import Any

from celery import Celery


def file_celery(directory: Path, **settings: Any) -> Celery:
    queue, results = directory / "queue", directory / "results"
    for folder in (queue, results):
        folder.mkdir(exist_ok=True)
    celery = Celery("shop", broker="filesystem://", backend=f"file://{results}")
    celery.conf.update(
        broker_transport_options={
            "data_folder_in": str(queue),
            "data_folder_out": str(queue),
            "control_folder": str(directory / "control"),
            "polling_interval": 0.05,
        },
        broker_connection_retry_on_startup=True,
        **settings,
    )
    return celery
