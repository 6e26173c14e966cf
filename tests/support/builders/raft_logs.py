"""The metadata log on a simulated disk, and beside it the simulator's own log, which it must agree with."""

from collections.abc import Callable, Iterable
from random import Random

from odradek.common.ports import Buffer
from odradek.metadata_log.metadata_log import MetadataLog, MetadataLogConfig
from odradek.metadata_log.opening import open_metadata_log
from odradek.raft.storage.raft_log import RaftLog
from odradek.raft.storage.snapshots import SnapshotWriter
from odradek.raft.values import OffsetAndEpoch
from odradek.records.batch import read_batches
from odradek.records.errors import CorruptRecord, InvalidRecord
from odradek.sim.raft.log import SimulatedEntry, SimulatedRaftLog, SimulatedSnapshot
from odradek.sim.world.disk import SimulatedDisk
from odradek.sim.world.disk_crash import Keep
from support.builders.raft import WALL_MS

LOG_DIR = "/data"
DIRECTORY = f"{LOG_DIR}/__cluster_metadata-0"

#: So small that a few batches fill a segment.
SMALL = MetadataLogConfig(segment_bytes=300)


class Clock:
    def monotonic_ms(self) -> int:
        return WALL_MS

    def wall_ms(self) -> int:
        return WALL_MS


def new_disk() -> SimulatedDisk:
    disk = SimulatedDisk(Clock())
    disk.make_dirs(LOG_DIR)
    disk.settle()
    return disk


def open_log(disk: SimulatedDisk, config: MetadataLogConfig = SMALL) -> MetadataLog:
    return open_metadata_log(disk, Clock(), LOG_DIR, config)


def content(log: RaftLog) -> dict[int, bytes]:
    """Batches by base offset, as a reader gets them."""
    batches: dict[int, bytes] = {}
    offset = log.start_offset
    while offset < log.end_offset:
        data = log.read(offset, 1, committed=False)
        assert data, f"nothing at {offset} of {log}"
        for batch in read_batches(data):
            batch.check()
            assert batch.base_offset == offset or not batches, "batches lie end to end"
            batches[batch.base_offset] = bytes(batch.buffer)
            offset = batch.next_offset
    return batches


def freeze(log: RaftLog, snapshot_id: OffsetAndEpoch, timestamp: int = WALL_MS) -> None:
    raw = log.create_snapshot(snapshot_id)
    assert raw is not None
    writer = SnapshotWriter(
        raw, last_contained_log_timestamp=timestamp, kraft_version=0, voters=None, wall_ms=timestamp
    )
    writer.append([b"state"])
    writer.freeze()
    writer.close()


def snapshot_ids(log: RaftLog, candidates: Iterable[OffsetAndEpoch]) -> list[OffsetAndEpoch]:
    return sorted(known for known in candidates if log.snapshot_size_bytes(known) is not None)


class TwinSnapshot(SimulatedSnapshot):
    """Written to both."""

    def __init__(self, log: "TwinRaftLog", snapshot_id: OffsetAndEpoch) -> None:
        super().__init__(log, snapshot_id)
        raw = log.real.create_snapshot(snapshot_id)
        assert raw is not None
        self._raw = raw

    def append(self, data: Buffer) -> None:
        super().append(data)
        self._raw.append(data)
        assert self._raw.size_bytes == self.size_bytes

    def freeze(self) -> None:
        self._raw.freeze()
        super().freeze()

    def close(self) -> None:
        self._raw.close()
        super().close()


