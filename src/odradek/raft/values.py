"""Values that the parts of the quorum exchange."""

from collections.abc import Iterable
from typing import NamedTuple

from odradek.common.ids import METADATA_TOPIC as METADATA_TOPIC
from odradek.common.ids import ZERO_UUID, uuid_to_text

#: A deadline that never comes.
NEVER_MS = 1 << 62

#: Stands for "nobody" and "nothing" on the wire.
NO_ID = -1
NO_OFFSET = -1
NO_EPOCH = -1

METADATA_PARTITION = 0
#: The one topic whose id is the same in every cluster.
METADATA_TOPIC_ID = bytes(15) + b"\x01"

KRAFT_VERSION_FEATURE = "kraft.version"
#: Level of `kraft.version` from which voters live in the log and may change (KIP-853).
RECONFIGURABLE = 1


class OffsetAndEpoch(NamedTuple):
    """An end of a log: the offset after the last record, and that record's epoch.

    The epoch comes first, so that the order of tuples is Raft's: the later epoch is ahead, then the longer log.
    """

    epoch: int
    offset: int

    def __str__(self) -> str:
        return f"{self.offset} of epoch {self.epoch}"


#: The checkpoint that formatting leaves behind: voters and features of a new cluster, never replicated as a snapshot.
BOOTSTRAP_SNAPSHOT_ID = OffsetAndEpoch(0, 0)


class ReplicaKey(NamedTuple):
    """A replica is a node and its directory: a node with an empty disk is another replica. None: not known."""

    id: int
    directory_id: bytes | None = None

    @classmethod
    def from_wire(cls, replica_id: int, directory_id: bytes) -> "ReplicaKey":
        return cls(replica_id, None if directory_id == ZERO_UUID else directory_id)

    @property
    def wire_directory_id(self) -> bytes:
        return ZERO_UUID if self.directory_id is None else self.directory_id

    def covers(self, other: "ReplicaKey") -> bool:
        """Return whether `other` is this replica; without a directory of our own, the id is all there is to compare."""
        return self.id == other.id and (self.directory_id is None or self.directory_id == other.directory_id)

    def __str__(self) -> str:
        return str(self.id) if self.directory_id is None else f"{self.id}-{uuid_to_text(self.directory_id)}"


class Endpoint(NamedTuple):
    """Address of a node on a listener."""

    listener: str
    host: str
    port: int


class Endpoints(tuple[Endpoint, ...]):
    """All listeners of a node, by name."""

    __slots__ = ()

    @classmethod
    def of(cls, endpoints: Iterable[Endpoint]) -> "Endpoints":
        return cls(sorted(endpoints))

    def address(self, listener: str) -> Endpoint | None:
        return next((endpoint for endpoint in self if endpoint.listener == listener), None)


NO_ENDPOINTS = Endpoints()


class Destination(NamedTuple):
    """Destination of a request. Bootstrap servers, known by address only, have ids from -2 downwards."""

    id: int
    host: str
    port: int


class VersionRange(NamedTuple):
    """The levels of `kraft.version` that a node supports."""

    first: int
    last: int

    def includes(self, version: int) -> bool:
        return self.first <= version <= self.last


#: What this implementation knows.
SUPPORTED_KRAFT_VERSIONS = VersionRange(0, RECONFIGURABLE)


class LeaderAndEpoch(NamedTuple):
    leader_id: int | None
    epoch: int

    def __str__(self) -> str:
        leader = "no leader" if self.leader_id is None else f"leader {self.leader_id}"
        return f"{leader} in epoch {self.epoch}"
