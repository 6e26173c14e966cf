"""The loader: transactions, catching up, publishers; and when a snapshot is due."""

from collections.abc import Sequence

import pytest

from odradek.common.failures import Fault
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import MetadataImage, MetadataProvenance
from odradek.metadata.publishing.loader import MetadataBatch, MetadataLoader
from odradek.metadata.publishing.publisher import LeaderAndEpoch, LoaderManifest, ManifestKind
from odradek.metadata.publishing.snapshot_generator import SnapshotGenerator, SnapshotLimits
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.message import Message
from odradek.protocol.messages.abort_transaction_record import AbortTransactionRecord
from odradek.protocol.messages.begin_transaction_record import BeginTransactionRecord
from odradek.protocol.messages.end_transaction_record import EndTransactionRecord
from odradek.protocol.messages.topic_record import TopicRecord
from support.builders.metadata_records import first_records


class Recorder:
    name = "recorder"

    def __init__(self) -> None:
        self.updates: list[tuple[list[str], int, ManifestKind, bool]] = []
        self.leaders: list[LeaderAndEpoch] = []

    def on_metadata_update(self, delta: MetadataDelta, image: MetadataImage, manifest: LoaderManifest) -> None:
        topics = [] if delta.topics is None else sorted(t.image.name for t in delta.topics.changed.values())
        self.updates.append((topics, image.offset, manifest.kind, image.provenance.is_batch_aligned))

    def on_controller_change(self, leader_and_epoch: LeaderAndEpoch) -> None:
        self.leaders.append(leader_and_epoch)


class Log:
    """Gives batches their offsets."""

    def __init__(self) -> None:
        self.end = 0

    def batch(self, *messages: Message) -> MetadataBatch:
        base, self.end = self.end, self.end + max(1, len(messages))
        return MetadataBatch(base, self.end - 1, 1, 7, 100, [MetadataRecord(m, 0) for m in messages])


def topic(name: str) -> TopicRecord:
    return TopicRecord(name=name, topic_id=name.encode().rjust(16, b"."))


def started() -> tuple[Log, MetadataLoader, Recorder]:
    log, loader, recorder = Log(), MetadataLoader(), Recorder()
    loader.add_publisher(recorder)
    loader.load_batches([log.batch(*first_records())], high_watermark=log.end)
    recorder.updates.clear()
    return log, loader, recorder


def load(log: Log, loader: MetadataLoader, *batches: Sequence[Message]) -> None:
    made = [log.batch(*batch) for batch in batches]
    loader.load_batches(made, high_watermark=log.end)


def test_several_batches_are_one_update() -> None:
    log, loader, recorder = started()
    load(log, loader, [topic("a")], [], [topic("b")])
    assert recorder.updates == [(["a", "b"], 4, ManifestKind.LOG_DELTA, True)]
    assert loader.image.offset == log.end - 1


def test_a_transaction_becomes_visible_at_its_end() -> None:
    log, loader, recorder = started()
    load(log, loader, [BeginTransactionRecord(name="x"), topic("a")])
    load(log, loader, [topic("b")])
    assert recorder.updates == [] and loader.image.topics.is_empty
    load(log, loader, [EndTransactionRecord(), topic("c")])
    assert recorder.updates == [(["a", "b", "c"], 6, ManifestKind.LOG_DELTA, True)]


def test_an_aborted_transaction_leaves_nothing() -> None:
    log, loader, recorder = started()
    load(log, loader, [BeginTransactionRecord()], [topic("a"), AbortTransactionRecord(reason="why not")])
    assert recorder.updates == [([], 4, ManifestKind.LOG_DELTA, True)]
    load(log, loader, [BeginTransactionRecord(), topic("b"), AbortTransactionRecord(), topic("c")])
    assert list(loader.image.topics.by_name) == ["c"]


def test_what_precedes_a_transaction_is_published_when_it_begins() -> None:
    log, loader, recorder = started()
    load(log, loader, [topic("a"), BeginTransactionRecord(), topic("b")])
    assert recorder.updates == [(["a"], 2, ManifestKind.LOG_DELTA, False)]
    load(log, loader, [AbortTransactionRecord()])
    load(log, loader, [topic("c")], [BeginTransactionRecord(), topic("d")])
    assert recorder.updates[1:] == [([], 5, ManifestKind.LOG_DELTA, True), (["c"], 6, ManifestKind.LOG_DELTA, True)]
    assert sorted(loader.image.topics.by_name) == ["a", "c"]


