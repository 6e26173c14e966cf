"""BrokerHeartbeat: the connection it comes on is watched."""

from typing import Any

from odradek.api.dispatch.context import Context, Services, Session
from odradek.api.handlers.broker_heartbeat import handle
from odradek.protocol.error_codes import ErrorCode
from support.builders.api import BenchController, ask, bench_services, session
from support.builders.controller import Bench


def ended(connection: Session) -> None:
    for tell in connection.on_close:
        tell()


def beaten(bench: Bench, services: Services, number: int = 0) -> Session:
    """A connection that a heartbeat of broker 1 came on."""
    connection = session(services, number=number)
    assert ask(connection, bench.beat(1)).error_code == 0
    return connection


def bench_with_broker() -> tuple[Bench, Services, BenchController]:
    bench = Bench()
    bench.add_broker(1)
    services = bench_services(bench)
    assert isinstance(services.controller, BenchController)
    return bench, services, services.controller


def epoch(bench: Bench) -> int:
    return bench.controller.controls.cluster.brokers[1].epoch


def test_the_controller_hears_of_the_end_of_the_connection_once() -> None:
    bench, services, controller = bench_with_broker()
    connection = beaten(bench, services)
    for _ in range(3):
        ask(connection, bench.beat(1))
    assert controller.lost == []
    ended(connection)
    assert controller.lost == [(1, epoch(bench))]
    assert services.heartbeat_connections == {}


def test_the_latest_epoch_counts() -> None:
    bench, services, controller = bench_with_broker()
    connection = beaten(bench, services)
    bench.clock.now_ms += 60_000
    bench.tick()
    assert bench.add_broker(1, incarnation=2, unfence=False) == epoch(bench)
    ask(connection, bench.beat(1))
    ended(connection)
    assert controller.lost == [(1, epoch(bench))]


def test_an_older_connection_may_end_later() -> None:
    bench, services, controller = bench_with_broker()
    older, newer = beaten(bench, services, 1), beaten(bench, services, 2)
    ended(older)
    assert controller.lost == []
    ended(newer)
    assert controller.lost == [(1, epoch(bench))]


def test_a_process_of_another_epoch_does_not_hide_the_end_of_the_one_that_lives() -> None:
    bench, services, controller = bench_with_broker()
    living, stranger = beaten(bench, services, 1), session(services, number=2)
    stale = bench.beat(1)
    stale.broker_epoch -= 1
    assert ask(stranger, stale).error_code == ErrorCode.STALE_BROKER_EPOCH
    ended(living)
    assert controller.lost == [(1, epoch(bench))]


def test_a_connection_that_goes_over_to_another_broker_lets_go_of_the_first() -> None:
    bench, services, controller = bench_with_broker()
    bench.add_broker(2)
    connection = beaten(bench, services)
    ask(connection, bench.beat(2))
    assert [broker for broker, _ in services.heartbeat_connections] == [2]
    ended(connection)
    assert [broker for broker, _ in controller.lost] == [2]


def test_a_connection_that_ends_before_the_loop_comes_to_the_heartbeat() -> None:
    bench, services, controller = bench_with_broker()
    connection = session(services)
    beginning: Any = handle(Context(connection, 63, 1, 1, "", "User:a"), bench.beat(1))
    ended(connection)
    beginning.close()
    assert controller.lost == [(1, epoch(bench))]


def test_a_refused_heartbeat_is_answered_by_its_code() -> None:
    bench, services, _ = bench_with_broker()
    response = ask(session(services), bench.beat(1, broker_epoch=12345))
    assert response.error_code == ErrorCode.STALE_BROKER_EPOCH


def test_it_is_answered_within_half_an_interval_or_not_at_all() -> None:
    bench, services, controller = bench_with_broker()
    beaten(bench, services)
    services.static_configs = {"broker.heartbeat.interval.ms": "500"}
    beaten(bench, services)
    assert [deadline_ms for _, deadline_ms in controller.asked] == [bench.clock.now_ms + 1000, bench.clock.now_ms + 250]
