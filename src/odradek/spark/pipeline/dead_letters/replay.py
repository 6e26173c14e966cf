"""Sends letters back, chunk by chunk, each chunk in one transaction with the offset after it."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from odradek.client.consumer.consumer import Consumer
from odradek.client.producer.delivery import Delivery
from odradek.client.producer.producer import Producer
from odradek.client.settings.parsing import Kind
from odradek.common.failures import ApiError, InputError
from odradek.errors import ProducerFenced, TransactionAborted, TransactionMustAbort
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.spark.pipeline.dead_letters.fix import Decision, Drop, Fix, Send, Stay, decide
from odradek.spark.pipeline.dead_letters.letter import FixedRecord, Letter, written_back
from odradek.spark.pipeline.dead_letters.reading import (
    Chunk,
    Waiting,
    chunks,
    letter_consumer,
    partition_count,
    waiting_letters,
)
from odradek.spark.pipeline.dead_letters.topics import LetterTopics

#: Letters in a transaction, unless the user says otherwise: what a killed replay does again.
CHUNK_RECORDS = 500

#: Errors that concern one record: another attempt ends the same way.
_RECORD_ERRORS = (
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.INVALID_RECORD,
    ErrorCode.INVALID_TIMESTAMP,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


@dataclass(frozen=True, slots=True)
class Selection:
    """Selection of letters; empty selects all."""

    reasons: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    def has(self, letter: Letter) -> bool:
        return (not self.reasons or letter.reason in self.reasons) and (
            not self.sources or letter.source_topic in self.sources
        )


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    group: str
    fix: Fix
    #: The topic that letters are sent to; None for where they came from.
    to: str | None = None
    selection: Selection = field(default_factory=Selection)
    #: Letters that are handled at most; None for all.
    limit: int | None = None
    chunk_records: int = CHUNK_RECORDS


@dataclass(slots=True)
class Counts:
    replayed: int = 0
    dropped: int = 0
    #: The fix failed, or the record could not be written.
    failed: int = 0
    #: The fix skipped them.
    skipped: int = 0
    #: Written back because they were not selected.
    unselected: int = 0
    transactions: int = 0
    #: Replayed letters by the topic that they were sent to.
    by_topic: Counter[str] = field(default_factory=Counter)

    @property
    def handled(self) -> int:
        return self.replayed + self.dropped + self.failed + self.skipped

    def add(self, handled: "Sequence[Handled]") -> None:
        for entry in handled:
            decision = entry.decision
            if not entry.is_selected:
                self.unselected += 1
            elif isinstance(decision, Send):
                self.replayed += 1
                self.by_topic[str(decision.record.topic)] += 1
            elif isinstance(decision, Drop):
                self.dropped += 1
            elif decision.error is None:
                self.skipped += 1
            else:
                self.failed += 1


@dataclass(slots=True)
class Handled:
    """A letter and what is to become of it."""

    letter: Letter
    decision: Decision
    is_selected: bool = True

    @property
    def output(self) -> FixedRecord | None:
        if isinstance(self.decision, Send):
            return self.decision.record
        return None if isinstance(self.decision, Drop) else written_back(self.letter, self.decision.error)


class Deciding:
    """Applies the plan to letters: selection, fix, and whether the topic to send to exists."""

    def __init__(self, plan: ReplayPlan, consumer: Consumer) -> None:
        self._plan = plan
        self._consumer = consumer
        self._partitions: dict[str, int | None] = {}

    async def decide(self, letter: Letter) -> Handled:
        if not self._plan.selection.has(letter):
            return Handled(letter, Stay(), is_selected=False)
        decision = decide(self._plan.fix, letter, self._plan.to)
        if isinstance(decision, Send):
            decision = await self._at_existing_partition(decision.record)
        return Handled(letter, decision)

    async def _at_existing_partition(self, record: FixedRecord) -> Decision:
        topic = str(record.topic)
        if topic not in self._partitions:
            self._partitions[topic] = await partition_count(self._consumer, topic)
        count = self._partitions[topic]
        if count is None:
            return Stay(f"there is no topic {topic}")
        if record.partition is not None and not 0 <= record.partition < count:
            return Stay(f"{topic} has no partition {record.partition}; it has {count}")
        return Send(record)


class Replay:
    """`on_progress` is called with the counts after each transaction."""

    def __init__(
        self, topics: LetterTopics, plan: ReplayPlan, counts: Counts, on_progress: Callable[[], object]
    ) -> None:
        self._topics = topics
        self._plan = plan
        self._counts = counts
        self._on_progress = on_progress

    async def run(self) -> None:
        """Handle the letters that are there now. Raises InputError when another replay has taken over, and ApiError
        when the cluster fails: started again, the replay continues after the last committed transaction."""
        overrides = {
            "transactional.id": f"{self._plan.group}-replay",
            "client.id": "odradek-dead-letters",
            "linger.ms": 5,
        }
        async with (
            letter_consumer(self._topics, self._plan.group) as consumer,
            Producer(self._topics.client_config(Kind.PRODUCER, overrides)) as producer,
        ):
            try:
                # First: it ends the transaction of a replay that was killed, and with it what that one committed.
                await producer.init_transactions()
                deciding = Deciding(self._plan, consumer)
                for waiting in await waiting_letters(consumer, self._topics, self._plan.group, is_stable=True):
                    await self._replay_partition(consumer, producer, deciding, waiting)
            except ProducerFenced:
                raise InputError(
                    f"another replay of the group {self._plan.group} was started; this one stopped, and that one "
                    "continues after what this one has committed"
                ) from None

    async def _replay_partition(
        self, consumer: Consumer, producer: Producer, deciding: Deciding, waiting: Waiting
    ) -> None:
        reading = chunks(consumer, waiting.partition, waiting.position, waiting.end, self._plan.chunk_records)
        async for chunk in reading:
            if self._left == 0:
                return
            handled, next_offset = await self._within_limit(deciding, chunk)
            await self._commit(producer, chunk, handled, next_offset)
            self._counts.add(handled)
            self._counts.transactions += 1
            self._on_progress()

    @property
    def _left(self) -> int | None:
        return None if self._plan.limit is None else self._plan.limit - self._counts.handled

    async def _within_limit(self, deciding: Deciding, chunk: Chunk) -> tuple[list[Handled], int]:
        """The letters of the chunk up to the limit, and the offset after them."""
        remaining = self._left
        handled: list[Handled] = []
        for letter in chunk.letters:
            if remaining == 0:
                return handled, letter.offset
            entry = await deciding.decide(letter)
            handled.append(entry)
            if remaining is not None and entry.is_selected:
                remaining -= 1
        return handled, chunk.next_offset

    async def _commit(self, producer: Producer, chunk: Chunk, handled: list[Handled], next_offset: int) -> None:
        """Write one transaction. If the cluster refuses records, abort it; their letters stay in the next attempt."""
        while True:
            await producer.begin_transaction()
            rejected = await self._produce(producer, handled)
            if not rejected:
                await producer.send_offsets_to_transaction({chunk.partition: next_offset}, self._plan.group)
                await producer.commit_transaction()
                return
            await producer.abort_transaction()
            for entry, error in rejected:
                # A letter that cannot be written back with its error is written back without it.
                entry.decision = Stay(_described(error) if isinstance(entry.decision, Send) else "")

    async def _produce(self, producer: Producer, handled: list[Handled]) -> list[tuple[Handled, ApiError]]:
        """Send the outputs; return the letters whose records the cluster refused. Raises other errors."""
        deliveries: list[tuple[Handled, Delivery]] = []
        rejected: list[tuple[Handled, ApiError]] = []
        for entry in handled:
            output = entry.output
            if output is None:
                continue
            try:
                delivery = await producer.send(
                    str(output.topic), output.value, output.key, output.headers, output.partition, output.timestamp_ms
                )
            except ApiError as error:
                _note_refusal(entry, error, rejected)
                continue
            deliveries.append((entry, delivery))
        await producer.flush()
        for entry, delivery in deliveries:
            failure = delivery.exception()
            if isinstance(failure, ApiError):
                _note_refusal(entry, failure, rejected)
            elif failure is not None:
                raise failure
        return rejected


def _note_refusal(handled: Handled, error: ApiError, rejected: list[tuple[Handled, ApiError]]) -> None:
    """Raises an error that does not concern this record, or a letter that was not changed at all."""
    if isinstance(error, TransactionAborted | TransactionMustAbort) and rejected:
        return  # because of the record that was refused before
    decision = handled.decision
    is_changed = isinstance(decision, Send) or (isinstance(decision, Stay) and bool(decision.error))
    if error.code not in _RECORD_ERRORS or not is_changed:
        raise error
    rejected.append((handled, error))


def _described(error: ApiError) -> str:
    return f"{error_name(error.code)}: {error.message}"
