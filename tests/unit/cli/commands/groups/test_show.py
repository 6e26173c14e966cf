"""Descriptions of groups as text and JSON."""

import pytest

from odradek.cli.commands.groups.show import (
    GroupLag,
    PartitionLag,
    description_document,
    member_document,
    print_lags,
    print_members,
    print_states,
)
from odradek.client.admin.groups import GroupDescription, GroupMember
from odradek.client.types import TopicPartition
from odradek.common.addresses import HostPort

PARTITIONS = tuple(TopicPartition("orders", index) for index in range(4))
MEMBER = GroupMember("m-1", "static", "app", "/10.0.0.1", PARTITIONS[:2], PARTITIONS[:2], 7)
COORDINATOR = HostPort("here", 9092)
BUSY = GroupLag(
    GroupDescription("my group", "consumer", "Stable", "uniform", (MEMBER,), COORDINATOR, 7),
    (
        PartitionLag(PARTITIONS[0], 3, 20, MEMBER),
        PartitionLag(PARTITIONS[1], None, 20, MEMBER),  # assigned, and nothing committed yet
        PartitionLag(PARTITIONS[2], 3, None, None),  # without a leader
        PartitionLag(PARTITIONS[3], 9, 4, None),  # committed before the topic was created again
    ),
)
IDLE = GroupLag(GroupDescription("idle", "classic", "Empty", "", (), COORDINATOR), ())


def columns(text: str) -> list[list[str]]:
    """Return the columns of each line but the header; the name with a space counts as one column."""
    return [line.replace("my group", "my_group").split() for line in text.splitlines()[1:]]


def test_lag_distinguishes_missing_and_unknown_offsets(capsys: pytest.CaptureFixture[str]) -> None:
    print_lags([BUSY, IDLE])
    assert columns(capsys.readouterr().out) == [
        ["my_group", "orders", "0", "3", "20", "17", "m-1", "/10.0.0.1"],
        ["my_group", "orders", "1", "-", "20", "-", "m-1", "/10.0.0.1"],
        ["my_group", "orders", "2", "3", "?", "?", "-", "-"],
        ["my_group", "orders", "3", "9", "4", "0", "-", "-"],
        ["idle", *"-------"],
    ]


def test_members(capsys: pytest.CaptureFixture[str]) -> None:
    print_members([BUSY, IDLE])
    assert columns(capsys.readouterr().out) == [
        ["my_group", "m-1", "static", "app", "/10.0.0.1", "7", "orders-0,", "orders-1"],
        ["idle", *"------"],
    ]


def test_states(capsys: pytest.CaptureFixture[str]) -> None:
    print_states([BUSY, IDLE])
    assert columns(capsys.readouterr().out) == [
        ["my_group", "consumer", "Stable", "uniform", "1", "here:9092"],
        ["idle", "classic", "Empty", "-", "0", "here:9092"],
    ]


def test_no_header_without_groups(capsys: pytest.CaptureFixture[str]) -> None:
    for show in (print_lags, print_members, print_states):
        show([])
    assert capsys.readouterr().out == ""


def test_documents() -> None:
    head = {"group": "my group", "type": "consumer", "state": "Stable", "assignor": "uniform", "epoch": 7}
    document = description_document(BUSY)
    assert document.items() >= {**head, "coordinator": "here:9092"}.items()
    fields = ("topic", "partition", "committed", "end", "lag", "member", "host")
    assert [tuple(row[name] for name in fields) for row in document["partitions"]] == [
        ("orders", 0, 3, 20, 17, "m-1", "/10.0.0.1"),
        ("orders", 1, None, 20, None, "m-1", "/10.0.0.1"),
        ("orders", 2, 3, None, None, None, None),
        ("orders", 3, 9, 4, 0, None, None),
    ]
    assert member_document(BUSY.group)["members"] == [
        {
            "member": "m-1",
            "instance": "static",
            "client": "app",
            "host": "/10.0.0.1",
            "epoch": 7,
            "partitions": [{"topic": "orders", "partition": index} for index in (0, 1)],
        }
    ]
    assert member_document(IDLE.group)["members"] == description_document(IDLE)["partitions"] == []