def test_two_transactions_in_one_batch() -> None:
    log, loader, _ = started()
    aborted = [BeginTransactionRecord(), topic("a"), AbortTransactionRecord()]
    load(log, loader, [*aborted, BeginTransactionRecord(), topic("b"), EndTransactionRecord()])
    assert list(loader.image.topics.by_name) == ["b"]


@pytest.mark.parametrize(
    "messages",
    [
        [EndTransactionRecord()],
        [AbortTransactionRecord()],
        [BeginTransactionRecord(), BeginTransactionRecord()],
        [BeginTransactionRecord(), EndTransactionRecord(), EndTransactionRecord()],
    ],
)
def test_markers_out_of_order_are_a_fault(messages: list[Message]) -> None:
    log, loader, _ = started()
    with pytest.raises(Fault, match="transaction"):
        load(log, loader, messages)


def test_publishers_hear_nothing_before_the_node_has_caught_up() -> None:
    log, loader, recorder = Log(), MetadataLoader(), Recorder()
    loader.add_publisher(recorder)
    batches = [log.batch(), log.batch(*first_records()), log.batch(topic("a")), log.batch(topic("b"))]
    loader.load_batches(batches[:1], high_watermark=1)
    assert loader.is_catching_up  # a leader change is no metadata
    loader.load_batches(batches[1:2], high_watermark=None)
    loader.load_batches(batches[2:3], high_watermark=log.end)
    assert recorder.updates == []
    loader.load_batches(batches[3:], high_watermark=log.end)
    assert recorder.updates == [(["a", "b"], log.end - 1, ManifestKind.SNAPSHOT, True)]


def test_a_late_publisher_gets_the_whole_image_and_the_leader() -> None:
    log, loader, recorder = started()
    load(log, loader, [topic("a")])
    loader.controller_changed(LeaderAndEpoch(3, 9))
    late = Recorder()
    loader.add_publisher(late)
    assert late.updates == [(["a"], 2, ManifestKind.SNAPSHOT, True)]
    assert late.leaders == [LeaderAndEpoch(3, 9)] and recorder.leaders[-1] == LeaderAndEpoch(3, 9)
    loader.remove_publisher(recorder)
    load(log, loader, [topic("b")])
    assert len(recorder.updates) == 1 and len(late.updates) == 2


def test_a_snapshot_replaces_the_image_and_forgets_an_open_transaction() -> None:
    log, loader, recorder = started()
    load(log, loader, [topic("a"), BeginTransactionRecord(), topic("b")])
    records = [MetadataRecord(m, 0) for m in (*first_records(), topic("c"))]
    loader.load_snapshot(MetadataProvenance(50, 2, 9), records, high_watermark=60)
    assert list(loader.image.topics.by_name) == ["c"]
    assert recorder.updates[-1] == (["c"], 50, ManifestKind.SNAPSHOT, True)
    log.end = 51
    load(log, loader, [topic("d")])
    assert sorted(loader.image.topics.by_name) == ["c", "d"]


def generator_with(log: Log, loader: MetadataLoader, now_ms: int, **limits: int) -> SnapshotGenerator:
    generator = SnapshotGenerator(SnapshotLimits(**limits), now_ms)
    loader.add_publisher(generator)
    return generator


def test_a_snapshot_is_due_after_enough_bytes() -> None:
    log, loader, _ = started()
    generator = generator_with(log, loader, 0, max_bytes=250)
    load(log, loader, [topic("a")], [topic("b")])
    assert generator.due(1) is None
    load(log, loader, [topic("c")])
    due = generator.due(1)
    assert due is not None and due.image is loader.image and "300 bytes" in due.reason
    load(log, loader, *([topic(name)] for name in "defg"))
    assert generator.due(2) is None  # one at a time
    generator.written()
    assert generator.due(2) is not None


def test_a_snapshot_is_due_after_enough_time_if_anything_happened() -> None:
    log, loader, _ = started()
    generator = generator_with(log, loader, 10, max_interval_ms=1000)
    assert generator.deadline_ms is None and generator.due(5000) is None
    load(log, loader, [topic("a")])
    assert generator.deadline_ms == 1010
    assert generator.due(1009) is None
    assert generator.due(1010) is not None


def test_no_snapshot_after_a_failure_nor_within_a_batch() -> None:
    log, loader, _ = started()
    generator = generator_with(log, loader, 0, max_bytes=1)
    load(log, loader, [topic("a"), BeginTransactionRecord()])
    assert generator.due(1) is None
    load(log, loader, [EndTransactionRecord()])
    assert generator.due(1) is not None
    generator.failed("the disk said no")
    load(log, loader, [topic("b")])
    assert generator.due(2) is None
