"""Cost of a broker's replicas for one request, beside what the log alone takes for the same: the rest is this room's.

Request and floor are measured in turn on logs that grow alike, in processor time, so that a busy machine disturbs
neither much.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from odradek.common.files import OsFileSystem
from odradek.common.ids import TopicPartition
from odradek.common.system_clock import SystemClock
from odradek.log.log_config import LogConfig
from odradek.log.manager.log_directories import open_log_dirs
from odradek.log.manager.log_manager import LogManager
from odradek.log.values import Isolation
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import EMPTY, MetadataProvenance
from odradek.protocol.messages.topic_record import TopicRecord
from odradek.replica.broker_replicas import BrokerReplicas, build_replicas
from odradek.replica.requests import FetchEntry, FetchParams, ProduceEntry
from odradek.replica.settings import ReplicaSettings
from support.builders.logs import batch
from support.builders.replica import TOPIC, TOPIC_ID, FreeLock, broker_record, directory_of, partition_record
from timing import scratch_directory

ROUNDS = 40
REQUESTS = 100
IDLE_PARTITIONS = 1_000

Row = dict[str, Any]


def no_answer(_: Any) -> None:
    pass


def open_manager(directory: str, partitions: int, replicas: tuple[int, ...] = (0,)) -> BrokerReplicas:
    opened = open_log_dirs(
        OsFileSystem(),
        [f"{directory}/data"],
        cluster_id="bench",
        node_id=0,
        new_directory_id=lambda: directory_of(0),
        now_ms=0,
        lock=lambda _: FreeLock(),
    )
    uuids, sessions = count(1), count(1)
    clock = SystemClock()
    logs = LogManager(OsFileSystem(), clock, opened, LogConfig(), new_uuid=lambda: next(uuids).to_bytes(16, "big"))
    manager = build_replicas(
        0,
        clock,
        logs,
        ReplicaSettings(),
        report_directory=lambda topic_id, partition, directory_id: None,
        new_session_id=lambda: next(sessions),
    )
    delta = MetadataDelta(EMPTY)
    for replica in replicas:
        delta.replay(broker_record(replica))
    delta.replay(TopicRecord(name=TOPIC, topic_id=TOPIC_ID))
    for number in range(partitions):
        delta.replay(partition_record(list(replicas), number=number))
    manager.metadata.apply(delta, delta.apply(MetadataProvenance(1, 1)))
    return manager


def in_turn(prepare: Callable[[], Any], request: Callable[[Any], object], floor: Callable[[Any], object]) -> Row:
    spent: dict[Callable[[Any], object], list[float]] = {request: [], floor: []}
    for _ in range(ROUNDS):
        for operation, times in spent.items():
            arguments = [prepare() for _ in range(REQUESTS)]
            started = time.process_time_ns()
            for argument in arguments:
                operation(argument)
            times.append((time.process_time_ns() - started) / REQUESTS / 1000)
    median, bare = statistics.median(spent[request]), statistics.median(spent[floor])
    return {"median_us": median, "floor_us": bare, "note": f"{median - bare:.1f} µs above the log"}


def produce_row(manager: BrokerReplicas, acks: int) -> Row:
    tp, log = TopicPartition(TOPIC, 0), manager.partitions.online[TopicPartition(TOPIC, 1)].local_log()
    figures = in_turn(
        lambda: bytearray(batch("x" * 100)),
        lambda records: manager.produce.append([ProduceEntry(tp, records)], acks, 1_000, no_answer),
        lambda records: log.appender.append_as_leader(records, 0),
    )
    return {"operation": f"produce one record, acks {acks}", **figures}


def fetch_row(manager: BrokerReplicas) -> Row:
    tp = TopicPartition(TOPIC, 0)
    log = manager.partitions.online[tp].local_log()
    params = FetchParams(500, 1, 1 << 20, Isolation.HIGH_WATERMARK)
    end = log.offsets.log_end_offset
    figures = in_turn(
        lambda: end - 20,
        lambda offset: manager.fetch.fetch(params, [FetchEntry(tp, TOPIC_ID, offset, 1 << 20)], no_answer),
        lambda offset: log.reader.read(offset, 1 << 20, Isolation.HIGH_WATERMARK),
    )
    return {"operation": "fetch: find records of one partition", **figures}


def follower_row(directory: str) -> Row:
    manager = open_manager(directory, IDLE_PARTITIONS, (0, 1, 2))
    params = FetchParams(0, 1, 1 << 20, Isolation.LOG_END, 1, 101)
    entries = [FetchEntry(TopicPartition(TOPIC, number), TOPIC_ID, 0, 1 << 20, 0) for number in range(IDLE_PARTITIONS)]
    times = []
    for _ in range(15):
        started = time.process_time_ns()
        manager.fetch.fetch(params, entries, no_answer)
        times.append((time.process_time_ns() - started) / 1000)
    median = statistics.median(times)
    note = f"{median / IDLE_PARTITIONS:.1f} µs a partition"
    return {
        "operation": f"fetch of a follower: {IDLE_PARTITIONS} partitions without news",
        "median_us": median,
        "floor_us": None,
        "note": note,
    }


def run() -> list[Row]:
    with tempfile.TemporaryDirectory(dir=scratch_directory()) as directory:
        manager = open_manager(f"{directory}/one", 2)
        rows = [produce_row(manager, acks) for acks in (1, -1)]
        return [*rows, fetch_row(manager), follower_row(f"{directory}/many")]


if __name__ == "__main__":
    for line in run():
        print(f"{line['operation']:56} {line['median_us']:10.1f} µs  {line['note']}")
