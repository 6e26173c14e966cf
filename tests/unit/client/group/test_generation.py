"""Identity of a member in its generation, and when it must join again."""

from odradek.client.group.core import Identity
from odradek.client.group.generation import ClassicMemberState, Generation, RejoinTimer


def test_a_generation_from_join_to_sync() -> None:
    generation = Generation()
    generation.start_join()
    generation.accept_member_id("m")
    assert not generation.is_joined and not generation.identity.is_member
    generation.join("m", 3, "range")
    assert generation.is_joined and generation.identity == Identity("m", 3, "range")
    generation.complete()
    assert generation.is_stable


def test_a_reset_may_keep_the_member_id() -> None:
    generation = Generation()
    generation.join("m", 3, "range")
    generation.reset(forget_member_id=False)
    assert generation.state is ClassicMemberState.UNJOINED and generation.identity == Identity("m")
    generation.reset(forget_member_id=True)
    assert generation.identity == Identity()


def test_a_changed_subscription_needs_a_join() -> None:
    rejoin = RejoinTimer()
    rejoin.subscribe(("t",))
    rejoin.start()
    rejoin.complete()
    assert not rejoin.is_needed
    rejoin.subscribe(("t", "u"))
    assert rejoin.is_needed and not rejoin.is_requested and rejoin.includes("u")
    assert rejoin.start() == "subscription has changed"


def test_a_requested_join_has_its_reason() -> None:
    rejoin = RejoinTimer()
    rejoin.subscribe(("t",))
    rejoin.request("group is already rebalancing")
    assert rejoin.is_needed and rejoin.start() == "group is already rebalancing"
    assert rejoin.is_needed, "until the sync is complete"
