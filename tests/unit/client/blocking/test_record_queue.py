"""Records on their way from threads to the loop."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from odradek.client.blocking import record_queue
from odradek.client.blocking.delivery import Delivery
from odradek.client.blocking.loop_thread import shared_loop
from odradek.client.blocking.record_queue import Record, RecordQueue, Take
from odradek.errors import BufferExhausted, ProducerClosed, RequestTimedOut

PATIENCE_MS = 60_000


class Told:
    """What the producer inside gives for a record; done at once."""

    def done(self) -> bool:
        return True

    def result(self) -> str:
        return "written"

    def exception(self) -> None:
        return None

    def add_done_callback(self, callback: Callable[[Any], object]) -> None:
        callback(self)


def record(value: bytes = b"", topic: str = "orders", on_delivery: Any = None) -> Record:
    return Record(Delivery(shared_loop()), topic, value, None, (), None, 0, on_delivery)


@contextmanager
def handing(take: Take, max_block_ms: float = PATIENCE_MS) -> Iterator[RecordQueue]:
    made = RecordQueue(take, max_block_ms)
    loop = shared_loop()
    loop.do(made.start)
    try:
        yield made
    finally:
        loop.call(made.close())


def test_records_are_taken_in_the_order_of_each_thread() -> None:
    seen: list[bytes] = []

    async def take(taken: Record) -> Told:
        seen.append(taken.value or b"")
        if len(seen) % 100 == 0:
            await asyncio.sleep(0)
        return Told()

    def hand_many(handed: RecordQueue, name: int) -> None:
        for number in range(1_000):
            handed.hand(record(b"%d %d" % (name, number)), 0)

    with handing(take) as handed:
        threads = [threading.Thread(target=hand_many, args=(handed, name)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        shared_loop().call(handed.passed())
        assert len(seen) == 4_000
        for name in range(4):
            mine = [value for value in seen if value.startswith(b"%d " % name)]
            assert mine == [b"%d %d" % (name, number) for number in range(1_000)]


def test_a_delivery_is_known_when_the_producer_says_so() -> None:
    gate = asyncio.Event()

    async def take(taken: Record) -> Told:
        await gate.wait()
        return Told()

    with handing(take) as handed:
        one = record()
        handed.hand(one, 0)
        assert not one.delivery.done()
        with pytest.raises(RequestTimedOut, match="no result of the record after 10 ms"):
            one.delivery.result(10)
        called = threading.Event()
        one.delivery.add_done_callback(lambda done: called.set())
        shared_loop().do(gate.set)
        assert one.delivery.result(PATIENCE_MS) == "written"  # type: ignore[comparison-overlap]
        assert one.delivery.exception() is None and called.wait(PATIENCE_MS)
        again = threading.Event()
        one.delivery.add_done_callback(lambda done: again.set())
        assert again.wait(PATIENCE_MS), "a callback that comes late is called, too"


def test_what_cannot_be_taken_is_in_the_delivery_and_told_to_the_callback() -> None:
    async def take(taken: Record) -> Told:
        if taken.topic == "bad":
            raise KeyError("no")
        return Told()

    told: list[Any] = []
    with handing(take) as handed:
        bad, good = record(topic="bad", on_delivery=lambda *said: told.append(said)), record()
        handed.hand(bad, 0)
        handed.hand(good, 0)
        assert good.delivery.result(PATIENCE_MS)
        with pytest.raises(KeyError):
            bad.delivery.result(PATIENCE_MS)
        assert isinstance(bad.delivery.exception(), KeyError)
        assert [type(error) for _, error in told] == [KeyError]


def test_a_thread_that_is_ahead_waits_and_gives_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_queue, "_HANDED_BYTES_MAX", 1_000)
    gate = asyncio.Event()

    async def take(taken: Record) -> Told:
        await gate.wait()
        return Told()

    with handing(take, max_block_ms=20) as handed:
        handed.hand(record(), 5_000)  # alone it may be as large as it likes
        with pytest.raises(BufferExhausted, match=r"took nothing for 20 ms \(max.block.ms\)"):
            handed.hand(record(), 10)
        shared_loop().do(gate.set)
        shared_loop().call(handed.passed())
    with handing(take) as handed:
        shared_loop().do(gate.clear)
        handed.hand(record(), 5_000)
        waiting = threading.Thread(target=lambda: handed.hand(record(), 10))
        waiting.start()
        shared_loop().do(gate.set)
        waiting.join(PATIENCE_MS / 1000)
        assert not waiting.is_alive()


def test_a_callback_in_the_loop_hands_over_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_queue, "_HANDED_BYTES_MAX", 1_000)
    again = [record() for _ in range(3)]

    async def take(taken: Record) -> Told:
        while again:
            handed.hand(again.pop(), 600)
        return Told()

    first = record()
    kept = list(again)
    with handing(take) as handed:
        handed.hand(first, 600)
        for each in (first, *kept):
            assert each.delivery.result(PATIENCE_MS) == "written"  # type: ignore[comparison-overlap]


def test_nothing_is_taken_before_it_is_started() -> None:
    handed = RecordQueue(None, 10)  # type: ignore[arg-type]
    with pytest.raises(ProducerClosed):
        handed.hand(record(), 0)
    shared_loop().call(handed.passed())
    shared_loop().call(handed.close())


def test_what_is_left_when_it_is_closed_is_refused() -> None:
    async def take(taken: Record) -> Told:
        await asyncio.Event().wait()
        return Told()

    records = [record() for _ in range(3)]
    with handing(take) as handed:
        for each in records:
            handed.hand(each, 0)
    for each in records:
        with pytest.raises(ProducerClosed, match="before the record was taken"):
            each.delivery.result(PATIENCE_MS)
    with pytest.raises(ProducerClosed, match="the producer is closed"):
        handed.hand(record(), 0)


def test_callbacks_that_raise_stop_nothing() -> None:
    async def take(taken: Record) -> Any:
        raise RequestTimedOut("not now")

    def angry(*told: object) -> None:
        raise ValueError("a mistake of the application")

    loop, heard = shared_loop(), []
    loop.do(lambda: loop.loop.set_exception_handler(lambda _, context: heard.append(context["exception"])))
    try:
        with handing(take) as made:
            first, second = record(on_delivery=angry), record()
            for each in (first, second):
                each.delivery.add_done_callback(angry)
                made.hand(each, 0)
            assert isinstance(first.delivery.exception(PATIENCE_MS), RequestTimedOut)
            assert isinstance(second.delivery.exception(PATIENCE_MS), RequestTimedOut)
            loop.do(lambda: None)
    finally:
        loop.do(lambda: loop.loop.set_exception_handler(None))
    assert [type(each) for each in heard] == [ValueError] * 3
