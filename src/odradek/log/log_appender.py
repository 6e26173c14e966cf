"""Appending batches: check, decide, write, update the state, in that order, so that a rejection changes nothing.

A leader appends one batch, which `batch_validator` checks and stamps. A follower, and the leader of the metadata
quorum, append batches whose offsets and epochs are assigned already; they must ascend. Both end in `_write`: roll if
the segment is full, check the producers, one write to the file, and only then the new state in memory.

A batch that a producer repeats is answered with the offsets it already has. Epochs are on disk before the first batch
that carries them, so that no record has an epoch that the epoch cache does not know.

The usual append, 16 KiB from an idempotent producer with an entry, costs less than three times what its CRC and its
write cost alone; `bench/log_ops.py` measures it.
"""

from __future__ import annotations

from collections.abc import Sequence

from odradek.common.failures import ApiError
from odradek.common.ports import Buffer, Clock
from odradek.log.batch_validator import check_batch, only_batch, validate, writable
from odradek.log.errors import (
    FencedLeaderEpoch,
    InvalidProducerEpoch,
    InvalidTxnState,
    RecordListTooLarge,
    RecordTooLarge,
)
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.log_config import CurrentConfig
from odradek.log.log_flusher import LogFlusher
from odradek.log.log_health import LogHealth
from odradek.log.log_offsets import LogOffsets
from odradek.log.log_roller import LogRoller
from odradek.log.offsets import AppendOrigin, CompletedTxn, OffsetMetadata
from odradek.log.producers.producer_append import TV_UNKNOWN, ProducerAppend
from odradek.log.producers.producer_entry import NO_VERIFICATION, BatchMetadata, ProducerEntry, VerificationGuard
from odradek.log.producers.producer_state import ProducerState
from odradek.log.segment_list import SegmentList
from odradek.log.values import NO_EPOCH, NO_OFFSET, NO_TIMESTAMP, AppendInfo
from odradek.records.batch import CONTROL_BIT, MAGIC_V2, TRANSACTIONAL_BIT, Batch, read_batches
from odradek.records.errors import CorruptRecord, InvalidRecord

#: The largest distance of an offset from the base of its segment.
_MAX_RELATIVE_OFFSET = 2**31 - 1

#: Updates of producers, transactions that a marker completes, and the stored batch if the append is a duplicate.
_ProducerChanges = tuple[Sequence[ProducerAppend], Sequence[CompletedTxn], BatchMetadata | None]

#: For a batch without a producer.
_NO_PRODUCERS: _ProducerChanges = ((), (), None)


class UnexpectedAppendOffset(ApiError):
    """Batches whose offsets do not ascend, or that the log already has."""

    def __init__(self, message: str, first_offset: int, last_offset: int) -> None:
        super().__init__(message)
        self.first_offset = first_offset
        self.last_offset = last_offset


