"""What an operation decides, and how it refuses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from odradek.common.failures import ApiError
from odradek.metadata.records.record_serde import MetadataRecord, encode_record
from odradek.protocol.error_codes import ErrorCode
from odradek.raft.config import MAX_BATCH_BYTES

T = TypeVar("T")

#: Records of one batch: readers take a batch at once, and so many of the largest are some MiB.
MAX_RECORDS_PER_BATCH = 10_000

#: And their bytes: Raft takes no larger batch. What so many records need besides is less than the difference.
MAX_BYTES_PER_BATCH = MAX_BATCH_BYTES - 1024 * 1024

#: Records that one request may cause. Kafka's limit; a batch of them must become visible at once.
MAX_RECORDS_PER_USER_OP = MAX_RECORDS_PER_BATCH


@dataclass(frozen=True, slots=True)
class Decision(Generic[T]):
    records: Sequence[MetadataRecord]
    response: T
    #: All records in one batch or none; otherwise any beginning of them is a sound state of the cluster.
    is_atomic: bool = False


class Refused(ApiError):
    """A request, or a part of one, that cannot be granted. Where the code says all, there is no message."""

    def __init__(self, code: ErrorCode, message: str = "") -> None:
        super().__init__(message, code)


class Outcome(NamedTuple):
    """How a part of a request went. On the wire a success has no message."""

    code: int
    message: str | None


DONE = Outcome(ErrorCode.NONE, None)


def outcome_of(error: ApiError) -> Outcome:
    return Outcome(error.code, error.message or None)


#: Records and their bytes, batch by batch.
Batches = list[tuple[Sequence[MetadataRecord], Sequence[bytes]]]


def batches(decision: Decision[Any]) -> Batches:
    """Records and their bytes, cut where a batch would become too large. Raises Refused where it must not be cut, or
    where a record alone is too large: Raft would not take it, and the state must not be ahead of the log."""
    records, too_large = decision.records, "Unable to perform excessively large batch operation."
    if decision.is_atomic and len(records) > MAX_RECORDS_PER_BATCH:
        raise Refused(ErrorCode.POLICY_VIOLATION, too_large)
    values = [encode_record(record) for record in records]
    if any(len(value) > MAX_BYTES_PER_BATCH for value in values):
        raise Refused(ErrorCode.POLICY_VIOLATION, too_large)
    cuts, size_bytes = [0], 0
    for index, value in enumerate(values):
        size_bytes += len(value)
        if index - cuts[-1] >= MAX_RECORDS_PER_BATCH or (size_bytes > MAX_BYTES_PER_BATCH and index > cuts[-1]):
            cuts.append(index)
            size_bytes = len(value)
    if decision.is_atomic and len(cuts) > 1:
        raise Refused(ErrorCode.POLICY_VIOLATION, too_large)
    ends = [*cuts[1:], len(values)]
    return [(records[start:end], values[start:end]) for start, end in zip(cuts, ends, strict=True) if start < end]
