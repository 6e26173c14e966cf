"""Handlers on a consumer and a producer in memory: order, retries, dead letters, commits, rebalances."""

import asyncio
import json
import threading
from collections import defaultdict

import pytest

from odradek.client.types import TopicPartition
from odradek.common.failures import ApiError
from odradek.protocol.error_codes import ErrorCode
from odradek.service.context import Context, Reject, Send
from odradek.service.counters import Ending
from odradek.service.engine import Engine
from odradek.service.message_intake import Phase
from odradek.service.ports import Outgoing
from odradek.service.processed_store import MemoryDone
from odradek.service.retries import Retries
from support.waiting import wait_until
from unit.service.service_builder import GROUP, Bench

ORDERS = TopicPartition("orders", 0)


def headers(message: Outgoing) -> dict[str, str]:
    return {key: (value or b"").decode() for key, value in message.headers}


def test_messages_are_handled_and_committed() -> None:
    bench, seen = Bench(), []

    async def handle(order: dict) -> None:  # type: ignore[type-arg]
        seen.append(order["id"])

    bench.handle(handle)
    for number in range(2_000):
        bench.source.write(json.dumps({"id": number}).encode())
    bench.run(lambda: len(seen) == 2_000)
    assert sorted(seen) == list(range(2_000))
    assert bench.source.committed == {ORDERS: 2_000}
    assert bench.figures.count(Ending.HANDLED) == 2_000


def test_messages_of_a_key_keep_their_order_and_others_run_beside_them() -> None:
    bench, seen, most = Bench(), defaultdict(list), [0]
    running: set[bytes] = set()

    async def handle(value: bytes, context: Context) -> None:
        assert context.key is not None and context.key not in running
        running.add(context.key)
        most[0] = max(most[0], len(running))
        await asyncio.sleep(0)
        seen[context.key].append(int(value))
        running.remove(context.key)

    bench.handle(handle, concurrency=4)
    for number in range(600):
        bench.source.write(str(number).encode(), key=b"k%d" % (number % 7))
    bench.run(lambda: sum(map(len, seen.values())) == 600)
    assert len(seen) == 7 and all(numbers == sorted(numbers) for numbers in seen.values())
    assert most[0] == 4


@pytest.mark.parametrize(("order", "most"), [("partition", 1), ("none", 4), ("key", 1)])
def test_orders(order: str, most: int) -> None:
    bench, running, seen = Bench(), [0], []

    async def handle(value: bytes) -> None:
        running[0] += 1
        seen.append(running[0])
        await asyncio.sleep(0.001)
        running[0] -= 1

    bench.handle(handle, concurrency=4, order=order)
    for _ in range(40):
        bench.source.write(b"x", key=b"same")
    bench.run(lambda: len(seen) == 40)
    assert max(seen) == most


def test_what_is_read_ahead_is_bounded_and_polling_goes_on() -> None:
    bench = Bench(drain_limit_s=0)
    polled = [0]

    async def handle(value: bytes) -> None:
        await asyncio.sleep(3600)

    bench.handle(handle, concurrency=2)
    for _ in range(5_000):
        bench.source.write(b"x")
    poll = bench.source.poll

    async def counted(timeout_ms: float, max_records: int | None = None) -> list:  # type: ignore[type-arg]
        polled[0] += 1
        return await poll(timeout_ms, max_records)

    bench.source.poll = counted  # type: ignore[method-assign]
    bench.run(lambda: polled[0] > 20)
    assert bench.source.positions[ORDERS] <= 1_000
    assert bench.source.committed == {}


def test_only_what_lies_below_the_lowest_unfinished_message_is_committed() -> None:
    bench, seen = Bench(drain_limit_s=0), []

    async def handle(value: bytes) -> None:
        if value == b"3":
            await asyncio.sleep(3600)
        seen.append(value)

    bench.handle(handle)
    for number in range(10):
        bench.source.write(str(number).encode())
    bench.run(lambda: len(seen) == 9 and ORDERS in bench.source.committed)
    assert bench.source.committed == {ORDERS: 3}


