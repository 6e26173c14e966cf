"""`quorum-state`: as Apache Kafka wrote it, and as it must be read after anything."""

from pathlib import Path

import pytest

from odradek.common.failures import Fault
from odradek.common.files import OsFileSystem
from odradek.raft.storage.quorum_state_file import ElectionState, QuorumStateStore, decode_election, encode_election
from odradek.raft.values import ReplicaKey
from odradek.sim.world.disk import SimulatedDisk
from odradek.sim.world.disk_crash import Keep

DIRECTORY_ID = bytes(range(16))


def test_kafkas_own_file_is_read_and_written_back_byte_for_byte(clean_data: Path) -> None:
    path = next(clean_data.rglob("quorum-state"))
    election = QuorumStateStore(OsFileSystem(), str(path.parent)).read()
    assert election is not None
    assert (election.epoch, election.leader_id, election.voted_key) == (2, 1, None)
    assert encode_election(election, 0) == path.read_bytes()


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(
    "election",
    [
        ElectionState(0),
        ElectionState(7, leader_id=3),
        ElectionState(8, voted_key=ReplicaKey(2, DIRECTORY_ID)),
        ElectionState(9, leader_id=2, voted_key=ReplicaKey(2, DIRECTORY_ID)),
    ],
)
def test_a_state_survives(election: ElectionState, version: int) -> None:
    read = decode_election(encode_election(election, version), "quorum-state")
    assert read[:2] == election[:2]
    if election.voted_key is not None:
        directory_id = DIRECTORY_ID if version == 1 else None
        assert read.voted_key == ReplicaKey(2, directory_id)


def test_version_1_has_kafkas_form() -> None:
    data = encode_election(ElectionState(8, voted_key=ReplicaKey(2, DIRECTORY_ID)), 1)
    assert data == (
        b'{"leaderId":-1,"leaderEpoch":8,"votedId":2,"votedDirectoryId":"AAECAwQFBgcICQoLDA0ODw","data_version":1}'
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b"nonsense",
        b'{"data_version":1}',
        b'{"leaderId":1,"leaderEpoch":2,"votedId":-1,"data_version":2}',
    ],
)
def test_a_replica_that_cannot_read_its_vote_does_not_start(data: bytes) -> None:
    with pytest.raises(Fault, match="quorum-state"):
        decode_election(data, "quorum-state")


def test_a_new_replica_has_no_file() -> None:
    disk = SimulatedDisk()
    disk.make_dirs("/data")
    assert QuorumStateStore(disk, "/data").read() is None


@pytest.mark.parametrize("keep", ["none", "all"])
def test_after_a_crash_at_any_operation_the_state_is_old_or_new(keep: Keep) -> None:
    disk = SimulatedDisk()
    disk.make_dirs("/data")
    disk.sync_dir("/")
    store = QuorumStateStore(disk, "/data")
    old, new = ElectionState(1, leader_id=1), ElectionState(2, voted_key=ReplicaKey(3, DIRECTORY_ID))
    store.write(old, 1)
    disk.settle()
    store.write(new, 1)
    seen = [QuorumStateStore(state.crash(keep), "/data").read() for state in disk.states()]
    assert all(election in (old, new) for election in seen)
    assert seen[-1] == new


def test_a_failing_disk_is_a_fault() -> None:
    disk = SimulatedDisk()
    disk.make_dirs("/data")
    disk.fail(kind="sync")
    with pytest.raises(Fault, match="quorum-state"):
        QuorumStateStore(disk, "/data").write(ElectionState(1), 1)
