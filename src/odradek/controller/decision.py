"""What an operation decides, and how it refuses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from odradek.common.failures import ApiError
from odradek.metadata.record_serde import MetadataRecord
from odradek.protocol.error_codes import ErrorCode

T = TypeVar("T")

#: Records of one batch: readers take a batch at once, and so many of the largest are some MiB.
MAX_RECORDS_PER_BATCH = 10_000

#: Records that one request may cause. Kafka's limit; a batch of them must become visible at once.
MAX_RECORDS_PER_USER_OP = MAX_RECORDS_PER_BATCH


@dataclass(frozen=True, slots=True)
class Decision(Generic[T]):
    records: Sequence[MetadataRecord]
    response: T
    #: All records in one batch or none; otherwise any beginning of them is a sound state of the cluster.
    is_atomic: bool = False


class Refused(ApiError):
    """A request, or a part of one, that cannot be granted; `message` None means the code's own sentence."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(code.message if message is None else message, code)


class Outcome(NamedTuple):
    """How a part of a request went. On the wire a success has no message."""

    code: int
    message: str | None


DONE = Outcome(ErrorCode.NONE, None)


def outcome_of(error: ApiError) -> Outcome:
    return Outcome(error.code, error.message)
