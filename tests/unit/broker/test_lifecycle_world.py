"""A broker's life in the world: anything in any order, and the real controller at the other end."""

from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from odradek.broker.lifecycle import (
    TRANSITIONS,
    BrokerLifecycle,
    BrokerState,
    Standing,
)
from odradek.common.failures import ApiError
from odradek.controller.cluster_control import RegistrationState
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from odradek.protocol.messages.broker_registration_request import BrokerRegistrationRequest
from odradek.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from odradek.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from support.builders.controller import Bench
from unit.broker.lifecycle_builder import START_MS, TIMINGS, heard, make


@settings(max_examples=60, stateful_step_count=40, deadline=None)
class AnyOrder(RuleBasedStateMachine):
    """Whatever happens, in whatever order, and whatever controllers answer."""

    @initialize()
    def begin(self) -> None:
        self.core = make()
        self.now_ms = START_MS
        self.core.start(self.now_ms)
        self.request: Any = None
        self.states = [BrokerState.NOT_RUNNING]
        self.is_ready = False

    def _in_flight(self) -> bool:
        return self.request is not None

    @rule(later_ms=st.sampled_from([0, 1, 49, 50, 2_000, 31_000]))
    def poll(self, later_ms: int) -> None:
        self.now_ms += later_ms
        deadline_ms = self.core.deadline_ms
        request = self.core.poll(self.now_ms, self.now_ms)
        if request is None:
            return
        assert self.request is None
        assert deadline_ms is not None
        assert deadline_ms <= self.now_ms
        if isinstance(request, BrokerHeartbeatRequest):
            assert request.broker_epoch == self.core.epoch >= 0
            assert request.want_fence is not self.is_ready
            assert request.want_shut_down is (self.core.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN)
        self.request = request

    @precondition(_in_flight)
    @rule(
        code=st.sampled_from([0, 0, 0, ErrorCode.STALE_BROKER_EPOCH, ErrorCode.NOT_CONTROLLER, 31_000]),
        flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
        epoch=st.integers(0, 3),
    )
    def answer(self, code: int, flags: tuple[bool, bool, bool], epoch: int) -> None:
        if isinstance(self.request, BrokerRegistrationRequest):
            response: Any = BrokerRegistrationResponse(error_code=code, broker_epoch=epoch)
        else:
            caught_up, fenced, stop = flags
            response = heard(error_code=code, is_caught_up=caught_up, is_fenced=fenced, should_shut_down=stop)
        self.request = None
        self.core.answered(response, self.now_ms)

    @precondition(_in_flight)
    @rule()
    def fail(self) -> None:
        self.request = None
        self.core.failed(ApiError("lost"), self.now_ms)

    @rule(which=st.sampled_from(["heartbeat_soon", "register_again", "begin_controlled_shutdown"]))
    def happen(self, which: str) -> None:
        getattr(self.core, which)(self.now_ms)

    @rule()
    def become_ready(self) -> None:
        self.core.ready_to_unfence(self.now_ms)
        self.is_ready = True

    @rule(directory=st.sampled_from([b"d" * 16, b"e" * 16]))
    def lose_a_directory(self, directory: bytes) -> None:
        self.core.directory_failed(directory, self.now_ms)

    @invariant()
    def states_follow_the_table(self) -> None:
        for change in self.core.take_changes():
            assert change.state is self.states[-1] or change.state in TRANSITIONS[self.states[-1]]
            self.states.append(change.state)
        assert self.states[-1] is self.core.state

    @invariant()
    def it_never_falls_asleep(self) -> None:
        assert self.core.is_over or self.core.deadline_ms is not None or self.request is not None


test_any_order = AnyOrder.TestCase


