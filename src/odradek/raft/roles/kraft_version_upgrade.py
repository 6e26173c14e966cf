"""Raising `kraft.version` from 0 to 1: static voters become records in the log, and may change from then on (KIP-1022).

Possible once every voter has told the leader its directory id, its listeners and that it supports the new level.
"""

from odradek.common.failures import ApiError, check
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.kraft_version_record import KRaftVersionRecord
from odradek.raft.quorum_context import Core
from odradek.raft.states.leader import Leader
from odradek.raft.values import KRAFT_VERSION_FEATURE
from odradek.raft.voters import VoterSet


class InvalidUpdateVersion(ApiError):
    code = ErrorCode.INVALID_UPDATE_VERSION


def upgrade_kraft_version(core: Core, leader: Leader, version: int, *, validate_only: bool) -> bool:
    """Whether there is anything to do; raises InvalidUpdateVersion if it cannot be done."""
    current, requested = core.control.kraft_version, leader.requested_kraft_version
    if requested is not None and requested != version:
        raise InvalidUpdateVersion(f"{KRAFT_VERSION_FEATURE} is being raised to {requested}, not {version}")
    if version in (current, requested):
        return False
    if version < current:
        raise InvalidUpdateVersion(f"{KRAFT_VERSION_FEATURE} is {current} and cannot be lowered to {version}")
    voters = _told_voters(core, leader, version)
    if not validate_only:
        messages: list[Message] = [KRaftVersionRecord(kraft_version=version)]
        if voters != core.control.voters:
            messages.append(voters.to_record())
        leader.accumulator.append_control(messages, core.now_ms, core.wall_ms)
        leader.requested_kraft_version = version
        leader.told_voters = None
    return True


def _told_voters(core: Core, leader: Leader, version: int) -> VoterSet:
    voters = leader.told_voters
    if voters is None:
        raise InvalidUpdateVersion(f"{KRAFT_VERSION_FEATURE} cannot be raised to {version}")
    check(voters.ids == core.control.voters.ids, f"the voters are {core.control.voters}, not {voters}")
    if not voters.supports(version) or any(key.directory_id is None for key in voters.keys):
        raise InvalidUpdateVersion(
            f"not all of the voters {voters.ids} have said that they support {KRAFT_VERSION_FEATURE} {version}"
        )
    return voters
