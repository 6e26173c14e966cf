"""Counting requests, durations and error codes."""

from odradek.network.request_metrics import ApiMetrics, RequestMetrics, bound_s
from odradek.protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from odradek.protocol.messages.heartbeat_response import HeartbeatResponse
from odradek.protocol.messages.metadata_response import MetadataResponse, MetadataResponsePartition
from odradek.protocol.messages.metadata_response import MetadataResponseTopic as Topic


def test_a_duration_falls_below_the_bound_of_its_bucket_and_not_below_the_one_before() -> None:
    for spent_ns in (0, 1023, 1024, 1025, 999_999, 1 << 40):
        api = ApiMetrics()
        api.count(spent_ns)
        bucket = api.buckets.index(1)
        assert spent_ns / 1e9 < bound_s(bucket)
        assert bucket == 0 or spent_ns / 1e9 >= bound_s(bucket - 1)
        assert (api.requests, api.spent_ns) == (1, spent_ns)


def test_error_codes_are_counted_wherever_a_response_has_them() -> None:
    traffic = RequestMetrics()
    partitions = [PartitionData(error_code=code, records=None) for code in (0, 6, 6, 1)]
    fetched = FetchResponse(error_code=70, responses=[FetchableTopicResponse(partitions=partitions)])
    traffic.answered(1, 10, fetched)
    assert traffic.of(1).errors == {70: 1, 6: 2, 1: 1}
    topic = Topic(error_code=3, partitions=[MetadataResponsePartition(error_code=5)])
    traffic.answered(3, 10, MetadataResponse(topics=[topic]))
    assert traffic.of(3).errors == {3: 1, 5: 1}
    traffic.answered(12, 10, HeartbeatResponse())
    traffic.answered(12, 10, None)
    assert (traffic.of(12).errors, traffic.of(12).requests) == ({}, 2)
