"""Sentences that Apache Kafka sends with an error of which it has nothing more to say. Clients show them, so they are
the same here; where none is sent, ours of `error_codes` are for logs and people."""

from typing import Final

from odradek.protocol.error_codes import ErrorCode

ERROR_WORDS: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    ErrorCode.UNKNOWN_TOPIC_ID: "This server does not host this topic ID.",
    ErrorCode.ELECTION_NOT_NEEDED: "Leader election not needed for topic partition.",
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: "The preferred leader was not available.",
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: "Eligible topic partition leaders are not available.",
}
