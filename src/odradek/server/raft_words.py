"""Changes of a replica's state in words: what it was, what it is, and why."""

from odradek.raft.candidate import Candidate
from odradek.raft.events import Event, Request, RequestFailed, Response
from odradek.raft.follower import Follower
from odradek.raft.leader import Leader
from odradek.raft.prospective import Prospective
from odradek.raft.resigned import Resigned
from odradek.raft.state import State


def describe_change(before: State, after: State, event: Event) -> str:
    return f"{before} -> {after}: {_reason(before, after, event)}"


def _reason(before: State, after: State, event: Event) -> str:
    if isinstance(event, Request):
        return f"{_name(event.message)} came"
    if isinstance(after, Leader):
        return "a majority voted for it"
    if isinstance(after, Candidate):
        return "a majority would vote for it" if isinstance(before, Prospective) else "the vote was not decided"
    if isinstance(event, Response):
        return f"{_name(event.message)} said so"
    if isinstance(event, RequestFailed):
        return "a request failed"
    return _reason_of_time(before, after)


def _reason_of_time(before: State, after: State) -> str:
    if isinstance(before, Follower) and before.doubts_leader:
        return f"node {before.leader_id} has resigned or refuses connections"
    if isinstance(before, Follower):
        return f"nothing was heard of node {before.leader_id} for the fetch time-out"
    if isinstance(after, Resigned):
        return "it stops, or no majority fetches from it"
    return "the election time-out has passed"


def _name(message: object) -> str:
    return type(message).__name__.removesuffix("Request").removesuffix("Response")
