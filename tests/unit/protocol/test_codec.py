"""What the codec promises, on small messages; that it is Kafka's is shown by vectors and by the oracles."""

import struct
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odradek.common.failures import ApiError, ProtocolError
from odradek.protocol.codec import decode, decode_prefix, encode, encode_parts, schema_of, size
from odradek.protocol.codec_runtime import element_bytes_min
from odradek.protocol.errors import InvalidMessage, UnsupportedVersion
from odradek.protocol.message import Message
from odradek.protocol.messages.api_versions_request import ApiVersionsRequest
from odradek.protocol.messages.consumer_group_heartbeat_response import Assignment, ConsumerGroupHeartbeatResponse
from odradek.protocol.messages.consumer_group_member_metadata_value import ConsumerGroupMemberMetadataValue
from odradek.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from odradek.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.offset_commit_key import OffsetCommitKey
from odradek.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.topic_record import TopicRecord
from odradek.protocol.messages.vote_request import VoteRequest
from support.builders.protocol import every_message_version, messages

QUICK = settings(
    max_examples=3, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)


def produce(records: Any) -> ProduceRequest:
    partition = PartitionProduceData(index=1, records=records)
    return ProduceRequest(acks=1, topic_data=[TopicProduceData(name="t", partition_data=[partition])])


def round_trip_of(cls: type[Message], version: int) -> Callable[[Message], None]:
    def round_trip(message: Message) -> None:
        body = encode(message, version)
        assert size(message, version) == len(body)
        assert decode(cls, version, body) == message
        assert decode_prefix(cls, version, b"12" + body + b"345", 2) == (message, 2 + len(body))

    return round_trip


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(4))
def test_what_is_written_is_read(shard: int) -> None:
    for cls, version in list(every_message_version())[shard::4]:
        QUICK(given(messages(cls, version))(round_trip_of(cls, version)))()


class TestRecords:
    def test_are_ranges_of_the_input(self) -> None:
        buffer = bytearray(encode(produce(b"abc"), 9))
        records = decode(ProduceRequest, 9, buffer).topic_data[0].partition_data[0].records
        assert isinstance(records, memoryview)
        assert records == b"abc"
        records[0] = ord("X")
        assert b"Xbc" in buffer

    def test_are_not_copied_on_the_way_out(self) -> None:
        records = memoryview(bytearray(b"abc"))
        assert any(piece is records for piece in encode_parts(produce(records), 9))

    def test_may_be_null(self) -> None:
        for version in (3, 9):
            body = encode(produce(None), version)
            assert decode(ProduceRequest, version, body).topic_data[0].partition_data[0].records is None


class TestTaggedFields:
    def test_unknown_ones_are_kept_in_order_among_the_known(self) -> None:
        state = ReplicaState(replica_id=1, replica_epoch=2)
        request = FetchRequest(replica_state=state, cluster_id="c", unknown_tagged_fields=((9, b"nine"), (2, b"")))
        body = encode(request, 15)
        assert body.endswith(bytes.fromhex("04 0002 0263 010d 00000001 0000000000000002 00 0200 0904") + b"nine")
        again = decode(FetchRequest, 15, body)
        assert again.unknown_tagged_fields == ((2, b""), (9, b"nine"))
        assert encode(again, 15) == body

    def test_of_two_with_one_tag_the_last_counts(self) -> None:
        body = encode(VoteRequest(), 0)
        assert body[-1] == 0
        message = decode(VoteRequest, 0, body[:-1] + bytes.fromhex("03 4d0161 4c00 4d0162"))
        assert message.unknown_tagged_fields == ((76, b""), (77, b"b"))

    def test_a_tag_may_not_be_taken(self) -> None:
        with pytest.raises(InvalidMessage, match="unknown_tagged_fields has tag 0, which is taken"):
            encode(FetchRequest(cluster_id="c", unknown_tagged_fields=((0, b""),)), 15)
        with pytest.raises(InvalidMessage, match="tag 7, which is taken"):
            encode(TopicRecord(unknown_tagged_fields=((7, b""), (7, b""))), 0)

    def test_a_known_one_must_fill_its_size(self) -> None:
        body = encode(FetchRequest(cluster_id="c"), 15)
        assert body.endswith(bytes.fromhex("01 0002 0263"))
        with pytest.raises(ProtocolError, match="cluster_id does not fill its tagged field"):
            decode(FetchRequest, 15, body[:-4] + bytes.fromhex("0003 026300"))

    def test_old_versions_have_none(self) -> None:
        with pytest.raises(UnsupportedVersion, match="version 4 has no tagged fields"):
            encode(FetchRequest(unknown_tagged_fields=((5, b""),)), 4)


