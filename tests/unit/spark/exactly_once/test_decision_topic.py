"""What a driver thinks of a topic of decisions that somebody else has made, in clusters that a test makes up."""

import logging
from typing import Any

import pytest

from odradek.client.settings.settings import producer_settings
from odradek.common.failures import InputError
from odradek.errors import Refused
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.describe_configs_request import DescribeConfigsRequest
from odradek.protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from odradek.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.spark.exactly_once.decision_topic import decision_partition

_SETTINGS = producer_settings({"bootstrap.servers": "localhost:9"})


class FakeLeaders:
    """Of a cluster of so many brokers. The last partition has so many replicas, the others one for each broker."""

    def __init__(self, brokers: int, replicas: int, in_sync: int, error: ErrorCode = ErrorCode.NONE) -> None:
        self._brokers = [MetadataResponseBroker(node_id=each) for each in range(brokers)]
        self._replicas = [list(range(brokers))] * 15 + [list(range(replicas))]
        self._configs = {"cleanup.policy": "compact", "min.insync.replicas": str(in_sync)}
        self._errors = [error]

    def topics(self, names: list[str]) -> dict[str, tuple[int, ...]]:
        return {name: tuple(range(len(self._replicas))) for name in names}

    def ask_any(self, request: Any) -> Any:
        if isinstance(request, DescribeConfigsRequest):
            configs = [DescribeConfigsResourceResult(name=name, value=value) for name, value in self._configs.items()]
            error = self._errors.pop() if self._errors else ErrorCode.NONE
            return DescribeConfigsResponse(results=[DescribeConfigsResult(error_code=error, configs=configs)])
        partitions = [MetadataResponsePartition(replica_nodes=each) for each in self._replicas]
        return MetadataResponse(brokers=self._brokers, topics=[MetadataResponseTopic(partitions=partitions)])


def _told(caplog: pytest.LogCaptureFixture, leaders: Any) -> list[str]:
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        for sink_id in "ab":
            decision_partition(leaders, _SETTINGS, sink_id)
    return caplog.messages


def test_fewer_copies_than_there_could_be_are_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    for enough in ((1, 1, 1), (2, 2, 1), (3, 3, 2), (5, 3, 2)):
        assert _told(caplog, FakeLeaders(*enough)) == []
    (told,) = _told(caplog, FakeLeaders(5, 2, 2))
    assert "has 2 replicas and min.insync.replicas=2: " in told
    assert told.endswith("expected 3 and 2")
    (told,) = _told(caplog, FakeLeaders(3, 3, 1))
    assert "has 3 replicas and min.insync.replicas=1: " in told


def test_settings_that_may_not_be_seen_are_no_reason_to_refuse(caplog: pytest.LogCaptureFixture) -> None:
    (told,) = _told(caplog, FakeLeaders(3, 1, 1, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    assert "cannot be checked" in told


def test_a_broker_that_does_not_know_the_topic_yet_is_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    assert _told(caplog, FakeLeaders(3, 3, 2, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)) == []
    with pytest.raises(Refused):
        _told(caplog, FakeLeaders(3, 3, 2, ErrorCode.INVALID_REQUEST))


def test_partitions_that_are_missing_are_refused(caplog: pytest.LogCaptureFixture) -> None:
    leaders = FakeLeaders(1, 1, 1)
    leaders._replicas = [[0]]
    with pytest.raises(InputError, match="has 1 partitions; expected at least 16"):
        _told(caplog, leaders)
