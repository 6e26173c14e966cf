"""The consumer service: handlers per topic, with what teams build by hand around a consumer.

`Service` holds handlers and runs them; `CeleryBridge` turns messages into Celery tasks instead, and `consume_task` runs
the handlers inside a Celery task, a batch at a time. A name is imported when it is first used: the command line lists
its subcommands without any of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.service.application import Service
    from odradek.service.batch import BatchEnd, BatchResult
    from odradek.service.celery.bridge import CeleryBridge
    from odradek.service.celery.task import consume_task
    from odradek.service.codecs import Codec, Undecodable
    from odradek.service.codecs_avro import AvroCodec
    from odradek.service.context import Context, Reject, Send
    from odradek.service.handlers import Order
    from odradek.service.processed_store import Done, MemoryDone, SqliteDone
    from odradek.service.retries import Retries

__all__ = [
    "AvroCodec",
    "BatchEnd",
    "BatchResult",
    "CeleryBridge",
    "Codec",
    "Context",
    "Done",
    "MemoryDone",
    "Order",
    "Reject",
    "Retries",
    "Send",
    "Service",
    "SqliteDone",
    "Undecodable",
    "consume_task",
]

_MODULES = {
    "AvroCodec": "codecs_avro",
    "BatchEnd": "batch",
    "BatchResult": "batch",
    "CeleryBridge": "celery.bridge",
    "Codec": "codecs",
    "Context": "context",
    "Done": "processed_store",
    "MemoryDone": "processed_store",
    "Order": "handlers",
    "Reject": "context",
    "Retries": "retries",
    "Send": "context",
    "Service": "application",
    "SqliteDone": "processed_store",
    "Undecodable": "codecs",
    "consume_task": "celery.task",
}

if not TYPE_CHECKING:  # or a misspelt name would be accepted as Any

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
