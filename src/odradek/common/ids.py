"""Identifiers that travel between rooms."""

import base64
import binascii
from typing import NamedTuple

#: A uuid is its 16 bytes everywhere inside; its text form is Kafka's: url-safe base64 without padding.
ZERO_UUID = bytes(16)

_UUID_TEXT_LENGTH = 22

#: The log of which is the cluster's own.
METADATA_TOPIC = "__cluster_metadata"


class TopicPartition(NamedTuple):
    """A named tuple and not a data class: it is the key of every hot dictionary."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def uuid_to_text(uuid: bytes) -> str:
    return base64.urlsafe_b64encode(uuid).rstrip(b"=").decode()


def uuid_from_text(text: str) -> bytes:
    """Raises ValueError for anything that Kafka would not print."""
    if len(text) != _UUID_TEXT_LENGTH:
        raise ValueError(f'"{text}" is no uuid: a uuid has {_UUID_TEXT_LENGTH} characters of url-safe base64')
    try:
        return base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(f'"{text}" is no uuid: {error}') from None
