"""KIP-101, Alter Replication Protocol to use Leader Epoch rather than High Watermark for Truncation; and KIP-279, which
mends it for two quick changes of leader."""

from pathlib import Path

from odradek.log.leader_epochs import EpochEnd, LeaderEpochs
from odradek.log.manager.checkpoint_files import EpochEntry
from support.builders.segments import FILES


def cache_of(directory: Path, *entries: tuple[int, int]) -> LeaderEpochs:
    return LeaderEpochs(FILES, str(directory), [EpochEntry(*entry) for entry in entries])


def test_request_semantics(tmp_path: Path) -> None:
    """KIP-101: "The offset returned in the response will be the start offset of the first Leader Epoch larger than
    last_leader_epoch_num or the Log End Offset if the leader's current epoch is equal to the partition_leader_epoch
    from the request." """
    leader = cache_of(tmp_path, (0, 0), (1, 10), (2, 25))
    assert leader.end_offset_for(0, 40).end_offset == 10
    assert leader.end_offset_for(1, 40).end_offset == 25
    assert leader.end_offset_for(2, 40).end_offset == 40


def test_the_file(tmp_path: Path) -> None:
    """KIP-101: "A file will be used, per replica (located inside the log directory), containing the leader epoch and
    its corresponding start offset." """
    cache = cache_of(tmp_path)
    cache.assign(0, 0)
    cache.assign(3, 17)
    assert (tmp_path / "leader-epoch-checkpoint").read_text().splitlines()[2:] == ["0 0", "3 17"]


def test_a_follower_that_kept_what_its_leader_lost(tmp_path: Path) -> None:
    """The first scenario of KIP-101: A follows B, has one message more than its high watermark says, and restarts.
    It must ask B where its own last epoch ended instead of cutting at the high watermark, and so loses nothing."""
    follower = cache_of(tmp_path, (0, 0))
    leader = cache_of(tmp_path, (0, 0))
    answer = leader.end_offset_for(follower.latest_epoch or 0, log_end_offset=2)
    assert min(answer.end_offset, 2) == 2


def test_logs_that_diverged_are_cut_where_the_leaders_epoch_began(tmp_path: Path) -> None:
    """The second scenario of KIP-101: A wrote m2 under epoch 0, lost power with B, and B came back first, without m2,
    and wrote m3 under epoch 1. A must drop m2 although its offset equals that of m3."""
    follower = cache_of(tmp_path, (0, 0))
    leader = cache_of(tmp_path, (0, 0), (1, 1))
    assert leader.end_offset_for(follower.latest_epoch or 0, log_end_offset=2) == EpochEnd(0, 1)


def test_the_answer_names_the_epoch_it_is_about(tmp_path: Path) -> None:
    """KIP-279: the leader answers with the largest epoch it has up to the one asked for, since a follower may have
    written under epochs that the leader never saw. The follower then looks up that epoch in its own cache and cuts at
    the smaller of the two ends."""
    follower = cache_of(tmp_path, (0, 0), (1, 10), (2, 12))
    leader = cache_of(tmp_path, (0, 0), (3, 11))
    answer = leader.end_offset_for(2, log_end_offset=30)
    assert answer == EpochEnd(0, 11)
    own = follower.end_offset_for(answer.epoch, log_end_offset=20)
    assert min(answer.end_offset, own.end_offset) == 10


def test_an_epoch_the_leader_does_not_know_has_no_answer(tmp_path: Path) -> None:
    """KIP-279: an epoch above all of the leader's cannot be answered."""
    assert cache_of(tmp_path, (0, 0), (1, 5)).end_offset_for(2, 9) == EpochEnd(-1, -1)
