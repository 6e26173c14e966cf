"""One request at a time to each node, and a pause after one that failed.

A request that is not answered within the request time-out is given up; its answer, should it still come, is not
expected any more and is dropped. A change of state forgets all requests, so that no answer to an old question is taken
for one to a new question.
"""

from dataclasses import dataclass

from odradek.protocol.message import Message
from odradek.raft.values import NEVER_MS, Destination, Randomness


@dataclass(slots=True)
class _Connection:
    correlation_id: int
    message_class: type[Message]
    ends_ms: int  # when the request times out, or the pause is over
    is_waiting: bool = True


class Connections:
    def __init__(self, retry_backoff_ms: int, timeout_ms: int, random: Randomness) -> None:
        self._retry_backoff_ms = retry_backoff_ms
        self._timeout_ms = timeout_ms
        self._random = random
        self._busy: dict[int, _Connection] = {}
        self._node_of: dict[int, int] = {}
        self._last_correlation_id = 0

    def is_ready(self, node_id: int, now_ms: int) -> bool:
        busy = self._busy.get(node_id)
        if busy is None:
            return True
        if now_ms < busy.ends_ms:
            return False
        self.reset(node_id)
        return True

    def ready_at_ms(self, node_id: int, now_ms: int) -> int:
        return now_ms if self.is_ready(node_id, now_ms) else self._busy[node_id].ends_ms

    def is_backing_off(self, node_id: int, now_ms: int) -> bool:
        busy = self._busy.get(node_id)
        return busy is not None and not busy.is_waiting and now_ms < busy.ends_ms

    def has_timed_out(self, node_id: int, now_ms: int) -> bool:
        busy = self._busy.get(node_id)
        return busy is not None and busy.is_waiting and now_ms >= busy.ends_ms

    def waits_until_ms(self, now_ms: int) -> int | None:
        """When the request that is in flight to any node is given up; None if there is none."""
        waiting = [busy.ends_ms for busy in self._busy.values() if busy.is_waiting and now_ms < busy.ends_ms]
        return min(waiting, default=None)

    def any_ready(self, servers: tuple[Destination, ...], now_ms: int) -> Destination | None:
        """A random one, but none while any request is in flight: one fetch at a time is enough to find a leader."""
        if not servers or self.waits_until_ms(now_ms) is not None:
            return None
        first = self._random.randrange(len(servers))
        for server in servers[first:] + servers[:first]:
            if self.is_ready(server.id, now_ms):
                return server
        return None

    def any_ready_at_ms(self, servers: tuple[Destination, ...], now_ms: int) -> int:
        """When it is worth to look for one again."""
        waits_until_ms = self.waits_until_ms(now_ms)
        if waits_until_ms is not None:
            return waits_until_ms
        return min((self.ready_at_ms(server.id, now_ms) for server in servers), default=NEVER_MS)

    def sent(self, node_id: int, message_class: type[Message], now_ms: int) -> int:
        """A request goes to this node; its correlation id."""
        self.reset(node_id)
        self._last_correlation_id += 1
        ends_ms = now_ms + self._timeout_ms
        self._busy[node_id] = _Connection(self._last_correlation_id, message_class, ends_ms)
        self._node_of[self._last_correlation_id] = node_id
        return self._last_correlation_id

    def expected_from(self, correlation_id: int) -> int | None:
        """The node whose answer is still waited for, None if it is not."""
        return self._node_of.get(correlation_id)

    def asked(self, correlation_id: int) -> type[Message] | None:
        """What was asked, as long as the answer is waited for."""
        node_id = self._node_of.get(correlation_id)
        return None if node_id is None else self._busy[node_id].message_class

    def succeeded(self, correlation_id: int) -> None:
        """Nothing happens if the state has changed meanwhile, and with it what is expected."""
        node_id = self._node_of.get(correlation_id)
        if node_id is not None:
            self.reset(node_id)

    def failed(self, correlation_id: int, now_ms: int) -> None:
        node_id = self._node_of.pop(correlation_id, None)
        if node_id is not None:
            busy = self._busy[node_id]
            busy.is_waiting = False
            busy.ends_ms = now_ms + self._retry_backoff_ms

    def reset(self, node_id: int) -> None:
        busy = self._busy.pop(node_id, None)
        if busy is not None:
            self._node_of.pop(busy.correlation_id, None)

    def reset_all(self) -> None:
        self._busy.clear()
        self._node_of.clear()
