"""Message classes by name, imported when asked for."""

from odradek.protocol.message import Message


def message_names() -> tuple[str, ...]:
    """Every message there is, in the order of the table."""
    raise NotImplementedError


def message_class(name: str) -> type[Message]:
    """By Kafka's name ("ProduceRequest", "TopicRecord"); KeyError if there is none."""
    raise NotImplementedError