class LogAppender:
    """Appends batches to one log.

    An append is the hot path of a broker: references are direct, and `append_as_leader` calls no more than it needs."""

    __slots__ = (
        "_check_compressed",
        "_clock",
        "_config",
        "_epochs",
        "_flusher",
        "_health",
        "_offsets",
        "_producers",
        "_roller",
        "_segments",
    )

    def __init__(
        self,
        clock: Clock,
        config: CurrentConfig,
        segments: SegmentList,
        offsets: LogOffsets,
        epochs: LeaderEpochs,
        producers: ProducerState,
        roller: LogRoller,
        flusher: LogFlusher,
        health: LogHealth,
        *,
        check_compressed: bool = True,
    ) -> None:
        """`check_compressed`: a leader checks the records within a compressed batch, as Kafka does."""
        self._clock = clock
        self._config = config
        self._segments = segments
        self._offsets = offsets
        self._epochs = epochs
        self._producers = producers
        self._roller = roller
        self._flusher = flusher
        self._health = health
        self._check_compressed = check_compressed

    def append_as_leader(
        self,
        records: Buffer,
        leader_epoch: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        guard: VerificationGuard = NO_VERIFICATION,
        transaction_version: int = TV_UNKNOWN,
    ) -> AppendInfo:
        """Append one batch, which is stamped in place if the buffer is writable."""
        health = self._health
        if health.fault is not None or health.is_closed:
            health.check_online()
        latest_epoch = self._epochs.latest_epoch
        if leader_epoch != latest_epoch:
            self._check_epoch_order(leader_epoch, latest_epoch)
        topic_partition = health.topic_partition
        config = self._config.value
        batch = only_batch(writable(records), topic_partition)
        if batch is None:
            return self._nothing_appended()
        check_batch(batch, origin, config, topic_partition)
        now_ms = self._clock.wall_ms()
        offsets = self._offsets
        batch = validate(
            batch, offsets.log_end_offset, leader_epoch, config, now_ms, topic_partition, self._check_compressed
        )
        info = AppendInfo(
            batch.base_offset,
            batch.base_offset + batch.last_offset_delta,
            batch.max_timestamp,
            now_ms if config.log_append_time else NO_TIMESTAMP,
            offsets.log_start_offset,
            leader_epoch,
            batch.size_bytes,
        )
        return self._write(batch.buffer, (batch,), info, now_ms, origin, guard, transaction_version)

    def append_as_follower(self, records: Buffer, leader_epoch: int) -> AppendInfo:
        """Append the batches that were fetched from the leader. `leader_epoch` is the epoch that this replica follows.

        Batches after one of a higher epoch are left out: the leader that sent them had been deposed, and the new one
        may have other records there."""
        return self._append_as_is(records, leader_epoch, AppendOrigin.REPLICATION)

    def append_from_raft(self, records: Buffer, leader_epoch: int) -> AppendInfo:
        """Append the batches of the leader of the metadata quorum, which has assigned offsets and epochs."""
        return self._append_as_is(records, leader_epoch, AppendOrigin.RAFT_LEADER)

    def start_verification(
        self, producer_id: int, sequence: int, epoch: int, supports_epoch_bump: bool
    ) -> VerificationGuard:
        """Return the guard that a transaction's first batch must carry, to prove that the coordinator was asked."""
        self._check_producer_epoch(producer_id, epoch)
        if self._producers.has_ongoing_transaction(producer_id, epoch):
            return NO_VERIFICATION
        now_ms = self._clock.wall_ms()
        entry = self._producers.maybe_create_verification(producer_id, sequence, epoch, supports_epoch_bump, now_ms)
        return entry.guard

    def _append_as_is(self, records: Buffer, leader_epoch: int, origin: AppendOrigin) -> AppendInfo:
        """Append batches with the offsets and epochs that they have."""
        self._health.check_online()
        topic_partition, max_message_bytes = self._health.topic_partition, self._config.value.max_message_bytes
        data = memoryview(records)
        batches: list[Batch] = []
        last_offset, latest_epoch = -1, self._epochs.latest_epoch
        for batch in read_batches(data):
            if origin is AppendOrigin.REPLICATION:
                if batch.leader_epoch > leader_epoch:
                    break
            elif batch.leader_epoch != leader_epoch:
                raise InvalidRecord(
                    "Append from Raft leader did not set the batch epoch correctly, expected "
                    f"{leader_epoch} but the batch has {batch.leader_epoch}"
                )
            elif batch.size_bytes > max_message_bytes:
                raise RecordTooLarge(
                    f"The record batch size in the append to {topic_partition} is {batch.size_bytes} bytes, which "
                    f"exceeds max.message.bytes of {max_message_bytes}"
                )
            if batch.last_offset <= last_offset or (batch.magic == MAGIC_V2 and batch.base_offset <= last_offset):
                raise UnexpectedAppendOffset(
                    f"Out of order offsets found in append to {topic_partition}: "
                    f"{batch.base_offset} to {batch.last_offset} after {last_offset}",
                    batch.base_offset,
                    batch.last_offset,
                )
            if batch.magic == MAGIC_V2:
                if batch.last_offset_delta < 0 or batch.leader_epoch < 0:
                    raise InvalidRecord(
                        f"A batch at offset {batch.base_offset} of {topic_partition} has last offset "
                        f"{batch.last_offset} and leader epoch {batch.leader_epoch}"
                    )
                self._check_epoch_order(batch.leader_epoch, latest_epoch)
                latest_epoch = batch.leader_epoch
            batch.check()
            last_offset = batch.last_offset
            batches.append(batch)
        if not batches:
            return self._nothing_appended()
        self._check_first_offset(batches)
        return self._write_fitting(data, batches, origin)

    def _check_epoch_order(self, epoch: int, latest_epoch: int | None) -> None:
        if latest_epoch is not None and epoch < latest_epoch:
            raise FencedLeaderEpoch(
                f"Append to {self._health.topic_partition} with leader epoch {epoch}, after {latest_epoch}"
            )

    def _check_first_offset(self, batches: Sequence[Batch]) -> None:
        first = batches[0]
        first_offset = first.base_offset if first.magic == MAGIC_V2 else first.last_offset
        offsets = self._offsets
        if first_offset < offsets.log_end_offset:
            raise UnexpectedAppendOffset(
                f"Unexpected offset in append to {self._health.topic_partition}: {first_offset} is less than the next "
                f"offset {offsets.log_end_offset}. Last offset in append: {batches[-1].last_offset}. Log start offset "
                f"= {offsets.log_start_offset}",
                first.base_offset,
                batches[-1].last_offset,
            )

    def _write_fitting(self, data: memoryview, batches: Sequence[Batch], origin: AppendOrigin) -> AppendInfo:
        """Write in one call if all batches fit into one segment, else batch by batch."""
        size = sum(batch.size_bytes for batch in batches)
        reach = batches[-1].last_offset - batches[0].base_offset
        if size <= self._config.value.segment_bytes and reach <= _MAX_RELATIVE_OFFSET:
            return self._write_group(data[:size], batches, origin)
        infos = [self._write_group(batch.buffer, (batch,), origin) for batch in batches]
        return infos[-1]._replace(
            first_offset=infos[0].first_offset,
            max_timestamp=max(info.max_timestamp for info in infos),
            valid_bytes=size,
        )

    def _write_group(self, data: memoryview, batches: Sequence[Batch], origin: AppendOrigin) -> AppendInfo:
        first, last = batches[0], batches[-1]
        info = AppendInfo(
            first.base_offset if first.magic == MAGIC_V2 else NO_OFFSET,
            last.last_offset,
            max(batch.max_timestamp for batch in batches),
            NO_TIMESTAMP,
            self._offsets.log_start_offset,
            last.leader_epoch,
            len(data),
        )
        return self._write(data, batches, info, self._clock.wall_ms(), origin, NO_VERIFICATION, TV_UNKNOWN)

    def _write(
        self,
        data: memoryview,
        batches: Sequence[Batch],
        info: AppendInfo,
        now_ms: int,
        origin: AppendOrigin,
        guard: VerificationGuard,
        transaction_version: int,
    ) -> AppendInfo:
        config = self._config.value
        if info.valid_bytes > config.segment_bytes:
            raise RecordListTooLarge(
                f"Message batch size is {info.valid_bytes} bytes in append to partition "
                f"{self._health.topic_partition}, which exceeds the maximum configured segment size of "
                f"{config.segment_bytes}"
            )
        offsets = self._offsets
        try:
            segment = self._segments.active
            # Where a new segment is to begin. Nothing is rolled before it is certain that something will be written.
            roll_offset = -1
            if segment.should_roll(
                info.valid_bytes,
                info.last_offset,
                info.max_timestamp,
                now_ms=now_ms,
                segment_bytes=config.segment_bytes,
                segment_ms=config.max_segment_ms,
            ):
                roll_offset = self._roll_offset(info)
            producers = self._producers
            if len(batches) == 1 and batches[0].producer_id < 0:
                appends, completed, duplicate = _NO_PRODUCERS
            else:
                start = (segment.base_offset, segment.size) if roll_offset < 0 else (roll_offset, 0)
                appends, completed, duplicate = self._check_producers(
                    batches, *start, origin, guard, transaction_version
                )
            if duplicate is not None:
                return info._replace(
                    first_offset=duplicate.first_offset,
                    last_offset=duplicate.last_offset,
                    log_append_time_ms=duplicate.timestamp,
                    is_duplicate=True,
                )
            if roll_offset >= 0:
                segment = self._roller.roll(roll_offset)
            self._assign_epochs(batches)
            segment.append(info.last_offset, data, batches)
            offsets.advance_end(info.last_offset + 1)
            for append in appends:
                producers.update(append)
            for transaction in completed:
                segment.update_txn_index(transaction, producers.last_stable_offset(transaction))
                producers.complete_txn(transaction)
            producers.update_map_end_offset(info.last_offset + 1)
        except OSError as error:
            raise self._health.fail(error) from error
        except CorruptRecord as error:  # the new batches were checked before: the damage is in the segment
            raise self._health.report_corruption(error) from error
        if offsets.log_end_offset - offsets.recovery_point >= config.flush_messages:
            self._flusher.flush()
        return info

    def _roll_offset(self, info: AppendInfo) -> int:
        """Return the base offset of the segment that the batches will start."""
        # Old formats do not have their first offset in the header; no batch reaches further back than this.
        first = info.first_offset if info.first_offset >= 0 else info.last_offset - _MAX_RELATIVE_OFFSET
        return max(first, self._offsets.log_end_offset)

    def _assign_epochs(self, batches: Sequence[Batch]) -> None:
        epochs = self._epochs
        for batch in batches:
            if batch.magic == MAGIC_V2:
                epochs.assign(batch.leader_epoch, batch.base_offset)
            elif epochs.latest_epoch is not None:
                epochs.clear_and_flush()  # an old format has no epochs, so those of later batches are of no use

    def _check_producers(
        self,
        batches: Sequence[Batch],
        segment_base_offset: int,
        position: int,
        origin: AppendOrigin,
        guard: VerificationGuard,
        transaction_version: int,
    ) -> _ProducerChanges:
        """Return what the batches, written from `position` of a segment on, will change about their producers.

        Raises if one of the producers may not write them."""
        producers = self._producers
        appends: dict[int, ProducerAppend] = {}
        completed: list[CompletedTxn] = []
        for batch in batches:
            producer_id = batch.producer_id
            if producer_id >= 0:
                if origin is AppendOrigin.CLIENT:
                    duplicate = _find_duplicate(producers.last_entry(producer_id), batch)
                    if duplicate is not None:
                        return (), (), duplicate
                first_offset = None
                if batch.attributes & TRANSACTIONAL_BIT:
                    if origin is not AppendOrigin.REPLICATION:
                        self._check_transaction(batch, guard)
                    first_offset = OffsetMetadata(batch.base_offset, segment_base_offset, position)
                append = appends.get(producer_id)
                if append is None:
                    append = appends[producer_id] = producers.prepare_update(producer_id, origin)
                transaction = append.append(batch, first_offset, transaction_version)
                if transaction is not None:
                    completed.append(transaction)
            position += batch.size_bytes
        return tuple(appends.values()), completed, None

    def _check_transaction(self, batch: Batch, guard: VerificationGuard) -> None:
        """Raise unless the first batch of a transaction was verified with the coordinator (KIP-890)."""
        producers = self._producers
        if producers.has_ongoing_transaction(batch.producer_id, batch.producer_epoch):
            return
        self._check_producer_epoch(batch.producer_id, batch.producer_epoch)
        unverified = producers.verification_enabled and not producers.is_verified(batch.producer_id, guard)
        if unverified and not batch.attributes & CONTROL_BIT:
            raise InvalidTxnState("Record was not part of an ongoing transaction")

    def _check_producer_epoch(self, producer_id: int, producer_epoch: int) -> None:
        entry = self._producers.last_entry(producer_id)
        if entry is not None and producer_epoch < entry.producer_epoch:
            raise InvalidProducerEpoch(
                f"Epoch of producer {producer_id} is {producer_epoch}, which is smaller than the last seen epoch "
                f"{entry.producer_epoch}"
            )

    def _nothing_appended(self) -> AppendInfo:
        start = self._offsets.log_start_offset
        return AppendInfo(NO_OFFSET, NO_OFFSET, NO_TIMESTAMP, NO_TIMESTAMP, start, NO_EPOCH, 0)


def _find_duplicate(entry: ProducerEntry | None, batch: Batch) -> BatchMetadata | None:
    """Return the stored batch that `batch` repeats. The usual one continues the sequence and needs no search."""
    if entry is None or not entry.batches:
        return None
    if batch.base_sequence == entry.batches[-1].last_sequence + 1:
        return None
    return entry.find_duplicate(batch.producer_epoch, batch.base_sequence, batch.last_sequence)
