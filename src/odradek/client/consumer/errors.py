"""What a consumer cannot go on with by itself. Each is raised by `poll` and its like, and again until it is answered:
by a seek, by a reset policy, by other rights."""

from collections.abc import Mapping

from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.common.failures import ApiError
from odradek.protocol.error_codes import ErrorCode


class NoOffsetForPartition(ApiError):
    """The group has committed nothing for a partition, and auto.offset.reset is none."""

    code = ErrorCode.OFFSET_OUT_OF_RANGE

    def __init__(self, partitions: tuple[TopicPartition, ...]) -> None:
        named = ", ".join(map(str, partitions))
        super().__init__(
            f"no committed offset for {named}, and auto.offset.reset is none; seek, commit an offset, or set it to "
            "earliest, latest or by_duration:…"
        )
        self.partitions = partitions


class OffsetOutOfRange(ApiError):
    """The position is not in the log (any more), and auto.offset.reset is none."""

    code = ErrorCode.OFFSET_OUT_OF_RANGE

    def __init__(self, partition: TopicPartition, offset: int) -> None:
        super().__init__(f"{partition} has no offset {offset}, and auto.offset.reset is none; seek to one that it has")
        self.partition = partition
        self.offset = offset


class LogTruncation(ApiError):
    """Records that were consumed are no longer in the log (an unclean election), and auto.offset.reset is none.

    `diverging` has the offset and epoch up to which the log is as it was consumed, where the leader knows it.
    """

    code = ErrorCode.OFFSET_OUT_OF_RANGE

    def __init__(
        self, offsets: Mapping[TopicPartition, int], diverging: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> None:
        told = [
            f"{partition} at {offset}"
            + (f" (the same up to {diverging[partition].offset})" if partition in diverging else "")
            for partition, offset in offsets.items()
        ]
        super().__init__(f"the log was cut off below what was consumed: {', '.join(told)}; seek to where to go on")
        self.offsets = offsets
        self.diverging = diverging


class TopicAuthorizationFailed(ApiError):
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED

    def __init__(self, topics: tuple[str, ...]) -> None:
        super().__init__(f"not allowed to read {', '.join(topics)}")
        self.topics = topics


class FetchFailed(ApiError):
    """A record or batch that cannot be read: damaged, malformed, or an error that no consumer knows."""

    def __init__(self, partition: TopicPartition, offset: int, reason: str, code: int) -> None:
        super().__init__(f"{partition} cannot be read at offset {offset}: {reason}; seek beyond it to go on", code)
        self.partition = partition
        self.offset = offset


class DeserializationFailed(ApiError):
    """A deserializer raised. The record is there as its bytes; the position stays in front of it."""

    def __init__(self, partition: TopicPartition, offset: int, part: str, error: Exception) -> None:
        super().__init__(
            f"{partition}, offset {offset}: the {part}'s deserializer raised {type(error).__name__}: {error}; "
            "seek beyond the record to go on",
            ErrorCode.INVALID_RECORD,
        )
        self.partition = partition
        self.offset = offset
