"""The usual Produce request, read and answered without making its messages: one batch for one partition.

Half of what a small request costs is its objects: the header, the request with its topics and partitions, the response
with its own. A request that has one partition and nothing out of the ordinary lies at known places of its frame, and
what names the partition in it names it in the response too, byte for byte. Whatever is not exactly like this, and
whatever has to wait for other replicas, is left to `produce`, before anything was done about it.
"""

import struct
from functools import lru_cache

from odradek.api.dispatch.context import Context, Session
from odradek.api.handlers.produce import TRANSACTIONAL_BIT, refusal
from odradek.common.ids import ZERO_UUID, TopicPartition
from odradek.protocol.message import Message
from odradek.protocol.messages.produce_request import ProduceRequest
from odradek.protocol.requests import parse_request
from odradek.replica.requests import ProduceResult
from odradek.security.authorizer import ALLOW_ALL

#: Flexible versions; since the last of them topics have ids for names.
_VERSIONS = range(9, 14)
_FIRST_VERSION_WITH_IDS = 13
_ACKS = (1, -1)

#: Key, version, correlation id, size of the client's id, which follows.
_HEADER = struct.Struct(">hhih")
#: No tagged fields of the header, no transaction, acks, timeout, then one topic (arrays count from one).
_BODY = struct.Struct(">BBhiB")
_ONE = 2
_INT = struct.Struct(">i")
_ID_BYTES = 16
#: Of a name and its size: longer ones have a size of two bytes.
_NAMED_BYTES_MAX = 127

#: The tagged fields behind the records: none of the partition, the topic, or the request.
_END = b"\0\0\0"
#: Four bytes of a size: more than a frame can hold.
_SIZE_BITS_MAX = 21

_MAGIC_AT, _MAGIC, _LENGTH_AT = 16, 2, 8
_ATTRIBUTES_AT = 22
_OVERHEAD_BYTES, _HEADER_BYTES = 12, 61

#: Length, correlation id, no tagged fields.
_ANSWER_HEAD = struct.Struct(">iiB")
#: Error code, three numbers, no errors of records, no message, no tagged fields twice, no throttling, no tagged fields.
_ANSWER_TAIL = struct.Struct(">hqqqBBBBiB")
_ANSWER_BYTES = _ANSWER_HEAD.size + _ANSWER_TAIL.size - 4

#: Partitions of which the names are remembered: more than most brokers have, and a fraction of a megabyte.
_REMEMBERED = 4096


def quick(session: Session, frame: bytearray) -> bytes | Message | None:
    """The answer as a frame, or as a message if the batch was refused; None for what is not like this."""
    services = session.services
    replicas = services.replicas
    if replicas is None or services.authorizer is not ALLOW_ALL:
        return None
    try:
        _, version, correlation_id, client_bytes = _HEADER.unpack_from(frame)
        at = _HEADER.size + (client_bytes if client_bytes > 0 else 0)
        tags, transaction, acks, _, topics = _BODY.unpack_from(frame, at)
        if version not in _VERSIONS or tags or transaction or topics != _ONE or acks not in _ACKS:
            return None
        start = at + _BODY.size - 1
        by_name = version < _FIRST_VERSION_WITH_IDS
        named_bytes = frame[start + 1] if by_name else _ID_BYTES  # the size of a name counts itself
        end = start + named_bytes + 6
        if named_bytes > _NAMED_BYTES_MAX or frame[end - 5] != _ONE:
            return None
        name = bytes(frame[start:end])
        size, records_at = _size(frame, end)
    except (struct.error, IndexError):
        return None
    records_end = records_at + size
    if size < _HEADER_BYTES or frame[records_end:] != _END:
        return None
    records = memoryview(frame)[records_at:records_end]
    if records[_MAGIC_AT] != _MAGIC or _INT.unpack_from(records, _LENGTH_AT)[0] + _OVERHEAD_BYTES != size:
        return None
    if records[_ATTRIBUTES_AT] & TRANSACTIONAL_BIT:
        return None
    topic_id = ZERO_UUID if by_name else name[1 : 1 + _ID_BYTES]
    topic_partition = _by_name(name) if by_name else _by_id(session, topic_id, name)
    if topic_partition is None:
        return None
    result = replicas.produce.append_one(topic_partition, records, topic_id, acks)
    if result is None:
        return None
    if result.error_code:
        return _refused(session, frame, result)
    head = _ANSWER_HEAD.pack(_ANSWER_BYTES + len(name), correlation_id, 0)
    offsets = (result.base_offset, result.log_append_time_ms, result.log_start_offset)
    return b"".join((head, name, _ANSWER_TAIL.pack(0, *offsets, 1, 0, 0, 0, 0, 0)))


def _size(frame: bytearray, at: int) -> tuple[int, int]:
    """Of the records, which begin at the second number. It counts itself, and 0 is none."""
    size = shift = 0
    while True:
        byte = frame[at]
        at += 1
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            return size - 1, at
        shift += 7
        if shift > _SIZE_BITS_MAX:
            return -1, at


@lru_cache(_REMEMBERED)
def _by_name(name: bytes) -> TopicPartition | None:
    """`name` is what stands in the request: one topic, its name with its size, one partition, its index."""
    try:
        topic = name[2:-5].decode()
    except UnicodeDecodeError:
        return None
    return TopicPartition(topic, _INT.unpack_from(name, len(name) - 4)[0]) if topic else None


def _by_id(session: Session, topic_id: bytes, name: bytes) -> TopicPartition | None:
    topic = session.services.image().topics.by_id.get(topic_id)
    return None if topic is None else TopicPartition(topic.name, _INT.unpack_from(name, len(name) - 4)[0])


def _refused(session: Session, frame: bytearray, result: ProduceResult) -> Message:
    """Seldom, so the request is read as any other, to be told of in full."""
    header, request = parse_request(frame, session.registry.accepted)
    assert isinstance(request, ProduceRequest)
    version, client_id = header.request_api_version, header.client_id or ""
    context = Context(session, header.request_api_key, version, header.correlation_id, client_id, session.principal)
    return refusal(context, request, result)
