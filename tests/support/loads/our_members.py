"""Members of groups that are our own consumers, each on a loop in a thread, beside those of other clients."""

import asyncio
import re
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from odradek.client.consumer.consumer import Consumer
from odradek.client.group.listener import RebalanceListener
from odradek.client.types import OffsetAndMetadata, TopicPartition

_POLL_MS = 50
_TIMEOUT_S = 60

#: In the consumer protocol these are the coordinator's to choose.
_CLASSIC_SETTINGS = {"session.timeout.ms": 30_000, "heartbeat.interval.ms": 200}


class OurMember(RebalanceListener):
    """Subscribed from `start` on; what it is told and what it reads is kept."""

    def __init__(
        self, bootstrap: str, group: str, topic: str, *, pattern: str | re.Pattern[str] | None = None, **options: Any
    ) -> None:
        """Of one topic, or of those that a pattern finds."""
        classic = {} if options.get("group.protocol") == "consumer" else _CLASSIC_SETTINGS
        self._settings = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **classic,
            **options,
        }
        self._topic = topic
        self._pattern = pattern
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self._ending = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._consumer: Consumer | None = None
        self.error: Exception | None = None
        self.partitions: frozenset[int] = frozenset()
        #: What callbacks were told, in their order.
        self.events: list[tuple[str, tuple[int, ...]]] = []
        #: Partition and offset.
        self.records: list[tuple[int, int]] = []
        self.subscribed_s = 0.0
        self.assigned_s = 0.0

    def start(self) -> "OurMember":
        self._thread.start()
        return self

    def stop(self) -> None:
        """Leaves the group, unless it is a static member. Raises what the consumer raised."""
        if self._loop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join(_TIMEOUT_S)
        if self.error is not None:
            raise self.error

    def commit(self, offsets: dict[int, int]) -> None:
        wanted = {TopicPartition(self._topic, each): OffsetAndMetadata(offset) for each, offset in offsets.items()}
        assert self._consumer is not None and self._loop is not None
        done: Future[None] = asyncio.run_coroutine_threadsafe(self._consumer.commit(wanted), self._loop)
        done.result(_TIMEOUT_S)

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        try:
            async with Consumer(self._settings) as consumer:
                self._consumer = consumer
                if self._pattern is None:
                    consumer.subscribe([self._topic], listener=self)
                else:
                    consumer.subscribe(pattern=self._pattern, listener=self)
                self.subscribed_s = time.monotonic()
                while not self._ending.is_set():
                    for record in await consumer.poll(timeout_ms=_POLL_MS):
                        self.records.append((record.partition, record.offset))
        except Exception as error:  # noqa: BLE001 - told to the test by `stop`
            self.error = error

    # What it is told

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        self._note("assigned", partitions)
        self.partitions |= {each.partition for each in partitions}
        self.assigned_s = time.monotonic()

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self._note("revoked", partitions)
        self.partitions -= {each.partition for each in partitions}

    def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> None:
        self._note("lost", partitions)
        self.partitions -= {each.partition for each in partitions}

    def _note(self, what: str, partitions: Sequence[TopicPartition]) -> None:
        self.events.append((what, tuple(sorted(each.partition for each in partitions))))
