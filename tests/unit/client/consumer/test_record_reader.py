"""Handing records out: positions that are settled late, what is taken back, and who has a turn in between."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from odradek.client.consumer.fetch_buffer import FetchBuffer
from odradek.client.consumer.fetch_collector import FetchCollector
from odradek.client.consumer.partition_state import FetchPosition
from odradek.client.consumer.record_reader import RecordReader
from odradek.common.failures import ApiError
from unit.client.consumer.fetches import A0, A1, LEADER, at_positions, completed, partition_data, values


class Quiet:
    """A fetcher and offsets that have nothing to do."""

    error: Exception | None = None

    def __init__(self) -> None:
        self.sent = 0

    def send(self) -> None:
        self.sent += 1

    def use_columns(self) -> None:
        pass

    def begin(self) -> None:
        pass


class Group:
    """Polled when it says so."""

    def __init__(self) -> None:
        self.needs_poll = False
        self.polls = 0

    async def poll(self, timeout_ms: float) -> None:
        self.polls += 1
        self.needs_poll = False


class Bench:
    def __init__(self, *offsets: int) -> None:
        self.subscriptions = at_positions(*offsets)
        self.buffer = FetchBuffer()
        self.fetcher, self.offsets, self.group = Quiet(), Quiet(), Group()
        collector = FetchCollector(self.subscriptions, self.buffer)
        self.reader = RecordReader(self.subscriptions, collector, self.fetcher, self.offsets, self.group)  # type: ignore[arg-type]

    def came(self, *texts: bytes, base_offset: int = 0, partition: Any = A0) -> None:
        data = partition_data(values(*texts, base_offset=base_offset))
        self.buffer.add(completed(self.subscriptions, data, partition, offset=base_offset))
        self.reader.step_soon()

    def position(self) -> int:
        position = self.subscriptions.position(A0)
        assert position is not None
        return position.offset


def run(work: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(60):
            await work

    asyncio.run(limited())


def test_the_position_is_behind_the_last_record_that_was_given_out() -> None:
    async def talk() -> None:
        bench = Bench(0)
        bench.came(*(b"%d" % number for number in range(10)))
        seen = []
        async for record in bench.reader.records(4):
            seen.append(record.offset)
            assert bench.position() == record.offset + 1
            if record.offset == 9:
                break
        assert seen == list(range(10))

    run(talk())


def test_a_second_loop_goes_on_where_the_first_one_stopped() -> None:
    async def talk() -> None:
        bench = Bench(0)
        bench.came(*(b"%d" % number for number in range(10)))
        async for record in bench.reader.records(4):
            if record.offset == 1:
                break
        assert [record.offset for record in await bench.reader.poll(3, 0)] == [2, 3, 4]
        async for record in bench.reader.records(4):
            assert record.offset == 5
            break

    run(talk())


def test_a_seek_in_the_loop_takes_back_what_was_not_given_out() -> None:
    async def talk() -> None:
        bench = Bench(0)
        bench.came(b"a", b"b", b"c")
        seen = []
        async for record in bench.reader.records(10):
            seen.append(record.value)
            if record.value == b"b" and len(seen) == 2:
                bench.subscriptions.seek(A0, FetchPosition(0, None, LEADER))
                bench.came(b"a", b"b", b"c")
            elif record.value == b"c":
                break
        assert seen == [b"a", b"b", b"a", b"b", b"c"]

    run(talk())


def test_a_pause_in_the_loop_keeps_the_rest_for_later() -> None:
    async def talk() -> None:
        bench = Bench(0, 0)
        bench.came(b"a", b"b", b"c")
        bench.came(b"x", partition=A1)
        seen = []
        async for record in bench.reader.records(10):
            seen.append(record.value)
            if record.value == b"a":
                bench.subscriptions.pause([A0])
            elif record.value == b"x":
                assert bench.position() == 1
                bench.subscriptions.resume([A0])
            elif record.value == b"c":
                break
        assert seen == [b"a", b"x", b"b", b"c"]

    run(talk())


def test_what_is_given_up_is_not_given_out() -> None:
    async def talk() -> None:
        bench = Bench(0, 0)
        bench.came(b"a", b"b", b"c")
        bench.came(b"x", partition=A1)
        seen = []
        async for record in bench.reader.records(10):
            seen.append(record.value)
            if record.value == b"a":
                bench.subscriptions.assign([A1])
            elif record.value == b"x":
                break
        assert seen == [b"a", b"x"]

    run(talk())


def test_the_group_has_its_turn_before_records_are_given_out() -> None:
    async def talk() -> None:
        bench = Bench(0)
        bench.came(b"a", b"b")
        bench.group.needs_poll = True
        assert len(await bench.reader.poll(1, 0)) == 1
        assert len(await bench.reader.poll(1, 0)) == 1
        assert bench.group.polls == 1

    run(talk())


def test_who_waits_is_woken() -> None:
    async def talk() -> None:
        bench = Bench(0)
        waiting = asyncio.ensure_future(bench.reader.poll(10, 60_000))
        await asyncio.sleep(0)
        bench.came(b"a")
        assert len(await waiting) == 1
        waiting = asyncio.ensure_future(bench.reader.poll(10, 60_000))
        await asyncio.sleep(0)
        bench.group.needs_poll = True
        bench.reader.wake()
        while not bench.group.polls:
            await asyncio.sleep(0)
        bench.reader.close()
        assert await waiting == []

    run(talk())


def test_when_the_time_is_up_there_is_nothing() -> None:
    async def talk() -> None:
        assert await Bench(0).reader.poll(10, 1) == []

    run(talk())


def test_errors_are_told_once() -> None:
    async def talk() -> None:
        bench = Bench(0)
        bench.offsets.error = ApiError("no position")
        with pytest.raises(ApiError, match="no position"):
            await bench.reader.poll(10, 1)
        assert await bench.reader.poll(10, 1) == []

    run(talk())


def test_columns_are_whole_chunks() -> None:
    async def talk() -> None:
        bench = Bench(0, 0)
        bench.came(b"a", b"b")
        bench.came(b"x", partition=A1)
        (record,) = await bench.reader.poll(1, 0)
        assert record.value == b"a"
        seen = []
        async for batch in bench.reader.columns():
            seen.append((batch.partition, batch.offsets.tolist(), batch.keys(), batch.values(), batch.next_offset))
            if len(seen) == 2:
                break
        assert seen == [(0, [1], [b"key"], [b"b"], 2), (1, [0], [b"key"], [b"x"], 1)]
        assert bench.position() == 2

    run(talk())


@pytest.mark.parametrize("turns", range(4))
def test_whoever_is_cancelled_loses_nothing(turns: int) -> None:
    async def talk() -> None:
        bench = Bench(0)
        bench.came(b"a", b"b")
        polling = asyncio.ensure_future(bench.reader.poll(2, 60_000))
        for _ in range(turns):
            await asyncio.sleep(0)
        polling.cancel()
        await asyncio.wait([polling])
        assert bench.position() == (0 if polling.cancelled() else 2)

    run(talk())


def test_a_run_that_nobody_came_for_is_given_again() -> None:
    async def talk() -> None:
        bench = Bench(0)
        bench.came(*(b"%d" % number for number in range(10)))
        first = await bench.reader.run(4)
        assert first is not None
        assert await bench.reader.run(4) is first
        assert [record.offset for record in first] == [0, 1, 2, 3]
        second = await bench.reader.run(4)
        assert second is not None and [record.offset for record in second] == [4, 5, 6, 7]
        assert bench.position() == 8

    run(talk())


@pytest.mark.parametrize("turns", range(4))
def test_closing_ends_whoever_waits_at_whichever_turn(turns: int) -> None:
    async def talk() -> None:
        bench = Bench(0)
        waiting = asyncio.ensure_future(bench.reader.run(4))
        for _ in range(turns):
            await asyncio.sleep(0)
        bench.reader.close()
        assert await waiting is None

    run(talk())
