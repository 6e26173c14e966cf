"""Brokers with replicas on simulated disks, metadata that a test writes by hand, and fetches carried by hand."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from odradek.common.ids import TopicPartition
from odradek.log.log_config import LogConfig
from odradek.log.manager.log_changes import update_topic_config
from odradek.log.manager.log_directories import open_log_dirs
from odradek.log.manager.log_manager import LogManager
from odradek.log.manager.settings import ManagerSettings
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import Isolation
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import EMPTY, MetadataImage, MetadataProvenance
from odradek.protocol.message import Message
from odradek.protocol.messages.list_offsets_request import ListOffsetsRequest
from odradek.protocol.messages.partition_change_record import PartitionChangeRecord
from odradek.protocol.messages.partition_record import PartitionRecord
from odradek.protocol.messages.register_broker_record import RegisterBrokerRecord
from odradek.protocol.messages.remove_topic_record import RemoveTopicRecord
from odradek.protocol.messages.topic_record import TopicRecord
from odradek.replica.broker_replicas import build_replicas
from odradek.replica.requests import (
    FetchEntry,
    FetchParams,
    FetchResult,
    ListOffsetsEntry,
    ListOffsetsResult,
    ProduceEntry,
    ProduceResult,
)
from odradek.replica.settings import ReplicaSettings
from odradek.sim.replica.follower_requests import serve_fetch, serve_list_offsets
from odradek.sim.world.disk import SimulatedDisk
from support.builders.logs import HandClock, batch

TOPIC = "topic"
TP = TopicPartition(TOPIC, 0)
TOPIC_ID = b"t" * 16


class FreeLock:
    created = False
    path = ""

    def release(self) -> None:
        pass


def directory_of(broker_id: int, number: int = 0) -> bytes:
    return bytes((200, broker_id + 1, number + 1)) * 5 + b"d"


def open_logs(
    disk: SimulatedDisk, clock: Any, broker_id: int, config: LogConfig | None = None, dirs: int = 1
) -> LogManager:
    ids = (directory_of(broker_id, number) for number in count())
    uuids = count(1)
    opened = open_log_dirs(
        disk,
        [f"/data{number}" for number in range(dirs)],
        cluster_id="cluster",
        node_id=broker_id,
        new_directory_id=lambda: next(ids),
        now_ms=0,
        lock=lambda _: FreeLock(),
    )
    settings = ManagerSettings(transaction_partition_verification_enable=False)
    return LogManager(
        disk,
        clock,
        opened,
        config or LogConfig(),
        settings=settings,
        new_uuid=lambda: next(uuids).to_bytes(16, "big"),
    )


@dataclass
class Broker:
    """A broker's replicas, with what its callers keep of the answers."""

    id: int
    clock: HandClock
    config: LogConfig = field(default_factory=LogConfig)
    settings: ReplicaSettings = field(default_factory=ReplicaSettings)
    dirs: int = 1
    disk: SimulatedDisk = field(default_factory=SimulatedDisk)
    assigned: list[tuple[bytes, int, bytes]] = field(default_factory=list)
    failed_dirs: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        logs = open_logs(self.disk, self.clock, self.id, self.config, self.dirs)
        logs.load_all()
        sessions = count(1)
        self.replicas = build_replicas(
            self.id,
            self.clock,
            logs,
            self.settings,
            report_directory=lambda *args: self.assigned.append(args),
            new_session_id=lambda: next(sessions),
        )
        self.replicas.view.set_broker_epoch(100 + self.id)
        self.replicas.failures.on_directory_failed(self.failed_dirs.append)

    def produce(
        self, *values: str, acks: int = -1, tp: TopicPartition = TP, **fields: Any
    ) -> list[list[ProduceResult]]:
        """The list gets the results when they are there."""
        answers: list[list[ProduceResult]] = []
        records = fields.pop("records", None) or batch(*values)
        self.replicas.produce.append([ProduceEntry(tp, records, **fields)], acks, 1_000, answers.append)
        return answers

    def fetch(self, offset: int = 0, *, tp: TopicPartition = TP, **fields: Any) -> list[list[FetchResult]]:
        entry_fields = {
            name: fields.pop(name) for name in list(fields) if name in FetchEntry._fields and name != "max_bytes"
        }
        entry = FetchEntry(tp, **{"topic_id": TOPIC_ID, "fetch_offset": offset, "max_bytes": 1 << 20, **entry_fields})
        values = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, "isolation": Isolation.HIGH_WATERMARK}
        answers: list[list[FetchResult]] = []
        self.replicas.fetch.fetch(FetchParams(**{**values, **fields}), [entry], answers.append)
        return answers

    def list_offset(
        self, timestamp: int, isolation: Isolation = Isolation.HIGH_WATERMARK, replica_id: int = -1
    ) -> ListOffsetsResult:
        return self.replicas.offsets.list_offsets([ListOffsetsEntry(TP, timestamp)], replica_id, isolation)[0]

    def move(self) -> None:
        """Copy and sync what is on its way to another log directory, until there is nothing to do for now."""
        moves = self.replicas.log_dir_moves
        while True:
            flush = moves.next_flush()
            if flush is not None:
                log, plan = flush
                plan.run()
                log.flusher.finish(plan)
            elif not moves.step().has_more:
                return

    @property
    def log(self) -> UnifiedLog:
        return self.replicas.partitions.online[TP].local_log()


