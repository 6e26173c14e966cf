"""Newcomers who come too fast wait in the backlog until it is their turn."""

import asyncio
import contextlib
import socket

from odradek.network.creation_rate import CreationRate
from odradek.network.limits import UNLIMITED
from odradek.network.listener import Listener
from support.processes.network import endpoint, run, until


def test_a_seconds_worth_is_let_in_at_once_and_the_rest_waits() -> None:
    rate = CreationRate(4)
    assert [rate.taken(50.0) for _ in range(6)] == [0.0] * 4 + [0.25, 0.5]
    assert rate.taken(50.75) == 0.0
    rate.per_second = UNLIMITED
    assert rate.taken(50.75) == 0.0


class TwoAnHour(CreationRate):
    taken_so_far = 0

    def taken(self, now_s: float) -> float:
        self.taken_so_far += 1
        return 0.0 if self.taken_so_far % 2 else 3_600.0


def test_a_listener_keeps_to_it() -> None:
    async def test() -> None:
        listener = Listener(endpoint(), "127.0.0.1", 0, creation_rate=TwoAnHour())
        await listener.start()
        try:
            with contextlib.ExitStack() as crowd:
                for _ in range(5):
                    crowd.enter_context(socket.create_connection(("127.0.0.1", listener.port)))
                await until(lambda: len(listener.endpoint.connections) == 2, "two are let in")
                for _ in range(100):
                    await asyncio.sleep(0)
                assert len(listener.endpoint.connections) == 2
        finally:
            await listener.stop()

    run(test())
