"""Transactions from a process without a loop: begun in one, ended in another.

A transaction is known by its transactional id, and by the producer id and epoch that its coordinator gave out: whoever
has the three can end it. Requests are in the versions of the first protocol of transactions, on every cluster:
partitions are added by the client, and ending a transaction leaves the epoch as it is. So an end that is asked for
twice is answered twice in the same way, by Kafka of any version: success where that is how it ended, and an error where
it ended otherwise, or was fenced.

A coordinator that moved, or that has something under way for the id, is asked again until the time is up.
"""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from odradek.client.direct.leader_connections import Leaders
from odradek.client.errors import check_error
from odradek.client.net.coordinator_kind import CoordinatorKind
from odradek.client.producer.producer_identity import ProducerIdentity
from odradek.common.addresses import HostPort
from odradek.common.ids import TopicPartition
from odradek.errors import Disconnected, RequestTimedOut, Unreachable
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.message import Message
from odradek.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from odradek.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from odradek.protocol.messages.end_txn_request import EndTxnRequest
from odradek.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from odradek.protocol.messages.init_producer_id_request import InitProducerIdRequest
from odradek.protocol.messages.list_transactions_request import ListTransactionsRequest

#: The last versions of the first protocol; those of InitProducerId and FindCoordinator that have what we need.
_ADD_PARTITIONS_LAST, _END_TXN_LAST, _INIT_PRODUCER_ID_LAST, _FIND_COORDINATOR_LAST = 3, 4, 5, 3

#: From this version on a pattern chooses the transactional ids; before, all are listed.
_PATTERN_FROM = 2

#: Before the same is asked again: a coordinator needs moments for what it has under way. Each wait is twice the last.
_RETRY_MIN_S, _RETRY_S = 0.005, 0.05

#: Transactional ids whose coordinators are remembered: those of tasks are used once, those of sinks in every batch.
_COORDINATORS_MAX = 1_000

_ELSEWHERE = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
_LATER = (*_ELSEWHERE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.CONCURRENT_TRANSACTIONS)
_RETRIABLE = (*_LATER, *(code for code in ErrorCode if code.retriable and code not in _LATER))


@dataclass(frozen=True, slots=True)
class DescribedTransaction:
    """`state` in Kafka's words: Empty, Ongoing, PrepareCommit, CompleteAbort, …"""

    identity: ProducerIdentity
    state: str


