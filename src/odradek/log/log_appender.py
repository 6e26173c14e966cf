"""Appending: check, decide, write, take note; in that order, so that a refusal leaves the log as it was.

A leader appends one batch, which `batch_validator` checks and stamps. A follower, and the leader of the metadata
quorum, append batches whose offsets and epochs are settled; they must ascend. Both end in `_write`: roll if the segment
is full, decide about the producers, one write to the file, and only then the new state in memory.

A batch that a producer repeats is answered with where it already lies. Epochs are on disk before the first batch that
carries them, so that no record is ever of an epoch that the cache does not know.

The usual append, 16 KiB from a known idempotent producer, costs less than three times what its CRC and its write cost
alone; `bench/log_ops.py` measures it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.common.failures import ApiError
from odradek.common.ports import Buffer
from odradek.log.batch_validator import check_batch, only_batch, validate, writable
from odradek.log.errors import (
    FencedLeaderEpoch,
    InvalidProducerEpoch,
    InvalidTxnState,
    RecordListTooLarge,
    RecordTooLarge,
)
from odradek.log.log_reader import corrupt
from odradek.log.offsets import AppendOrigin, CompletedTxn, OffsetMetadata
from odradek.log.producers.producer_append import TV_UNKNOWN, ProducerAppend
from odradek.log.producers.producer_entry import NO_VERIFICATION, BatchMetadata, ProducerEntry, VerificationGuard
from odradek.log.segments import segment_roll
from odradek.log.values import NO_EPOCH, NO_OFFSET, NO_TIMESTAMP, AppendInfo
from odradek.records.batch import CONTROL_BIT, MAGIC_V2, TRANSACTIONAL_BIT, Batch, read_batches
from odradek.records.errors import CorruptRecord, InvalidRecord

if TYPE_CHECKING:
    from odradek.log.segments.segment import Segment
    from odradek.log.unified_log import UnifiedLog

#: The largest distance of an offset from the base of its segment.
_MAX_RELATIVE_OFFSET = 2**31 - 1


class UnexpectedAppendOffset(ApiError):
    """Batches whose offsets do not ascend, or that the log already has."""

    def __init__(self, message: str, first_offset: int, last_offset: int) -> None:
        super().__init__(message)
        self.first_offset = first_offset
        self.last_offset = last_offset


def append_as_leader(
    log: UnifiedLog,
    records: Buffer,
    leader_epoch: int,
    origin: AppendOrigin,
    guard: VerificationGuard,
    transaction_version: int,
) -> AppendInfo:
    if log.fault is not None or log.is_closed:
        log.check_online()
    latest_epoch = log.epochs.latest_epoch
    if leader_epoch != latest_epoch:
        _check_epoch_goes_on(log, leader_epoch, latest_epoch)
    where = log.topic_partition
    config = log.config
    batch = only_batch(writable(records), where)
    if batch is None:
        return _nothing(log)
    check_batch(batch, origin, config, where)
    now_ms = log.clock.wall_ms()
    batch = validate(batch, log.log_end_offset, leader_epoch, config, now_ms, where, log.open_compressed)
    info = AppendInfo(
        batch.base_offset,
        batch.base_offset + batch.last_offset_delta,
        batch.max_timestamp,
        now_ms if config.log_append_time else NO_TIMESTAMP,
        log.log_start_offset,
        leader_epoch,
        batch.size_bytes,
    )
    return _write(log, batch.buffer, (batch,), info, now_ms, origin, guard, transaction_version)


def append_as_is(log: UnifiedLog, records: Buffer, leader_epoch: int, origin: AppendOrigin) -> AppendInfo:
    """Batches with offsets and epochs as they are.

    A follower leaves out what follows a batch of a higher epoch than the one it follows: the leader it fetched from
    had been deposed, and the new one may say otherwise."""
    log.check_online()
    data = memoryview(records)
    batches: list[Batch] = []
    last_offset, latest_epoch = -1, log.epochs.latest_epoch
    for batch in read_batches(data):
        if origin is AppendOrigin.REPLICATION:
            if batch.leader_epoch > leader_epoch:
                break
        elif batch.leader_epoch != leader_epoch:
            raise InvalidRecord(
                "Append from Raft leader did not set the batch epoch correctly, expected "
                f"{leader_epoch} but the batch has {batch.leader_epoch}"
            )
        elif batch.size_bytes > log.config.max_message_bytes:
            raise RecordTooLarge(
                f"The record batch size in the append to {log.topic_partition} is {batch.size_bytes} bytes, which "
                f"exceeds max.message.bytes of {log.config.max_message_bytes}"
            )
        if batch.last_offset <= last_offset or (batch.magic == MAGIC_V2 and batch.base_offset <= last_offset):
            raise UnexpectedAppendOffset(
                f"Out of order offsets found in append to {log.topic_partition}: "
                f"{batch.base_offset} to {batch.last_offset} after {last_offset}",
                batch.base_offset,
                batch.last_offset,
            )
        if batch.magic == MAGIC_V2:
            if batch.last_offset_delta < 0 or batch.leader_epoch < 0:
                raise InvalidRecord(
                    f"A batch at offset {batch.base_offset} of {log.topic_partition} has last offset "
                    f"{batch.last_offset} and leader epoch {batch.leader_epoch}"
                )
            _check_epoch_goes_on(log, batch.leader_epoch, latest_epoch)
            latest_epoch = batch.leader_epoch
        batch.check()
        last_offset = batch.last_offset
        batches.append(batch)
    if not batches:
        return _nothing(log)
    _check_follows(log, batches)
    return _write_fitting(log, data, batches, origin)


def _check_epoch_goes_on(log: UnifiedLog, epoch: int, latest_epoch: int | None) -> None:
    if latest_epoch is not None and epoch < latest_epoch:
        raise FencedLeaderEpoch(f"Append to {log.topic_partition} with leader epoch {epoch}, after {latest_epoch}")


def _check_follows(log: UnifiedLog, batches: Sequence[Batch]) -> None:
    first = batches[0]
    known = first.base_offset if first.magic == MAGIC_V2 else first.last_offset
    if known < log.log_end_offset:
        raise UnexpectedAppendOffset(
            f"Unexpected offset in append to {log.topic_partition}: {known} is less than the next offset "
            f"{log.log_end_offset}. Last offset in append: {batches[-1].last_offset}. Log start offset = "
            f"{log.log_start_offset}",
            first.base_offset,
            batches[-1].last_offset,
        )


def _write_fitting(log: UnifiedLog, data: memoryview, batches: Sequence[Batch], origin: AppendOrigin) -> AppendInfo:
    """In one write if all fits into one segment, else batch by batch."""
    size = sum(batch.size_bytes for batch in batches)
    reach = batches[-1].last_offset - batches[0].base_offset
    if size <= log.config.segment_bytes and reach <= _MAX_RELATIVE_OFFSET:
        return _write_group(log, data[:size], batches, origin)
    infos = [_write_group(log, batch.buffer, (batch,), origin) for batch in batches]
    return infos[-1]._replace(
        first_offset=infos[0].first_offset,
        max_timestamp=max(info.max_timestamp for info in infos),
        valid_bytes=size,
    )


def _write_group(log: UnifiedLog, data: memoryview, batches: Sequence[Batch], origin: AppendOrigin) -> AppendInfo:
    first, last = batches[0], batches[-1]
    info = AppendInfo(
        first.base_offset if first.magic == MAGIC_V2 else NO_OFFSET,
        last.last_offset,
        max(batch.max_timestamp for batch in batches),
        NO_TIMESTAMP,
        log.log_start_offset,
        last.leader_epoch,
        len(data),
    )
    return _write(log, data, batches, info, log.clock.wall_ms(), origin, NO_VERIFICATION, TV_UNKNOWN)


def _write(
    log: UnifiedLog,
    data: memoryview,
    batches: Sequence[Batch],
    info: AppendInfo,
    now_ms: int,
    origin: AppendOrigin,
    guard: VerificationGuard,
    transaction_version: int,
) -> AppendInfo:
    config = log.config
    if info.valid_bytes > config.segment_bytes:
        raise RecordListTooLarge(
            f"Message batch size is {info.valid_bytes} bytes in append to partition {log.topic_partition}, which "
            f"exceeds the maximum configured segment size of {config.segment_bytes}"
        )
    try:
        segment = log.segments.active
        rolls_at = _rolls_at(log, segment, info, now_ms)
        producers = log.producers
        if len(batches) == 1 and batches[0].producer_id < 0:
            appends, completed, duplicate = _NOTHING_DECIDED
        else:
            start = (segment.base_offset, segment.size) if rolls_at < 0 else (rolls_at, 0)
            appends, completed, duplicate = _decide(log, batches, *start, origin, guard, transaction_version)
        if duplicate is not None:
            return info._replace(
                first_offset=duplicate.first_offset,
                last_offset=duplicate.last_offset,
                log_append_time_ms=duplicate.timestamp,
                is_duplicate=True,
            )
        if rolls_at >= 0:
            segment = segment_roll.roll(log, rolls_at)
        _assign_epochs(log, batches)
        segment.append(info.last_offset, data, batches)
        log.log_end_offset = info.last_offset + 1
        for append in appends:
            producers.update(append)
        for done in completed:
            segment.update_txn_index(done, producers.last_stable_offset(done))
            producers.complete_txn(done)
        producers.update_map_end_offset(info.last_offset + 1)
    except OSError as error:
        raise log.fail(error) from error
    except CorruptRecord as error:  # the new batches were checked before: it is about what the segment holds
        raise corrupt(log, error) from error
    if log.log_end_offset - log.recovery_point >= config.flush_messages:
        log.flush()
    return info


def _rolls_at(log: UnifiedLog, segment: Segment, info: AppendInfo, now_ms: int) -> int:
    """Where a new segment is to begin; -1 if the active one takes the batches. Nothing is rolled before it is sure that
    something will be written."""
    config = log.config
    if not segment.should_roll(
        info.valid_bytes,
        info.last_offset,
        info.max_timestamp,
        now_ms=now_ms,
        segment_bytes=config.segment_bytes,
        segment_ms=config.max_segment_ms,
    ):
        return -1
    # Old formats do not tell their first offset; no batch reaches further back than this.
    first = info.first_offset if info.first_offset >= 0 else info.last_offset - _MAX_RELATIVE_OFFSET
    return max(first, log.log_end_offset)


def _assign_epochs(log: UnifiedLog, batches: Sequence[Batch]) -> None:
    for batch in batches:
        if batch.magic == MAGIC_V2:
            log.epochs.assign(batch.leader_epoch, batch.base_offset)
        elif log.epochs.latest_epoch is not None:
            log.epochs.clear_and_flush()  # an old format has no epochs: what is known of later ones is of no use


_Decision = tuple[Sequence[ProducerAppend], Sequence[CompletedTxn], BatchMetadata | None]

#: About a batch without a producer.
_NOTHING_DECIDED: _Decision = ((), (), None)


def _decide(
    log: UnifiedLog,
    batches: Sequence[Batch],
    segment_base_offset: int,
    position: int,
    origin: AppendOrigin,
    guard: VerificationGuard,
    transaction_version: int,
) -> _Decision:
    """What the batches, written from `position` of a segment on, will change about their producers; raises if one of
    them may not write so."""
    producers = log.producers
    appends: dict[int, ProducerAppend] = {}
    completed: list[CompletedTxn] = []
    for batch in batches:
        producer_id = batch.producer_id
        if producer_id >= 0:
            if origin is AppendOrigin.CLIENT:
                found = _duplicate(producers.last_entry(producer_id), batch)
                if found is not None:
                    return (), (), found
            place = None
            if batch.attributes & TRANSACTIONAL_BIT:
                if origin is not AppendOrigin.REPLICATION:
                    _check_transaction(log, batch, guard)
                place = OffsetMetadata(batch.base_offset, segment_base_offset, position)
            append = appends.get(producer_id)
            if append is None:
                append = appends[producer_id] = producers.prepare_update(producer_id, origin)
            done = append.append(batch, place, transaction_version)
            if done is not None:
                completed.append(done)
        position += batch.size_bytes
    return tuple(appends.values()), completed, None


def _duplicate(entry: ProducerEntry | None, batch: Batch) -> BatchMetadata | None:
    """Where the batch already lies. The usual one goes on where the last one ended, and needs no search."""
    if entry is None or not entry.batches:
        return None
    if batch.base_sequence == entry.batches[-1].last_sequence + 1:
        return None
    return entry.find_duplicate(batch.producer_epoch, batch.base_sequence, batch.last_sequence)


def _check_transaction(log: UnifiedLog, batch: Batch, guard: VerificationGuard) -> None:
    """The first batch of a transaction must come with the coordinator's word (KIP-890)."""
    producers = log.producers
    if producers.has_ongoing_transaction(batch.producer_id, batch.producer_epoch):
        return
    _check_epoch(log, batch.producer_id, batch.producer_epoch)
    unverified = producers.verification_enabled and not producers.is_verified(batch.producer_id, guard)
    if unverified and not batch.attributes & CONTROL_BIT:
        raise InvalidTxnState("Record was not part of an ongoing transaction")


def _check_epoch(log: UnifiedLog, producer_id: int, producer_epoch: int) -> None:
    entry = log.producers.last_entry(producer_id)
    if entry is not None and producer_epoch < entry.producer_epoch:
        raise InvalidProducerEpoch(
            f"Epoch of producer {producer_id} is {producer_epoch}, which is smaller than the last seen epoch "
            f"{entry.producer_epoch}"
        )


def start_verification(
    log: UnifiedLog, producer_id: int, sequence: int, epoch: int, supports_epoch_bump: bool
) -> VerificationGuard:
    _check_epoch(log, producer_id, epoch)
    if log.producers.has_ongoing_transaction(producer_id, epoch):
        return NO_VERIFICATION
    now_ms = log.clock.wall_ms()
    return log.producers.maybe_create_verification(producer_id, sequence, epoch, supports_epoch_bump, now_ms).guard


def _nothing(log: UnifiedLog) -> AppendInfo:
    return AppendInfo(NO_OFFSET, NO_OFFSET, NO_TIMESTAMP, NO_TIMESTAMP, log.log_start_offset, NO_EPOCH, 0)
