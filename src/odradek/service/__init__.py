"""The consumer service: handlers per topic, with what teams build by hand around a consumer.

`Service` holds handlers and runs them; `CeleryBridge` in `celery.bridge` hands messages to Celery instead,
and `consume_task` in `celery.task` runs the handlers inside a Celery task, a batch at a time. Names are
imported when they are asked for: the command lists its subcommands without any of this.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.service.application import Service
    from odradek.service.batch import BatchEnd, BatchResult
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
]

_HOMES = {
    "AvroCodec": "codecs_avro",
    "BatchEnd": "batch",
    "BatchResult": "batch",
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
}

if not TYPE_CHECKING:  # or a name that is misspelt would pass for Any

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
