"""What a service says of itself while it waits for its group: in its status line, its log and its health pages."""

import asyncio
import logging

import pytest

from odradek.client.types import TopicPartition
from odradek.service import Service, group_observer
from odradek.service.admin_http import Watching, unreadiness
from odradek.service.group_state import GroupPhase, GroupState

PARTITIONS = [TopicPartition("orders", 0), TopicPartition("orders", 1)]


def state(protocol: str) -> GroupState:
    return GroupState("shop", protocol, 45_000, now_ms=0)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_it_is_joining_until_the_group_answers(protocol: str) -> None:
    group = state(protocol)
    assert group.phase(12_000) is GroupPhase.JOINING
    assert group.text(12_000).startswith("joining group shop for 12 s: waiting for its other members; ")
    assert "until its session expires, up to 45 s" in group.text(12_000)
    group.assigned(PARTITIONS, 13_000)
    assert (group.phase(13_000), group.text(13_000), group.partitions) == (
        GroupPhase.READING,
        "reading 2 partitions",
        2,
    )


def test_a_classic_member_without_partitions_is_idle() -> None:
    group = state("classic")
    group.assigned([], 1_000)
    assert group.phase(1_000) is GroupPhase.IDLE


def test_a_member_of_the_consumer_protocol_waits_for_a_session_before_it_is_idle() -> None:
    """It is a member at once, and a member that died keeps the partitions until its session expires."""
    group = state("consumer")
    group.assigned([], 1_000)
    assert group.phase(30_000) is GroupPhase.WAITING
    assert group.text(30_000).startswith("waiting for partitions in group shop for 29 s: ")
    assert group.phase(46_000) is GroupPhase.IDLE
    group.assigned(PARTITIONS, 50_000)
    assert group.phase(50_000) is GroupPhase.READING


@pytest.mark.parametrize(("protocol", "phase"), [("classic", GroupPhase.JOINING), ("consumer", GroupPhase.WAITING)])
def test_a_rebalance_that_takes_all_partitions(protocol: str, phase: GroupPhase) -> None:
    group = state(protocol)
    group.assigned(PARTITIONS, 1_000)
    group.taken_away(PARTITIONS[:1], 2_000)
    assert group.phase(2_000) is GroupPhase.READING
    group.taken_away(PARTITIONS[1:], 3_000)
    assert group.phase(4_000) is phase
    assert group.waiting_ms(4_000) == 1_000


class Joining(Service):
    """A service that polls, in a group that has not answered."""

    def since_poll_ms(self) -> int | None:
        return 0


def test_joining_is_alive_and_not_ready() -> None:
    app = Joining("shop")
    app._group_state = state("classic")
    watching = Watching("localhost:0", app)

    async def pages() -> list[tuple[int, bytes]]:
        return [page[:2] for page in (await watching._healthy(), await watching._ready())]

    (health, health_text), (ready, ready_text) = asyncio.run(pages())
    assert (health, ready) == (200, 503)
    assert health_text == ready_text and health_text.startswith(b"joining group shop ")
    app._group_state.assigned(PARTITIONS, 0)
    assert asyncio.run(pages()) == [(200, b"ok\n"), (200, b"ok\n")]
    app.stop()
    assert unreadiness(app) == "stopping"


def test_a_long_wait_is_logged_and_its_end(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    caplog.set_level(logging.INFO, "odradek.service")
    monkeypatch.setattr(group_observer, "_LOOK_S", 0)

    class Clock:
        now_ms = 0

        def monotonic_ms(self) -> int:
            return self.now_ms

        wall_ms = monotonic_ms

    async def test() -> None:
        clock, group = Clock(), state("classic")
        logging_state = asyncio.ensure_future(group_observer.log_group_state("shop", group, clock))
        for now_ms in (3_000, 5_000, 6_000, 21_000):
            clock.now_ms = now_ms
            for _ in range(5):
                await asyncio.sleep(0)
        group.assigned(PARTITIONS, 22_000)
        for _ in range(5):
            await asyncio.sleep(0)
        logging_state.cancel()

    asyncio.run(test())
    lines = [record.getMessage().partition(":")[2].strip() for record in caplog.records]
    assert [line[:28] for line in lines] == [
        "joining group shop for 5 s: ",
        "joining group shop for 21 s:",
        "reading 2 partitions",
    ]
