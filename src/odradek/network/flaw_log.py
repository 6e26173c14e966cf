"""The log of connections that are closed because the peer broke the protocol.

A health check that speaks HTTP to a broker's port, or a client with the wrong `security.protocol`, comes again every
few seconds. Each address has a few lines in each minute; what is left out is counted.
"""

import logging
from dataclasses import dataclass

logger = logging.getLogger("odradek.network")

_MINUTE_MS = 60_000
#: Lines for one address in one minute: enough to see what it does, and too few to fill a disk.
_LINES_MAX = 5
#: Addresses that are remembered; those that came first are forgotten first.
_ADDRESSES_MAX = 1_000


@dataclass(slots=True)
class _Lines:
    since_ms: int
    written: int = 0
    left_out: int = 0


class FlawLog:
    def __init__(self) -> None:
        self._by_address: dict[str, _Lines] = {}

    def closed(self, connection_id: str, address: str, reason: str, now_ms: int) -> None:
        lines = self._by_address.get(address)
        if lines is None or now_ms - lines.since_ms >= _MINUTE_MS:
            if lines is not None and lines.left_out:
                reason = f"{reason} ({lines.left_out} more connections of {address} were closed since the last line)"
            self._by_address.pop(address, None)
            if len(self._by_address) >= _ADDRESSES_MAX:
                del self._by_address[next(iter(self._by_address))]
            lines = self._by_address[address] = _Lines(now_ms)
        if lines.written < _LINES_MAX:
            lines.written += 1
            logger.warning("connection %s: closed: %s", connection_id, reason)
        else:
            lines.left_out += 1
            logger.debug("connection %s: closed: %s", connection_id, reason)
