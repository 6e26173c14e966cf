"""The set of voters: their ids, endpoints and supported levels of `kraft.version`.

Immutable. Static voters come from the configuration without directory ids; dynamic ones from a record in the log, with
them. At most one voter changes at a time, so that the majorities before and after always overlap.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from odradek.protocol.messages import voters_record as wire
from odradek.protocol.messages.voters_record import VotersRecord
from odradek.raft.values import (
    NO_ENDPOINTS,
    Destination,
    Endpoint,
    Endpoints,
    ReplicaKey,
    VersionRange,
)


class Voter(NamedTuple):
    key: ReplicaKey
    endpoints: Endpoints
    kraft_versions: VersionRange = VersionRange(0, 0)


class VoterSet:
    """Voters by id, in the order of their ids."""

    __slots__ = ("_voters",)

    def __init__(self, voters: Iterable[Voter] = ()) -> None:
        self._voters: Mapping[int, Voter] = {voter.key.id: voter for voter in sorted(voters)}

    @classmethod
    def static(cls, addresses: Mapping[int, tuple[str, int]], listener: str) -> "VoterSet":
        """Return the voters of `controller.quorum.voters`."""
        return cls(
            Voter(ReplicaKey(voter_id), Endpoints((Endpoint(listener, host, port),)))
            for voter_id, (host, port) in addresses.items()
        )

    def __len__(self) -> int:
        return len(self._voters)

    def __iter__(self) -> Iterator[Voter]:
        return iter(self._voters.values())

    def __contains__(self, voter_id: int) -> bool:
        return voter_id in self._voters

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VoterSet) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self._voters.values()))

    def __repr__(self) -> str:
        return f"VoterSet({', '.join(str(voter.key) for voter in self)})"

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(self._voters)

    @property
    def keys(self) -> tuple[ReplicaKey, ...]:
        return tuple(voter.key for voter in self)

    def get(self, voter_id: int) -> Voter | None:
        return self._voters.get(voter_id)

    def is_voter(self, key: ReplicaKey) -> bool:
        voter = self._voters.get(key.id)
        return voter is not None and voter.key.covers(key)

    def is_only_voter(self, key: ReplicaKey) -> bool:
        return len(self._voters) == 1 and self.is_voter(key)

    def endpoints(self, voter_id: int) -> Endpoints:
        voter = self._voters.get(voter_id)
        return NO_ENDPOINTS if voter is None else voter.endpoints

    def destination(self, voter_id: int, listener: str) -> Destination | None:
        address = self.endpoints(voter_id).address(listener)
        return None if address is None else Destination(voter_id, address.host, address.port)

    def needs_update(self, voter: Voter) -> bool:
        """Return whether `voter` is in the set and differs from its entry."""
        known = self._voters.get(voter.key.id)
        return known is not None and known.key.covers(voter.key) and known != voter

    def supports(self, kraft_version: int) -> bool:
        return all(voter.kraft_versions.includes(kraft_version) for voter in self)

    def add(self, voter: Voter) -> "VoterSet | None":
        """Return the set with another voter; None if it has one with this id."""
        return None if voter.key.id in self._voters else VoterSet((*self, voter))

    def remove(self, key: ReplicaKey) -> "VoterSet | None":
        """Return the set without a voter; None if it does not have it, or no other one."""
        voter = self._voters.get(key.id)
        if voter is None or voter.key != key or len(self._voters) == 1:
            return None
        return VoterSet(other for other in self if other.key != key)

    def update(self, voter: Voter, *, ignoring_directory: bool = False) -> "VoterSet | None":
        known = self._voters.get(voter.key.id)
        if known is None or not (ignoring_directory or known.key.covers(voter.key)):
            return None
        return VoterSet((*(other for other in self if other.key.id != voter.key.id), voter))

    def has_overlapping_majority(self, other: "VoterSet") -> bool:
        """Return whether each majority of one set shares a voter with each of the other: at most one was removed, one
        added."""
        mine, theirs = self.keys, other.keys
        gone = sum(key not in theirs for key in mine)
        came = sum(key not in mine for key in theirs)
        return gone <= 1 and came <= 1

    def to_record(self) -> VotersRecord:
        return VotersRecord(
            voters=[
                wire.Voter(
                    voter_id=voter.key.id,
                    voter_directory_id=voter.key.wire_directory_id,
                    endpoints=[wire.Endpoint(name=e.listener, host=e.host, port=e.port) for e in voter.endpoints],
                    kraft_version_feature=wire.KRaftVersionFeature(
                        min_supported_version=voter.kraft_versions.first,
                        max_supported_version=voter.kraft_versions.last,
                    ),
                )
                for voter in self
            ]
        )

    @classmethod
    def from_record(cls, record: VotersRecord) -> "VoterSet":
        return cls(
            Voter(
                ReplicaKey.from_wire(voter.voter_id, voter.voter_directory_id),
                Endpoints.of(Endpoint(e.name, e.host, e.port) for e in voter.endpoints),
                VersionRange(
                    voter.kraft_version_feature.min_supported_version,
                    voter.kraft_version_feature.max_supported_version,
                ),
            )
            for voter in record.voters
        )


NO_VOTERS = VoterSet()
