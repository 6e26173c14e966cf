from dataclasses import replace
from typing import Any

import pytest

from odradek.api.dispatch.context import Session
from odradek.api.handlers import find_coordinator
from odradek.common.ids import uuid_to_text
from odradek.coordinator.runtime.keys import partition_for
from odradek.protocol.api_keys import APIS, ApiKey, ListenerRole
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages import broker_registration_request as registration
from odradek.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from support.builders.api import ask, bench_services, session
from support.builders.controller import Bench

VERSIONS = range(APIS[ApiKey.FIND_COORDINATOR].versions.last + 1)
GROUP, TRANSACTION, SHARE = 0, 1, 2
SHARE_KEY = f"a:group:{uuid_to_text(bytes(range(16)))}:3"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers look once for a topic that is being made."""
    monkeypatch.setattr(find_coordinator, "_LOOKS", 1)


@pytest.fixture
def bench() -> Bench:
    """Broker 2 cannot be seen on the listener PLAINTEXT."""
    made = Bench()
    for broker_id, name in ((0, "PLAINTEXT"), (1, "PLAINTEXT"), (2, "OTHER")):
        listener = registration.Listener(name=name, host=f"host{broker_id}", port=9092, security_protocol=0)
        made.add_broker(broker_id, listeners=[listener])
    return made


def asking(bench: Bench, made: list[str] | None = None) -> Session:
    services = bench_services(bench, create_internal_topic=([] if made is None else made).append)
    return replace(session(services, ListenerRole.BROKER), listener_name="PLAINTEXT")


def find(asked: Session, version: int, key: str, key_type: int = GROUP) -> Any:
    """The answer for one key, as every version says it."""
    if version < 4:
        return ask(asked, FindCoordinatorRequest(key=key, key_type=key_type), version)
    (found,) = ask(asked, FindCoordinatorRequest(coordinator_keys=[key], key_type=key_type), version).coordinators
    assert found.key == key
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_the_leader_of_the_keys_partition_coordinates(bench: Bench, version: int) -> None:
    bench.create("__consumer_offsets", [[0], [1]])
    for key in ("my-group", "a", "größe"):
        found = find(asking(bench), version, key)
        leader = partition_for(key, 2)
        assert (found.error_code, found.node_id, found.host, found.port) == (0, leader, f"host{leader}", 9092)
        if version in range(1, 4):
            assert found.error_message == "NONE"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_that_is_not_there_is_made(bench: Bench, version: int) -> None:
    made: list[str] = []
    for key_type, topic in ((GROUP, "__consumer_offsets"), (TRANSACTION, "__transaction_state")):
        if version == 0 and key_type != GROUP:
            continue
        found = find(asking(bench, made), version, "key", key_type)
        assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert (found.node_id, found.host, found.port) == (-1, "", -1)
        assert made.pop() == topic


@pytest.mark.parametrize("version", VERSIONS)
def test_the_first_answer_waits_for_the_topic(bench: Bench, version: int) -> None:
    services = bench_services(bench, create_internal_topic=lambda topic: bench.create(topic, [[0], [1]]))
    asked = replace(session(services, ListenerRole.BROKER), listener_name="PLAINTEXT")
    assert find(asked, version, "key").node_id == partition_for("key", 2)


def test_a_leader_that_cannot_be_reached_is_no_answer(bench: Bench) -> None:
    bench.create("__consumer_offsets", [[2]])
    assert find(asking(bench), 6, "key").error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    bench.create("__transaction_state", [[1]])
    assert find(asking(bench), 6, "key", TRANSACTION).error_code == 0
    bench.ask(bench.beat(1, want_fence=True))
    assert find(asking(bench), 6, "key", TRANSACTION).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_many_keys_are_answered_in_their_order(bench: Bench) -> None:
    bench.create("__consumer_offsets", [[0], [1]])
    keys = [f"group-{number}" for number in range(10)]
    found = ask(asking(bench), FindCoordinatorRequest(coordinator_keys=keys)).coordinators
    assert [one.key for one in found] == keys
    assert [one.node_id for one in found] == [partition_for(key, 2) for key in keys]


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_an_unknown_kind_of_key_is_refused(bench: Bench, version: int) -> None:
    assert find(asking(bench), version, "key", 7).error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_share_groups_have_a_coordinator_since_the_latest_version(bench: Bench, version: int) -> None:
    made: list[str] = []
    found = find(asking(bench, made), version, SHARE_KEY, SHARE)
    if version < 6:
        assert found.error_code == ErrorCode.INVALID_REQUEST
        assert made == []
    else:
        assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert made == ["__share_group_state"]


@pytest.mark.parametrize("key", ["", "group", "group:topic", "group:topic:0", SHARE_KEY[:-1] + "x", SHARE_KEY[7:]])
def test_the_key_of_a_share_group_has_three_parts(bench: Bench, key: str) -> None:
    assert find(asking(bench), 6, key, SHARE).error_code == ErrorCode.INVALID_REQUEST
