"""Recovery of one segment: what is kept, what is cut off, what is rebuilt."""

import struct
import zlib
from pathlib import Path

import pytest

from odradek.common.ids import TopicPartition
from odradek.log.errors import SegmentOverflow
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.offsets import AbortedTxn
from odradek.log.producers.producer_state import ProducerState
from odradek.log.recovery import segment_recovery
from odradek.log.recovery.segment_recovery import Recovery, recover_segment
from odradek.records.batch import Batch
from support.builders.segments import FILES, START_MS, append, data_batch, fill, marker, new_segment, open_segment

LOG = f"{0:020d}.log"
INDEX_KINDS = (".index", ".timeindex")


def recovered(directory: Path, data: bytes, *, interval: int = 4096) -> Recovery:
    """Recovery of a segment that holds `data`, with no indexes."""
    for path in directory.iterdir():
        path.unlink()
    (directory / LOG).write_bytes(data)
    segment = open_segment(directory, interval=interval)
    recovery = recover_segment(segment, None, None)
    segment.close()
    return recovery


def joined(batches: list[Batch]) -> bytes:
    return b"".join(batch.buffer for batch in batches)


def test_rebuilt_indexes_are_those_of_the_appends(tmp_path: Path) -> None:
    built = tmp_path / "built"
    built.mkdir()
    segment = new_segment(built, interval=700)
    fill(segment, 50)
    segment.close()
    again = tmp_path / "again"
    again.mkdir()
    recovery = recovered(again, (built / LOG).read_bytes(), interval=700)
    assert recovery == Recovery(segment.size, 0, 150, None)
    for kind in INDEX_KINDS:
        name = f"{0:020d}{kind}"
        assert (again / name).read_bytes() == (built / name).read_bytes()


def test_stale_indexes_are_replaced(tmp_path: Path) -> None:
    segment = new_segment(tmp_path, interval=300)
    fill(segment, 20)
    segment.close()
    good = {kind: (tmp_path / f"{0:020d}{kind}").read_bytes() for kind in INDEX_KINDS}
    for kind in (*INDEX_KINDS, ".txnindex"):
        (tmp_path / f"{0:020d}{kind}").write_bytes(bytes(range(1, 205)) * 4)
    segment = open_segment(tmp_path, interval=300)
    recover_segment(segment, None, None)
    segment.close()
    for kind in INDEX_KINDS:
        assert (tmp_path / f"{0:020d}{kind}").read_bytes() == good[kind]
    assert (tmp_path / f"{0:020d}.txnindex").read_bytes() == b""


def test_a_log_cut_at_every_byte_keeps_the_whole_batches_before_the_cut(tmp_path: Path) -> None:
    batches = [data_batch(i * 3, 3, value_bytes=i * 10) for i in range(4)]
    data = joined(batches)
    ends = [0]
    for batch in batches:
        ends.append(ends[-1] + batch.size_bytes)
    for cut in range(len(data) + 1):
        recovery = recovered(tmp_path, data[:cut])
        whole = sum(end <= cut for end in ends) - 1
        assert recovery.valid_bytes == ends[whole]
        assert recovery.truncated_bytes == cut - ends[whole]
        assert recovery.next_offset == whole * 3
        assert (recovery.damage is None) == (cut in ends)
        assert (tmp_path / LOG).read_bytes() == data[: ends[whole]]
        again = open_segment(tmp_path)
        assert recover_segment(again, None, None) == Recovery(ends[whole], 0, whole * 3, None)
        following = data_batch(whole * 3)
        append(again, following)
        read = again.read(whole * 3, 1000)
        assert read is not None and read.records.read() == following.buffer
        again.close()


def test_every_flipped_bit_below_the_crc_is_found(tmp_path: Path) -> None:
    """All of a batch but its base offset, epoch and length is under the CRC or is the CRC; a length that is wrong
    leads to bytes that are no batch. Base offset and epoch are the leader's and have no check of their own here."""
    batches = [data_batch(i * 2, 2, value_bytes=4) for i in range(3)]
    data = bytearray(joined(batches))
    second = batches[0].size_bytes
    for at in range(second, second + batches[1].size_bytes):
        if at - second in (*range(8), *range(12, 16)):
            continue
        for bit in range(8):
            data[at] ^= 1 << bit
            recovery = recovered(tmp_path, bytes(data))
            data[at] ^= 1 << bit
            assert recovery.valid_bytes == second
            assert recovery.damage is not None
            assert recovery.damage.path.endswith(LOG)
            assert recovery.damage.position == second


@pytest.mark.parametrize(
    ("junk", "reason"),
    [
        (b"\1", "1 bytes are too few for a batch"),
        (bytes(11), "11 bytes are too few for a batch"),
        (bytes(100), "its length of 0 is below 14"),
        (b"\xff" * 100, "its length of -1 is below 14"),
        (
            struct.pack(">qi", 9, 1 << 30) + bytes(50),
            f"a batch of {(1 << 30) + 12} bytes begins here, but only 62 follow",
        ),
    ],
)
def test_what_is_wrong_is_told_with_file_and_position(tmp_path: Path, junk: bytes, reason: str) -> None:
    batch = data_batch(0, 3)
    recovery = recovered(tmp_path, bytes(batch.buffer) + junk)
    assert recovery.valid_bytes == batch.size_bytes
    assert recovery.truncated_bytes == len(junk)
    assert recovery.damage is not None
    assert str(recovery.damage).startswith(f"{tmp_path}/{LOG}:{batch.size_bytes}: ")
    assert reason in str(recovery.damage)


