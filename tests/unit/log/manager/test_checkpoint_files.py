"""Kafka's small text files."""

from pathlib import Path

import pytest

from odradek.common.ids import TopicPartition, uuid_from_text
from odradek.log.errors import CorruptCheckpoint
from odradek.log.manager import checkpoint_files
from odradek.log.manager.checkpoint_files import CleanShutdown, EpochEntry, PartitionMetadata
from support.builders.segments import FILES

TOPIC_ID = "33AEpKJ9SjiC9Wisu-J9kQ"


def test_offsets_round_trip(tmp_path: Path) -> None:
    path = str(tmp_path / "replication-offset-checkpoint")
    offsets = {TopicPartition("a-b", 0): 5, TopicPartition("c", 11): 2**40}
    checkpoint_files.write_offset_checkpoint(FILES, path, offsets)
    assert Path(path).read_text() == "0\n2\na-b 0 5\nc 11 1099511627776\n"
    assert checkpoint_files.read_offset_checkpoint(FILES, path) == offsets
    assert list(tmp_path.iterdir()) == [Path(path)]


@pytest.mark.parametrize("text", [None, "", "0", "0\n", "0\n0\n"])
def test_missing_empty_and_bare_checkpoints_are_empty(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "c"
    if text is not None:
        path.write_text(text)
    assert checkpoint_files.read_offset_checkpoint(FILES, str(path)) == {}


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("1\n0\n", 1, 'version "1" is not 0'),
        ("x\n0\n", 1, 'version "x"'),
        (" 0\n0\n", 1, "version"),
        ("0\nx\n", 2, "no number of entries"),
        ("0\n1_0\n", 2, "no number of entries"),
        ("0\n2\na 0 1\n", 2, "2 entries expected, 1 found"),
        ("0\n0\na 0 1\n", 2, "0 entries expected, 1 found"),
        ("0\n1\na 0\n", 3, '"a 0" is no entry'),
        ("0\n1\na 0 1 2\n", 3, "is no entry"),
        ("0\n1\n a 0 1\n", 3, "is no entry"),
        ("0\n1\na x 1\n", 3, "is no entry"),
        ("0\n1\na 0 9223372036854775808\n", 3, "is no entry"),
        ("0\n1\na 2147483648 1\n", 3, "is no entry"),
        ("0\n2\na 0 1\n\n", 4, "is no entry"),
    ],
)
def test_malformed_checkpoints_name_the_line(tmp_path: Path, text: str, line: int, reason: str) -> None:
    path = tmp_path / "c"
    path.write_text(text)
    with pytest.raises(CorruptCheckpoint, match=reason) as caught:
        checkpoint_files.read_offset_checkpoint(FILES, str(path))
    assert caught.value.position == line
    assert str(caught.value).startswith(f"{path}:{line}: ")


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "c").write_bytes(b"0\n1\n\xff 0 1\n")
    with pytest.raises(CorruptCheckpoint, match="byte 4 is no UTF-8"):
        checkpoint_files.read_offset_checkpoint(FILES, str(tmp_path / "c"))


def test_epochs_round_trip(tmp_path: Path) -> None:
    entries = [EpochEntry(0, 0), EpochEntry(2, 102)]
    checkpoint_files.write_epoch_checkpoint(FILES, str(tmp_path), entries)
    assert (tmp_path / "leader-epoch-checkpoint").read_text() == "0\n2\n0 0\n2 102\n"
    assert checkpoint_files.read_epoch_checkpoint(FILES, str(tmp_path)) == entries


def test_a_malformed_epoch_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "leader-epoch-checkpoint").write_text("0\n1\n0 0 0\n")
    with pytest.raises(CorruptCheckpoint, match=":3: "):
        checkpoint_files.read_epoch_checkpoint(FILES, str(tmp_path))


def test_partition_metadata(tmp_path: Path) -> None:
    assert checkpoint_files.read_partition_metadata(FILES, str(tmp_path)) is None
    topic_id = uuid_from_text(TOPIC_ID)
    checkpoint_files.write_partition_metadata(FILES, str(tmp_path), topic_id)
    assert (tmp_path / "partition.metadata").read_text() == f"version: 0\ntopic_id: {TOPIC_ID}"
    assert checkpoint_files.read_partition_metadata(FILES, str(tmp_path)) == PartitionMetadata(topic_id)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("version 0\n", 1),
        ("version: x\n", 1),
        ("version: -1\n", 1),
        ("version: 0\n", 2),
        ("version: 0\ntopic_id: short", 2),
        ("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", 2),
    ],
)
def test_malformed_partition_metadata_names_the_line(tmp_path: Path, text: str, line: int) -> None:
    (tmp_path / "partition.metadata").write_text(text)
    with pytest.raises(CorruptCheckpoint) as caught:
        checkpoint_files.read_partition_metadata(FILES, str(tmp_path))
    assert caught.value.position == line


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, None),
        (b"", CleanShutdown(None)),
        (b"\xff", CleanShutdown(None)),
        (b'{"version":0,"brokerEpoch":95}', CleanShutdown(95)),
        (b'{"version":7,"brokerEpoch":95,"more":1}', CleanShutdown(95)),
        (b'{"version":0}', CleanShutdown(None)),
        (b"[1]", CleanShutdown(None)),
    ],
)
def test_only_the_presence_of_the_marker_makes_a_stop_clean(
    tmp_path: Path, content: bytes | None, expected: CleanShutdown | None
) -> None:
    if content is not None:
        (tmp_path / ".kafka_cleanshutdown").write_bytes(content)
    assert checkpoint_files.read_clean_shutdown(FILES, str(tmp_path)) == expected


def test_the_marker_is_written_and_taken_away(tmp_path: Path) -> None:
    checkpoint_files.write_clean_shutdown(FILES, str(tmp_path), 12)
    assert checkpoint_files.read_clean_shutdown(FILES, str(tmp_path)) == CleanShutdown(12)
    checkpoint_files.delete_clean_shutdown(FILES, str(tmp_path))
    checkpoint_files.delete_clean_shutdown(FILES, str(tmp_path))
    assert list(tmp_path.iterdir()) == []
