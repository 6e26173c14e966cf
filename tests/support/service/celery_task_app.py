"""The shop's orders handled inside Celery tasks: the handlers are those of `service_shop`, unchanged.

Its queue and its results are files below SHOP_DIRECTORY. `celery beat` starts a run each second; a run that leaves
something behind starts the next one itself.
"""

import os

from odradek.service.celery.task import consume_task
from support.service.celery_files import file_celery
from support.service.shop import DIRECTORY, app

celery = file_celery(
    DIRECTORY,
    worker_prefetch_multiplier=1,
    beat_schedule={"orders": {"task": "shop.consume_orders", "schedule": 1.0, "options": {"expires": 1}}},
)

app.bootstrap_servers = os.environ["SHOP_BOOTSTRAP"]

consume_orders = consume_task(celery, app, "shop.consume_orders", max_records=400, max_seconds=30, chain=True)
