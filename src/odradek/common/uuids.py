"""Random uuids like those of Kafka."""

import os
from collections.abc import Callable

#: First six bits of a uuid whose text begins with a dash.
_DASH = 62


def random_uuid(randbytes: Callable[[int], bytes] = os.urandom) -> bytes:
    """Return a uuid of version 4 whose text does not begin with a dash, which commands would parse as an option."""
    while True:
        raw = bytearray(randbytes(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        if raw[0] >> 2 != _DASH:
            return bytes(raw)
