"""Checks that several RPCs share: who may ask what, and what an answer says about epoch and leader."""

import logging

from odradek.protocol.error_codes import ErrorCode
from odradek.raft.messages.responses import LeaderHint
from odradek.raft.quorum_context import Core
from odradek.raft.states.leader import Leader
from odradek.raft.values import METADATA_PARTITION, METADATA_TOPIC, Endpoints, ReplicaKey


def has_valid_cluster_id(core: Core, cluster_id: str | None) -> bool:
    """An old peer does not say it."""
    return cluster_id is None or cluster_id == core.local.cluster_id


def is_our_partition(topic_name: str, partition_index: int) -> bool:
    return topic_name == METADATA_TOPIC and partition_index == METADATA_PARTITION


def voter_only_error(core: Core, remote_id: int, epoch: int) -> ErrorCode | None:
    """For what candidates and leaders send: Vote, BeginQuorumEpoch, EndQuorumEpoch."""
    if epoch < core.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if remote_id < 0 or remote_id == core.local.id:
        return ErrorCode.INVALID_REQUEST  # nobody; a stranger with our id, or our own echo
    return None


def leader_only_error(core: Core, epoch: int) -> ErrorCode | None:
    """For what only the leader of this very epoch answers."""
    if epoch < core.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if epoch > core.epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    if not isinstance(core.quorum.state, Leader):
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return None


def is_meant_for_us(core: Core, voter_id: int, directory_id: bytes) -> bool:
    """A request may name the voter it is for; a node that lost its disk is another one."""
    if voter_id < 0:
        return True
    asked = ReplicaKey.from_wire(voter_id, directory_id)
    local = core.local.key
    return local is not None and asked.covers(local)


def maybe_transition(core: Core, leader_id: int | None, epoch: int, endpoints: Endpoints) -> bool:
    """A peer says that `leader_id` leads `epoch`: follow it if that is news. False if it contradicts what this replica
    knows, in which case nothing changes: a peer's message, whatever it says, does not stop this node."""
    state = core.quorum.state
    if leader_id == core.local.id and epoch > state.epoch:
        return _not_our_epoch(core, epoch)
    if not _is_consistent(core, leader_id, epoch):
        text = f"{state}: a peer names {leader_id} the leader of epoch {epoch}"
        core.note_contradiction(logging.WARNING, text)
        return False
    if epoch > state.epoch:
        if leader_id is None:
            core.become_unattached(epoch)
        else:
            _follow(core, epoch, leader_id, endpoints)
    elif epoch == state.epoch and leader_id is not None and leader_id != core.local.id:
        is_news = state.leader_id is None or len(endpoints) > len(state.leader_endpoints)
        if is_news:
            _follow(core, epoch, leader_id, endpoints)
    return True


def _not_our_epoch(core: Core, epoch: int) -> bool:
    """A peer says that we lead an epoch that we have not begun. A replica does not forget what it leads, so it led with
    a disk that is gone, or another process has our id, or the peer is wrong. With an empty log the others will notice.
    Otherwise the epoch counts, and its leader does not: whoever follows it gives up, and there is an election."""
    if core.log.end_offset > 0:
        text = f"a peer says that this node leads epoch {epoch}: does another node have id {core.local.id}?"
        core.note_contradiction(logging.ERROR, text)
        core.become_unattached(epoch)
    return False


def _follow(core: Core, epoch: int, leader_id: int, endpoints: Endpoints) -> None:
    """A leader that we cannot reach yet is remembered; its own BeginQuorumEpoch, or another answer, has its address."""
    if endpoints:
        core.become_follower(epoch, leader_id, endpoints)
    elif epoch > core.epoch:
        core.become_unattached(epoch, leader_id)


def _is_consistent(core: Core, leader_id: int | None, epoch: int) -> bool:
    state = core.quorum.state
    if epoch < state.epoch or leader_id is None:
        return True
    if leader_id == core.local.id:
        return epoch == state.epoch and state.leader_id == leader_id
    return epoch > state.epoch or state.leader_id in (None, leader_id)


def error_in(code: int) -> ErrorCode:
    """Of an answer. A newer peer may know more errors than we do."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def handle_common(core: Core, error: ErrorCode, hint: LeaderHint) -> bool | None:
    """What any answer may say. True: dealt with; False: dealt with, and pause before asking again; None: go on."""
    leader_id, epoch, endpoints = hint
    state = core.quorum.state
    if epoch < state.epoch or error == ErrorCode.UNKNOWN_LEADER_EPOCH:
        return False  # the peer is behind: it needs a moment
    if epoch > state.epoch or error in (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER):
        maybe_transition(core, leader_id, epoch, endpoints)
        return core.quorum.state is not state
    if leader_id is not None and state.leader_id is None:
        maybe_transition(core, leader_id, epoch, endpoints)
        return None if error == ErrorCode.NONE else core.quorum.state is not state
    if error == ErrorCode.BROKER_NOT_AVAILABLE:
        return False
    if error == ErrorCode.INVALID_VOTER_KEY:
        return True  # whoever has this address is not the voter that we look for
    return None
