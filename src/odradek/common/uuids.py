"""Random uuids as Kafka makes them."""

import uuid

from odradek.common.ids import uuid_to_text

#: Ids below this one stand for something: none, a lost directory, the metadata topic.
_RESERVED = 100


def random_uuid() -> bytes:
    """One that stands for nothing else and whose text does not look like an option of a command."""
    while True:
        candidate = uuid.uuid4()
        if candidate.int >= _RESERVED and not uuid_to_text(candidate.bytes).startswith("-"):
            return candidate.bytes