class WithController:
    """A lifecycle and the real controller. `pump` lets time pass from deadline to deadline."""

    def __init__(self, bench: Bench, core: BrokerLifecycle) -> None:
        self.bench = bench
        self.core = core
        core.start(bench.clock.now_ms)

    def step(self) -> None:
        clock, core = self.bench.clock, self.core
        deadline_ms = core.deadline_ms
        assert deadline_ms is not None
        clock.now_ms = max(clock.now_ms, deadline_ms)
        request = core.poll(clock.now_ms, self.bench.controller.loader.image.offset)
        if request is None:
            return
        kind = BrokerRegistrationResponse if isinstance(request, BrokerRegistrationRequest) else heard
        try:
            core.answered(self.bench.ask(request), clock.now_ms)
        except ApiError as refusal:
            core.answered(kind(error_code=refusal.code), clock.now_ms)

    def pump(self, until: Callable[[], bool]) -> None:
        for _ in self.steps():
            if until():
                return

    def steps(self) -> Iterator[None]:
        for _ in range(100):
            yield
            self.step()
        raise AssertionError(f"still {self.core.state.name}: {self.core.last_failure}")

    def run(self) -> None:
        self.pump(lambda: self.core.state is BrokerState.RECOVERY)
        self.core.ready_to_unfence(self.bench.clock.now_ms)
        self.pump(lambda: self.core.state is BrokerState.RUNNING)

    def seen(self) -> RegistrationState:
        return self.bench.controller.controls.cluster.state(self.core.identity.node_id)


def test_the_controller_takes_it_in_and_lets_it_go() -> None:
    bench = Bench()
    life = WithController(bench, make())
    life.run()
    assert (life.seen(), life.core.standing) == (RegistrationState.ONLINE, Standing.ONLINE)
    assert bench.clock.now_ms - START_MS < TIMINGS.heartbeat_interval_ms
    bench.add_broker(1)
    bench.create("t", [[3, 1]])
    life.core.begin_controlled_shutdown(bench.clock.now_ms)
    life.pump(lambda: life.core.standing is Standing.STOPPING)
    assert life.seen() is RegistrationState.STOPPING
    bench.ask(bench.beat(1))
    life.pump(lambda: life.core.is_over)
    assert life.seen() is RegistrationState.FENCED


def test_a_broker_that_is_unregistered_while_it_runs_comes_back() -> None:
    bench = Bench()
    life = WithController(bench, make())
    life.run()
    epoch = life.core.epoch
    bench.ask(UnregisterBrokerRequest(broker_id=3))
    life.pump(lambda: life.core.standing is Standing.OFFLINE)
    life.pump(lambda: life.core.standing is Standing.ONLINE)
    assert life.core.epoch > epoch
    assert life.seen() is RegistrationState.ONLINE


def test_a_running_broker_that_was_fenced_is_unfenced_with_its_next_heartbeat() -> None:
    bench = Bench()
    life = WithController(bench, make())
    life.run()
    bench.controller.connection_lost(3, life.core.epoch)
    bench.tick(300)
    assert life.seen() is RegistrationState.FENCED
    life.core.heartbeat_soon(bench.clock.now_ms)
    life.step()
    assert life.seen() is RegistrationState.ONLINE
    assert life.core.state is BrokerState.RUNNING


def test_a_second_process_waits_for_the_session_of_the_first() -> None:
    bench = Bench()
    WithController(bench, make()).run()
    second = WithController(bench, make(incarnation=b"j" * 16))
    second.step()
    assert "DUPLICATE_BROKER_REGISTRATION" in second.core.last_failure
    second.run()
    assert bench.clock.now_ms - START_MS < 9_000 + 2 * TIMINGS.heartbeat_interval_ms + 1_000


def test_the_first_process_does_not_push_the_second_out() -> None:
    bench = Bench()
    first = WithController(bench, make())
    first.run()
    second = WithController(bench, make(incarnation=b"j" * 16))
    second.run()
    for _ in range(20):
        first.step()
        second.step()
    assert (first.core.standing, second.core.standing) == (Standing.OFFLINE, Standing.ONLINE)