class TestVersions:
    def test_what_a_version_cannot_carry_is_named(self) -> None:
        with pytest.raises(UnsupportedVersion, match="MetadataRequest version 3 cannot carry") as caught:
            encode(MetadataRequest(topics=[], allow_auto_topic_creation=False), 3)
        assert caught.value.field == "allow_auto_topic_creation"
        assert caught.value.version == 3
        assert isinstance(caught.value, ApiError)
        assert caught.value.code == 35

    def test_inside_structures_too(self) -> None:
        partition = FetchPartition(last_fetched_epoch=3)
        with pytest.raises(UnsupportedVersion) as caught:
            encode(FetchRequest(topics=[FetchTopic(partitions=[FetchPartition(), partition])]), 11)
        assert caught.value.field == "topics[0].partitions[1].last_fetched_epoch"

    def test_ignorable_fields_are_dropped(self) -> None:
        request = FetchRequest(session_epoch=7)
        assert decode(FetchRequest, 4, encode(request, 4)).session_epoch == -1
        assert decode(FetchRequest, 7, encode(request, 7)).session_epoch == 7

    def test_fields_that_a_version_lacks_get_their_defaults(self) -> None:
        request = decode(MetadataRequest, 1, encode(MetadataRequest(topics=[MetadataRequestTopic(name="a")]), 1))
        assert request.allow_auto_topic_creation is True
        assert request.topics == [MetadataRequestTopic(name="a")]

    @pytest.mark.parametrize("version", [-1, 2, 14])
    def test_there_is_no_such_version(self, version: int) -> None:
        with pytest.raises(UnsupportedVersion, match=f"ProduceRequest has versions 3 to 13, not {version}"):
            encode(ProduceRequest(), version)
        with pytest.raises(UnsupportedVersion):
            decode(ProduceRequest, version, b"")


class TestNull:
    def test_where_it_may_not_be(self) -> None:
        topic: Any = TopicProduceData(name=None)  # type: ignore[arg-type]
        with pytest.raises(InvalidMessage, match=r"topic_data\[0\].name must not be null in version 9"):
            encode(ProduceRequest(topic_data=[topic]), 9)

    def test_where_it_may_be_in_some_versions_only(self) -> None:
        with pytest.raises(InvalidMessage, match="topics must not be null in version 0"):
            encode(MetadataRequest(topics=None), 0)
        assert decode(MetadataRequest, 1, encode(MetadataRequest(topics=None), 1)).topics is None

    @pytest.mark.parametrize(("version", "body"), [(0, "ffffffff"), (0, "fffffffe")])
    def test_from_a_peer(self, version: int, body: str) -> None:
        with pytest.raises(ProtocolError, match="topics is null"):
            decode(MetadataRequest, version, bytes.fromhex(body))

    def test_structures(self) -> None:
        without, with_ = ConsumerGroupHeartbeatResponse(), ConsumerGroupHeartbeatResponse(assignment=Assignment())
        assert decode(ConsumerGroupHeartbeatResponse, 0, encode(without, 0)).assignment is None
        assert decode(ConsumerGroupHeartbeatResponse, 0, encode(with_, 0)).assignment == Assignment()


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("acks", 2**15, "acks is 32768; it must be an integer from -32768 to 32767"),
        ("acks", "1", "acks is '1'; it must be an integer"),
        ("timeout_ms", 1.5, "timeout_ms is 1.5; it must be an integer"),
        ("transactional_id", b"bytes", "transactional_id is b'bytes'; it must be a string"),
        ("transactional_id", "x" * 32768, "it must be at most 32767 bytes of UTF-8"),
        ("transactional_id", "\ud800", "it must be text that UTF-8 can carry"),
        ("topic_data", 5, "topic_data is 5; it must be a list"),
        ("topic_data", [PartitionProduceData()], r"topic_data\[0\] is .*; it must be TopicProduceData"),
    ],
)
@pytest.mark.parametrize("version", [8, 9])
def test_values_that_do_not_fit_are_named(field: str, value: Any, text: str, version: int) -> None:
    with pytest.raises(InvalidMessage, match=text):
        encode(ProduceRequest(**{field: value}), version)


def test_a_uuid_has_16_bytes() -> None:
    with pytest.raises(InvalidMessage, match="topic_id is b'short'; it must be 16 bytes"):
        encode(TopicRecord(name="t", topic_id=b"short"), 0)