def test_retries_in_place() -> None:
    bench, attempts = Bench(), []

    async def handle(value: bytes, context: Context) -> None:
        attempts.append(context.attempt)
        if context.attempt < 3:
            raise ValueError("not yet")

    bench.handle(handle, retries=Retries(in_place=2, backoff_ms=1))
    bench.source.write(b"x")
    bench.run(lambda: bench.figures.count(Ending.HANDLED))
    assert attempts == [1, 2, 3]
    assert bench.sink.sent == []
    assert bench.figures.of("orders").retries_in_place == 2


def test_the_way_through_retry_topics_to_the_dead_letters() -> None:
    bench, seen = Bench(), []
    bench.feed_back("orders.retry.1ms", "orders.retry.20ms")

    async def handle(value: bytes, context: Context) -> None:
        seen.append((context.record.topic, context.attempt, context.origin.name, context.headers))
        raise LookupError("no such customer")

    bench.handle(handle, retries=Retries(in_place=1, backoff_ms=1, topics=["1ms", "20ms"]))
    bench.source.write(b"\xffbytes", key=b"k", headers=[("theirs", b"1")])
    bench.run(lambda: bench.figures.count(Ending.DEAD))
    theirs = (("theirs", b"1"),)
    assert seen == [
        ("orders", 1, "orders-0-0", theirs),
        ("orders", 2, "orders-0-0", theirs),
        ("orders.retry.1ms", 3, "orders-0-0", theirs),
        ("orders.retry.20ms", 4, "orders-0-0", theirs),
    ]
    (dead,) = bench.sink.of("orders.dead")
    assert (dead.key, dead.value) == (b"k", b"\xffbytes")
    found = headers(dead)
    trace = found.pop("odradek-trace")
    assert "no such customer" in trace and "test_engine.py" in trace and len(trace) <= 4_096
    assert found == {
        "theirs": "1",
        "odradek-topic": "orders",
        "odradek-partition": "0",
        "odradek-offset": "0",
        "odradek-timestamp-ms": "1700000000000",
        "odradek-group": GROUP,
        "odradek-attempts": "4",
        "odradek-reason": "failed",
        "odradek-exception": "LookupError",
        "odradek-message": "no such customer",
    }
    for topic in ("orders", "orders.retry.1ms", "orders.retry.20ms"):
        assert bench.source.committed[TopicPartition(topic, 0)] == 1


def test_a_message_that_waits_in_a_retry_topic_blocks_no_other() -> None:
    bench, seen = Bench(), []
    bench.feed_back("orders.retry.1h")

    async def handle(value: bytes) -> None:
        if value == b"bad":
            raise ValueError
        seen.append(value)

    bench.handle(handle, retries=Retries(in_place=0, topics=["1h"]))
    bench.source.write(b"bad")
    waiting = TopicPartition("orders.retry.1h", 0)

    async def main() -> None:
        running = asyncio.ensure_future(bench.run_async(lambda: len(seen) == 100))
        while waiting not in bench.source.paused:
            await asyncio.sleep(0.001)
        for _ in range(100):
            bench.source.write(b"good")
        await running

    asyncio.run(main())
    assert bench.source.committed == {ORDERS: 101}
    assert bench.figures.count(Ending.MOVED) == 1


def test_nobody_waits_longer_than_the_topic_says() -> None:
    bench, seen = Bench(), []

    async def handle(value: bytes) -> None:
        seen.append(value)

    bench.handle(handle, retries=Retries(topics=["20ms"]))
    ours = [("odradek-topic", b"orders"), ("odradek-partition", b"0"), ("odradek-offset", b"7")]
    ours += [("odradek-timestamp-ms", b"1"), ("odradek-attempts", b"1"), ("odradek-group", GROUP.encode())]
    bench.source.write(b"x", topic="orders.retry.20ms", headers=[*ours, ("odradek-due-ms", b"9" * 18)])
    bench.run(lambda: seen)