def broker_record(broker_id: int, *, epoch: int | None = None, fenced: bool = False, **fields: Any) -> Message:
    return RegisterBrokerRecord(
        broker_id=broker_id,
        broker_epoch=100 + broker_id if epoch is None else epoch,
        incarnation_id=bytes(16),
        log_dirs=[directory_of(broker_id)],
        fenced=fenced,
        **fields,
    )


def partition_record(
    replicas: Sequence[int], leader: int | None = None, isr: Sequence[int] | None = None, number: int = 0, **fields: Any
) -> Message:
    values: dict[str, Any] = {
        "partition_id": number,
        "topic_id": TOPIC_ID,
        "replicas": list(replicas),
        "isr": list(replicas if isr is None else isr),
        "leader": replicas[0] if leader is None else leader,
        "leader_epoch": 0,
        "partition_epoch": 0,
        "directories": [directory_of(replica) for replica in replicas],
    }
    return PartitionRecord(**{**values, **fields})


def change_record(**fields: Any) -> Message:
    return PartitionChangeRecord(topic_id=TOPIC_ID, **{"partition_id": 0, **fields})


@dataclass
class Cluster:
    """Brokers that all see the same metadata at once."""

    size: int = 1
    config: LogConfig = field(default_factory=LogConfig)
    settings: ReplicaSettings = field(default_factory=ReplicaSettings)
    dirs: int = 1
    racks: Sequence[str | None] = ()
    clock: HandClock = field(default_factory=HandClock)
    image: MetadataImage = EMPTY

    def __post_init__(self) -> None:
        self.brokers = [
            Broker(number, self.clock, self.config, self.settings, self.dirs) for number in range(self.size)
        ]
        racks = list(self.racks) or [None] * self.size
        self.replay(*(broker_record(broker.id, rack=racks[broker.id]) for broker in self.brokers))

    def replay(self, *records: Message) -> None:
        delta = MetadataDelta(self.image)
        for record in records:
            delta.replay(record)
        self.image = delta.apply(MetadataProvenance(self.image.offset + 1, 1))
        for broker in self.brokers:
            for resource in delta.configs.changed if delta.configs is not None else ():
                settings = self.image.configs.settings(resource)
                config = LogConfig.parse(settings, self.config) if settings else None
                update_topic_config(broker.replicas.logs, resource.name, config)
            broker.replicas.metadata.apply(delta, self.image)

    def create_topic(self, replicas: Sequence[int] | None = None, **fields: Any) -> None:
        chosen = list(range(self.size)) if replicas is None else list(replicas)
        self.replay(TopicRecord(name=TOPIC, topic_id=TOPIC_ID), partition_record(chosen, **fields))

    def delete_topic(self) -> None:
        self.replay(RemoveTopicRecord(topic_id=TOPIC_ID))

    def restart(self, broker_id: int, keep: Any = "all") -> None:
        """From what is on its disk; the metadata comes as one delta from nothing."""
        broker = self.brokers[broker_id]
        broker.disk = broker.disk.crash(keep)
        broker.start()
        self.tell(broker)

    def tell(self, broker: Broker) -> None:
        delta = MetadataDelta(EMPTY)
        for record in self.image.records(_OPTIONS):
            delta.replay(record.message)
        broker.replicas.metadata.apply(delta, self.image)

    def fetch_once(self, follower_id: int) -> bool:
        """One request of each of a broker's fetchers and its answer, at once; whether there was any."""
        follower = self.brokers[follower_id].replicas
        now_ms = self.clock.monotonic_ms()
        did_fetch = False
        for fetcher in list(follower.fetchers.by_source.values()):
            request = fetcher.next_request(now_ms)
            if request is None:
                continue
            did_fetch = True
            source = self.brokers[fetcher.source_id].replicas
            if isinstance(request, ListOffsetsRequest):
                fetcher.handle_response(serve_list_offsets(source, request), now_ms)
                continue
            request.max_wait_ms = 0
            responses: list[Any] = []
            serve_fetch(source, request, responses.append)
            fetcher.handle_response(responses[0], now_ms)
        return did_fetch

    def replicate(self, rounds: int = 4) -> None:
        for _ in range(rounds):
            for broker in self.brokers:
                self.fetch_once(broker.id)


def _options() -> Any:
    from odradek.metadata.features.metadata_version import LATEST_PRODUCTION
    from odradek.metadata.records.writer_options import WriterOptions

    return WriterOptions(LATEST_PRODUCTION)


_OPTIONS = _options()