class TestRefusedBytes:
    def test_left_over(self) -> None:
        with pytest.raises(ProtocolError, match="OffsetCommitKey v0: 1 bytes are left over"):
            decode(OffsetCommitKey, 0, encode(OffsetCommitKey(), 0) + b"!")

    def test_every_cut(self) -> None:
        for version in (3, 9, 13):
            message = produce(b"abc")
            if version == 13:
                message.topic_data[0].name = ""
            body = encode(message, version)
            for end in range(len(body)):
                with pytest.raises(ProtocolError):
                    decode(ProduceRequest, version, body[:end])

    def test_strings_that_are_no_utf8(self) -> None:
        body = encode(ApiVersionsRequest(client_software_name="abc"), 3)
        with pytest.raises(ProtocolError, match="no UTF-8"):
            decode(ApiVersionsRequest, 3, body.replace(b"abc", b"a\xffc"))

    def test_strings_of_more_than_15_bits(self) -> None:
        long = b"\x81\x80\x02" + b"x" * 0x8000 + b"\x01\x00"
        with pytest.raises(ProtocolError, match="client_software_name has 32768"):
            decode(ApiVersionsRequest, 3, long)

    @pytest.mark.parametrize("count", [2, 1000, 2**31 - 1])
    def test_counts_and_lengths_beyond_the_end(self, count: int) -> None:
        with pytest.raises(ProtocolError, match=f"topics has {count}, more than the bytes"):
            decode(MetadataRequest, 1, struct.pack(">i", count) + b"\0\0")
        with pytest.raises(ProtocolError):
            decode(MetadataRequest, 1, struct.pack(">ih", 1, min(count, 32767)))

    def test_overlong_varints(self) -> None:
        with pytest.raises(ProtocolError, match="longer than its type"):
            decode(ApiVersionsRequest, 3, bytes.fromhex("ffffffffff01"))
        with pytest.raises(ProtocolError, match="longer than its type"):
            decode(ApiVersionsRequest, 3, bytes.fromhex("ffffffff10"))

    def test_no_array_has_elements_of_no_bytes(self) -> None:
        """Were there one, its count would have no bound but a fixed limit."""
        for cls, version in every_message_version():
            schema = schema_of(cls)
            for fields in (schema.fields, *schema.structs.values()):
                for field in fields:
                    if field.is_array and version in field.versions:
                        assert element_bytes_min(schema, field, version) > 0


class TestMessages:
    def test_equal_when_all_fields_are(self) -> None:
        assert produce(b"abc") == produce(memoryview(b"abc"))
        assert produce(b"abc") != produce(b"abd")
        assert TopicRecord() != TopicRecord(unknown_tagged_fields=((1, b""),))
        assert TopicRecord() != VoteRequest()

    def test_do_not_share_their_lists(self) -> None:
        first, second = ProduceRequest(), ProduceRequest()
        first.topic_data.append(TopicProduceData())
        assert second.topic_data == []

    def test_show_their_fields(self) -> None:
        assert repr(PartitionProduceData(index=2)) == "PartitionProduceData(index=2, records=b'')"
        shown = repr(PartitionProduceData(unknown_tagged_fields=((1, b"x"),)))
        assert shown.endswith("unknown_tagged_fields=((1, b'x'),))")

    def test_take_no_other_attributes(self) -> None:
        with pytest.raises(AttributeError):
            ProduceRequest().ackks = 1  # type: ignore[attr-defined]


def test_a_tagged_structure_that_is_null() -> None:
    """As Apache Kafka 4.3.1 wrote it of a member that speaks the consumer protocol."""
    written = bytes.fromhex("0773746174696300076d656d6265720b2f3132372e302e302e310206706c61696e01000493e00001000100")
    member = decode(ConsumerGroupMemberMetadataValue, 0, written)
    assert (member.instance_id, member.classic_member_metadata) == ("static", None)
    assert encode(member, 0) == written


def test_nothing_is_imported_or_generated_before_it_is_used() -> None:
    program = """
import sys
import odradek.protocol.codec, odradek.protocol.registry, odradek.protocol.requests, odradek.protocol.api_keys
loaded = [name for name in sys.modules if name.startswith("odradek.protocol.messages.")]
print(sorted(loaded), "odradek.protocol.decoding" in sys.modules, "odradek.protocol.encode_errors" in sys.modules)
"""
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    headers = ["odradek.protocol.messages.request_header", "odradek.protocol.messages.response_header"]
    assert out == f"{headers} False False\n"


@given(st.binary(max_size=200), st.sampled_from(list(every_message_version())))
@settings(max_examples=500, deadline=None, database=None)
def test_any_bytes_give_a_message_or_a_protocol_error(data: bytes, which: Any) -> None:
    cls, version = which
    try:
        message = decode(cls, version, data)
    except ProtocolError:
        return
    assert encode(decode(cls, version, encode(message, version)), version) == encode(message, version)
