"""Raising `kraft.version`, without the rest of the replica."""

import pytest

from odradek.raft.roles.kraft_version_upgrade import InvalidUpdateVersion
from odradek.raft.voters import VoterSet
from support.builders.raft import voter
from support.builders.raft_owners import Owners


def test_all_voters_must_have_reported_themselves() -> None:
    owners = Owners()
    leader, upgrade = owners.become_leader(), owners.upgrade
    with pytest.raises(InvalidUpdateVersion, match="not all of the voters"):
        upgrade.upgrade(leader, 1, validate_only=True)
    upgrade.record_report(VoterSet(map(voter, (1, 2, 3))))
    assert upgrade.upgrade(leader, 1, validate_only=True) and upgrade.kraft_version == 0
    before = leader.accumulator.next_offset
    assert upgrade.upgrade(leader, 1, validate_only=False) and upgrade.kraft_version == 1
    assert leader.accumulator.next_offset == before + 2, "the level and the voters"
    assert not upgrade.upgrade(leader, 1, validate_only=False)
    with pytest.raises(InvalidUpdateVersion, match="is being raised"):
        upgrade.upgrade(leader, 2, validate_only=False)


def test_reports_end_with_the_leadership() -> None:
    owners = Owners()
    leader = owners.become_leader()
    assert owners.upgrade.reported_voters is not None
    owners.role_changes.become_resigned(leader.successors())
    assert owners.upgrade.reported_voters is None
    with pytest.raises(InvalidUpdateVersion, match="cannot be raised"):
        owners.upgrade.upgrade(leader, 1, validate_only=True)


def test_dynamic_voters_need_no_upgrade() -> None:
    owners = Owners(dynamic=True)
    leader = owners.become_leader()
    assert not owners.upgrade.upgrade(leader, 1, validate_only=False)
    with pytest.raises(InvalidUpdateVersion, match="cannot be lowered"):
        owners.upgrade.upgrade(leader, 0, validate_only=False)