class Transactions:
    def __init__(self, leaders: Leaders, timeout_ms: int) -> None:
        """`timeout_ms`: so long a request is tried."""
        self._leaders = leaders
        self._timeout_ms = timeout_ms
        self._coordinators: dict[str, HostPort] = {}

    def producer_id(self) -> ProducerIdentity:
        """Return a producer id for an idempotent producer without transactions."""
        return self.begin(None, 0)

    def begin(self, transactional_id: str | None, transaction_timeout_ms: int) -> ProducerIdentity:
        """Whoever had the transactional id before is fenced, and what it left open is aborted."""
        request = InitProducerIdRequest(
            transactional_id=transactional_id, transaction_timeout_ms=transaction_timeout_ms
        )
        response = self._ask(transactional_id, request, _INIT_PRODUCER_ID_LAST, _error_code)
        return ProducerIdentity(response.producer_id, response.producer_epoch)

    def add_partitions(
        self, transactional_id: str, identity: ProducerIdentity, partitions: Sequence[TopicPartition]
    ) -> None:
        """Before the first record goes to them."""
        topics: dict[str, AddPartitionsToTxnTopic] = {}
        for topic, partition_index in partitions:
            topics.setdefault(topic, AddPartitionsToTxnTopic(name=topic)).partitions.append(partition_index)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=identity.producer_id,
            v3_and_below_producer_epoch=identity.epoch,
            v3_and_below_topics=list(topics.values()),
        )
        self._ask(transactional_id, request, _ADD_PARTITIONS_LAST, _worst_of_partitions)

    def end(self, transactional_id: str, identity: ProducerIdentity, *, is_commit: bool) -> None:
        """Raises Refused with INVALID_TXN_STATE where it ended the other way or has no partitions, and with
        PRODUCER_FENCED where somebody else has the id, or the time was up."""
        request = EndTxnRequest(
            transactional_id=transactional_id,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            committed=is_commit,
        )
        self._ask(transactional_id, request, _END_TXN_LAST, _error_code)

    def describe(self, transactional_id: str) -> DescribedTransaction | None:
        """None for one that the coordinator does not know, or not any more."""
        request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
        response = self._ask(transactional_id, request, 0, _described_code)
        state = response.transaction_states[0]
        if state.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            return None
        return DescribedTransaction(ProducerIdentity(state.producer_id, state.producer_epoch), state.transaction_state)

    def ongoing(self, prefix: str) -> list[str]:
        """Transactional ids that begin so, and have an open transaction; of all brokers, so that all have to answer."""
        deadline_s = time.monotonic() + self._timeout_ms / 1000
        while True:
            try:
                return sorted(
                    {
                        transactional_id
                        for address in self._leaders.brokers()
                        for transactional_id in self._ongoing_at(address, prefix)
                    }
                )
            except (Disconnected, RequestTimedOut, Unreachable) as error:
                reason = error.message
            if time.monotonic() > deadline_s:
                raise RequestTimedOut(f"ListTransactions for {prefix}: tried for {self._timeout_ms} ms: {reason}")
            time.sleep(_RETRY_S)

    def _ongoing_at(self, address: HostPort, prefix: str) -> list[str]:
        request = ListTransactionsRequest(state_filters=["Ongoing"])
        try:
            connection = self._leaders.connection(address)
            version = connection.version(ListTransactionsRequest, _PATTERN_FROM)
            if version >= _PATTERN_FROM:
                request.transactional_id_pattern = f"^{re.escape(prefix)}.*"
            response = connection.ask(request, version)
        except (Disconnected, RequestTimedOut):
            self._leaders.drop(address)
            raise
        if response.error_code in _RETRIABLE:
            raise Unreachable(f"{address}: {error_name(response.error_code)}")
        check_error(response.error_code, f"{address} cannot list transactions")
        ids = [state.transactional_id for state in response.transaction_states]
        return [transactional_id for transactional_id in ids if transactional_id.startswith(prefix)]

    def _ask(self, key: str | None, request: Message, last: int, code_of: Callable[[Any], int]) -> Any:
        deadline_s = time.monotonic() + self._timeout_ms / 1000
        wait_s = _RETRY_MIN_S
        while True:
            try:
                response = self._ask_once(key, request, last)
            except (Disconnected, RequestTimedOut, Unreachable) as error:
                reason = error.message
                self._forget(key)
            else:
                code = code_of(response)
                if code not in _RETRIABLE:
                    check_error(code, None if key is None else f"transactional id {key}")
                    return response
                reason = error_name(code)
                if code in _ELSEWHERE:
                    self._forget(key)
            if time.monotonic() > deadline_s:
                name = type(request).__name__.removesuffix("Request")
                raise RequestTimedOut(f"{name} for {key}: tried for {self._timeout_ms} ms: {reason}")
            time.sleep(wait_s)
            wait_s = min(2 * wait_s, _RETRY_S)

    def _ask_once(self, key: str | None, request: Message, last: int) -> Any:
        if key is None:
            return self._leaders.ask_any(request, last)
        if key not in self._coordinators:
            while len(self._coordinators) >= _COORDINATORS_MAX:
                del self._coordinators[next(iter(self._coordinators))]
            self._coordinators[key] = self._find(key)
        connection = self._leaders.connection(self._coordinators[key])
        return connection.ask(request, connection.version(type(request), last))

    def _find(self, key: str) -> HostPort:
        request = FindCoordinatorRequest(key=key, key_type=CoordinatorKind.TRANSACTION)
        response = self._leaders.ask_any(request, _FIND_COORDINATOR_LAST)
        if response.error_code in _RETRIABLE:
            raise Unreachable(f"no coordinator of {key} now: {error_name(response.error_code)}")
        check_error(response.error_code, f"the coordinator of {key}")
        return HostPort(response.host, response.port)

    def _forget(self, key: str | None) -> None:
        address = self._coordinators.pop(key or "", None)
        if address is not None:
            self._leaders.drop(address)


def _error_code(response: Any) -> int:
    code: int = response.error_code
    return code


def _described_code(response: Any) -> int:
    code: int = response.transaction_states[0].error_code
    return ErrorCode.NONE if code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND else code


def _worst_of_partitions(response: Any) -> int:
    """Return the error code of the request: a fatal one first, else a retriable one, else none."""
    codes = {
        partition.partition_error_code
        for topic in response.results_by_topic_v3_and_below
        for partition in topic.results_by_partition
    } - {ErrorCode.NONE}
    attempted = sorted(codes - {ErrorCode.OPERATION_NOT_ATTEMPTED}) or sorted(codes)
    return next((code for code in attempted if code not in _RETRIABLE), attempted[0] if attempted else ErrorCode.NONE)
