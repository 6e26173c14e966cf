"""Requests to the other nodes: one at a time to each node, and a back-off after one that failed.

A request without a response within the request time-out is abandoned; a response that arrives later is dropped. A
change of role abandons all requests, so that no response to an earlier request is taken for one to a later request.
"""

from typing import NamedTuple

from odradek.common.randomness import Randomness
from odradek.protocol.message import Message
from odradek.raft.values import NEVER_MS, Destination


class NodeRequest(NamedTuple):
    """The last request to a node. `ends_ms`: when it times out or, after it failed, when the back-off is over."""

    correlation_id: int
    message_class: type[Message]
    ends_ms: int
    is_in_flight: bool = True


class RequestManager:
    def __init__(self, retry_backoff_ms: int, timeout_ms: int, random: Randomness) -> None:
        self._retry_backoff_ms = retry_backoff_ms
        self._timeout_ms = timeout_ms
        self._random = random
        self._requests: dict[int, NodeRequest] = {}
        self._node_ids: dict[int, int] = {}
        self._last_correlation_id = 0
        #: Keys: nodes that refused the last request and have sent nothing since.
        self._unreachable: dict[int, None] = {}

    @property
    def unreachable(self) -> tuple[int, ...]:
        """Nodes whose process does not run: they refused the last request and have sent nothing since."""
        return tuple(self._unreachable)

    def is_unreachable(self, node_id: int) -> bool:
        return node_id in self._unreachable

    def mark_unreachable(self, node_id: int) -> None:
        self._unreachable[node_id] = None

    def mark_reachable(self, node_id: int) -> None:
        self._unreachable.pop(node_id, None)

    def is_ready(self, node_id: int, now_ms: int) -> bool:
        """Return whether a request may be sent to the node; abandons one that has timed out."""
        request = self._requests.get(node_id)
        if request is None:
            return True
        if now_ms < request.ends_ms:
            return False
        self.reset(node_id)
        return True

    def ready_at_ms(self, node_id: int, now_ms: int) -> int:
        return now_ms if self.is_ready(node_id, now_ms) else self._requests[node_id].ends_ms

    def is_backing_off(self, node_id: int, now_ms: int) -> bool:
        request = self._requests.get(node_id)
        return request is not None and not request.is_in_flight and now_ms < request.ends_ms

    def has_timed_out(self, node_id: int, now_ms: int) -> bool:
        request = self._requests.get(node_id)
        return request is not None and request.is_in_flight and now_ms >= request.ends_ms

    def in_flight_until_ms(self, now_ms: int) -> int | None:
        """Return when the first request in flight times out; None if no request is in flight."""
        ends_ms = [r.ends_ms for r in self._requests.values() if r.is_in_flight and now_ms < r.ends_ms]
        return min(ends_ms, default=None)

    def select_ready(self, servers: tuple[Destination, ...], now_ms: int) -> Destination | None:
        """Select a random server, but none while any request is in flight: one fetch at a time finds the leader."""
        if not servers or self.in_flight_until_ms(now_ms) is not None:
            return None
        first = self._random.randrange(len(servers))
        for server in servers[first:] + servers[:first]:
            if self.is_ready(server.id, now_ms):
                return server
        return None

    def next_ready_at_ms(self, servers: tuple[Destination, ...], now_ms: int) -> int:
        """Return when `select_ready` may select a server again."""
        in_flight_until_ms = self.in_flight_until_ms(now_ms)
        if in_flight_until_ms is not None:
            return in_flight_until_ms
        return min((self.ready_at_ms(server.id, now_ms) for server in servers), default=NEVER_MS)

    def start_request(self, node_id: int, message_class: type[Message], now_ms: int) -> NodeRequest:
        """Record a new request to the node, with a new correlation id."""
        self.reset(node_id)
        self._last_correlation_id += 1
        request = NodeRequest(self._last_correlation_id, message_class, now_ms + self._timeout_ms)
        self._requests[node_id] = request
        self._node_ids[request.correlation_id] = node_id
        return request

    def node_id(self, correlation_id: int) -> int | None:
        """Return the node that a request in flight went to; None if the request is not in flight any more."""
        return self._node_ids.get(correlation_id)

    def message_class(self, correlation_id: int) -> type[Message] | None:
        """Return the class of a request in flight; None if the request is not in flight any more."""
        node_id = self._node_ids.get(correlation_id)
        return None if node_id is None else self._requests[node_id].message_class

    def record_success(self, correlation_id: int) -> None:
        """Let the node be sent requests at once. Does nothing if the request was abandoned meanwhile."""
        node_id = self._node_ids.get(correlation_id)
        if node_id is not None:
            self.reset(node_id)

    def record_failure(self, correlation_id: int, now_ms: int) -> None:
        """Start the back-off of the node. Does nothing if the request was abandoned meanwhile."""
        node_id = self._node_ids.pop(correlation_id, None)
        if node_id is not None:
            message_class, ends_ms = self._requests[node_id].message_class, now_ms + self._retry_backoff_ms
            self._requests[node_id] = NodeRequest(correlation_id, message_class, ends_ms, is_in_flight=False)

    def reset(self, node_id: int) -> None:
        """Abandon the request to the node, and end its back-off."""
        request = self._requests.pop(node_id, None)
        if request is not None:
            self._node_ids.pop(request.correlation_id, None)

    def reset_all(self) -> None:
        """Abandon all requests, and end every back-off."""
        self._requests.clear()
        self._node_ids.clear()