def test_retries_of_another_group_are_passed_over() -> None:
    bench, seen = Bench(), []

    async def handle(value: bytes) -> None:
        seen.append(value)

    bench.handle(handle, retries=Retries(topics=["1s"]))
    ours = [("odradek-topic", b"orders"), ("odradek-partition", b"0"), ("odradek-offset", b"7")]
    ours += [("odradek-timestamp-ms", b"1"), ("odradek-attempts", b"1"), ("odradek-due-ms", b"1")]
    bench.source.write(b"theirs", topic="orders.retry.1s", headers=[*ours, ("odradek-group", b"others")])
    bench.source.write(b"ours", topic="orders.retry.1s", headers=[*ours, ("odradek-group", GROUP.encode())])
    bench.source.write(b"stray", topic="orders.retry.1s")
    bench.run(lambda: bench.figures.count(Ending.SKIPPED) and len(seen) == 2)
    assert seen == [b"ours", b"stray"]


def test_what_cannot_be_read_is_dead_at_once() -> None:
    bench, seen = Bench(), []

    async def handle(order: dict) -> None:  # type: ignore[type-arg]
        seen.append(order)

    bench.handle(handle, retries=Retries(in_place=5, topics=["1h"]))
    for value in (b"{", b"[1]", None, b'{"id": 1}'):
        bench.source.write(value)
    bench.run(lambda: seen and bench.figures.count(Ending.DEAD) == 3)
    dead = bench.sink.of("orders.dead")
    assert [message.value for message in dead] == [b"{", b"[1]", None]
    assert {headers(message)["odradek-reason"] for message in dead} == {"undecodable"}
    assert bench.source.committed == {ORDERS: 4}


def test_a_handler_can_reject() -> None:
    bench = Bench()

    async def handle(value: bytes) -> None:
        raise Reject("the customer is gone")

    bench.handle(handle, retries=Retries(in_place=5))
    bench.source.write(b"x")
    bench.run(lambda: bench.figures.count(Ending.DEAD))
    found = headers(bench.sink.sent[0])
    assert (found["odradek-reason"], found["odradek-attempts"]) == ("rejected", "1")


