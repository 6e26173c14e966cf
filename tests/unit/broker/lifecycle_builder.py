"""A broker's lifecycle as tests make it."""

from typing import Any

from odradek.broker.lifecycle import (
    BrokerIdentity,
    BrokerLifecycle,
    LifecycleTimings,
)
from odradek.metadata.features.feature_versions import supported_features
from odradek.metadata.image.broker_registration import Endpoint
from odradek.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from support.builders.controller import CLUSTER_ID, directory_of

TIMINGS = LifecycleTimings(
    heartbeat_interval_ms=2_000, registration_timeout_ms=60_000, directory_failure_timeout_ms=30_000
)
#: 0 is nobody's time, 1,000 is where the helpers' clock begins.
START_MS = 1_000


def make(node_id: int = 3, incarnation: bytes = b"i" * 16, **fields: Any) -> BrokerLifecycle:
    identity = BrokerIdentity(
        node_id=node_id,
        cluster_id=CLUSTER_ID,
        incarnation_id=incarnation,
        listeners=(Endpoint("PLAINTEXT", "broker3", 9092, 0), Endpoint("SECURE", "broker3", 9093, 1)),
        supported_features=supported_features(),
        directories=(directory_of(node_id, 1), directory_of(node_id, 0)),
        **fields,
    )
    return BrokerLifecycle(identity, TIMINGS)


def heard(**fields: Any) -> BrokerHeartbeatResponse:
    return BrokerHeartbeatResponse(**fields)
