"""A broker's life: what happens in which state, by tables."""

from collections.abc import Callable
from typing import Any

import pytest

from odradek.broker.lifecycle import (
    BrokerLifecycle,
    BrokerState,
    Standing,
)
from odradek.errors import RequestTimedOut
from odradek.metadata.features.feature_versions import supported_features
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from odradek.protocol.messages.broker_registration_request import BrokerRegistrationRequest
from odradek.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from support.builders.controller import CLUSTER_ID, directory_of
from unit.broker.lifecycle_builder import START_MS, TIMINGS, heard, make


class Life:
    """A lifecycle with a clock, and a controller that says what a test wants."""

    def __init__(self) -> None:
        self.core = make()
        self.now_ms = START_MS
        self.core.start(self.now_ms)

    def sent(self, offset: int = 7) -> Any:
        """What is due by now."""
        request = self.core.poll(self.now_ms, offset)
        assert request is not None
        return request

    def answer(self, response: Any) -> "Life":
        self.core.answered(response, self.now_ms)
        return self

    def wait(self) -> int:
        """To the deadline; for how long that was."""
        before, deadline_ms = self.now_ms, self.core.deadline_ms
        assert deadline_ms is not None
        self.now_ms = max(self.now_ms, deadline_ms)
        return self.now_ms - before

    def beat(self, **fields: Any) -> Any:
        """One whole heartbeat at its time; what was sent."""
        self.wait()
        request = self.sent()
        self.answer(heard(**fields))
        return request

    def at(self, state: BrokerState) -> "Life":
        if state >= BrokerState.STARTING:
            self.sent()
            self.answer(BrokerRegistrationResponse(broker_epoch=11))
        if state >= BrokerState.RECOVERY:
            self.beat(is_caught_up=True)
        if state >= BrokerState.RUNNING:
            self.core.ready_to_unfence(self.now_ms)
            self.beat(is_caught_up=True, is_fenced=False)
        if state >= BrokerState.PENDING_CONTROLLED_SHUTDOWN:
            self.core.begin_controlled_shutdown(self.now_ms)
        if state is BrokerState.SHUTTING_DOWN:
            self.core.shut_down("a test")
        assert self.core.state is state
        return self


def test_a_registration_says_all_that_the_controller_must_know() -> None:
    core = make(rack="r1", previous_broker_epoch=5)
    core.start(START_MS)
    request = core.poll(START_MS, -1)
    assert isinstance(request, BrokerRegistrationRequest)
    assert (request.broker_id, request.cluster_id, request.incarnation_id) == (3, CLUSTER_ID, b"i" * 16)
    assert [(e.name, e.host, e.port, e.security_protocol) for e in request.listeners] == [
        ("PLAINTEXT", "broker3", 9092, 0),
        ("SECURE", "broker3", 9093, 1),
    ]
    assert {f.name: (f.min_supported_version, f.max_supported_version) for f in request.features} == {
        name: (levels.min, levels.max) for name, levels in supported_features().items()
    }
    assert (request.rack, request.previous_broker_epoch, request.is_migrating_zk_broker) == ("r1", 5, False)
    assert request.log_dirs == [directory_of(3, 0), directory_of(3, 1)]


