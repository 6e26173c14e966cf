"""Room for so many at a time."""

import asyncio

import pytest

from odradek.client.net.in_flight_limit import InFlightLimit
from support.processes.network import run


def test_first_come_first_served() -> None:
    async def test() -> None:
        places = InFlightLimit(1)
        assert places.take_now() and not places.take_now() and places.in_use == 1
        served: list[int] = []

        async def come(number: int) -> None:
            await places.take()
            served.append(number)

        waiting = [asyncio.ensure_future(come(number)) for number in range(3)]
        await asyncio.sleep(0)
        for _ in range(3):
            places.give_back()
            assert not places.take_now(), "nobody overtakes those who wait"
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        assert served == [0, 1, 2]
        await asyncio.gather(*waiting)
        places.give_back()
        assert places.in_use == 0

    run(test())


def test_one_who_gives_up_loses_no_place() -> None:
    async def test() -> None:
        places = InFlightLimit(1)
        await places.take()
        before, after = (asyncio.ensure_future(places.take()) for _ in range(2))
        await asyncio.sleep(0)
        before.cancel()
        await asyncio.sleep(0)
        places.give_back()
        after.cancel()  # it was its turn already
        for each in (before, after):
            with pytest.raises(asyncio.CancelledError):
                await each
        assert places.in_use == 0 and places.take_now()

    run(test())
