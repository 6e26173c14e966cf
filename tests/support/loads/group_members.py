"""Members of groups, each polling in a thread of its own, and what they were assigned."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from support.waiting import wait_until

Answer = TypeVar("Answer")

_POLL_S = 0.05
_JOIN_TIMEOUT_S = 60


#: In the consumer protocol these are the coordinator's to choose.
_CLASSIC_SETTINGS = {"session.timeout.ms": 30_000, "heartbeat.interval.ms": 200}


class HasPartitions(Protocol):
    """A member of a group, of whatever client."""

    @property
    def partitions(self) -> frozenset[int]: ...


class Member:
    """One `confluent_kafka.Consumer` that is subscribed from `start` on."""

    def __init__(self, bootstrap: str, group: str, topic: str, **options: Any) -> None:
        self._settings = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "log_level": 0,
            **({} if self._is_consumer_protocol(options) else _CLASSIC_SETTINGS),
            **options,
        }
        self._topic = topic
        strategy = str(options.get("partition.assignment.strategy", ""))
        self._is_cooperative = "cooperative" in strategy or self._is_consumer_protocol(options)
        self._ending = threading.Event()
        self._commits: SimpleQueue[tuple[list[TopicPartition], Future[None]]] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.partitions: frozenset[int] = frozenset()
        self.generations = 0
        self.fatal: str | None = None
        self.subscribed_s = 0.0
        self.assigned_s = 0.0

    @staticmethod
    def _is_consumer_protocol(options: Mapping[str, Any]) -> bool:
        return options.get("group.protocol") == "consumer"

    def start(self) -> "Member":
        self._thread.start()
        return self

    def stop(self) -> None:
        """Leaves the group, unless it is a static member."""
        self._ending.set()
        self._thread.join(_JOIN_TIMEOUT_S)

    def commit(self, offsets: dict[int, int]) -> None:
        """In the member's own thread: librdkafka never sends a commit that meets an assignment just being made."""
        wanted = [TopicPartition(self._topic, index, offset) for index, offset in offsets.items()]
        done: Future[None] = Future()
        self._commits.put((wanted, done))
        done.result(_JOIN_TIMEOUT_S)

    def _run(self) -> None:
        consumer = Consumer(self._settings)
        self.subscribed_s = time.monotonic()
        consumer.subscribe([self._topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._revoked)
        try:
            while not self._ending.is_set():
                message = consumer.poll(_POLL_S)
                error = None if message is None else message.error()
                if error is not None and error.code() == KafkaError._FATAL:
                    self.fatal = error.str()
                self._commit_next(consumer)
        finally:
            consumer.close()

    def _commit_next(self, consumer: Consumer) -> None:
        try:
            wanted, done = self._commits.get_nowait()
        except Empty:
            return
        try:
            accepted(consumer.commit(offsets=wanted, asynchronous=False) or ())
            done.set_result(None)
        except KafkaException as error:
            done.set_exception(error)

    def _assigned(self, consumer: Consumer, given: list[TopicPartition]) -> None:
        partitions = frozenset(one.partition for one in given)
        self.partitions = self.partitions | partitions if self._is_cooperative else partitions
        self.generations += 1
        self.assigned_s = time.monotonic()

    def _revoked(self, consumer: Consumer, taken: list[TopicPartition]) -> None:
        self.partitions = self.partitions - {one.partition for one in taken}


@contextmanager
def members(made: Iterable[Member]) -> Iterator[list[Member]]:
    with ExitStack() as stack:
        started = [member.start() for member in made]
        for member in started:
            stack.callback(member.stop)
        yield started


def wait_balanced(those: Sequence[HasPartitions], partition_count: int) -> None:
    """Every partition has one owner, and no member two more than another."""

    def is_balanced() -> bool:
        held = [member.partitions for member in those]
        owned = sorted(index for partitions in held for index in partitions)
        sizes = [len(partitions) for partitions in held]
        return owned == list(range(partition_count)) and max(sizes) - min(sizes) <= 1

    wait_until(is_balanced, f"{partition_count} partitions have {len(those)} owners", 60)


def until_no_error(attempt: Callable[[], Answer], what: str) -> Answer:
    """Coordinators move, and their clients are told so by exceptions meanwhile."""
    found: list[Answer] = []
    wait_until(lambda: found.append(attempt()) or True, what)  # type: ignore[func-returns-value]
    return found[0]


def accepted(answered: Iterable[TopicPartition]) -> list[TopicPartition]:
    """Raises KafkaException: a coordinator refuses partition by partition, which confluent-kafka does not raise."""
    found = list(answered)
    for one in found:
        if one.error is not None:
            raise KafkaException(one.error)
    return found


def committed(bootstrap: str, group: str, topic: str, partitions: int) -> dict[int, int]:
    """As a consumer that is no member sees them."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0})
    try:
        asked = [TopicPartition(topic, index) for index in range(partitions)]
        found = until_no_error(lambda: accepted(consumer.committed(asked, timeout=10)), "offsets are there")
        return {one.partition: one.offset for one in found if one.offset >= 0}
    finally:
        consumer.close()
