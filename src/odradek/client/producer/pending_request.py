"""A request of a transaction that waits to be sent, and how its errors are handled. Pure.

One request at a time is in flight. The driver looks up the coordinator (`coordinator`, None for any broker), waits
`backoff_ms` before it sends, and passes on the result: `handle_response`, or `handle_error` if there was no response.
Errors are handled in one of four ways, as in Kafka's producer: look up the coordinator again, retry, abort the
transaction, or fail the producer. The request reports them through `TransactionEvents`.
"""

from abc import ABC, abstractmethod
from bisect import insort
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol

from odradek.client.errors import refusal
from odradek.client.net.coordinator_kind import CoordinatorKind
from odradek.client.producer.producer_identity import ProducerIdentity
from odradek.client.producer.transaction_states import TransactionResult
from odradek.client.types import TopicPartition
from odradek.common.failures import ApiError
from odradek.errors import ProducerFenced
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message

COORDINATOR_MOVED = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
FENCED = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED)


class Priority(IntEnum):
    INIT_PRODUCER_ID = 1
    ADD_PARTITIONS_OR_OFFSETS = 2
    END_TXN = 3
    EPOCH_BUMP = 4


@dataclass(frozen=True, slots=True)
class ProducerSnapshot:
    """Identity and settings of the producer at the time when a request is created."""

    transactional_id: str | None
    transaction_timeout_ms: int
    retry_backoff_ms: float
    identity: ProducerIdentity
    is_version_2: bool


class TransactionEvents(Protocol):
    """Receives the results of requests."""

    @property
    def has_partitions(self) -> bool:
        """Return whether the coordinator has added a partition to the transaction."""

    def enqueue(self, request: "PendingRequest") -> None:
        """Send a request, or send it again."""

    def coordinator_moved(self, coordinator: CoordinatorKind, key: str, /) -> None: ...
    def initialized(self, identity: ProducerIdentity, *, is_epoch_bump: bool) -> None: ...
    def partitions_added(self, partitions: Iterable[TopicPartition]) -> None: ...
    def partitions_rejected(self, partitions: Iterable[TopicPartition]) -> None: ...
    def offsets_added(self) -> None: ...
    def ended(self, next_identity: ProducerIdentity | None) -> None:
        """The transaction has ended; with version 2 the next one has an identity of its own."""

    def failed(self, error: Exception, *, is_fatal: bool) -> None: ...
    def epoch_bump_needed(self) -> None: ...
    def fenced(self) -> ProducerFenced:
        """Return the exception for a producer that another one has fenced."""


class PendingRequest(ABC):
    priority = Priority.ADD_PARTITIONS_OR_OFFSETS
    #: The newest version that may be used; None is any.
    last_version: int | None = None

    def __init__(
        self, events: TransactionEvents, producer: ProducerSnapshot, result: TransactionResult | None = None
    ) -> None:
        self.result = result or TransactionResult()
        #: Time to wait before it is sent; not zero once it is repeated.
        self.backoff_ms: float = 0
        self._events = events
        self._producer = producer
        self._transactional_id = producer.transactional_id or ""
        self._identity = producer.identity

    @property
    @abstractmethod
    def request(self) -> Message: ...

    @property
    def coordinator(self) -> CoordinatorKind | None:
        return CoordinatorKind.TRANSACTION

    @property
    def coordinator_key(self) -> str:
        return self._transactional_id

    @abstractmethod
    def handle_response(self, response: Any) -> None: ...

    def handle_error(self, error: ApiError) -> None:
        """Handle a missing response: no connection, no coordinator, no common version."""
        code = error.code
        if code in (ErrorCode.NETWORK_EXCEPTION, ErrorCode.REQUEST_TIMED_OUT):
            self._forget_coordinator()
            self._retry()
        elif code == ErrorCode.GROUP_AUTHORIZATION_FAILED:
            self._fail_transaction(error)
        else:
            self._handle_code(code, error)

    def fail(self, error: Exception) -> None:
        self.result.fail(error)

    # The four ways to handle an error

    def _handle_code(self, code: int, error: ApiError | None = None) -> None:
        """Handle an error that has no special meaning for this request."""
        error = error or error_of(code)
        if code in COORDINATOR_MOVED:
            self._forget_coordinator()
            self._retry()
        elif is_retriable_code(code):
            self._retry()
        elif code in FENCED:
            # Coordinators before Kafka 2.8 return INVALID_PRODUCER_EPOCH.
            self._fail_producer(self._events.fenced())
        elif code == ErrorCode.UNKNOWN_PRODUCER_ID:
            self._events.epoch_bump_needed()
            self._fail_transaction(error)
        elif code == ErrorCode.TRANSACTION_ABORTABLE:
            self._fail_transaction(error)
        else:
            self._fail_producer(error)

    def _forget_coordinator(self) -> None:
        if self.coordinator is not None:
            self._events.coordinator_moved(self.coordinator, self.coordinator_key)

    def _retry(self, backoff_ms: float | None = None) -> None:
        self.backoff_ms = self._producer.retry_backoff_ms if backoff_ms is None else backoff_ms
        self._events.enqueue(self)

    def _fail_producer(self, error: Exception) -> None:
        self.result.fail(error)
        self._events.failed(error, is_fatal=True)

    def _fail_transaction(self, error: Exception) -> None:
        self.result.fail(error)
        self._events.failed(error, is_fatal=False)


class TransactionRequests:
    """Queue of requests, by priority."""

    def __init__(self) -> None:
        self._queue: list[PendingRequest] = []

    def __bool__(self) -> bool:
        return bool(self._queue)

    @property
    def first(self) -> PendingRequest:
        return self._queue[0]

    def enqueue(self, request: PendingRequest) -> None:
        insort(self._queue, request, key=lambda queued: queued.priority)

    def pop(self) -> PendingRequest:
        return self._queue.pop(0)

    def fail_all(self, error: Exception) -> None:
        for request in self._queue:
            request.fail(error)
        self._queue.clear()


def error_of(code: int) -> ApiError:
    return refusal(code) or ApiError("no error")


def is_retriable_code(code: int) -> bool:
    try:
        return ErrorCode(code).retriable
    except ValueError:
        return False
