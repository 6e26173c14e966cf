"""What a leader lets into its log: one batch, checked and stamped where it lies.

The batch is never rebuilt, unless the topic asks for another compression. In order: is it a batch of ours (magic,
size, CRC); do its header's counts agree; do its records agree with the header (`batch_walk`, for a compressed batch
after decompression); do they satisfy the topic (keys on a compacted one, times within bounds). Then base offset and
leader epoch, and on a topic with `LogAppendTime` the time, are written into the received bytes.

A rule that one record breaks is told record by record (KIP-467), which takes a second, slow look: the fast one only
finds out that there is something to tell.
"""

from __future__ import annotations

from typing import Final

from odradek.common.ports import Buffer
from odradek.log.errors import RecordTooLarge
from odradek.log.log_config import LONG_MAX, LogConfig
from odradek.log.offsets import AppendOrigin
from odradek.log.values import NO_TIMESTAMP, RecordError, RecordsRefused
from odradek.records.batch import (
    APPEND_TIME_BIT,
    ATTRIBUTES_AT,
    COMPRESSION_MASK,
    CONTROL_BIT,
    HEADER_BYTES,
    MAGIC_V2,
    OVERHEAD_BYTES,
    TRANSACTIONAL_BIT,
    Batch,
    header_at,
    read_batch,
    read_batches,
)
from odradek.records.batch_stamps import assign, set_max_timestamp
from odradek.records.batch_walk import walk
from odradek.records.builder import BatchBuilder
from odradek.records.compression import Compression, decompress, unfolded_bytes_max
from odradek.records.crc import crc32c
from odradek.records.errors import CorruptRecord, IncompleteBatch, InvalidRecord, InvalidTimestamp
from odradek.records.record import Record, TimestampType

#: How many refused records the text of the error names; all of them are in `RecordsRefused.errors`.
_ERRORS_SHOWN = 3

_INT64_MIN: Final = -(2**63)

#: What `compression.type` names; "producer" leaves a batch as it came.
_TARGETS: Final = {
    "uncompressed": Compression.NONE,
    "gzip": Compression.GZIP,
    "snappy": Compression.SNAPPY,
    "lz4": Compression.LZ4,
    "zstd": Compression.ZSTD,
}


def writable(records: Buffer) -> memoryview:
    """The received bytes as they may be stamped in place; a copy only if they are read-only."""
    view = records if type(records) is memoryview else memoryview(records)
    return memoryview(bytearray(view)) if view.readonly else view


def only_batch(records: memoryview, where: object) -> Batch | None:
    """The one batch that a leader appends at a time; None if not even one is complete.

    Bytes behind it that are no complete batch are left out, as Kafka does."""
    if len(records) >= HEADER_BYTES:
        fields = header_at(records)
        if fields[3] == MAGIC_V2 and fields[1] + OVERHEAD_BYTES == len(records):
            return Batch(records, fields)  # as they all are but those that are refused
    try:
        batch = read_batch(records, 0)
    except IncompleteBatch:
        return None
    if batch.size_bytes < len(records) and next(read_batches(records, batch.size_bytes), None) is not None:
        raise InvalidRecord(f"An append to {where} must contain exactly one record batch")
    return batch


def check_batch(batch: Batch, origin: AppendOrigin, config: LogConfig, where: object) -> None:
    """Everything that the header alone tells."""
    if batch.magic != MAGIC_V2:
        raise InvalidRecord(f"Appends to {where} must have magic version 2, and this batch has {batch.magic}")
    if batch.size_bytes > config.max_message_bytes:
        raise RecordTooLarge(
            f"The record batch size in the append to {where} is {batch.size_bytes} bytes, which exceeds "
            f"max.message.bytes of {config.max_message_bytes}"
        )
    if crc32c(batch.buffer[ATTRIBUTES_AT:]) != batch.crc:
        raise CorruptRecord(f"Record is corrupt (stored crc = {batch.crc}) in topic partition {where}")
    if origin is AppendOrigin.CLIENT:
        _check_client_batch(batch, where)
    if batch.last_offset_delta + 1 != batch.count:
        raise InvalidRecord(
            f"Inconsistent batch offset range [0, {batch.last_offset_delta}] and count of records {batch.count} "
            f"in {where}"
        )


