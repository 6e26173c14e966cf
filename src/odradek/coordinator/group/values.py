"""Values that the operations on groups share."""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from odradek.common.failures import ApiError
from odradek.common.ids import ZERO_UUID
from odradek.protocol.error_codes import ErrorCode

#: What a member that has no id yet, or a generation that is none, is called on the wire.
UNKNOWN_MEMBER_ID: Final = ""
UNKNOWN_GENERATION: Final = -1


class GroupType(Enum):
    """Type of a group; the value is Kafka's name for it."""

    CONSUMER = "consumer"
    CLASSIC = "classic"
    SHARE = "share"
    STREAMS = "streams"


@dataclass(frozen=True, slots=True)
class RequestContext:
    """Facts about the client of a request that groups need."""

    api_version: int
    client_id: str
    #: As Java prints an address: a slash in front.
    client_host: str


@dataclass(frozen=True, slots=True)
class CommitAttempt:
    """On whose behalf offsets are to be committed."""

    member_id: str
    group_instance_id: str | None
    generation: int
    is_transactional: bool
    api_version: int


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    offset: int
    #: -1: not known.
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    #: None: by the retention of the node.
    expire_timestamp_ms: int | None = None
    topic_id: bytes = ZERO_UUID
    #: Of the record that brought it: of two commits the one further down the log counts.
    record_offset: int = -1


def refusal(code: ErrorCode, message: str = "") -> ApiError:
    return ApiError(message or code.message, code)


def group_not_found(group_id: str) -> ApiError:
    return refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
