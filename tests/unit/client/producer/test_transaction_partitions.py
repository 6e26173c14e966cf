"""Partitions of a transaction: new, on their way to the coordinator, added."""

from odradek.client.producer.transaction_partitions import TransactionPartitions
from odradek.client.types import TopicPartition

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def test_version_1_adds_a_partition_when_the_coordinator_confirms_it() -> None:
    partitions = TransactionPartitions()
    partitions.add(A, is_version_2=False)
    assert partitions.has_new and A not in partitions.added
    assert partitions.take_new() == (A,) and not partitions.has_new
    partitions.add(A, is_version_2=False)
    assert not partitions.has_new, "it is on its way"
    partitions.confirm([A])
    assert A in partitions.added and partitions.has_started


def test_partitions_on_their_way_are_requested_again_with_new_ones() -> None:
    partitions = TransactionPartitions()
    partitions.add(A, is_version_2=False)
    partitions.take_new()
    partitions.add(B, is_version_2=False)
    assert partitions.take_new() == (A, B)
    partitions.reject([A])
    partitions.add(A, is_version_2=False)
    assert partitions.has_new, "a rejected partition may be added again"


def test_version_2_adds_a_partition_at_once_but_starts_nothing() -> None:
    partitions = TransactionPartitions()
    partitions.add(A, is_version_2=True)
    assert A in partitions.added and not partitions.has_new and not partitions.has_started


def test_the_end_of_the_transaction_clears_everything() -> None:
    partitions = TransactionPartitions()
    partitions.add(A, is_version_2=True)
    partitions.add(B, is_version_2=False)
    partitions.mark_started()
    partitions.clear()
    assert not partitions.added and not partitions.has_new and not partitions.has_started
