"""Batches, records and bytes as text and as JSON."""

from functools import cache

from odradek.cli.base.output import format_timestamp, plural
from odradek.common.ids import TopicPartition
from odradek.common.printable import dump_json, printable
from odradek.protocol.schema import snake_case
from odradek.records.batch import Batch, Compression, Record, TimestampType

#: Longer values are truncated; `-v` shows them in full.
SHOWN_BYTES = 64

#: Fields of the quorum state in which -1 stands for no node.
_NODES = ("leaderId", "votedId")

#: Numbers of clients, one more than on disk: 0 no timestamp, 1 set by the producer, 2 set by the broker on append.
CLIENT_TIMESTAMP_TYPE = {
    TimestampType.NONE: 0,
    TimestampType.CREATE_TIME: 1,
    TimestampType.LOG_APPEND_TIME: 2,
}


@cache
def json_prefix(partition: TopicPartition) -> str:
    """Return the beginning of all lines of a partition."""
    return f'{{"topic": {dump_json(partition.topic)}, "partition": {partition.partition}, '


def record_json(prefix: str, leader_epoch: int, record: Record, decoded: object = None) -> str:
    """Return a line without json.dumps, which takes three times as long: a log has millions of records."""
    key = "null" if record.key is None else f'"{record.key.hex()}"'
    value = "null" if record.value is None else f'"{record.value.hex()}"'
    headers = "[]"
    if record.headers:
        headers = dump_json([[name, None if data is None else data.hex()] for name, data in record.headers])
    decoded_field = "" if decoded is None else f', "decoded": {dump_json(decoded)}'
    return (
        f'{prefix}"offset": {record.offset}, "timestamp": {record.timestamp}, '
        f'"timestamp_type": {CLIENT_TIMESTAMP_TYPE[record.timestamp_type]}, "key": {key}, "value": {value}, '
        f'"headers": {headers}, "leader_epoch": {leader_epoch}{decoded_field}}}\n'
    )


def batch_json(partition: TopicPartition, position: int, batch: Batch) -> dict[str, object]:
    """Return the header of a batch."""
    return {
        "topic": partition.topic,
        "partition": partition.partition,
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "position": position,
        "size_bytes": batch.size_bytes,
        "count": batch.count,
        "magic": batch.magic,
        "leader_epoch": batch.leader_epoch,
        "crc": batch.crc,
        "compression": batch.compression.name.lower(),
        "timestamp_type": CLIENT_TIMESTAMP_TYPE[batch.timestamp_type],
        "base_timestamp": batch.base_timestamp,
        "max_timestamp": batch.max_timestamp,
        "delete_horizon_ms": batch.delete_horizon_ms,
        "producer_id": batch.producer_id,
        "producer_epoch": batch.producer_epoch,
        "base_sequence": batch.base_sequence,
        "is_transactional": batch.is_transactional,
        "is_control": batch.is_control,
    }


def batch_line(batch: Batch, position: int, *, utc: bool) -> str:
    offsets = str(batch.base_offset)
    if batch.last_offset != batch.base_offset:
        offsets += f"..{batch.last_offset}"
    parts = [f"{batch.size_bytes} bytes", plural(batch.count, "record"), *_attributes(batch)]
    if batch.has_producer_id:
        parts.append(f"producer {batch.producer_id} epoch {batch.producer_epoch}")
        if batch.base_sequence >= 0:
            parts.append(f"sequence {batch.base_sequence}..{batch.last_sequence}")
    timestamp_type = "append time" if batch.timestamp_type is TimestampType.LOG_APPEND_TIME else "create time"
    parts.append(f"{timestamp_type} up to {format_timestamp(batch.max_timestamp, utc=utc)}")
    if batch.delete_horizon_ms is not None:
        parts.append(f"delete horizon {format_timestamp(batch.delete_horizon_ms, utc=utc)}")
    return f"batch {offsets} at {position}: {', '.join(parts)}"


def _attributes(batch: Batch) -> list[str]:
    attributes = [] if batch.magic == 2 else [f"magic {batch.magic}"]
    attributes.append(f"epoch {batch.leader_epoch}")
    if batch.compression is not Compression.NONE:
        attributes.append(batch.compression.name.lower())
    if batch.is_transactional:
        attributes.append("transactional")
    if batch.is_control:
        attributes.append("control")
    return attributes


def record_line(record: Record, decoded: str | None, *, utc: bool, in_full: bool) -> str:
    """Return a record as text, with `decoded` instead of key and value if it is set."""
    limit = None if in_full else SHOWN_BYTES
    line = f"{record.offset}  {format_timestamp(record.timestamp, utc=utc)}  "
    line += f"{show_bytes(record.key, limit)}: {show_bytes(record.value, limit)}" if decoded is None else decoded
    if record.headers:
        headers = (f"{printable(header.key)}={show_bytes(header.value, limit)}" for header in record.headers)
        line += "  " + " ".join(headers)
    return line


def entry_field_text(name: str, value: object, *, utc: bool) -> str:
    """Return the name of a field in snake case, with its value; lists of objects are shown by their values."""
    if name == "timestamp" and isinstance(value, int):
        text = format_timestamp(value, utc=utc)
    elif value is None or (name in _NODES and value == -1):
        text = "none"
    elif isinstance(value, list):
        text = ",".join(str(inner) for element in value for inner in element.values()) or "none"
    else:
        text = printable(str(value)) or '""'
    return f"{snake_case(name)} {text}"


def show_bytes(data: bytes | None, limit: int | None = SHOWN_BYTES) -> str:
    """Return bytes as text if they are printable UTF-8, else in hex; truncated bytes with their length."""
    if data is None:
        return "null"
    prefix = data if limit is None else data[:limit]
    try:
        text = prefix.decode() if len(prefix) == len(data) else prefix.decode(errors="ignore")
        is_text = text.isprintable() and len(text.encode()) >= len(prefix) - 3  # at most one character is truncated
    except UnicodeDecodeError:
        is_text = False
    content = f'"{text}"' if is_text else "0x" + prefix.hex()
    return content if len(prefix) == len(data) else f"{content}… ({len(data)} bytes)"
