import pytest

from odradek.protocol import registry
from odradek.protocol.message_index import MESSAGES
from odradek.protocol.messages.offset_commit_value import OffsetCommitValue
from odradek.protocol.messages.produce_request import ProduceRequest
from odradek.protocol.messages.topic_record import TopicRecord
from odradek.protocol.schema import parse_schema, parse_versions, snake_case


def test_by_name() -> None:
    assert registry.message_class("ProduceRequest") is ProduceRequest
    assert registry.message_names()[0] == "ProduceRequest"
    assert registry.message_versions("ProduceRequest") == range(3, 14)
    for name in ("NoSuchMessage", "os", "..codec", "produce_request"):
        with pytest.raises(KeyError):
            registry.message_class(name)


def test_by_kind() -> None:
    assert set(registry.message_names("header")) == {"RequestHeader", "ResponseHeader"}
    assert "TopicRecord" in registry.message_names("metadata", "metadata")
    assert "TopicRecord" not in registry.message_names("metadata", "storage")


def test_by_key() -> None:
    assert registry.request_class(0) is ProduceRequest
    assert registry.record_class("metadata", "metadata", 2) is TopicRecord
    assert registry.record_class("coordinator-value", "group-coordinator", 1) is OffsetCommitValue
    with pytest.raises(KeyError):
        registry.record_class("metadata", "metadata", 1000)


def test_no_key_is_used_twice() -> None:
    keys = [(kind, module, key) for kind, module, key, *_ in MESSAGES.values() if key >= 0]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("kafka", "ours"),
    [
        ("TopicData", "topic_data"),
        ("KRaftVersion", "kraft_version"),
        ("Isr", "isr"),
        ("V3AndBelowTopics", "v3_and_below_topics"),
    ],
)
def test_names(kafka: str, ours: str) -> None:
    assert snake_case(kafka) == ours


@pytest.mark.parametrize("text", ["none", "0+", "3-12", "7"])
def test_versions(text: str) -> None:
    assert str(parse_versions(text)) == text


def test_facts_of_a_message() -> None:
    schema = parse_schema(
        """
Thing data module=clients versions=0-2 flexible=2+
  struct Pair
    Left int32 0+ default=-1 key entity=brokerId
  One Pair 0+
  Many []Pair 1+ nullable=1+ default=null ignorable
    Inner string 0+
  Last bytes 2+ tag=3 flexible=none
"""
    )
    assert (schema.name, schema.kind, schema.key, schema.flexible) == ("Thing", "data", -1, (2, 32767))
    one, many, last = schema.fields
    assert (one.is_struct, one.is_array, many.is_array, many.element) == (True, False, True, "Pair")
    assert (many.ignorable, many.default, str(many.nullable)) == (True, "null", "1+")
    assert (last.tag, last.flexible, last.name, last.json_name) == (3, False, "last", "last")
    left, inner = schema.structs["Pair"]
    assert (left.is_key, left.entity, left.default, inner.type) == (True, "brokerId", "-1", "string")