def test_from_start_to_end() -> None:
    life = Life()
    core = life.core
    assert (core.state, core.standing, core.epoch) == (BrokerState.STARTING, Standing.OFFLINE, -1)
    assert isinstance(life.sent(), BrokerRegistrationRequest)
    life.answer(BrokerRegistrationResponse(broker_epoch=11))
    assert (core.state, core.standing, core.epoch) == (BrokerState.STARTING, Standing.FENCED, 11)
    first = life.beat()
    assert (first.broker_id, first.broker_epoch, first.current_metadata_offset) == (3, 11, 7)
    assert first.want_fence and not first.want_shut_down
    assert life.beat(is_caught_up=True).want_fence
    assert core.state is BrokerState.RECOVERY
    core.ready_to_unfence(life.now_ms)
    assert life.wait() == 0
    assert not life.beat(is_caught_up=True, is_fenced=False).want_fence
    assert (core.state, core.standing) == (BrokerState.RUNNING, Standing.ONLINE)
    assert life.wait() == TIMINGS.heartbeat_interval_ms
    life.beat(is_caught_up=True, is_fenced=False)
    core.begin_controlled_shutdown(life.now_ms)
    assert life.wait() == 0
    assert life.beat(is_fenced=False).want_shut_down
    assert (core.state, core.standing) == (BrokerState.PENDING_CONTROLLED_SHUTDOWN, Standing.STOPPING)
    life.beat(is_fenced=True, should_shut_down=True)
    assert core.is_over
    told = [(change.state.name, change.standing.value, change.epoch) for change in core.take_changes()]
    assert told == [
        ("STARTING", "Offline", -1),
        ("STARTING", "Fenced", 11),
        ("RECOVERY", "Fenced", 11),
        ("RUNNING", "Online", 11),
        ("PENDING_CONTROLLED_SHUTDOWN", "Online", 11),
        ("PENDING_CONTROLLED_SHUTDOWN", "Stopping", 11),
        ("SHUTTING_DOWN", "Fenced", 11),
    ]


ALIVE = [
    BrokerState.STARTING,
    BrokerState.RECOVERY,
    BrokerState.RUNNING,
    BrokerState.PENDING_CONTROLLED_SHUTDOWN,
]

#: Where a heartbeat's answer leads: what it says, and the next state from each of the states above.
ANSWERS: list[tuple[dict[str, bool], list[BrokerState]]] = [
    ({}, ALIVE),
    ({"is_caught_up": True}, [BrokerState.RECOVERY, *ALIVE[1:]]),
    ({"is_fenced": False}, [BrokerState.STARTING, BrokerState.RUNNING, *ALIVE[2:]]),
    ({"is_caught_up": True, "is_fenced": False}, [BrokerState.RECOVERY, BrokerState.RUNNING, *ALIVE[2:]]),
    ({"should_shut_down": True}, [*ALIVE[:3], BrokerState.SHUTTING_DOWN]),
]


@pytest.mark.parametrize(("fields", "following"), ANSWERS, ids=lambda value: str(value)[:50])
def test_what_an_answer_means_depends_on_the_state(fields: dict[str, bool], following: list[BrokerState]) -> None:
    for before, after in zip(ALIVE, following, strict=True):
        life = Life().at(before)
        life.beat(**fields)
        assert life.core.state is after, before


#: When the next heartbeat is due after one that succeeded.
INTERVALS = [
    (BrokerState.STARTING, [10, 10, 10]),
    (BrokerState.RECOVERY, [2_000, 2_000, 2_000]),
    (BrokerState.RUNNING, [2_000, 2_000, 2_000]),
    (BrokerState.PENDING_CONTROLLED_SHUTDOWN, [50, 100, 200]),
]


@pytest.mark.parametrize(("state", "intervals"), INTERVALS)
def test_how_soon_the_next_heartbeat_comes(state: BrokerState, intervals: list[int]) -> None:
    life = Life().at(state)
    fenced = state < BrokerState.RUNNING
    seen = []
    for _ in intervals:
        life.beat(is_fenced=fenced)
        deadline_ms = life.core.deadline_ms
        assert deadline_ms is not None
        seen.append(deadline_ms - life.now_ms)
    assert seen == intervals


def test_failures_are_tried_again_with_growing_pauses_up_to_the_interval() -> None:
    life = Life().at(BrokerState.RUNNING)
    pauses = []
    for _ in range(8):
        life.wait()
        life.sent()
        life.core.failed(RequestTimedOut("silence"), life.now_ms)
        assert life.core.deadline_ms is not None
        pauses.append(life.core.deadline_ms - life.now_ms)
    assert pauses == [50, 100, 200, 400, 800, 1_600, 2_000, 2_000]
    assert life.core.last_failure == "silence"
    life.beat(is_fenced=False)
    assert life.core.last_failure == ""
    assert life.wait() == 2_000
    life.sent()
    life.core.failed(RequestTimedOut("silence"), life.now_ms)
    assert life.wait() == 50


