"""The clients for threads and scripts: the same three, with the same methods, that wait.

    from odradek.client import blocking

    with blocking.Producer(bootstrap_servers="localhost:9092") as producer:
        producer.send("orders", b"value", key=b"k").result()

    with blocking.Consumer("orders", bootstrap_servers="localhost:9092", group_id="billing") as consumer:
        for record in consumer:
            ...

They drive the clients for asyncio on one event loop in a thread of the process (`loop_thread`). They may be used from
several threads. What is open when the interpreter ends is closed.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from odradek.client.blocking.admin import Admin
    from odradek.client.blocking.consumer import Consumer
    from odradek.client.blocking.producer import Producer

__all__ = ["Admin", "Consumer", "Producer"]

if not TYPE_CHECKING:  # or a misspelt name would be accepted as Any

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"odradek.client.blocking.{name.lower()}"), name)
