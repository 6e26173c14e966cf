"""State that the connections of one listener share."""

import itertools
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from odradek.api.dispatch.context import Services
from odradek.api.dispatch.registry import Registry
from odradek.common.failures import Fault, ProtocolError
from odradek.network.fair_turns import FairTurns
from odradek.network.flaw_log import FlawLog
from odradek.network.limits import ConnectionQuotas, Limits, RequestBudget
from odradek.network.request_metrics import RequestMetrics
from odradek.protocol.framing import FrameReader, OtherProtocol
from odradek.protocol.other_protocols import TLS

if TYPE_CHECKING:
    from odradek.network.connection import Connection

logger = logging.getLogger("odradek.network")

#: One read takes at most this much off a socket. All connections of a listener read into the same buffer: what is
#: read is cut into frames before the next read, so that an idle connection holds no memory for reading.
RECEIVE_BYTES = 256 * 1024


def log_fault(fault: Fault) -> None:
    logger.critical("fault: %s", fault)


class Deadline(NamedTuple):
    at_ms: int
    #: What was not done by then.
    reason: str


@dataclass(slots=True, eq=False)
class Endpoint:
    """A listener's name, what it serves, its limits, and its connections."""

    name: str
    registry: Registry
    services: Services = field(default_factory=Services)
    limits: Limits = field(default_factory=Limits)
    quotas: ConnectionQuotas = field(default_factory=ConnectionQuotas)
    budget: RequestBudget = field(default_factory=RequestBudget)
    security_protocol: str = "PLAINTEXT"
    #: Told of a broken invariant or disk that a handler met; the node decides what it takes down.
    on_fault: Callable[[Fault], None] = log_fault
    #: A clock that is right to a tick, and costs nothing to look at.
    now_ms: int = 0
    #: In the order of their opening.
    connections: "dict[Connection, None]" = field(default_factory=dict)
    #: Of those that have not made a whole request yet, and of those that are being closed.
    deadlines: "dict[Connection, Deadline]" = field(default_factory=dict)
    #: Those with more to do than fits into one turn of the loop.
    turns: FairTurns = field(default_factory=FairTurns)
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    receive_buffer: memoryview = field(default_factory=lambda: memoryview(bytearray(RECEIVE_BYTES)))
    requests_total: int = 0
    metrics: RequestMetrics = field(default_factory=RequestMetrics)
    #: Why connections were refused since the last tick: a flood of them is one line in the log.
    refusals: list[str] = field(default_factory=list)
    flaw_log: FlawLog = field(default_factory=FlawLog)
    #: Of frames, for who has just read something and has none of its own.
    spare_reader: FrameReader = field(default_factory=FrameReader)

    @property
    def needs_authentication(self) -> bool:
        return self.security_protocol.startswith("SASL")

    def explain(self, flaw: ProtocolError) -> str:
        """Return why a connection is closed, with what its owner can do about it."""
        protocol = flaw.protocol if isinstance(flaw, OtherProtocol) else None
        if protocol == TLS and not self.security_protocol.endswith("SSL"):
            return (
                f"this looks like a TLS handshake; listener {self.name} is {self.security_protocol}, so the client "
                f"must set security.protocol={self.security_protocol}"
            )
        if protocol is not None:
            return f"this looks like {protocol}; listener {self.name} speaks the Kafka protocol"
        return str(flaw)

    def take_back(self, reader: FrameReader) -> FrameReader | None:
        """The same, to be kept by who is in the middle of a frame; most reads end where a frame does."""
        if reader.is_between_frames:
            return None
        if reader is self.spare_reader:
            self.spare_reader = FrameReader()
        return reader
