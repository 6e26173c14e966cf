"""Offsets as Spark keeps them, and as options give them."""

import json

from odradek.common.ids import TopicPartition
from odradek.spark.pipeline.streams import topic_offsets
from odradek.spark.source.offset_limits import StreamOffset, offsets_from_json, parse_offsets


def test_offsets_of_a_stream_with_and_without_topic_ids() -> None:
    """Spark's own connector, and versions without topic ids, read the same offsets from it."""
    first, second = bytes(range(16)), bytes(range(16, 32))
    offset = StreamOffset({TopicPartition("t", 1): 7, TopicPartition("t", 0): 5}, {"t": first})
    document = {"t": {"0": 5, "1": 7}, "t#AAECAwQFBgcICQoLDA0ODw": {}}
    assert offset.to_json() == document
    assert list(offset.to_json()) == list(document)
    assert StreamOffset.from_json(document) == offset
    assert offsets_from_json(document) == offset.offsets
    assert parse_offsets("startingOffsets", json.dumps(document)) == offset.offsets
    assert topic_offsets(json.dumps(document)) == offset.offsets, "as status and progress reports read it"
    without = StreamOffset.from_json({"t": {"0": 5}, "u": {"0": 1}})
    assert without == StreamOffset({TopicPartition("t", 0): 5, TopicPartition("u", 0): 1})
    assert offset.replaced_topics({"t": second, "u": first}) == ("t",)
    assert offset.replaced_topics({"t": first}) == offset.replaced_topics({}) == ()
    assert without.replaced_topics({"t": second}) == ()
    assert offset.at({}) == offset.without(["t"]) == StreamOffset({})
