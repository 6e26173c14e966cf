"""Reachability of the cluster's addresses: log lines, and the time since which no broker accepts connections.

One `Reachability` for each client, fed by the channels of its connections. An address that cannot be connected to is
logged as a warning at once, and then at most every `_WARN_INTERVAL_S`, with the number of attempts; the attempts in
between are logged at DEBUG. When it can be connected to again, that is logged at INFO.

While the client starts, failures are logged at DEBUG only: `start` raises an error that has all of them.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from odradek.common.addresses import HostPort

logger = logging.getLogger("odradek.client.network")

#: Attempts come once a second (reconnect.backoff.max.ms); a line for each would bury everything else.
_WARN_INTERVAL_S = 30.0


@dataclass(slots=True)
class _Failing:
    """An address, since the last connection to it."""

    since_s: float
    attempts: int = 0
    #: Since when each attempt was refused: nothing listens there. None if the last one failed in another way.
    refused_since_s: float | None = None
    warned_s: float | None = None


class Reachability:
    def __init__(self, client: str, now_s: Callable[[], float]) -> None:
        """`client` names it in log lines. `now_s` is a monotonic clock."""
        self.is_starting = True
        self._client = client
        self._now_s = now_s
        self._failing: dict[HostPort, _Failing] = {}

    def connected(self, node: str, address: HostPort) -> None:
        failing = self._failing.pop(address, None)
        if failing is None or failing.warned_s is None:
            logger.debug("[%s] Connected to %s (%s).", self._client, node, address)
            return
        logger.info(
            "[%s] Connection to %s (%s) is established again, after %.0f s and %d failed attempts.",
            *(self._client, node, address, self._now_s() - failing.since_s, failing.attempts),
        )

    def connect_failed(self, node: str, address: HostPort, reason: str, *, is_refused: bool) -> None:
        now_s = self._now_s()
        failing = self._failing.setdefault(address, _Failing(now_s))
        failing.attempts += 1
        if not is_refused:
            failing.refused_since_s = None
        elif failing.refused_since_s is None:
            failing.refused_since_s = now_s
        logger.log(
            self._level(failing, now_s),
            "[%s] Connection to %s (%s) could not be established (attempt %d): %s. The broker may not be available.",
            *(self._client, node, address, failing.attempts, _escaped(reason)),
        )

    def disconnected(self, node: str, address: HostPort, reason: str) -> None:
        logger.info("[%s] %s (%s) disconnected: %s.", self._client, node.capitalize(), address, _escaped(reason))

    def all_refused_since_s(self, addresses: Iterable[HostPort]) -> float | None:
        """Return the time since which all addresses refuse connections; None while one of them may be available."""
        since_s = 0.0
        for address in addresses:
            failing = self._failing.get(address)
            if failing is None or failing.refused_since_s is None:
                return None
            since_s = max(since_s, failing.refused_since_s)
        return since_s

    def _level(self, failing: _Failing, now_s: float) -> int:
        is_due = failing.warned_s is None or now_s - failing.warned_s >= _WARN_INTERVAL_S
        if self.is_starting or not is_due:
            return logging.DEBUG
        failing.warned_s = now_s
        return logging.WARNING


def _escaped(text: str) -> str:
    """Reasons may quote what a peer sent: no line breaks or control characters of its own in our log."""
    return text if text.isprintable() else repr(text)[1:-1]
