"""Kafka's own JSON form of messages: camelCase names, base64 for bytes, Kafka's text for uuids."""

from typing import TypeVar

from odradek.protocol.message import Message

M = TypeVar("M", bound=Message)


def to_json(message: Message, version: int) -> dict[str, object]:
    """Raises UnsupportedVersion for what the version cannot say."""
    raise NotImplementedError


def from_json(message_class: type[M], version: int, value: object) -> M:
    """Raises InvalidMessage, naming the path to what is wrong."""
    raise NotImplementedError