def test_batches_across_chunks_and_larger_than_a_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [data_batch(i * 2, 2, value_bytes=(i % 5) * 300) for i in range(20)]
    expected = recovered(tmp_path, joined(batches))
    index = (tmp_path / f"{0:020d}.index").read_bytes()
    for chunk in (61, 100, 333, 1000):
        monkeypatch.setattr(segment_recovery, "CHUNK_BYTES", chunk)
        assert recovered(tmp_path, joined(batches)) == expected
        assert (tmp_path / f"{0:020d}.index").read_bytes() == index


def test_an_empty_segment(tmp_path: Path) -> None:
    assert recovered(tmp_path, b"") == Recovery(0, 0, 0, None)
    assert sorted(path.name[20:] for path in tmp_path.iterdir()) == [".index", ".log", ".timeindex"]


def old_message(offset: int, magic: int, value: bytes, timestamp: int = START_MS) -> bytes:
    """A message of magic 0 or 1, by hand."""
    times = struct.pack(">q", timestamp) if magic else b""
    body = struct.pack(">bb", magic, 0) + times + struct.pack(">ii", -1, len(value)) + value
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def test_messages_of_the_older_formats(tmp_path: Path) -> None:
    for magic in (0, 1):
        data = b"".join(old_message(i, magic, b"v" * i) for i in range(20))
        assert recovered(tmp_path, data, interval=100) == Recovery(len(data), 0, 20, None)
        segment = open_segment(tmp_path)
        assert segment.offset_index.entry_count > 3
        assert segment.max_timestamp_so_far == (START_MS if magic else -1)
        for offset in range(20):
            found = segment.translate_offset(offset)
            assert found is not None and found.base_offset == offset
        by_time = segment.find_offset_by_timestamp(START_MS, 0)
        assert (by_time is not None) == (magic == 1)
        segment.close()
    broken = bytearray(data)
    broken[-1] ^= 1
    recovery = recovered(tmp_path, bytes(broken))
    assert recovery.next_offset == 19
    assert recovery.damage is not None and "CRC" in str(recovery.damage)


def test_offsets_too_far_apart_are_for_the_loader(tmp_path: Path) -> None:
    with pytest.raises(SegmentOverflow):
        recovered(tmp_path, joined([data_batch(0), data_batch(2**31)]))


@pytest.mark.parametrize("interval", [0, 4096])
def test_offsets_that_run_backwards_are_damage(tmp_path: Path, interval: int) -> None:
    batches = [data_batch(offset, 2) for offset in (5, 7, 8)]
    recovery = recovered(tmp_path, joined(batches), interval=interval)
    assert recovery.next_offset == 9
    assert "a batch at offset 8 cannot follow offset 8" in str(recovery.damage)
    (tmp_path / f"{100:020d}.log").write_bytes(data_batch(99).buffer)
    below = recover_segment(open_segment(tmp_path, 100), None, None)
    assert below.valid_bytes == 0


def test_epochs_and_producers_are_fed(tmp_path: Path) -> None:
    segment = new_segment(tmp_path)
    append(segment, data_batch(0, 2, leader_epoch=1, producer_id=7, producer_epoch=0, base_sequence=0))
    append(
        segment,
        data_batch(2, 2, leader_epoch=1, producer_id=9, producer_epoch=0, base_sequence=0, is_transactional=True),
    )
    append(
        segment,
        data_batch(4, 1, leader_epoch=3, producer_id=8, producer_epoch=2, base_sequence=0, is_transactional=True),
    )
    append(segment, marker(5, 9, commit=False, coordinator_epoch=4, leader_epoch=3))
    for i in range(7):
        append(segment, data_batch(6 + i, 1, leader_epoch=3, producer_id=7, producer_epoch=0, base_sequence=2 + i))
    producers = ProducerState(FILES, TopicPartition("t", 0), str(tmp_path))
    epochs = LeaderEpochs(FILES, str(tmp_path))
    recovery = recover_segment(segment, producers, epochs)
    assert recovery.damage is None
    assert epochs.entries() == [(1, 0), (3, 4)]
    assert list(segment.txn_index.entries()) == [AbortedTxn(9, 2, 5, 4)]
    assert producers.map_end_offset == 13
    seven = producers.last_entry(7)
    assert seven is not None
    assert [batch.last_sequence for batch in seven.batches] == [4, 5, 6, 7, 8]
    eight, nine = producers.last_entry(8), producers.last_entry(9)
    assert eight is not None and eight.current_txn_first_offset == 4
    assert nine is not None and (nine.current_txn_first_offset, nine.coordinator_epoch) == (None, 4)
    assert producers.first_undecided_offset() == 4


def test_an_epoch_that_is_known_already_is_not_assigned_again(tmp_path: Path) -> None:
    segment = new_segment(tmp_path)
    append(segment, data_batch(0, leader_epoch=1), data_batch(1, leader_epoch=-1))
    epochs = LeaderEpochs(FILES, str(tmp_path))
    epochs.assign(5, 0)
    recover_segment(segment, None, epochs)
    assert epochs.entries() == [(5, 0)]


def test_a_producer_that_sends_with_and_without_transactions_keeps_its_order(tmp_path: Path) -> None:
    segment = new_segment(tmp_path)
    append(segment, data_batch(0, producer_id=7, producer_epoch=0, base_sequence=0))
    append(segment, data_batch(1, producer_id=7, producer_epoch=0, base_sequence=1, is_transactional=True))
    append(segment, marker(2, 7))
    append(segment, data_batch(3, producer_id=7, producer_epoch=0, base_sequence=2))
    producers = ProducerState(FILES, TopicPartition("t", 0), str(tmp_path))
    recover_segment(segment, producers, None)
    seven = producers.last_entry(7)
    assert seven is not None
    assert [batch.last_sequence for batch in seven.batches] == [0, 1, 2]
