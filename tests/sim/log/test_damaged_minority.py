"""Three replicas of one log; the disk of one is damaged while it is down. The others lose nothing, whoever leads.

The case is the one that other systems have failed: a node comes back with a log cut short by damage, is believed, and
its followers throw away what they had. Here the damaged replica either notices above its recovery point and cuts, or
fails; it then fetches again from a sound one, and never the other way round: who leads is decided by (epoch, end).
"""

from random import Random

import pytest

from odradek.common.failures import Fault
from odradek.log.unified_log import UnifiedLog
from odradek.sim.world.disk import SimulatedDisk
from support.builders.logs import DIRECTORY, Rig, batch, idempotent, stored_batches
from support.fakes.log_faults import Content, content_of, new_rig, scaled, shards
from support.figures import report

SEEDS = scaled(200)


class Replica:
    def __init__(self) -> None:
        self.rig = new_rig()
        self.log: UnifiedLog = self.rig.load(segment_bytes=900, index_interval_bytes=200)

    @property
    def disk(self) -> SimulatedDisk:
        assert isinstance(self.rig.files, SimulatedDisk)
        return self.rig.files

    def content(self) -> Content:
        return content_of(list(stored_batches(self.log)))

    def claim(self) -> tuple[int, int]:
        """What a replica brings to an election."""
        return (
            -1 if self.log.epochs.latest_epoch is None else self.log.epochs.latest_epoch,
            self.log.offsets.log_end_offset,
        )

    def follow(self, leader: "Replica", epoch: int) -> None:
        """Cut what the leader does not have, then fetch what is missing."""
        while (latest := self.log.epochs.latest_epoch) is not None:
            found = leader.log.reader.end_offset_for_epoch(latest)
            end = found.end_offset if found is not None else 0
            if found is not None and found.leader_epoch == latest:
                self.log.truncation.truncate_to(min(end, self.log.offsets.log_end_offset))
                break
            self.log.truncation.truncate_to(min(end, self.log.epochs.start_of(latest)))
        while self.log.offsets.log_end_offset < leader.log.offsets.log_end_offset:
            data = leader.log.reader.fetch(leader.log.reader.read(self.log.offsets.log_end_offset, 700))
            self.log.appender.append_as_follower(data, epoch)

    def crash(self, random: Random) -> None:
        recovery_point = self.log.offsets.recovery_point
        keep = random if random.random() < 0.5 else "all"
        self.rig = Rig(self.disk.crash(keep), self.rig.clock, DIRECTORY, self.rig.config)
        self.recovery_point = recovery_point

    def damage(self, random: Random) -> None:
        logs = [name for name in self.disk.list_dir(DIRECTORY) if name.endswith(".log")]
        sizes = {name: self.disk.size(f"{DIRECTORY}/{name}") for name in logs}
        if not logs:
            return  # the crash has lost them all
        name = random.choice([name for name in logs if sizes[name]] or logs)
        file = self.disk.open(f"{DIRECTORY}/{name}")
        for _ in range(random.randint(1, 3)):
            if sizes[name]:
                position = random.randrange(sizes[name])
                file.write(position, bytes([file.read(position, 1)[0] ^ (1 << random.randrange(8))]))
        file.sync()

    def restart(self) -> bool:
        """False if the replica had to be emptied: it noticed damage below its recovery point."""
        try:
            self.log = self.rig.load(recovery_point=self.recovery_point)
            list(stored_batches(self.log))
        except Fault:
            self.empty()
            return False
        return True

    def empty(self) -> None:
        """What an operator, or the controller's word, does with a replica that failed."""
        self.rig = Rig(new_rig().files, self.rig.clock, DIRECTORY, self.rig.config)
        self.log = self.rig.load()


def produce(leader: Replica, followers: list[Replica], epoch: int, random: Random, sequence: int) -> int:
    for _ in range(random.randint(1, 6)):
        values = [random.randbytes(random.randrange(120)) for _ in range(random.randint(1, 3))]
        if random.random() < 0.5:
            data = idempotent(4, sequence, *values)
            sequence += len(values)
        else:
            data = batch(*values)
        leader.log.appender.append_as_leader(bytearray(data), epoch)
        for follower in followers:
            follower.follow(leader, epoch)
    for replica in (leader, *followers):
        if random.random() < 0.5:
            replica.log.flusher.flush()
    return sequence


@pytest.mark.parametrize("shard", shards(SEEDS, 4), ids=str)
def test_a_damaged_minority_loses_nothing(shard: range) -> None:
    failed = cut = 0
    for seed in shard:
        random = Random(seed)
        replicas = [Replica() for _ in range(3)]
        leader, sequence = replicas[0], 0
        for epoch in range(4):
            followers = [replica for replica in replicas if replica is not leader]
            sequence = produce(leader, followers, epoch, random, sequence)
            acknowledged = leader.content()
            victim = random.choice(replicas)
            victim.crash(random)
            victim.damage(random)
            if not victim.restart():
                failed += 1
            elif victim.log.offsets.log_end_offset < acknowledged.next_offsets[-1]:
                cut += 1
            leader = max(replicas, key=Replica.claim)
            assert leader.content() == acknowledged, f"seed {seed}, epoch {epoch}"
            for replica in replicas:
                if replica is not leader:
                    replica.follow(leader, epoch)
                assert replica.content() == acknowledged, f"seed {seed}, epoch {epoch}"
    report("damaged minority", seeds=len(shard), damaged=4 * len(shard), failed=failed, cut=cut, lost=0)