@pytest.mark.parametrize("state", ALIVE)
@pytest.mark.parametrize("code", [ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED])
def test_a_broker_that_was_forgotten_registers_again(state: BrokerState, code: ErrorCode) -> None:
    life = Life().at(state)
    life.beat(error_code=code)
    assert (life.core.state, life.core.standing) == (state, Standing.OFFLINE)
    life.wait()
    request = life.sent()
    assert isinstance(request, BrokerRegistrationRequest)
    assert request.incarnation_id == b"i" * 16
    life.answer(BrokerRegistrationResponse(broker_epoch=23))
    assert (life.core.epoch, life.core.standing) == (23, Standing.FENCED)
    # It must not spin between two controllers of different minds.
    assert life.wait() > 0
    assert life.beat(is_fenced=False, is_caught_up=True).broker_epoch == 23


def test_an_older_epoch_of_a_broker_that_asks_with_another_error_stays_registered() -> None:
    life = Life().at(BrokerState.RUNNING)
    life.beat(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    life.wait()
    assert isinstance(life.sent(), BrokerHeartbeatRequest)


def test_it_gives_up_when_it_cannot_register_in_time() -> None:
    life = Life()
    requests = 0
    while not life.core.is_over:
        life.wait()
        if life.core.poll(life.now_ms, 0) is not None:
            requests += 1
            life.answer(BrokerRegistrationResponse(error_code=ErrorCode.DUPLICATE_BROKER_REGISTRATION))
    assert life.now_ms == START_MS + TIMINGS.registration_timeout_ms
    assert requests > TIMINGS.registration_timeout_ms // TIMINGS.heartbeat_interval_ms
    assert "DUPLICATE_BROKER_REGISTRATION" in life.core.take_changes()[-1].reason


def test_it_gives_up_even_while_a_registration_is_under_way() -> None:
    life = Life()
    life.sent()
    assert life.wait() == TIMINGS.registration_timeout_ms
    assert life.core.poll(life.now_ms, 0) is None
    assert life.core.is_over


def test_once_registered_it_never_gives_up() -> None:
    life = Life().at(BrokerState.STARTING)
    life.now_ms += TIMINGS.registration_timeout_ms * 2
    life.beat(error_code=ErrorCode.STALE_BROKER_EPOCH)
    life.now_ms += TIMINGS.registration_timeout_ms * 2
    assert isinstance(life.sent(), BrokerRegistrationRequest)


def test_the_lease_of_a_heartbeat_begins_when_it_is_sent() -> None:
    life = Life().at(BrokerState.RECOVERY)
    assert life.core.heard_ms is None, "it does not serve yet"
    life.core.ready_to_unfence(life.now_ms)
    life.beat(is_caught_up=True, is_fenced=False)
    life.wait()
    sent_ms = life.now_ms
    life.sent()
    life.now_ms += 700
    life.answer(heard(is_fenced=False))
    assert life.core.heard_ms == sent_ms and not life.core.is_fenced
    life.wait()
    life.sent()
    life.core.failed(RequestTimedOut("no answer"), life.now_ms)
    assert life.core.heard_ms == sent_ms
    life.beat(is_fenced=True)
    assert life.core.heard_ms == life.now_ms and life.core.is_fenced


def test_a_broker_that_was_forgotten_counts_as_fenced_until_it_is_unfenced() -> None:
    life = Life().at(BrokerState.RUNNING)
    assert not life.core.is_fenced
    life.beat(error_code=ErrorCode.STALE_BROKER_EPOCH)
    assert life.core.is_fenced
    life.wait()
    life.sent()
    life.answer(BrokerRegistrationResponse(broker_epoch=12))
    assert life.core.is_fenced
    life.beat(is_fenced=False)
    assert not life.core.is_fenced


def test_after_a_broken_connection_a_heartbeat_follows_at_once() -> None:
    life = Life().at(BrokerState.RUNNING)
    life.now_ms += 500
    assert life.core.poll(life.now_ms, 0) is None
    life.core.heartbeat_soon(life.now_ms)
    assert isinstance(life.sent(), BrokerHeartbeatRequest)


def test_a_heartbeat_out_of_turn_is_one_and_not_many() -> None:
    life = Life().at(BrokerState.RUNNING)
    life.wait()
    life.sent()
    life.core.heartbeat_soon(life.now_ms)
    life.answer(heard(is_fenced=False))
    assert life.wait() == 0
    life.beat(is_fenced=False)
    assert life.wait() == TIMINGS.heartbeat_interval_ms


def test_a_broken_connection_does_not_hurry_registrations() -> None:
    life = Life()
    life.sent()
    life.answer(BrokerRegistrationResponse(error_code=ErrorCode.DUPLICATE_BROKER_REGISTRATION))
    life.core.heartbeat_soon(life.now_ms)
    assert life.wait() > 0


def test_what_happens_while_a_request_is_under_way_is_told_right_after_it() -> None:
    events: list[Callable[[BrokerLifecycle, int], None]] = [
        BrokerLifecycle.heartbeat_soon,
        BrokerLifecycle.begin_controlled_shutdown,
        BrokerLifecycle.register_again,
        lambda core, now_ms: core.directory_failed(b"d" * 16, now_ms),
    ]
    for happens in events:
        life = Life().at(BrokerState.RUNNING)
        life.wait()
        life.sent()
        happens(life.core, life.now_ms)
        assert life.core.poll(life.now_ms, 0) is None
        life.answer(heard(is_fenced=False))
        assert life.sent() is not None


def test_an_answer_to_a_heartbeat_that_did_not_ask_to_stop_does_not_end_a_shutdown() -> None:
    life = Life().at(BrokerState.RUNNING)
    life.wait()
    life.sent()
    life.core.begin_controlled_shutdown(life.now_ms)
    life.answer(heard(is_fenced=False, should_shut_down=True))
    assert life.core.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN


@pytest.mark.parametrize("state", [BrokerState.STARTING, BrokerState.RECOVERY])
def test_a_broker_that_never_ran_has_nothing_to_hand_over(state: BrokerState) -> None:
    life = Life().at(state)
    life.core.begin_controlled_shutdown(life.now_ms)
    assert life.core.is_over


def test_a_failed_directory_is_reported_until_the_controller_has_heard_it() -> None:
    life = Life().at(BrokerState.RUNNING)
    life.core.directory_failed(b"d" * 16, life.now_ms)
    assert life.beat(error_code=ErrorCode.NOT_CONTROLLER).offline_log_dirs == [b"d" * 16]
    life.beat(is_fenced=False)
    life.now_ms += TIMINGS.directory_failure_timeout_ms
    assert life.sent().offline_log_dirs == [b"d" * 16]
    assert not life.core.is_over


def test_it_gives_up_when_a_failed_directory_cannot_be_reported() -> None:
    life = Life().at(BrokerState.RUNNING)
    life.core.directory_failed(b"d" * 16, life.now_ms)
    life.sent()
    life.core.directory_failed(b"d" * 16, life.now_ms + 1)
    assert life.wait() == TIMINGS.directory_failure_timeout_ms
    assert life.core.poll(life.now_ms, 0) is None
    assert life.core.is_over


def test_cordoned_directories_are_told_once_the_metadata_is_known() -> None:
    life = Life()
    life.core.cordoned_directories = (directory_of(3, 1), directory_of(3, 0))
    life.at(BrokerState.STARTING)
    assert life.beat(is_caught_up=True).cordoned_log_dirs is None
    assert life.beat().cordoned_log_dirs == [directory_of(3, 0), directory_of(3, 1)]


def test_nothing_is_sent_before_the_start_and_after_the_end() -> None:
    core = make()
    assert core.poll(START_MS, 0) is None
    assert core.deadline_ms is None
    life = Life().at(BrokerState.SHUTTING_DOWN)
    life.now_ms += 1_000_000
    assert life.core.poll(life.now_ms, 0) is None
    assert life.core.deadline_ms is None


def test_an_answer_after_the_end_changes_nothing() -> None:
    life = Life().at(BrokerState.RUNNING)
    life.wait()
    life.sent()
    life.core.shut_down("a test")
    life.core.take_changes()
    life.answer(heard(is_fenced=False))
    life.core.failed(RequestTimedOut(), life.now_ms)
    assert life.core.take_changes() == []
