"""Sends the shop's events at a steady rate and keeps the book of what was acknowledged: `python -m demo.generator`.

It runs until a line, or the end, comes on its standard input, so that it never outlives the demo. Then it sends the
closing events, waits for every acknowledgement, and ends. Each second it says on its standard output how far it is, as
a line of JSON.
"""

import argparse
import asyncio
import json
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from demo.events import Event, closing, events, value_of
from demo.ledger import line_of
from odradek.client import Delivery, Producer

#: The closing events lie so far ahead: further than any watermark lags behind.
CLOSING_AHEAD_MS = 600_000

_TICK_S = 0.01
_SAY_EACH_S = 1.0

#: A broker that was killed is replaced within seconds; what is not acknowledged by then counts as lost.
_PRODUCER = {"acks": "all", "enable.idempotence": True, "linger.ms": 5, "delivery.timeout.ms": 60_000}


class Generator:
    def __init__(self, producer: Producer, book: TextIO, seed: int, rate: float) -> None:
        self._producer = producer
        self._book = book
        self._events = events(seed, rate)
        self._opened_ms = _now_ms()
        self._sent = self._acked = self._failed = 0

    async def run(self, stop: asyncio.Event) -> None:
        saying = asyncio.create_task(self._say_how_far())
        due = next(self._events)
        while not stop.is_set():
            now_ms = _now_ms() - self._opened_ms
            while due.due_ms <= now_ms:
                await self._send(due)
                due = next(self._events)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _TICK_S)
        await self._producer.flush()
        now_ms = _now_ms() - self._opened_ms
        for event in closing(now_ms, now_ms + CLOSING_AHEAD_MS):
            await self._send(event)
        await self._producer.flush()
        saying.cancel()
        self._say()

    async def _send(self, event: Event) -> None:
        sent_ms = _now_ms()
        value = value_of(event, self._opened_ms)
        delivery = await self._producer.send(event.kind.value, value, key=event.key.encode(), timestamp_ms=sent_ms)
        self._sent += 1
        delivery.add_done_callback(lambda done: self._note(event, sent_ms, done))

    def _note(self, event: Event, sent_ms: int, delivery: Delivery) -> None:
        if delivery.exception() is not None:
            self._failed += 1
            return
        self._acked += 1
        written = delivery.result()
        self._book.write(line_of(event, self._opened_ms, sent_ms, _now_ms(), written.partition, written.offset))

    async def _say_how_far(self) -> None:
        while True:
            self._say()
            await asyncio.sleep(_SAY_EACH_S)

    def _say(self) -> None:
        print(json.dumps({"sent": self._sent, "acked": self._acked, "failed": self._failed}), flush=True)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


async def _main(options: argparse.Namespace) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), stop.set)
    settings = {"bootstrap.servers": options.bootstrap, "client.id": "generator", **_PRODUCER}
    with options.ledger.open("w") as book:
        async with Producer(settings) as producer:
            await Generator(producer, book, options.seed, options.rate).run(stop)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--ledger", required=True, type=Path)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--rate", required=True, type=float)
    asyncio.run(_main(parser.parse_args()))


if __name__ == "__main__":
    main()