def test_without_dead_letters_it_is_dropped_and_said(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()

    async def handle(value: bytes) -> None:
        raise ValueError("broken")

    bench.handle(handle, dead_letters=False)
    bench.source.write(b"x")
    bench.run(lambda: bench.figures.count(Ending.DROPPED))
    assert bench.sink.sent == [] and bench.source.committed == {ORDERS: 1}
    assert "orders-0-0: failed: ValueError: broken, attempt 1; dropped" in caplog.text


def test_a_coroutine_over_its_time_limit_is_cancelled() -> None:
    bench, cancelled = Bench(), []

    async def handle(value: bytes) -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.append(value)
            raise

    bench.handle(handle, time_limit_s=0.01)
    bench.source.write(b"x")
    bench.run(lambda: bench.figures.count(Ending.DEAD))
    assert cancelled == [b"x"]
    assert headers(bench.sink.sent[0])["odradek-reason"] == "time-limit"


def test_a_handlers_own_timeout_is_a_failure_like_others() -> None:
    bench = Bench()

    async def handle(value: bytes) -> None:
        raise TimeoutError("the database")

    bench.handle(handle, time_limit_s=3600)
    bench.source.write(b"x")
    bench.run(lambda: bench.figures.count(Ending.DEAD))
    assert headers(bench.sink.sent[0])["odradek-reason"] == "failed"


def test_a_thread_over_its_time_limit_is_given_up() -> None:
    bench, end = Bench(), threading.Event()
    begun: list[bytes] = []

    def handle(value: bytes) -> Send:
        begun.append(value)
        end.wait()
        return Send("late", b"nobody hears of it")

    def two_are_given_up() -> bool:
        """As many calls as it takes: one whose time is up before its thread has begun never begins."""
        if bench.handling.threads.abandoned == 2:
            return True
        if bench.figures.count(Ending.DEAD) == len(bench.source.logs.get(ORDERS, ())):
            bench.source.write(b"x")
        return False

    bench.handle(handle, time_limit_s=0.1, concurrency=1)
    bench.run(two_are_given_up)
    wait_until(lambda: len(begun) == 2, "both have begun")
    assert bench.figures.count(Ending.DEAD) == len(bench.source.logs[ORDERS])
    end.set()
    assert bench.sink.of("late") == []


def test_plain_functions_run_in_threads() -> None:
    bench, seen = Bench(), []

    def handle(value: str, context: Context) -> None:
        seen.append((value, threading.current_thread() is threading.main_thread()))

    bench.handle(handle)
    for number in range(50):
        bench.source.write(str(number).encode())
    bench.run(lambda: len(seen) == 50)
    assert sorted(int(value) for value, _ in seen) == list(range(50))
    assert not any(is_main for _, is_main in seen)


def test_outputs_are_written_before_the_message_is_finished() -> None:
    bench = Bench()

    async def handle(number: int, context: Context) -> list[Send]:
        context.send(Send("log", f"saw {number}"))
        return [Send("doubled", {"number": 2 * number}, key="k"), Send("gone", None, key=b"k")]

    bench.handle(handle)
    bench.source.write(b"21")
    bench.run(lambda: bench.figures.count(Ending.HANDLED))
    assert [(each.topic, each.key, each.value) for each in bench.sink.sent] == [
        ("log", None, b"saw 21"),
        ("doubled", b"k", b'{"number":42}'),
        ("gone", b"k", None),
    ]


def test_an_output_that_cannot_be_written_is_the_messages_failure() -> None:
    bench = Bench()

    async def handle(value: bytes) -> Send:
        return Send("refused", value)

    bench.handle(handle)
    bench.sink.errors["refused"] = ApiError("no such topic", ErrorCode.INVALID_TOPIC_EXCEPTION)
    bench.source.write(b"x")
    bench.run(lambda: bench.figures.count(Ending.DEAD))
    assert headers(bench.sink.sent[0])["odradek-message"] == "no such topic"


@pytest.mark.parametrize("returned", [7, "text", [1]])
def test_a_handler_that_returns_something_else_fails(returned: object) -> None:
    bench = Bench()

    async def handle(value: bytes) -> object:
        return returned

    bench.handle(handle)
    bench.source.write(b"x")
    bench.run(lambda: bench.figures.count(Ending.DEAD))
    assert "a Send" in headers(bench.sink.sent[0])["odradek-message"]


def test_nothing_is_committed_while_a_dead_letter_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("odradek.service.engine._WRITE_AGAIN_S", 0.001)
    bench, tries = Bench(), [0]

    async def handle(value: bytes) -> None:
        raise ValueError

    bench.handle(handle)
    bench.sink.errors["orders.dead"] = ApiError("nobody leads it", ErrorCode.NOT_LEADER_OR_FOLLOWER)
    bench.source.write(b"x")

    def until() -> bool:
        tries[0] += 1
        if tries[0] == 20:
            assert bench.source.committed == {}
            bench.sink.errors.clear()
        return bench.figures.count(Ending.DEAD) == 1

    bench.run(until)
    assert bench.source.committed == {ORDERS: 1}


def test_a_dead_letter_that_is_too_large_leaves_out_what_it_can() -> None:
    bench = Bench()

    async def handle(value: bytes) -> None:
        raise ValueError

    bench.handle(handle)
    send = bench.sink.send
    too_large = ApiError("too large", ErrorCode.MESSAGE_TOO_LARGE)

    async def picky(topic: str, value: bytes | None, *others: object) -> object:
        if value is not None:
            raise too_large
        return await send(topic, value, *others)  # type: ignore[arg-type]

    bench.sink.send = picky  # type: ignore[method-assign, assignment]
    bench.source.write(b"x" * 100)
    bench.run(lambda: bench.figures.count(Ending.DEAD))
    (dead,) = bench.sink.of("orders.dead")
    assert dead.value is None and headers(dead)["odradek-trace"] == ""
    assert headers(dead)["odradek-offset"] == "0"


def test_what_was_done_is_skipped() -> None:
    done = MemoryDone()
    done.mark("orders-0-1")
    bench, seen = Bench(done), []

    async def handle(value: bytes) -> None:
        seen.append(value)

    bench.handle(handle)
    for value in (b"a", b"b", b"c"):
        bench.source.write(value)
    bench.run(lambda: bench.figures.count(Ending.SKIPPED) and len(seen) == 2)
    assert seen == [b"a", b"c"]
    assert bench.source.committed == {ORDERS: 3}
    assert done.seen("orders-0-0") and done.seen("orders-0-2")


def test_a_key_function_finds_what_was_produced_twice(caplog: pytest.LogCaptureFixture) -> None:
    bench, seen = Bench(MemoryDone(), lambda context: (context.key or b"").decode()), []

    async def handle(value: bytes) -> None:
        seen.append(value)

    bench.handle(handle)
    for number in range(6):
        bench.source.write(str(number).encode(), key=b"order-%d" % (number % 2))
    bench.source.write(b"odd", key=b"\xff")
    bench.run(lambda: bench.source.committed == {ORDERS: 7})
    assert seen == [b"0", b"1", b"odd"]
    assert "done_key failed" in caplog.text


def test_a_store_that_is_far_away_may_be_awaited() -> None:
    class Far:
        marked: list[str] = []  # noqa: RUF012

        async def seen(self, key: str) -> bool:
            await asyncio.sleep(0)
            return key == "orders-0-0"

        async def mark(self, key: str) -> None:
            self.marked.append(key)

    bench, seen = Bench(Far()), []

    async def handle(value: bytes) -> None:
        seen.append(value)

    bench.handle(handle)
    bench.source.write(b"a")
    bench.source.write(b"b")
    bench.run(lambda: bench.source.committed == {ORDERS: 2})
    assert (seen, Far.marked) == ([b"b"], ["orders-0-1"])


def test_a_store_that_fails_ends_the_service() -> None:
    class Broken:
        def seen(self, key: str) -> bool:
            raise OSError("the disk is full")

        def mark(self, key: str) -> None: ...

    bench = Bench(Broken())

    async def handle(value: bytes) -> None: ...

    bench.handle(handle)
    bench.source.write(b"a")
    with pytest.raises(OSError, match="full"):
        bench.run(lambda: False)
    assert bench.source.committed == {}


def test_a_stop_finishes_what_runs_and_begins_nothing() -> None:
    bench, begun, ended = Bench(), [], []
    go = asyncio.Event()

    async def handle(value: bytes) -> None:
        begun.append(value)
        await go.wait()
        ended.append(value)

    bench.handle(handle, concurrency=3)
    for number in range(20):
        bench.source.write(str(number).encode())

    async def main() -> None:
        engine = bench.engine()
        running = asyncio.ensure_future(engine.run())
        while len(begun) < 3:
            await asyncio.sleep(0.001)
        engine.stop()
        go.set()
        await running

    asyncio.run(main())
    assert begun == ended == [b"0", b"1", b"2"]
    assert bench.source.committed == {ORDERS: 3}


@pytest.mark.parametrize("lost", [False, True])
def test_partitions_that_are_taken_away(lost: bool) -> None:
    """Revoked: what runs is finished and committed before. Lost: it is given up, and nothing is committed."""
    bench, ended = Bench(), []
    go = asyncio.Event()
    other = TopicPartition("orders", 1)

    async def handle(value: bytes, context: Context) -> None:
        if context.record.partition == 1:
            await go.wait()
        ended.append((context.record.partition, value))

    bench.handle(handle, concurrency=3)
    bench.source.write(b"mine", partition=0)
    for number in range(20):
        bench.source.write(str(number).encode(), partition=1)

    async def main() -> None:
        engine = bench.engine()
        running = asyncio.ensure_future(engine.run())
        while engine.running < 3 or not ended:
            await asyncio.sleep(0.001)
        (bench.source.lose if lost else bench.source.revoke)(other)
        while other in bench.intake.works and bench.intake.works[other].phase is Phase.OPEN:
            await asyncio.sleep(0.001)
        go.set()
        while other in bench.source.logs:
            await asyncio.sleep(0.001)
        engine.stop()
        await running

    asyncio.run(main())
    assert bench.source.committed == ({ORDERS: 1} if lost else {ORDERS: 1, other: 3})
    assert len(ended) == (1 if lost else 4)


def test_a_drain_leaves_no_hole_below_what_is_finished() -> None:
    """The quick key was ahead of the slow one: what lies between is handled before the partition is given up."""
    bench, seen = Bench(), []
    go = asyncio.Event()

    async def handle(value: bytes, context: Context) -> None:
        if context.key == b"slow":
            await go.wait()
        seen.append(value)

    bench.handle(handle, concurrency=2)
    for number, key in enumerate((b"slow", b"slow", b"quick", b"quick", b"slow", b"slow")):
        bench.source.write(str(number).encode(), key=key)

    async def main() -> None:
        engine = bench.engine()
        running = asyncio.ensure_future(engine.run())
        while len(seen) < 2:
            await asyncio.sleep(0.001)
        engine.stop()
        go.set()
        await running

    asyncio.run(main())
    assert seen == [b"2", b"3", b"0", b"1"]
    assert bench.source.committed == {ORDERS: 4}


def test_a_drain_waits_for_places_that_other_partitions_hold() -> None:
    bench, seen = Bench(), []
    other = TopicPartition("orders", 1)
    gates = defaultdict(asyncio.Event)

    async def handle(value: str, context: Context) -> None:
        await gates[value].wait()
        seen.append(value)

    bench.handle(handle, concurrency=2)
    for value, key in (("first", b"slow"), ("second", b"slow"), ("above", b"quick")):
        bench.source.write(value.encode(), key=key, partition=1)

    async def until_running(engine: Engine, ended: int) -> None:
        while engine.running < 2 or len(seen) < ended:
            await asyncio.sleep(0.001)

    async def main() -> None:
        engine = bench.engine()
        running = asyncio.ensure_future(engine.run())
        await until_running(engine, 0)
        for value in (b"blocking", b"blocking"):
            bench.source.write(value, partition=0)
        while bench.intake.in_hand < 5:
            await asyncio.sleep(0.001)
        gates["above"].set()
        await until_running(engine, 1)
        gates["first"].set()
        await until_running(engine, 2)  # both places are partition 0's now, and "second" has none
        bench.source.revoke(other)
        while bench.intake.works[other].phase is Phase.OPEN:
            await asyncio.sleep(0.001)
        gates["second"].set(), gates["blocking"].set()
        while other in bench.source.logs:
            await asyncio.sleep(0.001)
        engine.stop()
        await running

    asyncio.run(main())
    assert bench.source.committed == {ORDERS: 2, other: 3}
    assert sorted(seen) == ["above", "blocking", "blocking", "first", "second"]


def test_a_commit_that_fails_is_made_again() -> None:
    bench, seen = Bench(), []

    async def handle(value: bytes) -> None:
        seen.append(value)

    bench.handle(handle)
    bench.source.commit_error = ApiError("the coordinator moves", ErrorCode.NOT_COORDINATOR)
    bench.source.write(b"a")

    def until() -> bool:
        if bench.figures.failed_commits > 2:
            bench.source.commit_error = None
        return bool(bench.source.committed)

    bench.run(until)
    assert bench.source.committed == {ORDERS: 1}


def test_a_handler_whose_own_task_was_cancelled_has_failed() -> None:
    bench = Bench()

    async def handle(value: bytes) -> None:
        inner = asyncio.ensure_future(asyncio.sleep(3600))
        inner.cancel()
        await inner

    bench.handle(handle)
    bench.source.write(b"a")
    bench.run(lambda: bench.source.committed)
    (dead,) = bench.sink.of("orders.dead")
    assert dead.value == b"a"


def test_no_commit_holds_up_the_loop_for_a_clients_whole_timeout() -> None:
    """While brokers are gone, each commit fails only after its time-out: nothing is polled, and no stop noticed."""
    bench = Bench()
    bench.handle(lambda value: None)
    bench.source.write(b"1")
    bench.source.commit_error = ApiError("not done in time", ErrorCode.REQUEST_TIMED_OUT)
    engine = bench.engine()
    bench.run(lambda: len(bench.source.commit_timeouts_ms) > 2, engine)
    assert None not in bench.source.commit_timeouts_ms
    before, last = len(bench.source.commit_timeouts_ms), bench.source.commit_timeouts_ms[-1]
    assert last == min(filter(None, bench.source.commit_timeouts_ms))
    asyncio.run(engine.on_partitions_revoked([TopicPartition("orders", 0)]))  # the consumer is closed: it was tried
    assert len(bench.source.commit_timeouts_ms) == before
