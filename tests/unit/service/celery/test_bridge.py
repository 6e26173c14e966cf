"""The bridge to Celery: when it looks, sends, sends again and gives up; on a Celery that is only pretended."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from odradek.common.failures import InputError
from odradek.service.celery.bridge import CeleryBridge
from odradek.service.celery.tracking import PENDING, Step, Tracking
from odradek.service.context import Context
from odradek.service.counters import Ending
from odradek.service.origin import first_origin
from unit.service.service_builder import Bench, record


class PretendedBackend:
    def __init__(self) -> None:
        self.metas: dict[str, Mapping[str, Any]] = {}
        self.errors: list[Exception] = []

    def get_task_meta(self, task_id: str, cache: bool) -> Mapping[str, Any]:
        if self.errors:
            raise self.errors.pop()
        return self.metas.get(task_id, {"status": PENDING})


class PretendedCelery:
    """Tasks end as soon as they are sent, unless they are `lost`."""

    def __init__(self) -> None:
        self.backend = PretendedBackend()
        self.sent: list[tuple[str, str, Any]] = []
        self.lost = 0
        self.errors: list[Exception] = []

    def send_task(self, name: str, args: Any, kwargs: Any, task_id: str, **options: Any) -> None:
        if self.errors:
            raise self.errors.pop()
        self.sent.append((name, task_id, (*args, kwargs, options)))
        if self.lost:
            self.lost -= 1
            return
        self.backend.metas[task_id] = (
            {"status": "FAILURE", "result": ValueError("no customer"), "traceback": "Traceback: there"}
            if args[0].get("bad")
            else {"status": "SUCCESS", "result": None}
        )


def forwarded(celery: PretendedCelery, **options: Any) -> Bench:
    bridge = CeleryBridge(celery, "bridge")
    bridge.forward("orders", "shop.handle", **options)
    bench = Bench()
    bench.handlers = bridge.handlers
    return bench


def test_messages_become_tasks_and_are_committed_when_those_have_ended() -> None:
    celery = PretendedCelery()
    bench = forwarded(
        celery, arguments=lambda order, context: ((order,), {"key": context.key}), send_options={"queue": "q"}
    )
    for number in range(50):
        bench.source.write(b'{"number":%d}' % number, key=b"k")
    bench.run(lambda: bench.figures.count(Ending.HANDLED) == 50)
    assert len(celery.sent) == 50
    name, task_id, sent = celery.sent[0]
    assert (name, task_id) == ("shop.handle", "bridge-orders-0-0-1700000000000")
    assert sent == ({"number": 0}, {"key": b"k"}, {"queue": "q"})
    assert list(bench.source.committed.values()) == [50]


def test_a_task_that_fails_in_the_end_is_dead_with_its_exception() -> None:
    celery = PretendedCelery()
    bench = forwarded(celery)
    bench.source.write(b'{"bad":true}')
    bench.run(lambda: bench.figures.count(Ending.DEAD))
    found = dict(bench.sink.of("orders.dead")[0].headers)
    assert found["odradek-exception"] == b"ValueError"
    assert found["odradek-message"] == b"no customer"
    assert found["odradek-trace"] == b"Traceback: there"


def test_what_an_earlier_bridge_has_sent_is_found_and_not_sent_again() -> None:
    celery = PretendedCelery()
    celery.backend.metas["bridge-orders-0-0-1700000000000"] = {"status": "SUCCESS"}
    bench = forwarded(celery)
    bench.source.write(b"{}")
    bench.run(lambda: bench.figures.count(Ending.HANDLED))
    assert celery.sent == []


def test_a_task_without_news_is_sent_again_and_at_last_given_up() -> None:
    celery = PretendedCelery()
    celery.lost = 2
    bench = forwarded(celery, resend_after_s=0.01)
    bench.source.write(b"{}")
    bench.run(lambda: bench.figures.count(Ending.HANDLED))
    assert len(celery.sent) == 3

    celery = PretendedCelery()
    celery.lost = 1_000
    bench = forwarded(celery, resend_after_s=0.01)
    bench.source.write(b"{}")
    bench.run(lambda: bench.figures.count(Ending.DEAD))
    assert b"sent 5 times" in (dict(bench.sink.sent[-1].headers)["odradek-message"] or b"")


@pytest.mark.parametrize("where", ["broker", "backend"])
def test_a_celery_that_cannot_be_reached_is_waited_for(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    monkeypatch.setattr("odradek.service.celery.bridge._AGAIN_MS", 5)
    celery = PretendedCelery()
    (celery if where == "broker" else celery.backend).errors += [ConnectionError("refused") for _ in range(3)]
    bench = forwarded(celery)
    bench.source.write(b"{}")
    bench.run(lambda: bench.figures.count(Ending.HANDLED))
    assert bench.figures.failed_attempts == 0


def test_arguments_that_no_task_can_have_are_dead_and_hold_up_nobody() -> None:
    celery = PretendedCelery()
    celery.errors.append(TypeError("Object of type bytes is not JSON serializable"))
    bench = forwarded(celery)
    for _ in range(3):
        bench.source.write(b"{}")
    bench.run(lambda: bench.figures.count(Ending.HANDLED) == 2 and bench.figures.count(Ending.DEAD) == 1)
    assert dict(bench.sink.sent[0].headers)["odradek-exception"] == b"TypeError"


def test_a_result_that_a_dying_worker_has_torn_is_none() -> None:
    celery = PretendedCelery()
    celery.backend.errors.append(ValueError("no JSON"))
    bench = forwarded(celery)
    bench.source.write(b"{}")
    bench.run(lambda: bench.figures.count(Ending.HANDLED))
    assert len(celery.sent) == 1


def test_task_ids_of_a_topic_that_was_made_anew_differ() -> None:
    bridge = CeleryBridge(PretendedCelery(), "bridge")
    old, new = record(b""), record(b"")
    new.timestamp_ms += 1
    ids = [bridge._task_id(Context(each, first_origin(each), 1)) for each in (old, new)]
    assert ids[0] != ids[1]


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match=r"celery\.Celery, not a str"):
        CeleryBridge("redis://", "bridge")

    class DisabledBackend: ...

    celery = PretendedCelery()
    with pytest.raises(InputError, match="exactly_once"):
        CeleryBridge(celery, "bridge", exactly_once=True)
    celery.backend = DisabledBackend()  # type: ignore[assignment]
    with pytest.raises(InputError, match="backend"):
        CeleryBridge(celery, "bridge")


def test_a_bridge_waits_on_after_everything_has_ended() -> None:
    """The one that looks for results ends when nobody waits, and another begins with the next message."""
    celery = PretendedCelery()
    bench = forwarded(celery)

    async def main() -> None:
        running = asyncio.ensure_future(bench.run_async(lambda: bench.figures.count(Ending.HANDLED) == 3))
        for number in range(3):
            bench.source.write(b"{}")
            while bench.figures.count(Ending.HANDLED) <= number and not running.done():
                await asyncio.sleep(0.001)
        await running

    asyncio.run(main())
    assert len(celery.sent) == 3


def test_tracking_by_the_clock() -> None:
    tracking = Tracking(sends_max=2)
    tracking.begin("a", 1_000, now_ms=0)
    assert tracking.to_look(0) == ["a"]
    assert tracking.seen("a", PENDING, 0) is Step.SEND
    tracking.sent(["a"], 0)
    assert tracking.to_look(19) == [] and tracking.next_look_ms() == 20
    assert tracking.seen("a", PENDING, 400) is Step.WAIT
    assert tracking.next_look_ms() == 500
    assert tracking.seen("a", "RETRY", 900) is Step.WAIT  # news: the time begins anew
    assert tracking.seen("a", "RETRY", 1_899) is Step.WAIT
    assert tracking.seen("a", "RETRY", 1_900) is Step.SEND
    tracking.sent(["a"], 1_900)
    assert tracking.seen("a", "RETRY", 3_899) is Step.WAIT  # twice as long
    assert tracking.seen("a", "RETRY", 3_900) is Step.GIVE_UP
    assert tracking.seen("a", "SUCCESS", 3_900) is Step.READY
    tracking.forget("a")
    assert tracking.seen("a", "SUCCESS", 2_900) is Step.WAIT
    assert tracking.next_look_ms() is None and len(tracking) == 0


def test_a_task_that_an_earlier_bridge_sent_and_that_runs_is_waited_for() -> None:
    tracking = Tracking(sends_max=2)
    tracking.begin("a", 1_000, now_ms=0)
    assert tracking.seen("a", "STARTED", 5) is Step.WAIT
