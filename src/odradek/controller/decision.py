"""ControllerDecision of an operation, and the errors that reject a request or an item of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from odradek.common.failures import ApiError
from odradek.metadata.records.record_serde import MetadataRecord, encode_record
from odradek.protocol.error_codes import ErrorCode
from odradek.raft.config import MAX_BATCH_BYTES

T = TypeVar("T")

#: Records of one batch: readers process a batch at once, and this many of the largest are some MiB.
MAX_RECORDS_PER_BATCH = 10_000

#: Bytes of the records of one batch: Raft rejects a larger batch. The framing of the records fits in the difference.
MAX_BYTES_PER_BATCH = MAX_BATCH_BYTES - 1024 * 1024

#: Records that one request may write. Kafka's limit; a batch of them must become visible at once.
MAX_RECORDS_PER_USER_OP = MAX_RECORDS_PER_BATCH


@dataclass(frozen=True, slots=True)
class ControllerDecision(Generic[T]):
    records: Sequence[MetadataRecord]
    response: T
    #: Whether all records must be in one batch; otherwise any prefix of them is a consistent state of the cluster.
    is_atomic: bool = False


class RequestRejected(ApiError):
    """A request, or an item of one, that is rejected. The message is empty if the code says everything."""

    def __init__(self, code: ErrorCode, message: str = "") -> None:
        super().__init__(message, code)


class ItemResult(NamedTuple):
    """Result of an item of a request: a topic, a partition, a resource. On the wire a success has no message."""

    code: int
    message: str | None


SUCCESS = ItemResult(ErrorCode.NONE, None)


def item_result(error: ApiError) -> ItemResult:
    return ItemResult(error.code, error.message or None)


#: Records and their encoded bytes, by batch.
Batches = list[tuple[Sequence[MetadataRecord], Sequence[bytes]]]


def batches(decision: ControllerDecision[Any]) -> Batches:
    """Encode the records and split them where a batch would become too large. Raises RequestRejected if they must not
    be split, or if one record is too large: Raft would reject it, and the state must not be ahead of the log."""
    records, too_large = decision.records, "Unable to perform excessively large batch operation."
    if decision.is_atomic and len(records) > MAX_RECORDS_PER_BATCH:
        raise RequestRejected(ErrorCode.POLICY_VIOLATION, too_large)
    values = [encode_record(record) for record in records]
    if any(len(value) > MAX_BYTES_PER_BATCH for value in values):
        raise RequestRejected(ErrorCode.POLICY_VIOLATION, too_large)
    cuts, size_bytes = [0], 0
    for index, value in enumerate(values):
        size_bytes += len(value)
        if index - cuts[-1] >= MAX_RECORDS_PER_BATCH or (size_bytes > MAX_BYTES_PER_BATCH and index > cuts[-1]):
            cuts.append(index)
            size_bytes = len(value)
    if decision.is_atomic and len(cuts) > 1:
        raise RequestRejected(ErrorCode.POLICY_VIOLATION, too_large)
    ends = [*cuts[1:], len(values)]
    return [(records[start:end], values[start:end]) for start, end in zip(cuts, ends, strict=True) if start < end]
