"""A delivery is a future for all that asyncio does with futures."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
import uvloop

from odradek.client.producer.delivery import BatchDelivery, Delivery, RecordMetadata, RecordRange
from odradek.records.compression import Compression
from unit.client.producer.producing import batch

LOOPS = pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])


def soon(action: Any, *arguments: Any) -> None:
    asyncio.get_running_loop().call_later(0.01, action, *arguments)


@LOOPS
def test_awaited_gathered_waited_for_and_called_back(run: Any) -> None:
    async def test() -> None:
        made = batch(4)
        deliveries = [Delivery(made, index, 5) for index in range(4)]
        told: list[Delivery] = []
        deliveries[3].add_done_callback(told.append)
        soon(made.complete, 100, -1)
        assert [each.offset for each in await asyncio.gather(*deliveries[:2])] == [100, 101]
        assert await asyncio.wait_for(deliveries[2], 10) == RecordMetadata("t", 0, 102, 5)
        done, pending = await asyncio.wait(deliveries[:2])
        assert len(done) == 2 and not pending
        assert told == [deliveries[3]] and await asyncio.shield(deliveries[3]) == deliveries[3].result()
        late: list[Delivery] = []
        deliveries[0].add_done_callback(late.append)
        await asyncio.sleep(0)
        assert late == [deliveries[0]]

    run(test())


@LOOPS
def test_to_give_up_waiting_is_not_to_give_up_the_record(run: Any) -> None:
    async def test() -> None:
        made = batch(1)
        first, second = Delivery(made, 0, 5), Delivery(made, 0, 5)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(first, 0.01)
        assert first.cancelled() and first.done()
        with pytest.raises(asyncio.CancelledError):
            first.result()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await asyncio.shield(second)
        assert not second.done()
        removed: list[Delivery] = []
        second.add_done_callback(removed.append)
        assert second.remove_done_callback(removed.append) == 1
        made.complete(7, 99)
        assert await second == RecordMetadata("t", 0, 7, 99), "the broker's time"
        assert not second.cancel() and not removed

    run(test())


def test_errors_of_the_batch_and_of_its_records() -> None:
    async def test() -> None:
        made = batch(2)
        good, bad = Delivery(made, 0, 5), Delivery(made, 1, 5)
        with pytest.raises(asyncio.InvalidStateError):
            good.result()
        made.fail(ValueError("all"), {1: ValueError("this one")})
        assert not made.complete(5, -1), "what is done stays done"
        for delivery, said in ((good, "all"), (bad, "this one")):
            with pytest.raises(ValueError, match=said):
                await delivery
        assert str(bad.exception()) == "this one"

    asyncio.run(test())


def run_soon(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, 30))


def test_one_delivery_for_many_follows_what_is_split() -> None:
    async def test() -> None:
        first, second = batch(3), batch(10)
        second.close(Compression.NONE, None)
        many = BatchDelivery()
        many.add(first, 1, 2)
        many.add(second, 0, 10)
        soon(first.complete, 50, -1)
        waiting = asyncio.ensure_future(asyncio.wait_for(_result(many), 10))
        while not first.is_done:
            await asyncio.sleep(0.001)
        parts = second.split(Compression.NONE, 1 << 20)
        assert not many.done() and many.ranges() == [RecordRange("t", 0, 51, 2)]
        for number, part in enumerate(parts):
            part.complete(100 * (number + 1), -1)
        assert await waiting == [RecordRange("t", 0, 51, 2), RecordRange("t", 0, 100, 5), RecordRange("t", 0, 200, 5)]

    run_soon(test())


async def _result(many: BatchDelivery) -> list[RecordRange]:
    return await many


def test_one_delivery_for_many_tells_the_first_error_when_all_are_done() -> None:
    async def test() -> None:
        first, second = batch(1), batch(1)
        many = BatchDelivery()
        many.add(first, 0, 1)
        many.add(second, 0, 1)
        first.fail(ValueError("no"))
        soon(second.complete, 3, -1)
        with pytest.raises(ValueError, match="no"):
            await many
        assert many.ranges() == [RecordRange("t", 0, 3, 1)]

    run_soon(test())
