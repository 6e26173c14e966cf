"""Kafka's own assignors over the same groups: the same partitions for everybody, and the same bytes."""

from pathlib import Path
from random import Random

import pytest

from odradek.client.group.subscription import encode_assignment, encode_subscription
from odradek.client.types import TopicPartition
from support.figures import report
from unit.client.group.assignors.kafka_assignors import CLASSES, Group, ask_kafka, assignor, random_groups

_SEEDS = 100
_ROUNDS = 4


@pytest.mark.peer
def test_assignors_decide_as_kafkas_do(tmp_path: Path) -> None:
    groups = [
        group
        for class_name in CLASSES
        for seed in range(_SEEDS)
        for group in random_groups(Random(f"{class_name} {seed}"), class_name, _ROUNDS)
    ]
    answers = ask_kafka(groups, tmp_path)
    moved = 0
    for group, answer in zip(groups, answers, strict=True):
        ours = group.assign()
        assert {name: sorted(each) for name, each in ours.items()} == {
            name: sorted(TopicPartition(*one) for one in said["partitions"]) for name, said in answer.items()
        }, group
        _check_bytes(group, answer)
        moved += sum(len(partitions) for partitions in ours.values())
    report(f"assignors: {len(groups)} groups divided as Apache Kafka's assignors do, {moved} partitions")


def _check_bytes(group: Group, answer: dict[str, dict[str, object]]) -> None:
    for name, said in answer.items():
        partitions = [TopicPartition(*one) for one in said["partitions"]]  # type: ignore[misc, attr-defined]
        assert encode_assignment(partitions).hex() == said["assignment"]
        assert encode_subscription(group.members[name]).hex() == said["subscription"]
        mine = assignor(group.class_name)
        mine.on_assignment(partitions, 7)
        data = mine.user_data()
        assert (None if data is None else sorted(data)) == _sorted(said["user_data"])


def _sorted(text: object) -> list[int] | None:
    """Kafka writes the topics in the order of a hash map."""
    return None if text is None else sorted(bytes.fromhex(str(text)))
