"""Exactly once, on clients in memory: outputs and offsets together, and what a message cannot write."""

import asyncio

import pytest

from odradek.client.types import TopicPartition
from odradek.common.failures import ApiError
from odradek.protocol.error_codes import ErrorCode
from odradek.service.context import Context, Send
from odradek.service.counters import Ending
from odradek.service.retries import Retries
from unit.service.service_builder import Bench

ORDERS = TopicPartition("orders", 0)


async def double(number: int) -> Send:
    if number < 0:
        raise ValueError("negative")
    return Send("refused" if number == 13 else "doubled", 2 * number)


def test_outputs_and_offsets_come_together() -> None:
    bench = Bench()
    bench.handle(double)
    for number in range(250):
        bench.source.write(str(number).encode())
    bench.run(lambda: bench.figures.count(Ending.HANDLED) == 250, bench.transactional(batch_records=100))
    assert [int(each.value or b"") for each in bench.sink.of("doubled")] == [
        2 * number for number in range(250) if number != 13
    ]
    assert bench.source.committed == {ORDERS: 250}
    assert bench.source.commits == []
    assert 3 <= bench.figures.transactions <= 250


def test_a_message_that_fails_is_dead_within_the_transaction() -> None:
    bench = Bench()
    bench.handle(double)
    for number in (1, -1, 2):
        bench.source.write(str(number).encode())
    bench.run(lambda: bench.source.committed == {ORDERS: 3}, bench.transactional())
    assert [each.value for each in bench.sink.of("doubled")] == [b"2", b"4"]
    assert [each.value for each in bench.sink.of("orders.dead")] == [b"-1"]
    assert bench.sink.aborts == 0


def test_an_output_that_cannot_be_written_takes_nobody_with_it() -> None:
    """The batch is aborted, and each of its messages has a transaction of its own."""
    bench = Bench()
    bench.handle(double, retries=Retries(in_place=3, backoff_ms=1))
    bench.sink.errors["refused"] = ApiError("no such topic", ErrorCode.INVALID_TOPIC_EXCEPTION)
    for number in (1, 13, 2):
        bench.source.write(str(number).encode())
    bench.run(lambda: bench.source.committed == {ORDERS: 3}, bench.transactional())
    assert [each.value for each in bench.sink.of("doubled")] == [b"2", b"4"]
    (dead,) = bench.sink.of("orders.dead")
    assert dead.value == b"13" and ("odradek-message", b"no such topic") in dead.headers
    assert bench.sink.aborts == 2
    assert bench.figures.aborted_transactions == 2


def test_a_rebalance_in_between_lets_everything_be_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("odradek.service.transactions._AGAIN_S", 0)
    bench, seen = Bench(), []

    async def handle(value: str, context: Context) -> Send:
        seen.append(value)
        return Send("out", value)

    bench.handle(handle)
    bench.sink.offsets_error = ApiError("another generation", ErrorCode.ILLEGAL_GENERATION)
    for value in (b"a", b"b"):
        bench.source.write(value)
    bench.run(lambda: bench.source.committed == {ORDERS: 2}, bench.transactional())
    assert seen == ["a", "b", "a", "b"]
    assert [each.value for each in bench.sink.sent] == [b"a", b"b"]


def test_retry_topics_wait_and_hold_nobody_up() -> None:
    bench = Bench()
    bench.feed_back("orders.retry.20ms")
    attempts: list[int] = []

    async def handle(value: str, context: Context) -> Send:
        if value == "bad":
            attempts.append(context.attempt)
            if context.attempt == 1:
                raise ValueError
        return Send("out", value)

    bench.handle(handle, retries=Retries(in_place=0, topics=["20ms"]))
    for value in (b"bad", b"good"):
        bench.source.write(value)
    bench.run(lambda: len(bench.sink.of("out")) == 2, bench.transactional())
    assert [each.value for each in bench.sink.of("out")] == [b"good", b"bad"]
    assert attempts == [1, 2]
    assert bench.source.committed == {ORDERS: 2, TopicPartition("orders.retry.20ms", 0): 1}


def test_a_stop_gives_up_what_does_not_end() -> None:
    bench = Bench(drain_limit_s=0.01)
    begun = asyncio.Event()

    async def handle(value: bytes) -> None:
        begun.set()
        await asyncio.sleep(3600)

    bench.handle(handle, concurrency=1)
    bench.source.write(b"a")
    bench.source.write(b"b", partition=1)
    bench.run(begun.is_set, bench.transactional())
    assert bench.source.committed == {}


def test_what_lies_above_something_that_was_given_up_is_not_written() -> None:
    """It will be read again, and would be written twice."""
    bench = Bench(drain_limit_s=0.01)
    begun = asyncio.Event()

    async def handle(value: str) -> Send:
        if value == "slow":
            begun.set()
            await asyncio.sleep(3600)
        return Send("out", value)

    bench.handle(handle)
    for value in (b"first", b"slow", b"last"):
        bench.source.write(value)
    bench.run(begun.is_set, bench.transactional())
    assert [each.value for each in bench.sink.of("out")] == [b"first"]
    assert bench.source.committed == {ORDERS: 1}


def test_an_output_that_no_producer_takes_is_its_message_s_fault() -> None:
    bench = Bench()

    async def handle(partition: int) -> Send:
        return Send("out", str(partition), partition=partition)

    bench.handle(handle)
    for partition in (0, -1, 1):
        bench.source.write(str(partition).encode())
    bench.run(lambda: bench.source.committed == {ORDERS: 3}, bench.transactional())
    assert [each.value for each in bench.sink.of("out")] == [b"0", b"1"]
    (dead,) = bench.sink.of("orders.dead")
    assert dead.value == b"-1"
