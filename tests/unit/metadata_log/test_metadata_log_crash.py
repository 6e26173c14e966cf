"""The metadata log on a disk that stops or fails at any of its operations, with all, none or any part of what was not
synced. What was durable is there afterwards, and after an error of the disk nothing is answered any more."""

import errno
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random

import pytest

from odradek.common.failures import Fault
from odradek.metadata_log.metadata_log import MetadataLog
from odradek.raft.values import OffsetAndEpoch
from odradek.records.batch import read_batches
from odradek.sim.world.disk import SimulatedDisk
from odradek.sim.world.disk_crash import Keep
from support.builders.raft import data_batch
from support.builders.raft_logs import DIRECTORY, content, freeze, new_disk, open_log
from support.fakes.log_faults import scaled
from support.figures import report

Step = Callable[[MetadataLog], object]


def append(count: int, epoch: int) -> Step:
    """One by one, as a follower."""

    def step(log: MetadataLog) -> None:
        for _ in range(count):
            log.append_as_follower(data_batch(log.end_offset, epoch, b"a" * 20, b"b"), epoch)

    return step


def lead(count: int, epoch: int) -> Step:
    """All at once, as a leader."""
    return lambda log: log.append_as_leader(
        b"".join(data_batch(log.end_offset + at, epoch, b"c") for at in range(count)), epoch
    )


def truncate(offset: int) -> Step:
    return lambda log: log.truncate_to(offset)


def commit(offset: int) -> Step:
    return lambda log: log.update_high_watermark(offset)


def snapshot(epoch: int, offset: int) -> Step:
    return lambda log: freeze(log, OffsetAndEpoch(epoch, offset))


def forget(epoch: int, offset: int) -> Step:
    return lambda log: log.delete_before_snapshot(OffsetAndEpoch(epoch, offset))


def flush(log: MetadataLog) -> None:
    log.flush()


def start_at_latest(log: MetadataLog) -> None:
    assert log.truncate_to_latest_snapshot()


#: With the offset from which on a step may take records away.
SCRIPT: list[tuple[Step, int | None]] = [
    (append(8, 1), None),
    (flush, None),
    (append(3, 2), None),
    (truncate(18), 18),
    (lead(9, 3), None),
    (flush, None),
    (truncate(4), 4),
    (flush, None),
    (append(9, 4), None),
    (commit(20), None),
    (snapshot(4, 14), None),
    (snapshot(4, 20), None),
    (forget(4, 20), None),
    (lead(6, 5), None),
    (flush, None),
    (snapshot(5, 60), None),
    (start_at_latest, 0),
    (append(5, 5), None),
    (flush, None),
]

SNAPSHOTS = [OffsetAndEpoch(4, 14), OffsetAndEpoch(4, 20), OffsetAndEpoch(5, 60)]


@dataclass(frozen=True, slots=True)
class Duty:
    """What must be found after a crash, unless a later snapshot stands for it, and which batches may be."""

    batches: dict[int, bytes] = field(default_factory=dict)
    snapshots: list[OffsetAndEpoch] = field(default_factory=list)
    allowed: set[bytes] = field(default_factory=set)


@dataclass(slots=True)
class Run:
    """The script on a disk, step by step, and what is owed."""

    disk: SimulatedDisk
    duty: Duty = field(default_factory=Duty)
    log: MetadataLog | None = None

    def steps(self) -> Iterator[None]:
        """The duty holds from each step to the next: what a step takes away is no longer owed once it has begun, what
        it makes durable is owed once it has ended."""
        self.log = open_log(self.disk)
        for step, taken_from in SCRIPT:
            if taken_from is not None:
                kept = {at: data for at, data in self.duty.batches.items() if at < taken_from}
                self.duty = replace(self.duty, batches=kept)
            before = _snapshots(self.log)
            if step is start_at_latest:
                self.duty = replace(self.duty, snapshots=before[-1:])
            yield
            step(self.log)
            found = content(self.log)
            self.duty.allowed.update(found.values())
            after = _snapshots(self.log)
            if step is flush or before != after:
                self.duty = Duty(found, after, set(found.values()) | _before(self.log.start_offset, self.duty.allowed))


def _snapshots(log: MetadataLog) -> list[OffsetAndEpoch]:
    return [known for known in SNAPSHOTS if log.snapshot_size_bytes(known) is not None]


def _before(offset: int, batches: set[bytes]) -> set[bytes]:
    """A start takes a segment that lies across the start of the log as a whole."""
    return {data for data in batches for batch in read_batches(data) if batch.base_offset < offset}


def run_whole() -> tuple[Run, list[tuple[int, Duty]]]:
    """With the duty from each number of operations on."""
    run = Run(new_disk())
    owed = [(len(run.disk.journal), run.duty) for _ in run.steps()]
    return run, [*owed, (len(run.disk.journal), run.duty)]


def check_survivor(disk: SimulatedDisk, duty: Duty) -> None:
    log = open_log(disk)
    found = content(log)
    assert set(found.values()) <= duty.allowed, "something is there that was never written, or truncated for good"
    assert log.start_offset == 0 or log.start_offset in [known.offset for known in _snapshots(log)]
    assert {known for known in duty.snapshots if known.offset >= log.start_offset} <= set(_snapshots(log))
    for offset, data in duty.batches.items():
        assert offset < log.start_offset or found.get(offset) == data, f"{offset} is lost"
    epochs = [batch.leader_epoch for data in found.values() for batch in read_batches(data)]
    assert epochs == sorted(epochs)
    assert log.last_epoch == (epochs[-1] if epochs else max((known.epoch for known in _snapshots(log)), default=0))
    log.append_as_follower(data_batch(log.end_offset, 9), 9)
    log.flush()
    again = open_log(disk.crash("none"))
    assert (again.start_offset, again.end_offset) == (log.start_offset, log.end_offset)