class TwinRaftLog(SimulatedRaftLog):
    """The simulator's log and the one on disk: every call goes to both, and they must agree. The one on disk is what
    answers; after a crash the other is what the disk says, if that may be."""

    def __init__(
        self,
        on_append: Callable[[SimulatedEntry], None],
        chain_of: Callable[[OffsetAndEpoch], int],
        random: Random,
        config: MetadataLogConfig = SMALL,
    ) -> None:
        super().__init__(on_append, chain_of, random)
        self.config = config
        self.disk = new_disk()
        self.real = open_log(self.disk, config)
        self.crashes = 0

    def agree(self) -> None:
        real = self.real
        assert (real.start_offset, real.end_offset) == (self.start_offset, self.end_offset)
        assert (real.last_epoch, real.high_watermark) == (self.last_epoch, self.high_watermark)
        assert real.latest_snapshot_id == self.latest_snapshot_id
        assert real.earliest_snapshot_id == self.earliest_snapshot_id

    def agree_fully(self) -> None:
        self.agree()
        assert list(content(self.real).values()) == [entry.data for entry in self.entries]
        for snapshot_id, data in self._snapshots.items():
            assert bytes(self.real.read_snapshot(snapshot_id, 0, len(data) + 1)) == data

    def update_high_watermark(self, offset: int) -> None:
        super().update_high_watermark(offset)
        self.real.update_high_watermark(offset)
        self.agree()

    def end_offset_for_epoch(self, epoch: int) -> OffsetAndEpoch:
        found = self.real.end_offset_for_epoch(epoch)
        assert found == super().end_offset_for_epoch(epoch)
        return found

    def initialize_leader_epoch(self, epoch: int) -> None:
        super().initialize_leader_epoch(epoch)
        self.real.initialize_leader_epoch(epoch)
        self.agree()

    def append_as_leader(self, batches: Buffer, epoch: int) -> None:
        self.real.append_as_leader(batches, epoch)
        super().append_as_leader(batches, epoch)
        self.agree()

    def append_as_follower(self, batches: Buffer, epoch: int) -> None:
        refused = _refusal(lambda: self.real.append_as_follower(batches, epoch))
        also = _refusal(lambda: SimulatedRaftLog.append_as_follower(self, batches, epoch))
        assert type(refused) is type(also)
        self.agree()
        if refused is not None:
            raise refused

    def read(self, offset: int, max_bytes: int, *, committed: bool) -> Buffer:
        """The one on disk ends at a segment at the latest."""
        data = self.real.read(offset, max_bytes, committed=committed)
        expected = bytes(super().read(offset, max_bytes, committed=committed))
        assert expected.startswith(data) and bool(expected) == bool(data)
        return data

    def truncate_to(self, offset: int) -> None:
        super().truncate_to(offset)
        self.real.truncate_to(offset)
        self.agree()

    def flush(self) -> None:
        super().flush()
        self.real.flush()

    def read_snapshot(self, snapshot_id: OffsetAndEpoch, position: int, max_bytes: int) -> Buffer:
        data = self.real.read_snapshot(snapshot_id, position, max_bytes)
        assert data == super().read_snapshot(snapshot_id, position, max_bytes)
        return data

    def create_snapshot(self, snapshot_id: OffsetAndEpoch) -> SimulatedSnapshot | None:
        if snapshot_id in self._snapshots:
            assert self.real.create_snapshot(snapshot_id) is None
            return None
        return TwinSnapshot(self, snapshot_id)

    def truncate_to_latest_snapshot(self) -> bool:
        went = super().truncate_to_latest_snapshot()
        assert self.real.truncate_to_latest_snapshot() is went
        self.agree()
        return went

    def delete_before_snapshot(self, snapshot_id: OffsetAndEpoch) -> bool:
        went = super().delete_before_snapshot(snapshot_id)
        assert self.real.delete_before_snapshot(snapshot_id) is went
        self.agree()
        return went

    def clean(self, wall_ms: int) -> bool:
        """What goes is for the one on disk to say."""
        went = self.real.clean(wall_ms)
        if went:
            earliest = self.real.earliest_snapshot_id
            assert earliest is not None
            super().delete_before_snapshot(earliest)
        self.agree()
        return went

    def close(self) -> None:
        self.real.close()
        super().flush()

    def crash(self) -> None:
        keep: Keep = self._random.choice(("none", "all", Random(self._random.getrandbits(64)), Random(self.crashes)))
        self.reopen(self.disk.crash(keep))

    def reopen(self, disk: SimulatedDisk) -> None:
        """What is on `disk` must be what a crash may have left."""
        self.crashes += 1
        self.disk = disk
        self.real = open_log(disk, self.config)
        found = content(self.real)
        self._check_kept([data for offset, data in found.items() if offset >= self.start_offset])
        assert snapshot_ids(self.real, self._snapshots) == sorted(
            known for known in self._snapshots if known.offset >= self.real.start_offset
        )
        self._adopt(found)
        self.agree_fully()

    def _check_kept(self, found: list[bytes]) -> None:
        """Of what was synced nothing is gone but what was truncated since; what is there was there before."""
        both = zip(self.entries, self.synced, strict=False)
        agreed = next(
            (at for at, (ours, durable) in enumerate(both) if ours is not durable),
            min(len(self.entries), len(self.synced)),
        )
        written, synced = ([entry.data for entry in entries] for entries in (self.entries, self.synced))
        latest = self.latest_snapshot_id
        if latest is not None and latest > OffsetAndEpoch(self.last_epoch, self.end_offset):
            assert self.real.start_offset == self.real.end_offset == latest.offset
            return
        assert self.real.start_offset <= self.start_offset
        assert len(found) >= agreed, f"{agreed - len(found)} synced batches are lost"
        assert found in (written[: len(found)], synced[: len(found)])

    def _adopt(self, found: dict[int, bytes]) -> None:
        real = self.real
        kept = {known: data for known, data in self._snapshots.items() if real.snapshot_size_bytes(known) is not None}
        self.start_offset = self.high_watermark = real.start_offset
        starts_at = next((known for known in kept if known.offset == real.start_offset > 0), None)
        self._start_chain = 0 if starts_at is None else self._chain_of(starts_at)
        self.entries, self._ends, self._leader_epoch, self._snapshots = [], [], 0, {}
        for data in found.values():
            self._append(data, 2**31 - 1)
        self.synced = self.entries.copy()
        self._snapshots = kept


def _refusal(append: Callable[[], None]) -> Exception | None:
    try:
        append()
    except (CorruptRecord, InvalidRecord) as error:
        return error
    return None
