"""When a replica that is to stop has stopped."""

from odradek.raft.effects import Stopped
from support.builders.raft import endpoints
from support.builders.raft_owners import NOW_MS, Owners


def test_it_stops_once_another_replica_leads() -> None:
    owners = Owners()
    assert not owners.shutdown.maybe_complete()
    owners.shutdown.request(5_000, NOW_MS)
    assert not owners.shutdown.maybe_complete()
    owners.role_changes.become_follower(1, 2, endpoints(2))
    owners.take()
    assert owners.shutdown.maybe_complete() and owners.shutdown.maybe_complete()
    assert owners.take() == [Stopped(handed_over=True)], "it is said once"


def test_it_stops_after_the_timeout() -> None:
    owners = Owners()
    owners.shutdown.request(5_000, NOW_MS)
    owners.context.advance_to(NOW_MS + 5_000)
    assert owners.shutdown.maybe_complete()
    assert owners.take() == [Stopped(handed_over=False)]


def test_it_does_not_wait_for_voters_that_cannot_elect_a_leader() -> None:
    owners = Owners()
    owners.shutdown.request(5_000, NOW_MS)
    owners.requests.mark_unreachable(2)
    assert owners.shutdown.maybe_complete()
