"""Raising `kraft.version` from 0 to 1: static voters become records in the log, and may change from then on (KIP-1022).

Possible once every voter has reported its directory id, its listeners and its support of the new level to the leader
(UpdateRaftVoter). While the voters are static the log cannot hold these reports, so the leader keeps them here.
"""

from odradek.common.failures import ApiError, check
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.kraft_version_record import KRaftVersionRecord
from odradek.raft.quorum_context import QuorumContext
from odradek.raft.states.leader import Leader
from odradek.raft.values import KRAFT_VERSION_FEATURE
from odradek.raft.voters import VoterSet


class InvalidUpdateVersion(ApiError):
    code = ErrorCode.INVALID_UPDATE_VERSION


class KRaftVersionUpgrade:
    def __init__(self, context: QuorumContext) -> None:
        self._context = context
        self._reported_voters: VoterSet | None = None
        self._requested: int | None = None

    @property
    def kraft_version(self) -> int:
        """The level of the log, or the one that this leader has written and not read back yet."""
        return self._context.control.kraft_version if self._requested is None else self._requested

    @property
    def reported_voters(self) -> VoterSet | None:
        """The static voters, with what they have reported to this leader; None where it cannot be upgraded."""
        return self._reported_voters

    def start_epoch(self, leader: Leader) -> None:
        """Begin with the report of the new leader itself."""
        context = self._context
        if not context.is_reconfigurable:
            self._reported_voters = context.voters.update(leader.local, ignoring_directory=True)

    def end_epoch(self) -> None:
        """Forget the reports: every new leader collects its own."""
        self._reported_voters = None
        self._requested = None

    def record_report(self, voters: VoterSet) -> None:
        """Replace the reported voters after one of them has reported itself."""
        self._reported_voters = voters

    def upgrade(self, leader: Leader, version: int, *, validate_only: bool) -> bool:
        """Write the new level and the voters. Return False if the log has this level already, or will have it.

        Raises InvalidUpdateVersion.
        """
        context, requested = self._context, self._requested
        current = context.control.kraft_version
        if requested is not None and requested != version:
            raise InvalidUpdateVersion(f"{KRAFT_VERSION_FEATURE} is being raised to {requested}, not {version}")
        if version in (current, requested):
            return False
        if version < current:
            raise InvalidUpdateVersion(f"{KRAFT_VERSION_FEATURE} is {current} and cannot be lowered to {version}")
        voters = self._voters_for(version)
        if not validate_only:
            messages: list[Message] = [KRaftVersionRecord(kraft_version=version)]
            if voters != context.voters:
                messages.append(voters.to_record())
            leader.accumulator.append_control(messages, context.now_ms, context.wall_ms)
            self._requested = version
            self._reported_voters = None
        return True

    def _voters_for(self, version: int) -> VoterSet:
        voters = self._reported_voters
        if voters is None:
            raise InvalidUpdateVersion(f"{KRAFT_VERSION_FEATURE} cannot be raised to {version}")
        log_voters = self._context.voters
        check(voters.ids == log_voters.ids, f"the voters are {log_voters}, not {voters}")
        if not voters.supports(version) or any(key.directory_id is None for key in voters.keys):
            raise InvalidUpdateVersion(
                f"not all of the voters {voters.ids} have said that they support {KRAFT_VERSION_FEATURE} {version}"
            )
        return voters
