"""Every limit of the network layer, with Kafka's name for it and Kafka's default.

Two of them are kept by objects that listeners of one kind share: `ConnectionQuotas` counts connections, `RequestBudget`
counts requests that are being worked on.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from odradek.protocol.framing import FRAME_BYTES_MAX, UNAUTHENTICATED_FRAME_BYTES_MAX

UNLIMITED = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of each connection."""

    #: socket.request.max.bytes
    request_bytes_max: int = FRAME_BYTES_MAX
    #: sasl.server.max.receive.size
    unauthenticated_request_bytes_max: int = UNAUTHENTICATED_FRAME_BYTES_MAX
    #: connections.max.idle.ms
    idle_ms_max: int = 600_000
    #: Who connects and says nothing, or says it a byte at a time, only holds a descriptor. So does who broke the
    #: protocol and does not take the answers from before: the same time is given.
    first_request_ms_max: int = 10_000
    #: Requests of one connection that are worked on at once: clients send at most five, followers one.
    in_flight_max: int = 64
    #: Answers that the peer has not taken yet: beyond this nothing more is read or begun until it takes them.
    #: The system's own buffers, a few megabytes, come before it: a thousand peers that never read hold 64 MiB here.
    unsent_bytes_max: int = 64 * 1024
    #: socket.receive.buffer.bytes, socket.send.buffer.bytes; -1 leaves it to the system.
    receive_buffer_bytes: int = -1
    send_buffer_bytes: int = -1
    #: How often deadlines are looked at: one timer for all connections, so a deadline is met this much late.
    tick_ms: int = 1_000


class ConnectionQuotas:
    """Counts of connections, on the node and from each address. Shared by all listeners of a node."""

    def __init__(
        self,
        connections_max: int = UNLIMITED,
        per_ip_max: int = UNLIMITED,
        per_ip_overrides: Mapping[str, int] | None = None,
    ) -> None:
        """Kafka's max.connections, max.connections.per.ip and max.connections.per.ip.overrides."""
        self.connections_max = connections_max
        self.per_ip_max = per_ip_max
        self.per_ip_overrides = dict(per_ip_overrides or {})
        self.connections = 0
        #: How many there are, and the address itself.
        self._by_ip: dict[str, tuple[int, str]] = {}

    def count(self, ip: str) -> int:
        return self._by_ip.get(ip, (0, ip))[0]

    def refusal(self, ip: str) -> str:
        """Why there is no room for one more, or nothing."""
        if self.connections >= self.connections_max:
            return f"the node has {self.connections} connections, as many as max.connections allows"
        allowed = self.per_ip_overrides.get(ip, self.per_ip_max)
        if self.count(ip) >= allowed:
            return f"{ip} has {self.count(ip)} connections, as many as max.connections.per.ip allows"
        return ""

    def opened(self, ip: str) -> str:
        """The address, as the one object that all connections from there can share."""
        self.connections += 1
        count, shared = self._by_ip.get(ip, (0, ip))
        self._by_ip[ip] = (count + 1, shared)
        return shared

    def closed(self, ip: str) -> None:
        self.connections -= 1
        count, shared = self._by_ip[ip]
        if count > 1:
            self._by_ip[ip] = (count - 1, shared)
        else:
            del self._by_ip[ip]


@dataclass(slots=True)
class RequestBudget:
    """Requests that are worked on, and their bytes. Connections that find it spent wait here, first come first served.

    Brokers' and controllers' listeners have one each: a request that waits for the controller must not keep out the
    one that the controller waits for.
    """

    #: queued.max.requests
    requests_max: int = 500
    #: queued.max.request.bytes; -1 is no limit.
    bytes_max: int = -1
    requests: int = 0
    bytes: int = 0
    _waiting: OrderedDict[Callable[[], None], None] = field(default_factory=OrderedDict)

    @property
    def spent(self) -> bool:
        return self.requests >= self.requests_max or 0 <= self.bytes_max <= self.bytes

    @property
    def waiting(self) -> int:
        """Return the number of waiting connections."""
        return len(self._waiting)

    def take(self, size: int) -> None:
        """One request more. The bytes may go over by the request that filled it up: its size was not known before."""
        self.requests += 1
        self.bytes += size

    def release(self, size: int) -> None:
        self.requests -= 1
        self.bytes -= size
        # Whoever is called may find it spent again, and come back to the end of the line.
        for _ in range(len(self._waiting)):
            if self.spent:
                break
            wake, _ = self._waiting.popitem(last=False)
            wake()

    def wait(self, wake: Callable[[], None]) -> None:
        self._waiting[wake] = None

    def forget(self, wake: Callable[[], None]) -> None:
        """It has gone: a flood of connections that come and go while there is no room leaves nothing behind."""
        self._waiting.pop(wake, None)
