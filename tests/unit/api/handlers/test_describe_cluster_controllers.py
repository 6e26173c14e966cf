"""DescribeCluster on a controller's listener."""

from typing import Any

import pytest

from odradek.api.dispatch.services import Node
from odradek.metadata.features.metadata_version import MetadataVersion
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.controller_registration_request import ControllerRegistrationRequest, Listener
from odradek.protocol.messages.describe_cluster_request import DescribeClusterRequest
from odradek.protocol.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from support.builders.api import SpokenQuorum, ask, bench_services, session
from support.builders.controller import Bench, bootstrap_records

LISTENER = "CONTROLLER"


def registered(bench: Bench, controller_id: int, listener: str = LISTENER) -> None:
    endpoint = Listener(name=listener, host=f"controller{controller_id}", port=9093, security_protocol=0)
    bench.ask(
        ControllerRegistrationRequest(controller_id=controller_id, incarnation_id=b"i" * 16, listeners=[endpoint])
    )


def described(bench: Bench, leader: Node | None, version: int = 2, **fields: Any) -> DescribeClusterResponse:
    services = bench_services(bench, SpokenQuorum(known_leader=leader))
    request = DescribeClusterRequest(**{"endpoint_type": 2, **fields})
    response = ask(session(services), request, version)
    assert isinstance(response, DescribeClusterResponse)
    return response


def test_controllers_that_can_be_reached_on_the_listener_that_was_asked() -> None:
    bench = Bench()
    registered(bench, 2)
    registered(bench, 1)
    registered(bench, 3, "ANOTHER")
    bench.add_broker(7)
    assert described(bench, Node(2, "h", 1)) == DescribeClusterResponse(
        endpoint_type=2,
        cluster_id="SimulatedCluster--1234",
        controller_id=2,
        brokers=[DescribeClusterBroker(broker_id=i, host=f"controller{i}", port=9093) for i in (1, 2)],
    )


@pytest.mark.parametrize("leader", [None, Node(3, "h", 1), Node(4, "h", 1)])
def test_a_leader_that_nobody_can_reach_is_not_named(leader: Node | None) -> None:
    bench = Bench()
    registered(bench, 1)
    registered(bench, 3, "ANOTHER")
    assert described(bench, leader).controller_id == -1


@pytest.mark.parametrize(
    ("endpoint_type", "code", "said"),
    [
        (
            1,
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            "an endpoint of type CONTROLLER, but we wanted an endpoint of type BROKER",
        ),
        (0, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, "Unsupported endpoint type 0"),
        (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, "Unsupported endpoint type 3"),
    ],
)
def test_requests_for_something_else(endpoint_type: int, code: ErrorCode, said: str) -> None:
    response = described(Bench(), None, endpoint_type=endpoint_type)
    assert response.error_code == code
    assert said in (response.error_message or "")


def test_the_first_version_can_only_mean_brokers() -> None:
    assert described(Bench(), None, version=0, endpoint_type=1).error_code == ErrorCode.INVALID_REQUEST


def test_all_operations_are_allowed_where_nobody_is_asked() -> None:
    """Kafka's bit field without an authoriser: CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS,
    ALTER_CONFIGS and IDEMPOTENT_WRITE."""
    assert described(Bench(), None).cluster_authorized_operations == -(2**31)
    response = described(Bench(), None, include_cluster_authorized_operations=True)
    assert response.cluster_authorized_operations == 0b1_1111_1010_0000


def test_before_controllers_registered_there_is_nothing_to_describe() -> None:
    old = Bench(options={"bootstrap": bootstrap_records(MetadataVersion.IBP_3_6_IV2)})
    response = described(old, None)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
