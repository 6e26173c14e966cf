import base64
from typing import Any

import pytest

from odradek.protocol.errors import InvalidMessage, UnsupportedVersion
from odradek.protocol.json_form import from_json, to_json
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.topic_record import TopicRecord

PRODUCE: dict[str, Any] = {
    "transactionalId": None,
    "acks": 1,
    "timeoutMs": 30,
    "topicData": [{"name": "t", "partitionData": [{"index": 4, "records": base64.b64encode(b"abc").decode()}]}],
}


def test_records_survive_unless_kafkas_own_form_is_wanted() -> None:
    message = from_json(ProduceRequest, 9, PRODUCE)
    partition = PartitionProduceData(index=4, records=b"abc")
    assert message.topic_data == [TopicProduceData(name="t", partition_data=[partition])]
    assert to_json(message, 9) == PRODUCE
    kafkas: Any = to_json(message, 9, records=False)
    assert kafkas["topicData"][0]["partitionData"] == [{"index": 4, "records": ""}]


def test_uuids_are_kafkas_text() -> None:
    value = {"name": "t", "topicId": "AAAAAAAAAAAAAAAAAAAAAQ"}
    message = from_json(TopicRecord, 0, value)
    assert message.topic_id == bytes(15) + b"\1"
    assert to_json(message, 0) == value


def test_tagged_fields_at_their_default_are_left_out() -> None:
    written = to_json(FetchRequest(), 17)
    assert "clusterId" not in written
    assert from_json(FetchRequest, 17, written) == FetchRequest()
    assert to_json(FetchRequest(cluster_id="c"), 17)["clusterId"] == "c"


def test_what_a_version_cannot_carry() -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t")], allow_auto_topic_creation=False)
    with pytest.raises(UnsupportedVersion, match="version 3 cannot carry allow_auto_topic_creation"):
        to_json(request, 3)
    with pytest.raises(UnsupportedVersion, match="version 3 cannot carry allowAutoTopicCreation"):
        from_json(MetadataRequest, 3, {"topics": None, "allowAutoTopicCreation": False})
    assert from_json(MetadataRequest, 3, {"topics": None, "allowAutoTopicCreation": True}).topics is None
    with pytest.raises(UnsupportedVersion, match="has versions 0 to 13, not 14"):
        to_json(request, 14)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"acks": 40_000}, "acks is 40000; it must be an integer from -32768 to 32767"),
        ({"acks": True}, "acks is True; it must be an integer"),
        ({"acks": None}, "acks must not be null"),
        ({"topicData": {}}, "topicData is {}; it must be an array"),
        ({"topicData": [3]}, r"topicData\[0\] is 3; it must be an object"),
        ({"topicData": [{"name": "t"}]}, r"topicData\[0\].partitionData is missing; version 9 needs it"),
        ({"transactionalId": 5}, "transactionalId is 5; it must be a string"),
        ({"akcs": 1}, "ProduceRequest has no field akcs"),
        (
            {"topicData": [{"name": "t", "partitionData": [{"index": 0, "records": "*"}]}]},
            r"topicData\[0\].partitionData\[0\].records: ",
        ),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, object], text: str) -> None:
    with pytest.raises(InvalidMessage, match=text):
        from_json(ProduceRequest, 9, PRODUCE | change)


def test_a_message_is_an_object() -> None:
    with pytest.raises(InvalidMessage, match=r"ProduceRequest is \[\]; it must be an object"):
        from_json(ProduceRequest, 9, [])


def test_a_field_that_is_missing() -> None:
    with pytest.raises(InvalidMessage, match="acks is missing; version 9 needs it"):
        from_json(ProduceRequest, 9, {key: value for key, value in PRODUCE.items() if key != "acks"})


def test_uuid_text_that_kafka_would_not_print() -> None:
    with pytest.raises(InvalidMessage, match=r"topicId: .* is no uuid"):
        from_json(TopicRecord, 0, {"name": "t", "topicId": "short"})
