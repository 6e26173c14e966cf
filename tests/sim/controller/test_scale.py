"""A cluster of 100,000 partitions: what it costs to create, load and change it, and to lose a broker. Figures only."""

import time
import tracemalloc
from random import Random

import pytest

from odradek.controller.controls import Controls, ControlSettings
from odradek.controller.feature_control import QuorumFeatures
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import EMPTY, MetadataProvenance
from odradek.metadata.records.record_serde import decode_record, encode_record
from odradek.protocol.messages.create_topics_request import CreateTopicsRequest
from odradek.protocol.messages.partition_change_record import PartitionChangeRecord
from support.builders.controller import CLUSTER_ID, Bench, topic
from support.figures import report

BROKERS = 6
TOPICS = 1_000
PARTITIONS = 100
REPLICAS = 3


@pytest.mark.slow
def test_a_hundred_thousand_partitions() -> None:
    bench = Bench()
    for broker_id in range(BROKERS):
        bench.add_broker(broker_id)
    created_s = _create(bench)
    image = bench.controller.loader.image
    total = TOPICS * PARTITIONS
    assert sum(len(t.partitions) for t in image.topics.by_id.values()) == total

    started = time.perf_counter()
    snapshot = [encode_record(record) for record in image.records()]
    written_s = time.perf_counter() - started
    loaded_s, memory_bytes = _load(snapshot)
    rebuilt_s = _rebuild(bench)
    changed_us = _change(bench)

    bench.clock.now_ms += 8_000
    for broker_id in range(1, BROKERS):
        bench.ask(bench.beat(broker_id))
    started = time.perf_counter()
    records = bench.tick(1_000)
    fenced_s = time.perf_counter() - started
    assert len(records) >= total * REPLICAS // BROKERS
    report(
        "controller at 100,000 partitions",
        create_partitions_per_s=int(total / created_s),
        snapshot_bytes=sum(map(len, snapshot)),
        snapshot_write_s=round(written_s, 2),
        image_load_s=round(loaded_s, 2),
        records_replayed_per_s=int(len(snapshot) / loaded_s),
        image_mib=round(memory_bytes / 2**20, 1),
        revert_from_image_s=round(rebuilt_s, 2),
        one_change_to_the_image_us=round(changed_us, 1),
        broker_lost_s=round(fenced_s, 2),
        broker_lost_records=len(records),
    )


@pytest.mark.slow
def test_many_small_topics() -> None:
    bench = Bench()
    for broker_id in range(BROKERS):
        bench.add_broker(broker_id)
    count = 3_000
    started = time.perf_counter()
    for number in range(count):
        bench.ask(CreateTopicsRequest(topics=[topic(f"t-{number}", num_partitions=1, replication_factor=3)]))
    elapsed_s = time.perf_counter() - started
    assert len(bench.controller.controls.registry.topics) == count
    report("controller create-topic decisions", topics=count, per_s=int(count / elapsed_s))


def _create(bench: Bench) -> float:
    started = time.perf_counter()
    for first in range(0, TOPICS, 50):
        topics = [
            topic(f"topic-{number}", num_partitions=PARTITIONS, replication_factor=REPLICAS)
            for number in range(first, first + 50)
        ]
        response = bench.ask(CreateTopicsRequest(topics=topics))
        assert not any(result.error_code for result in response.topics)
    return time.perf_counter() - started


def _load(snapshot: list[bytes]) -> tuple[float, int]:
    """Once for the time and once for the memory, which is slow to measure."""
    started = time.perf_counter()
    _replay(snapshot)
    elapsed_s = time.perf_counter() - started
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    image = _replay(snapshot)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert image is not None
    return elapsed_s, after - before


def _replay(snapshot: list[bytes]) -> object:
    delta = MetadataDelta(EMPTY)
    for data in snapshot:
        delta.replay(decode_record(data).message)
    return delta.apply(MetadataProvenance())


def _rebuild(bench: Bench) -> float:
    image = bench.controller.loader.image
    started = time.perf_counter()
    controls = Controls.from_image(ControlSettings(CLUSTER_ID, QuorumFeatures(1)), Random(0), image)
    elapsed_s = time.perf_counter() - started
    assert controls.durable_state() == bench.controller.controls.durable_state()
    return elapsed_s


def _change(bench: Bench, count: int = 2_000) -> float:
    image = bench.controller.loader.image
    ids = list(image.topics.by_id)
    started = time.perf_counter()
    for number in range(count):
        delta = MetadataDelta(image)
        delta.replay(PartitionChangeRecord(topic_id=ids[number % len(ids)], partition_id=number % PARTITIONS, isr=[1]))
        image = delta.apply(MetadataProvenance(number))
    return (time.perf_counter() - started) / count * 1e6