def keeps(operations: int, seeds: int) -> list[Keep]:
    return ["all", "none", *(Random(seed * 100_000 + operations) for seed in range(seeds))]


@pytest.mark.slow
def test_a_crash_at_any_operation_leaves_what_was_durable() -> None:
    run, owed = run_whole()
    crashes = 0
    for operations, state in enumerate(run.disk.states()):
        duty = next((duty for begun, duty in reversed(owed) if begun <= operations), Duty())
        for keep in keeps(operations, scaled(4)):
            check_survivor(state.crash(keep), duty)
            crashes += 1
    assert crashes > 1000
    report("metadata log: crash at every operation", operations=len(run.disk.journal), crashes=crashes, lost=0)


def test_a_crash_while_opening_after_a_crash_loses_nothing() -> None:
    """Every second-hand disk of every tenth operation."""
    run, owed = run_whole()
    crashes = 0
    for operations, state in enumerate(run.disk.states()):
        if operations % 10:
            continue
        duty = next((duty for begun, duty in reversed(owed) if begun <= operations), Duty())
        survivor = state.crash(Random(operations))
        survivor.settle()
        open_log(survivor)
        for number, opening in enumerate(survivor.states()):
            check_survivor(opening.crash(Random(operations * 1000 + number)), duty)
            crashes += 1
    report("metadata log: crash while opening", crashes=crashes, lost=0)


def every_call(log: MetadataLog) -> list[Callable[[], object]]:
    """All that would write to the disk or answer from it."""
    return [
        lambda: log.append_as_leader(data_batch(log.end_offset, 9), 9),
        lambda: log.append_as_follower(data_batch(log.end_offset, 9), 9),
        lambda: log.read(log.start_offset, 1, committed=False),
        lambda: log.truncate_to(log.high_watermark),
        log.flush,
        log.plan_flush,
        lambda: log.create_snapshot(OffsetAndEpoch(99, 999)),
        log.truncate_to_latest_snapshot,
        lambda: log.delete_before_snapshot(OffsetAndEpoch(4, 20)),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "kinds"),
    [(errno.EIO, ("write", "truncate", "sync", "sync_dir", "remove", "rename")), (errno.ENOSPC, ("write", "create"))],
    ids=["EIO", "ENOSPC"],
)
def test_the_first_error_of_the_disk_is_the_end(error: int, kinds: tuple[str, ...]) -> None:
    whole, owed = run_whole()
    numbers = [number for number, operation in enumerate(whole.disk.journal) if operation.kind in kinds]
    ever = set[bytes]().union(*(duty.allowed for _, duty in owed))
    for number in numbers:
        run = Run(new_disk())
        run.disk.fail(error, operation=number)
        with pytest.raises(Fault):
            for _ in run.steps():
                pass
        if run.log is not None:
            for call in every_call(run.log):
                with pytest.raises(Fault):
                    call()
            run.log.close()
        assert len(run.disk.journal) <= number + 1, "nothing is written after the error"
        check_survivor(run.disk.crash(Random(number)), replace(run.duty, allowed=ever))
    report(
        "metadata log: error at every operation", error=errno.errorcode[error], operations=len(numbers), acked_after=0
    )


def test_an_error_while_reading_is_the_end_too() -> None:
    disk = new_disk()
    log = open_log(disk)
    log.append_as_leader(data_batch(0, 1), 1)
    disk.fail(errno.EIO, kind="read", path="*.log")
    with pytest.raises(Fault, match="Input/output error"):
        log.read(0, 100, committed=False)
    for call in every_call(log):
        with pytest.raises(Fault, match="Input/output error"):
            call()


def test_a_snapshot_on_a_failed_disk_is_the_end_and_can_be_closed() -> None:
    disk = new_disk()
    log = open_log(disk)
    raw = log.create_snapshot(OffsetAndEpoch(1, 1))
    assert raw is not None
    disk.fail(errno.ENOSPC, kind="write", path="*.part")
    with pytest.raises(Fault, match="No space left"):
        raw.append(b"some of it")
    raw.close()
    with pytest.raises(Fault, match="No space left"):
        raw.freeze()
    with pytest.raises(Fault, match="No space left"):
        log.flush()
    assert open_log(disk.copy()).latest_snapshot_id is None


def test_damage_in_what_was_synced_is_never_cut() -> None:
    """In a sealed segment when it is read, below a snapshot when the log is opened."""
    disk = new_disk()
    log = open_log(disk)
    lead(10, 1)(log)
    log.update_high_watermark(10)
    freeze(log, OffsetAndEpoch(1, 10))
    log.close()
    first, *_, last = [f"{DIRECTORY}/{name}" for name in disk.list_dir(DIRECTORY) if name.endswith(".log")]
    for path in (first, last):
        damaged = disk.copy()
        content_before = damaged.read_file(path)
        file = damaged.open(path)
        file.write(len(content_before) - 1, bytes([content_before[-1] ^ 1]))
        with pytest.raises(Fault, match="CRC"):
            content(open_log(damaged))
        assert len(damaged.read_file(path)) == len(content_before)
