"""The exceptions of the public API, in one hierarchy.

`KafkaError` is the base of everything that a client, a service or the Spark source and sink raise about the cluster;
`code` is Kafka's number (`ErrorCode`). They are expected: networks, nodes and topics come and go.

* No response: `Disconnected`, `RequestTimedOut`, `VersionsDiffer`, `Unreachable`, `NoLeader`, `WrongEndpoint`.
* A response with an error code: `Refused`, and `PartlyRefused` for an operation on several resources.
* Producers: `RecordTooLarge`, `BufferExhausted`, `DeliveryTimedOut`, `ProducerClosed`, `ProducerFenced`,
  `ProducerFailed`, `TransactionAborted`, `TransactionMustAbort`, `WrongTransactionState`.
* Consumers: `NoOffsetForPartition`, `OffsetOutOfRange`, `LogTruncation`, `TopicAuthorizationFailed`, `FetchFailed`,
  `DeserializationFailed`. `poll` raises them again until the application seeks, or changes the configuration.
* Consumer groups: `CommitFailed`, `RebalanceInProgress`, `NoGroup`.
* The service: `GroupInUse`, `TooManyAbandoned`.
* Spark: `DataLost`, `OffsetsDeleted`, `TopicReplaced`, `Superseded`, `BatchLost`, `BatchTorn`.

`InputError` is about settings and arguments that are not valid, `MissingExtra` about an optional dependency that is not
installed, `Fault` about a broken invariant: a bug, or a damaged disk.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from odradek.common.extras import MissingExtra
from odradek.common.failures import ApiError, Fault, InputError
from odradek.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from odradek.client.types import OffsetAndMetadata, TopicPartition

__all__ = [
    "BatchLost",
    "BatchTorn",
    "BufferExhausted",
    "CommitFailed",
    "DataLost",
    "DeliveryTimedOut",
    "DeserializationFailed",
    "Disconnected",
    "ErrorCode",
    "Fault",
    "FetchFailed",
    "GroupInUse",
    "InputError",
    "KafkaError",
    "LogTruncation",
    "MissingExtra",
    "NoGroup",
    "NoLeader",
    "NoOffsetForPartition",
    "OffsetOutOfRange",
    "OffsetsDeleted",
    "PartlyRefused",
    "ProducerClosed",
    "ProducerFailed",
    "ProducerFenced",
    "RebalanceInProgress",
    "RecordTooLarge",
    "Refused",
    "RequestTimedOut",
    "Superseded",
    "TooManyAbandoned",
    "TopicAuthorizationFailed",
    "TopicReplaced",
    "TransactionAborted",
    "TransactionMustAbort",
    "UnknownTopic",
    "Unreachable",
    "VersionsDiffer",
    "WrongEndpoint",
    "WrongTransactionState",
]

#: Base of all errors about the cluster. Settings and arguments that are not valid raise InputError.
KafkaError = ApiError


# All clients


class Disconnected(KafkaError):
    """There is no connection, or it broke. The request may or may not have had an effect.

    `refused` is true if no process listens at the address: the host rejected the connection, and the request was not
    sent. It is false for a peer that does not respond and for one that closed the connection.
    """

    code = ErrorCode.NETWORK_EXCEPTION

    def __init__(self, message: str = "", *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused


class RequestTimedOut(KafkaError):
    """No response in time. The request may or may not have had an effect."""

    code = ErrorCode.REQUEST_TIMED_OUT


class VersionsDiffer(KafkaError):
    """Client and broker have no version of the request in common. The request was not sent."""

    code = ErrorCode.UNSUPPORTED_VERSION


class Unreachable(KafkaError):
    """None of the addresses responds."""

    code = ErrorCode.NETWORK_EXCEPTION


class NoLeader(KafkaError):
    """Nodes respond, but none of them leads the quorum."""

    code = ErrorCode.LEADER_NOT_AVAILABLE


class WrongEndpoint(KafkaError):
    """A broker responded where a controller was expected, or a controller where a broker was."""

    code = ErrorCode.MISMATCHED_ENDPOINT_TYPE


class Refused(KafkaError):
    """The cluster rejected the request. The message has the reason."""


class PartlyRefused(Refused):
    """The cluster rejected an operation for some of several resources. `code` is that of the first error.

    `outcomes` maps every resource to its value or to its `Refused`.
    """

    def __init__(self, message: str, code: int, outcomes: Mapping[Any, Any]) -> None:
        super().__init__(message, code)
        self.outcomes = outcomes


class UnknownTopic(KafkaError):
    """No broker returned metadata of the topic in time."""

    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# Producers


class RecordTooLarge(KafkaError):
    """The record is larger than `max.request.size` or `buffer.memory`. It was not accepted."""

    code = ErrorCode.MESSAGE_TOO_LARGE


class BufferExhausted(RequestTimedOut):
    """`buffer.memory` stayed full for `max.block.ms`. The record was not accepted."""


class DeliveryTimedOut(RequestTimedOut):
    """Not acknowledged within `delivery.timeout.ms`. The record may or may not have been written."""


class ProducerClosed(KafkaError):
    """The producer was closed before the record was acknowledged, or before it was accepted."""

    code = ErrorCode.NETWORK_EXCEPTION


class ProducerFenced(KafkaError):
    """A newer producer has the same transactional id, or the transaction timed out. Fatal."""

    code = ErrorCode.PRODUCER_FENCED


class ProducerFailed(KafkaError):
    """The producer cannot recover: close it and create another. Fatal."""


class TransactionAborted(KafkaError):
    """The record was not sent, because its transaction was aborted."""

    code = ErrorCode.TRANSACTION_ABORTABLE


class TransactionMustAbort(KafkaError):
    """An operation of the transaction failed. After an abort the producer can be used again."""

    code = ErrorCode.TRANSACTION_ABORTABLE


class WrongTransactionState(KafkaError):
    """The call is not valid in this state: a commit without a transaction, a record before one."""

    code = ErrorCode.INVALID_TXN_STATE


# Consumers


class NoOffsetForPartition(KafkaError):
    """The group has no committed offset for a partition, and auto.offset.reset is none."""

    code = ErrorCode.OFFSET_OUT_OF_RANGE

    def __init__(self, partitions: "tuple[TopicPartition, ...]") -> None:
        named = ", ".join(map(str, partitions))
        super().__init__(
            f"no committed offset for {named}, and auto.offset.reset is none; seek, commit an offset, or set it to "
            "earliest, latest or by_duration:…"
        )
        self.partitions = partitions


class OffsetOutOfRange(KafkaError):
    """The log does not have the offset of the position, and auto.offset.reset is none."""

    code = ErrorCode.OFFSET_OUT_OF_RANGE

    def __init__(self, partition: "TopicPartition", offset: int) -> None:
        super().__init__(f"{partition} has no offset {offset}, and auto.offset.reset is none; seek to one that it has")
        self.partition = partition
        self.offset = offset


class LogTruncation(KafkaError):
    """Consumed records were truncated from the log (an unclean election), and auto.offset.reset is none.

    `diverging` has the offset and epoch up to which the log is as it was consumed, if the leader returned them.
    """

    code = ErrorCode.OFFSET_OUT_OF_RANGE

    def __init__(
        self, offsets: "Mapping[TopicPartition, int]", diverging: "Mapping[TopicPartition, OffsetAndMetadata]"
    ) -> None:
        truncated = [
            f"{partition} at {offset}"
            + (f" (the same up to {diverging[partition].offset})" if partition in diverging else "")
            for partition, offset in offsets.items()
        ]
        super().__init__(f"the log was cut off below what was consumed: {', '.join(truncated)}; seek to where to go on")
        self.offsets = offsets
        self.diverging = diverging


class TopicAuthorizationFailed(KafkaError):
    """The consumer is not allowed to read topics."""

    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED

    def __init__(self, topics: tuple[str, ...]) -> None:
        super().__init__(f"not allowed to read {', '.join(topics)}")
        self.topics = topics


class FetchFailed(KafkaError):
    """A record or batch cannot be read: it is damaged or malformed, or the broker returned an unexpected error."""

    def __init__(self, partition: "TopicPartition", offset: int, reason: str, code: int) -> None:
        super().__init__(f"{partition} cannot be read at offset {offset}: {reason}; seek beyond it to go on", code)
        self.partition = partition
        self.offset = offset


class DeserializationFailed(KafkaError):
    """A deserializer raised an exception. The position stays before the record."""

    def __init__(self, partition: "TopicPartition", offset: int, part: str, error: Exception) -> None:
        super().__init__(
            f"{partition}, offset {offset}: the {part}'s deserializer raised {type(error).__name__}: {error}; "
            "seek beyond the record to go on",
            ErrorCode.INVALID_RECORD,
        )
        self.partition = partition
        self.offset = offset


# Consumer groups


class CommitFailed(KafkaError):
    """The partitions may be assigned to another member: what was not committed is processed again."""

    code = ErrorCode.ILLEGAL_GENERATION


class RebalanceInProgress(KafkaError):
    """The group is rebalancing: poll until the rebalance is complete, and commit again."""

    code = ErrorCode.REBALANCE_IN_PROGRESS


class NoGroup(KafkaError):
    """The consumer has no `group.id`, so it cannot commit."""

    code = ErrorCode.INVALID_GROUP_ID


# The service


class GroupInUse(KafkaError):
    """A run that assigned all partitions to itself cannot commit, because the group has members."""


class TooManyAbandoned(KafkaError):
    """So many abandoned calls still run that no thread is started for another one."""


# Spark


class DataLost(KafkaError):
    """Requested offsets do not exist any more."""

    code = ErrorCode.OFFSET_OUT_OF_RANGE


class OffsetsDeleted(DataLost):
    """The next offset of a range is outside of the log."""

    def __init__(self, message: str, partition: "TopicPartition", log_start_offset: int) -> None:
        super().__init__(message)
        self.partition = partition
        self.log_start_offset = log_start_offset


class TopicReplaced(DataLost):
    """The topic was deleted and created again: its offsets are those of other records."""

    def __init__(self, message: str, partition: "TopicPartition") -> None:
        super().__init__(message)
        self.partition = partition


class Superseded(KafkaError):
    """Another driver has started to write to the sink."""


class BatchLost(KafkaError):
    """A batch cannot be committed, and no part of it was."""


class BatchTorn(KafkaError):
    """Part of a batch is committed, and the rest cannot be."""
