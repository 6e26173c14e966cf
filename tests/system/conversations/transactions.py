"""Every request of a transaction in every state of its transactional id, for a table that two coordinators fill in.

A state is a record of `__transaction_state`: a coordinator that loads it is in that state, with an epoch next to its
overflow as easily as with any other. The states with `is_stuck` have a partition without a leader, so their markers
cannot be written: they stay where they are until the test ends. Each case has a transactional id and a producer id of
its own, since most requests change the state.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from odradek.common.ids import TopicPartition
from odradek.coordinator.runtime.serde import encode_key, encode_value
from odradek.coordinator.transaction.states import TransactionState
from odradek.coordinator.transaction.transaction import MAX_EPOCH, NO_TIME, Transaction
from odradek.protocol.message import Message
from odradek.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from odradek.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from odradek.protocol.messages.end_txn_request import EndTxnRequest
from odradek.protocol.messages.init_producer_id_request import InitProducerIdRequest
from odradek.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from odradek.records.builder import BatchBuilder
from support.builders.logs import idempotent

LIVE, STUCK = TopicPartition("live", 0), TopicPartition("stuck", 0)
GROUP = "group"

#: Far above the producer ids that the brokers allocate during the test.
FIRST_PRODUCER_ID = 1_000_000
_PREVIOUS, _NEXT, _UNKNOWN = 1_000_000, 2_000_000, 3_000_000
_TIMEOUT_MS = 900_000
_EPOCH = 5


@dataclass(frozen=True, slots=True)
class State:
    name: str
    state: TransactionState
    producer_epoch: int = _EPOCH
    partitions: tuple[TopicPartition, ...] = ()
    #: A producer id was given out because the epochs of the one before had run out.
    has_previous: bool = False
    has_next: bool = False
    version: int = 2

    @property
    def is_stuck(self) -> bool:
        return STUCK in self.partitions


_EMPTY, _ONGOING = TransactionState.EMPTY, TransactionState.ONGOING
_PREPARE_COMMIT, _PREPARE_ABORT = TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT
_COMMITTED, _ABORTED = TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT
_LAST_EPOCH = MAX_EPOCH - 1

STATES = (
    State("Empty", _EMPTY),
    State("Ongoing", _ONGOING, partitions=(LIVE,)),
    State("Ongoing, version 0", _ONGOING, partitions=(LIVE,), version=0),
    State("Ongoing, no leader", _ONGOING, partitions=(STUCK,)),
    State("PrepareCommit", _PREPARE_COMMIT, partitions=(STUCK,)),
    State("PrepareAbort", _PREPARE_ABORT, partitions=(STUCK,)),
    State("PrepareCommit, version 0", _PREPARE_COMMIT, partitions=(STUCK,), version=0),
    State("CompleteCommit", _COMMITTED),
    State("CompleteAbort", _ABORTED),
    State("Empty, last epoch", _EMPTY, _LAST_EPOCH),
    State("Ongoing, last epoch", _ONGOING, _LAST_EPOCH, (LIVE,)),
    State("Ongoing, last but one epoch", _ONGOING, _LAST_EPOCH - 1, (LIVE,)),
    State("CompleteCommit, last epoch", _COMMITTED, _LAST_EPOCH),
    State("PrepareCommit, overflow", _PREPARE_COMMIT, MAX_EPOCH, (STUCK,), has_next=True),
    State("CompleteCommit, after overflow", _COMMITTED, 0, has_previous=True),
    State("CompleteAbort, after overflow", _ABORTED, 0, has_previous=True),
    State("CompleteAbort, fenced at the last epoch", _ABORTED, MAX_EPOCH, version=0),
)


@dataclass(frozen=True, slots=True)
class Producer:
    """Who sends a request, and for which transactional id."""

    name: str
    transactional_id: str
    producer_id: int
    producer_epoch: int


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    #: None: there is no such transactional id.
    state: State | None
    transactional_id: str
    producer_id: int
    request: Message
    version: int


Question = Callable[[Producer], Message]


def _end(committed: bool) -> Question:
    return lambda one: EndTxnRequest(
        transactional_id=one.transactional_id,
        producer_id=one.producer_id,
        producer_epoch=one.producer_epoch,
        committed=committed,
    )


def _add_as_client(one: Producer) -> Message:
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=one.transactional_id,
        v3_and_below_producer_id=one.producer_id,
        v3_and_below_producer_epoch=one.producer_epoch,
        v3_and_below_topics=[_LIVE_TOPIC],
    )


def _add_as_broker(verify_only: bool) -> Question:
    return lambda one: AddPartitionsToTxnRequest(
        transactions=[
            AddPartitionsToTxnTransaction(
                transactional_id=one.transactional_id,
                producer_id=one.producer_id,
                producer_epoch=one.producer_epoch,
                verify_only=verify_only,
                topics=[_LIVE_TOPIC],
            )
        ]
    )


def _add_offsets(one: Producer) -> Message:
    return AddOffsetsToTxnRequest(
        transactional_id=one.transactional_id,
        producer_id=one.producer_id,
        producer_epoch=one.producer_epoch,
        group_id=GROUP,
    )


def _commit_offsets(one: Producer) -> Message:
    partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    return TxnOffsetCommitRequest(
        transactional_id=one.transactional_id,
        group_id=GROUP,
        producer_id=one.producer_id,
        producer_epoch=one.producer_epoch,
        topics=[TxnOffsetCommitRequestTopic(name=LIVE.topic, partitions=[partition])],
    )


def _produce(one: Producer) -> Message:
    batch = idempotent(one.producer_id, 0, "value", epoch=one.producer_epoch, is_transactional=True)
    data = PartitionProduceData(index=LIVE.partition, records=batch)
    return ProduceRequest(
        transactional_id=one.transactional_id,
        acks=-1,
        timeout_ms=_TIMEOUT_MS,
        topic_data=[TopicProduceData(name=LIVE.topic, partition_data=[data])],
    )


def _init(one: Producer) -> Message:
    return InitProducerIdRequest(
        transactional_id=one.transactional_id,
        transaction_timeout_ms=_TIMEOUT_MS,
        producer_id=one.producer_id,
        producer_epoch=one.producer_epoch,
    )


_LIVE_TOPIC = AddPartitionsToTxnTopic(name=LIVE.topic, partitions=[LIVE.partition])

#: With versions of clients that know transactions of version 2, and of clients that do not.
QUESTIONS: tuple[tuple[str, Question, tuple[int, ...]], ...] = (
    ("commit", _end(True), (1, 4, 5)),
    ("abort", _end(False), (1, 4, 5)),
    ("AddPartitionsToTxn", _add_as_client, (1, 3)),
    ("AddPartitionsToTxn by a broker", _add_as_broker(False), (4, 5)),
    ("verify partitions", _add_as_broker(True), (5,)),
    ("AddOffsetsToTxn", _add_offsets, (1, 4)),
    ("TxnOffsetCommit", _commit_offsets, (3, 5)),
    ("Produce", _produce, (11, 12)),
    ("InitProducerId", _init, (3, 5)),
)


def cases() -> Iterator[Case]:
    yield from _cases_by_state()
    for number, (name, request, version) in enumerate(_malformed(), start=FIRST_PRODUCER_ID):
        # Described by an id that nobody has: these requests name none, or are refused before there is a state.
        yield Case(f"{name} v{version}", None, f"nobody-{number}", number, request, version)


def _malformed() -> Iterator[tuple[str, Message, int]]:
    """Requests that are wrong whatever the state is, some in two ways: the first check decides."""
    one = Producer("a producer", "new", _UNKNOWN, 0)
    for timeout_ms in (0, -1, _TIMEOUT_MS + 1):
        request: Message = InitProducerIdRequest(transactional_id="new", transaction_timeout_ms=timeout_ms)
        yield f"InitProducerId with time-out {timeout_ms}", request, 5
    for name in (None, ""):
        for producer_id, epoch in ((-1, -1), (5, -1), (-1, 5), (5, 5)):
            request = InitProducerIdRequest(transactional_id=name, producer_id=producer_id, producer_epoch=epoch)
            yield f"InitProducerId of {name!r} with {producer_id} and {epoch}", request, 5
    for question, ask, versions in QUESTIONS:
        for version in versions:
            yield f"{question} with an empty transactional id", ask(replace(one, transactional_id="")), version
    for topic, partition in (("missing", 0), (LIVE.topic, 9), ("__consumer_offsets", 0), ("a b", 0)):
        topics = [_LIVE_TOPIC, AddPartitionsToTxnTopic(name=topic, partitions=[partition])]
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="new", v3_and_below_producer_id=1, v3_and_below_topics=topics
        )
        yield f"AddPartitionsToTxn of {topic}-{partition}", request, 3
    for group in ("", GROUP):
        for member, generation in (("", -1), ("member", 1)):
            yield (
                f"TxnOffsetCommit of group {group!r}, member {member!r}",
                TxnOffsetCommitRequest(
                    transactional_id="new",
                    group_id=group,
                    member_id=member,
                    generation_id_or_member_epoch=generation,
                    topics=_commit_offsets(one).topics,  # type: ignore[attr-defined]
                ),
                3,
            )
        yield f"AddOffsetsToTxn of group {group!r}", AddOffsetsToTxnRequest(transactional_id="new", group_id=group), 3


def _cases_by_state() -> Iterator[Case]:
    for number, (state, producer, ask, version) in enumerate(_combinations()):
        transactional_id, producer_id = f"case-{number}", FIRST_PRODUCER_ID + number
        who = producer(transactional_id, producer_id)
        question, build = ask
        shown = "no transactional id" if state is None else state.name
        yield Case(
            f"{shown}: {question} v{version} by {who.name}", state, transactional_id, producer_id, build(who), version
        )


def _combinations() -> Iterator[tuple[State | None, Callable[[str, int], Producer], tuple[str, Question], int]]:
    for state in (None, *STATES):
        for producer in _producers(state):
            for question, ask, versions in QUESTIONS:
                for version in versions:
                    yield state, producer, (question, ask), version
        yield state, _nobody, ("InitProducerId", _init), 5


def _producers(state: State | None) -> Iterator[Callable[[str, int], Producer]]:
    epoch = _EPOCH if state is None else state.producer_epoch
    yield lambda name, known: Producer("its producer", name, known, epoch)
    if state is None:
        return
    if epoch > 0:
        yield lambda name, known: Producer("its producer with the last epoch", name, known, epoch - 1)
    if epoch < MAX_EPOCH:
        yield lambda name, known: Producer("its producer with the next epoch", name, known, epoch + 1)
    yield lambda name, known: Producer("another producer", name, known + _UNKNOWN, epoch)
    if state.has_previous:
        yield lambda name, known: Producer("its previous id", name, known + _PREVIOUS, _LAST_EPOCH)
    if state.has_next:
        yield lambda name, known: Producer("its next id", name, known + _NEXT, 0)
        yield lambda name, known: Producer("the epoch that its client knows", name, known, _LAST_EPOCH)


def _nobody(transactional_id: str, producer_id: int) -> Producer:
    return Producer("a new producer", transactional_id, -1, -1)


def state_log(now_ms: int) -> bytes:
    """The records of all cases, as the only batch of the only partition of `__transaction_state`."""
    builder = BatchBuilder(leader_epoch=0)
    for case in cases():
        if case.state is not None:
            record = _transaction(case, case.state, now_ms).record(1)
            builder.append(now_ms, encode_key(record), encode_value(record))
    return bytes(builder.build())


def _transaction(case: Case, state: State, now_ms: int) -> Transaction:
    new = Transaction.new(case.transactional_id, case.producer_id, _TIMEOUT_MS, now_ms)
    return replace(
        new,
        producer_epoch=state.producer_epoch,
        state=state.state,
        partitions=state.partitions,
        previous_producer_id=case.producer_id + (_PREVIOUS if state.has_previous else 0),
        next_producer_id=case.producer_id + _NEXT if state.has_next else -1,
        started_ms=NO_TIME if state.state is _EMPTY else now_ms,
        version=state.version,
    )
