"""Where records go: murmur2 as Java's, the sticky partitioner of KIP-794, round robin."""

import random
from collections import Counter
from typing import Any

import pytest
from aiokafka.partitioner import murmur2 as aiokafka_murmur2

from odradek.client.producer import murmur2 as imported
from odradek.client.producer.partitioners import PartitionLoad, RoundRobinPartitioner, StickyPartitioner
from support.builders.records import plain

PLAIN = plain("murmur2", "client/producer")
MODULES = [PLAIN, imported]

#: From Kafka's own test of its hash.
KNOWN = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize("module", MODULES, ids=["plain", "imported"])
def test_murmur2_is_javas(module: Any) -> None:
    assert {key: module.murmur2(key) for key in KNOWN} == {key: value & 0xFFFFFFFF for key, value in KNOWN.items()}
    source = random.Random(7)
    for length in range(200):
        key = source.randbytes(length)
        assert module.murmur2(key) == aiokafka_murmur2(key) & 0xFFFFFFFF
    assert module.partition_for_key(b"21", 12) == (-973932308 & 0x7FFFFFFF) % 12


def sticky(loads: list[PartitionLoad], count: int, *, is_adaptive: bool = True) -> StickyPartitioner:
    return StickyPartitioner(1_000, lambda: (count, loads), random.Random(3), is_adaptive=is_adaptive)


def shares(partitioner: StickyPartitioner, switches: int = 4_000) -> Counter[int]:
    counts: Counter[int] = Counter()
    for _ in range(switches):
        partitioner.switch()
        counts[partitioner.partition] += 1
    return counts


def test_it_stays_until_a_batch_went_there_whole() -> None:
    partitioner = sticky([PartitionLoad(number, 0) for number in range(100)], 100)
    first = partitioner.partition
    partitioner.batch_ended(400, 100)  # sent early: it lingered
    assert partitioner.partition == first
    partitioner.batch_ended(520, 100)  # no room for the next one
    assert partitioner.partition != first
    assert partitioner.produced_bytes == 0


def test_partitions_are_taken_alike_when_their_queues_are() -> None:
    counts = shares(sticky([PartitionLoad(number, 2) for number in range(4)], 4))
    assert sorted(counts) == [0, 1, 2, 3]
    assert all(800 < count < 1_200 for count in counts.values())


def test_long_queues_are_taken_less_often() -> None:
    """KIP-794's example: queues of 0, 3 and 1 batches have 4, 1 and 3 of 8 shares."""
    loads = [PartitionLoad(0, 0), PartitionLoad(1, 3), PartitionLoad(2, 1)]
    counts = shares(sticky(loads, 3))
    for partition, share in ((0, 4 / 8), (1, 1 / 8), (2, 3 / 8)):
        assert abs(counts[partition] / 4_000 - share) < 0.04
    assert all(1_100 < count < 1_570 for count in shares(sticky(loads, 3, is_adaptive=False)).values())


def test_those_whose_leader_takes_nothing_are_left_out_and_those_without_one() -> None:
    assert set(shares(sticky([PartitionLoad(0, 0), PartitionLoad(2, 0, is_available=False)], 3), 50)) == {0}
    assert set(shares(sticky([PartitionLoad(1, 5)], 3), 50)) == {1}
    assert set(shares(sticky([], 3), 100)) == {0, 1, 2}
    assert set(shares(sticky([PartitionLoad(1, 0, is_available=False)], 3), 50)) == {1}


def test_round_robin_takes_each_that_is_led_in_turn() -> None:
    partitioner = RoundRobinPartitioner()
    assert [partitioner.partition("t", 4, [0, 2, 3]) for _ in range(5)] == [0, 2, 3, 0, 2]
    assert [partitioner.partition("u", 2, []) for _ in range(3)] == [0, 1, 0]
