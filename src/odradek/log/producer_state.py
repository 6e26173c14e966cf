"""Producers of one partition: idempotence, transactions, snapshots. Skeleton of signatures."""

from collections.abc import Iterable, Mapping

from odradek.common.ids import TopicPartition
from odradek.common.ports import FileSystem
from odradek.log.offsets import AppendOrigin, CompletedTxn, OffsetMetadata
from odradek.log.producer_append import ProducerAppend
from odradek.log.producer_entry import ProducerEntry, VerificationEntry, VerificationGuard


class ProducerState:
    map_end_offset: int

    def __init__(
        self,
        files: FileSystem,
        topic_partition: TopicPartition,
        directory: str,
        *,
        expiration_ms: int = 24 * 60 * 60 * 1000,
        max_transaction_timeout_ms: int = 15 * 60 * 1000,
        verification_enabled: bool = True,
    ) -> None:
        """Looks which snapshots there are, and reads none."""
        raise NotImplementedError

    @property
    def producers(self) -> Mapping[int, ProducerEntry]:
        raise NotImplementedError

    @property
    def is_empty(self) -> bool:
        raise NotImplementedError

    def last_entry(self, producer_id: int) -> ProducerEntry | None:
        raise NotImplementedError

    def prepare_update(self, producer_id: int, origin: AppendOrigin) -> ProducerAppend:
        """Decide: hand the batches to `append` of what is returned; nothing changes."""
        raise NotImplementedError

    def update(self, append: ProducerAppend) -> None:
        """Apply what was decided, once the batches are in the log."""
        raise NotImplementedError

    def update_map_end_offset(self, offset: int) -> None:
        raise NotImplementedError

    def maybe_create_verification(
        self, producer_id: int, sequence: int, epoch: int, supports_epoch_bump: bool, now_ms: int
    ) -> VerificationEntry:
        raise NotImplementedError

    def verification_entry(self, producer_id: int) -> VerificationEntry | None:
        raise NotImplementedError

    def clear_verification(self, producer_id: int) -> None:
        raise NotImplementedError

    def is_verified(self, producer_id: int, guard: VerificationGuard) -> bool:
        raise NotImplementedError

    def has_ongoing_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        raise NotImplementedError

    def first_unstable_offset(self) -> OffsetMetadata | None:
        """Start of the earliest transaction that is open, or whose marker is not yet below the high watermark."""
        raise NotImplementedError

    def first_undecided_offset(self) -> int | None:
        raise NotImplementedError

    def last_stable_offset(self, completed: CompletedTxn) -> int:
        """What it will be once `completed` is: for the transaction index."""
        raise NotImplementedError

    def complete_txn(self, completed: CompletedTxn) -> None:
        raise NotImplementedError

    def on_high_watermark_updated(self, high_watermark: int) -> None:
        raise NotImplementedError

    def on_log_start_offset_incremented(self, log_start_offset: int) -> None:
        raise NotImplementedError

    def has_late_transaction(self, now_ms: int) -> bool:
        raise NotImplementedError

    def remove_expired(self, now_ms: int) -> None:
        raise NotImplementedError

    def truncate_and_reload(self, log_start_offset: int, log_end_offset: int, now_ms: int) -> None:
        """Drop snapshots out of range; unless the state already ends at `log_end_offset`, reload from the latest."""
        raise NotImplementedError

    def truncate_fully_and_start_at(self, offset: int) -> None:
        raise NotImplementedError

    def truncate_fully_and_reload_snapshots(self) -> None:
        raise NotImplementedError

    def take_snapshot(self, *, sync: bool = True) -> str | None:
        """At `map_end_offset`, unless there is one; its path. Without `sync` the caller syncs it later."""
        raise NotImplementedError

    @property
    def latest_snapshot_offset(self) -> int | None:
        raise NotImplementedError

    @property
    def oldest_snapshot_offset(self) -> int | None:
        raise NotImplementedError

    def snapshot_file(self, offset: int) -> str | None:
        raise NotImplementedError

    def remove_stray_snapshots(self, segment_base_offsets: Iterable[int]) -> None:
        """Drop the snapshots of no segment, except a last one beyond all segments (written at a clean stop)."""
        raise NotImplementedError

    def delete_snapshots_before(self, offset: int) -> None:
        raise NotImplementedError

    def mark_snapshot_for_deletion(self, offset: int) -> str | None:
        """Rename the snapshot at `offset` to `.deleted` and forget it; its new path, or None if there is none."""
        raise NotImplementedError

    def update_directory(self, directory: str) -> None:
        raise NotImplementedError