def _check_client_batch(batch: Batch, where: object) -> None:
    if batch.base_offset != 0:
        raise InvalidRecord(
            f"The baseOffset of the record batch in the append to {where} should be 0, but it is {batch.base_offset}"
        )
    if batch.last_offset_delta < 0:
        raise InvalidRecord(f"Batch has an invalid offset range: [0, {batch.last_offset_delta}] in {where}")
    if batch.count <= 0:
        raise InvalidRecord(f"Invalid reported count for record batch: {batch.count} in {where}")
    if batch.attributes & CONTROL_BIT:
        raise InvalidRecord(f"Clients are not allowed to write control records in {where}")
    if batch.producer_id >= 0 and batch.base_sequence < 0:
        raise InvalidRecord(
            f"Invalid sequence number {batch.base_sequence} in record batch with producerId {batch.producer_id} in "
            f"{where}"
        )


def validate(
    batch: Batch,
    offset: int,
    leader_epoch: int,
    config: LogConfig,
    now_ms: int,
    where: object,
    open_compressed: bool = True,
) -> Batch:
    """Check the records and write offset, epoch and time into the batch; the batch to append, which is another one
    only if it had to be compressed anew. `batch` has passed `check_batch`."""
    codec = batch.attributes & COMPRESSION_MASK
    target = codec
    if config.compression_type != "producer" and not (codec == 0 and batch.attributes & CONTROL_BIT):
        target = _TARGETS[config.compression_type]
    if target != codec:
        return _recompress(batch, Compression(target), offset, leader_epoch, config, now_ms, where)
    if codec == 0 or open_compressed or config.compact:
        max_timestamp = _check_records(batch, codec, config, now_ms, where)
    else:
        max_timestamp = _check_unopened(batch, config, now_ms)
    if config.log_append_time:
        max_timestamp = now_ms
        set_max_timestamp(batch.buffer, 0, TimestampType.LOG_APPEND_TIME, now_ms)
        batch.attributes |= APPEND_TIME_BIT
    elif max_timestamp != batch.max_timestamp or batch.attributes & APPEND_TIME_BIT:
        set_max_timestamp(batch.buffer, 0, TimestampType.CREATE_TIME, max_timestamp)
        batch.attributes &= ~APPEND_TIME_BIT
    assign(batch.buffer, 0, offset, leader_epoch)
    batch.max_timestamp = max_timestamp
    batch.base_offset = offset
    batch.leader_epoch = leader_epoch
    return batch


def _check_records(batch: Batch, codec: int, config: LogConfig, now_ms: int, where: object) -> int:
    """Structure, keys and times of the records; their largest timestamp."""
    if codec == 0:
        data = bytes(batch.buffer)
        largest_delta, _, smallest_delta, keyless = walk(data, HEADER_BYTES, len(data), batch.count)
    else:
        folded = batch.buffer[HEADER_BYTES:]
        data = decompress(batch.compression, folded, unfolded_bytes_max(len(folded)))
        largest_delta, _, smallest_delta, keyless = walk(data, 0, len(data), batch.count)
    if batch.attributes & APPEND_TIME_BIT:
        smallest = largest = batch.max_timestamp
        suspicious = config.log_append_time
    else:
        smallest = batch.base_timestamp + smallest_delta
        largest = batch.base_timestamp + largest_delta
        suspicious = False
    if not config.log_append_time:
        suspicious = (
            largest - now_ms > config.message_timestamp_after_max_ms
            or now_ms - smallest > config.message_timestamp_before_max_ms
            or not _INT64_MIN <= smallest <= largest <= LONG_MAX
        )
    if suspicious or (config.compact and keyless >= 0):
        refuse_records(batch, list(batch.records()), config, now_ms, where)
    return largest


def _check_unopened(batch: Batch, config: LogConfig, now_ms: int) -> int:
    """What the header of a compressed batch claims of its times, taken at its word."""
    oldest = now_ms - config.message_timestamp_before_max_ms
    newest = now_ms + config.message_timestamp_after_max_ms
    if config.log_append_time:
        if batch.attributes & APPEND_TIME_BIT:
            raise InvalidTimestamp("Producer should not set timestamp type to LogAppendTime")
    elif batch.max_timestamp != NO_TIMESTAMP and not oldest <= batch.max_timestamp <= newest:
        raise InvalidTimestamp(
            f"Timestamp {batch.max_timestamp} is out of range: it should be within [{oldest}, {newest}]"
        )
    return batch.max_timestamp


