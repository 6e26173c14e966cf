"""Changes of a replica's state in words: what it was, what it is, and why."""

from odradek.protocol.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from odradek.protocol.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from odradek.protocol.messages.vote_request import VoteRequest
from odradek.raft.events import Event, Request, Response
from odradek.raft.states.candidate import Candidate
from odradek.raft.states.follower import Follower
from odradek.raft.states.leader import Leader
from odradek.raft.states.prospective import Prospective
from odradek.raft.states.resigned import Resigned
from odradek.raft.states.state import State
from odradek.raft.states.unattached import Unattached

#: Requests that change the state of whoever gets them; any other only comes at the moment in which time does.
_CHANGING = (VoteRequest, BeginQuorumEpochRequest, EndQuorumEpochRequest)


def describe_change(before: State, after: State, event: Event) -> str:
    return f"{before} -> {after}: {_reason(before, after, event)}"


def _reason(before: State, after: State, event: Event) -> str:
    if isinstance(event, Request) and isinstance(event.message, _CHANGING):
        return f"{_name(event.message)} came"
    if isinstance(after, Leader):
        return "a majority voted for it"
    if isinstance(after, Candidate):
        return "a majority would vote for it" if isinstance(before, Prospective) else "the vote was not decided"
    if isinstance(event, Response) and after.epoch >= before.epoch and isinstance(after, Follower | Unattached):
        return f"an answer to {_name(event.message)} said so"
    return _reason_of_time(before, after)


def _reason_of_time(before: State, after: State) -> str:
    if isinstance(before, Follower) and before.doubts_leader:
        return f"node {before.leader_id} has resigned or refuses connections"
    if isinstance(before, Follower):
        return f"nothing was heard of node {before.leader_id} for the fetch time-out"
    if isinstance(before, Leader) and isinstance(after, Resigned):
        return "it was told to" if before.resign_requested else "this node stops, or no majority has fetched from it"
    return "the election time-out has passed"


def _name(message: object) -> str:
    return type(message).__name__.removesuffix("Request").removesuffix("Response")
