"""Names of files and directories."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.common.ids import TopicPartition
from odradek.log.errors import InvalidTopic
from odradek.log.file_names import (
    PartitionDirName,
    SegmentFileName,
    check_topic,
    marked_partition_dir,
    offset_prefix,
    parse_partition_dir,
    parse_segment_file,
    partition_dir,
    segment_path,
    topics_collide,
)

UNIQUE = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("00000000000000000257.log", SegmentFileName(257, ".log", "")),
        ("00000000000000000257.timeindex", SegmentFileName(257, ".timeindex", "")),
        ("00000000000000000257.txnindex.deleted", SegmentFileName(257, ".txnindex", ".deleted")),
        ("09223372036854775807.snapshot", SegmentFileName(2**63 - 1, ".snapshot", "")),
        ("00000000000000000000.index.cleaned", SegmentFileName(0, ".index", ".cleaned")),
        ("00000000000000000000.log.swap", SegmentFileName(0, ".log", ".swap")),
        ("00000000000000000042-0000000001.checkpoint", None),
        ("partition.metadata", None),
        ("0.log", None),
        ("00000000000000000000.log.tmp", None),
    ],
)
def test_files_of_a_segment(name: str, expected: SegmentFileName | None) -> None:
    assert parse_segment_file(name) == expected


@given(st.integers(0, 2**63 - 1))
def test_offsets_sort_as_names(offset: int) -> None:
    assert len(offset_prefix(offset)) == 20
    name = segment_path("/d", offset, ".log").rpartition("/")[2]
    parsed = parse_segment_file(name)
    assert parsed is not None and parsed.base_offset == offset


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plain-0", PartitionDirName(TopicPartition("plain", 0), "")),
        ("with-dash.and_dot-12", PartitionDirName(TopicPartition("with-dash.and_dot", 12), "")),
        (f"plain-3.{UNIQUE}-delete", PartitionDirName(TopicPartition("plain", 3), "-delete")),
        (f"a.b-3.{UNIQUE}-future", PartitionDirName(TopicPartition("a.b", 3), "-future")),
        (f"plain-3.{UNIQUE}-stray", PartitionDirName(TopicPartition("plain", 3), "-stray")),
        ("plain-delete", None),
        ("plain-3-delete", None),
        ("plain", None),
        ("plain-", None),
        ("-3", None),
        ("plain-x", None),
        ("plain-1_0", None),
        ("plain-99999999999", None),
        ("lost+found", None),
    ],
)
def test_directories_of_a_partition(name: str, expected: PartitionDirName | None) -> None:
    assert parse_partition_dir(name) == expected


@pytest.mark.parametrize("mark", ["-delete", "-stray", "-future"])
def test_a_marked_directory_is_read_back(mark: str) -> None:
    topic_partition = TopicPartition("t.x-y", 7)
    assert parse_partition_dir(partition_dir(topic_partition)) == PartitionDirName(topic_partition, "")
    assert parse_partition_dir(marked_partition_dir(topic_partition, UNIQUE, mark)) == (topic_partition, mark)


def test_the_name_of_a_deleted_directory_is_cut_to_what_file_systems_take() -> None:
    longest = TopicPartition("x" * 249, 1234)
    name = marked_partition_dir(longest, UNIQUE, "-delete")
    assert len(name) == 255
    assert name.endswith(f"x-1234.{UNIQUE}-delete")


@pytest.mark.parametrize("topic", ["a", "A.b_c-9", "x" * 249, "__consumer_offsets", "..."])
def test_good_topics(topic: str) -> None:
    check_topic(topic)


@pytest.mark.parametrize(
    ("topic", "reason"),
    [
        ("", "the empty string"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, "longer than the max allowed length 249"),
        ("a b", "other than ASCII alphanumerics"),
        ("a/b", "other than ASCII alphanumerics"),
        ("é", "other than ASCII alphanumerics"),
        ("a\n", "other than ASCII alphanumerics"),
    ],
)
def test_bad_topics(topic: str, reason: str) -> None:
    with pytest.raises(InvalidTopic, match=reason.replace(".", r"\.")) as caught:
        check_topic(topic)
    assert caught.value.code == 17


def test_topics_collide_where_metrics_would_mix_them_up() -> None:
    assert topics_collide("a.b", "a_b")
    assert not topics_collide("a.b", "a-b")