def refuse_records(batch: Batch, records: list[Record], config: LogConfig, now_ms: int, where: object) -> None:
    """Raise `RecordsRefused` with every record that breaks a rule; return if none does."""
    errors: list[RecordError] = []
    invalid_timestamp = False
    for index, record in enumerate(records):
        if config.compact and record.key is None:
            text = f"Compacted topic cannot accept message without key in topic partition {where}"
            errors.append(RecordError(index, text))
            continue
        wrong_time = _wrong_time(batch, record, config, now_ms)
        if wrong_time:
            invalid_timestamp = True
            errors.append(RecordError(index, wrong_time))
    if not errors:
        return
    if invalid_timestamp:
        text = "One or more records have been rejected due to invalid timestamp"
        raise RecordsRefused(text, InvalidTimestamp.code, tuple(errors))
    # Kafka's form of a list of them.
    shown = ", ".join(
        f"RecordError(batchIndex={error.batch_index}, message='{error.message}')" for error in errors[:_ERRORS_SHOWN]
    )
    text = (
        f"One or more records have been rejected due to {len(errors)} record errors in total, and only showing the "
        f"first three errors at most: [{shown}]"
    )
    raise RecordsRefused(text, InvalidRecord.code, tuple(errors))


def _wrong_time(batch: Batch, record: Record, config: LogConfig, now_ms: int) -> str | None:
    if not config.log_append_time and record.timestamp != NO_TIMESTAMP:
        oldest = now_ms - config.message_timestamp_before_max_ms
        newest = now_ms + config.message_timestamp_after_max_ms
        if not oldest <= record.timestamp <= newest or not _INT64_MIN <= record.timestamp <= LONG_MAX:
            return (
                f"Timestamp {record.timestamp} of message with offset {record.offset} is out of range. "
                f"The timestamp should be within [{oldest}, {newest}]"
            )
    elif batch.attributes & APPEND_TIME_BIT:
        return (
            f"Invalid timestamp type in message with offset {record.offset}. "
            "Producer should not set timestamp type to LogAppendTime."
        )
    return None


def _recompress(
    batch: Batch,
    target: Compression,
    offset: int,
    leader_epoch: int,
    config: LogConfig,
    now_ms: int,
    where: object,
) -> Batch:
    """The same records under the topic's own codec: the only case in which a leader writes a batch anew."""
    records = list(batch.records(unfolded_bytes_max(batch.size_bytes - HEADER_BYTES)))
    if any(not -(2**63) <= record.timestamp < 2**63 for record in records):
        raise InvalidTimestamp(f"A record of the batch for {where} has a timestamp beyond 64 bits")
    refuse_records(batch, records, config, now_ms, where)
    builder = BatchBuilder(
        base_offset=offset,
        compression=target,
        level=_level(target, config),
        timestamp_type=TimestampType.LOG_APPEND_TIME if config.log_append_time else TimestampType.CREATE_TIME,
        append_time_ms=now_ms if config.log_append_time else None,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        leader_epoch=leader_epoch,
        is_transactional=batch.attributes & TRANSACTIONAL_BIT != 0,
    )
    for record in records:
        builder.append(record.timestamp, record.key, record.value, record.headers)
    rebuilt = only_batch(memoryview(builder.build()), where)
    assert rebuilt is not None
    if rebuilt.size_bytes > config.max_message_bytes:
        raise RecordTooLarge(
            f"Message batch size is {rebuilt.size_bytes} bytes in append to partition {where}, which exceeds the "
            f"maximum configured size of {config.max_message_bytes}"
        )
    return rebuilt


def _level(target: Compression, config: LogConfig) -> int | None:
    if target is Compression.GZIP:
        return None if config.compression_gzip_level == -1 else config.compression_gzip_level
    if target is Compression.LZ4:
        return config.compression_lz4_level
    return config.compression_zstd_level if target is Compression.ZSTD else None
