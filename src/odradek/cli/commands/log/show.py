"""How batches, records and bytes look as text and as JSON."""

from functools import cache

from odradek.cli.base.output import format_timestamp, plural
from odradek.common.ids import TopicPartition
from odradek.common.printable import dump_json, printable
from odradek.protocol.facts import snake_case
from odradek.records.batch import Batch, Compression, Record, TimestampType

#: A value is cut to what a line can hold; `-v` shows all of it.
SHOWN_BYTES = 64

#: Of the quorum state; a node of -1 is none.
_NODES = ("leaderId", "votedId")

#: Clients count one further than the disk: 0 no time, 1 set by the producer, 2 set by the broker on append.
CLIENT_TIMESTAMP_TYPE = {
    TimestampType.NONE: 0,
    TimestampType.CREATE_TIME: 1,
    TimestampType.LOG_APPEND_TIME: 2,
}


@cache
def json_prefix(partition: TopicPartition) -> str:
    """What all lines of a partition begin with."""
    return f'{{"topic": {dump_json(partition.topic)}, "partition": {partition.partition}, '


def record_json(prefix: str, leader_epoch: int, record: Record, decoded: object = None) -> str:
    """One line, written by hand: a log has millions of them, and json.dumps takes three times as long."""
    key = "null" if record.key is None else f'"{record.key.hex()}"'
    value = "null" if record.value is None else f'"{record.value.hex()}"'
    headers = "[]"
    if record.headers:
        headers = dump_json([[name, None if data is None else data.hex()] for name, data in record.headers])
    meaning = "" if decoded is None else f', "decoded": {dump_json(decoded)}'
    return (
        f'{prefix}"offset": {record.offset}, "timestamp": {record.timestamp}, '
        f'"timestamp_type": {CLIENT_TIMESTAMP_TYPE[record.timestamp_type]}, "key": {key}, "value": {value}, '
        f'"headers": {headers}, "leader_epoch": {leader_epoch}{meaning}}}\n'
    )


def batch_json(partition: TopicPartition, position: int, batch: Batch) -> dict[str, object]:
    """What its header says."""
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
    said = [f"{batch.size_bytes} bytes", plural(batch.count, "record")]
    said += _kind(batch)
    if batch.has_producer_id:
        said.append(f"producer {batch.producer_id} epoch {batch.producer_epoch}")
        if batch.base_sequence >= 0:
            said.append(f"sequence {batch.base_sequence}..{batch.last_sequence}")
    stamp = "append time" if batch.timestamp_type is TimestampType.LOG_APPEND_TIME else "create time"
    said.append(f"{stamp} up to {format_timestamp(batch.max_timestamp, utc=utc)}")
    if batch.delete_horizon_ms is not None:
        said.append(f"delete horizon {format_timestamp(batch.delete_horizon_ms, utc=utc)}")
    return f"batch {offsets} at {position}: {', '.join(said)}"


def _kind(batch: Batch) -> list[str]:
    said = [] if batch.magic == 2 else [f"magic {batch.magic}"]
    said.append(f"epoch {batch.leader_epoch}")
    if batch.compression is not Compression.NONE:
        said.append(batch.compression.name.lower())
    if batch.is_transactional:
        said.append("transactional")
    if batch.is_control:
        said.append("control")
    return said


def record_line(record: Record, meaning: str | None, *, utc: bool, whole: bool) -> str:
    """`meaning` stands in the place of key and value."""
    limit = None if whole else SHOWN_BYTES
    line = f"{record.offset}  {format_timestamp(record.timestamp, utc=utc)}  "
    line += f"{show_bytes(record.key, limit)}: {show_bytes(record.value, limit)}" if meaning is None else meaning
    if record.headers:
        headers = (f"{printable(header.key)}={show_bytes(header.value, limit)}" for header in record.headers)
        line += "  " + " ".join(headers)
    return line


def said_value(name: str, value: object, *, utc: bool) -> str:
    """A name of JSON's as one of ours; nobody, nothing and emptiness as words; a list of objects by their values."""
    if name == "timestamp" and isinstance(value, int):
        said = format_timestamp(value, utc=utc)
    elif value is None or (name in _NODES and value == -1):
        said = "none"
    elif isinstance(value, list):
        said = ",".join(str(inner) for element in value for inner in element.values()) or "none"
    else:
        said = printable(str(value)) or '""'
    return f"{snake_case(name)} {said}"


def show_bytes(data: bytes | None, limit: int | None = SHOWN_BYTES) -> str:
    """Text where it is text, else hexadecimal; null and what was cut are said."""
    if data is None:
        return "null"
    shown = data if limit is None else data[:limit]
    try:
        text = shown.decode() if len(shown) == len(data) else shown.decode(errors="ignore")
        printable = text.isprintable() and len(text.encode()) >= len(shown) - 3  # at most one character was cut in two
    except UnicodeDecodeError:
        printable = False
    said = f'"{text}"' if printable else "0x" + shown.hex()
    return said if len(shown) == len(data) else f"{said}… ({len(data)} bytes)"
