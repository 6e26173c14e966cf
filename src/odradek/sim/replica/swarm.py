"""Replication under a mix of faults that a seed chooses: `python -m odradek.sim.replica.swarm SEED` runs one again.

First everything goes wrong that may: messages are lost and late, links are cut, processes are killed, paused and
stopped, power goes. The ledger looks on. Then everything heals: all replicas must be in sync again, agree, and take new
records, and everything that was acknowledged must be there.

Power goes only while another member of the ISR is up that has everything, and nothing else happens until the controller
has noticed: with that member fenced or killed as well, Kafka's rules would make a leader of the one that lost its disk.
"""

from __future__ import annotations

import sys
from random import Random

from odradek.replica.partition_leader import PartitionLeader
from odradek.sim.replica.broker import SimulatedBroker
from odradek.sim.replica.cluster import ReplicaCluster
from odradek.sim.replica.controller import CONTROLLER_ID
from odradek.sim.world import results
from odradek.sim.world.network import CALM, NetworkFaults
from odradek.sim.world.results import SimulationResult, ensure

_FAULTS_MS = 12_000
_HEAL_LIMIT_MS = 30_000


def run(seed: int) -> SimulationResult:
    random = Random(f"replicas {seed}")
    brokers = random.randint(3, 5)
    cluster = ReplicaCluster(
        random.getrandbits(64),
        brokers=brokers,
        partitions=random.randint(1, 2),
        min_isr=random.choice((1, 2, 2)),
        elr=random.random() < 0.6,
        through_codec=random.random() < 0.05,
    )
    cluster.begin()
    scheduler, faults = cluster.scheduler, _Faults(cluster, random)
    mean_ms = random.choice((15, 40, 100))
    deletions = random.choice((0, 0, 0.01))
    is_producing = True

    def produce() -> None:
        if is_producing:
            cluster.produce()
            if random.random() < deletions:
                cluster.delete_records()
            scheduler.after(1 + int(random.expovariate(1.0) * mean_ms), produce)

    produce()
    faults.begin()
    scheduler.run_for(_FAULTS_MS)
    faults.heal()
    _check_healed(cluster)
    is_producing = False
    scheduler.run_for(2_000)
    _check_equal(cluster)
    counts = {
        "events": scheduler.events,
        "simulated_ms": scheduler.now_ms,
        "produced": cluster.produced,
        "acked": sum(len(ledger.acked) for ledger in cluster.ledgers.values()),
        "kills": cluster.kills,
        "leader_epochs": sum(len(ledger.leaders) for ledger in cluster.ledgers.values()),
    }
    return SimulationResult(scheduler.digest, counts)


def run_or_explain(seed: int) -> SimulationResult:
    return results.run_or_explain(lambda: run(seed), f"python -m odradek.sim.replica.swarm {seed}")


def _check_healed(cluster: ReplicaCluster) -> None:
    """All replicas are in sync, and something is acknowledged again."""

    def in_sync() -> bool:
        registrations = [cluster.registration(tp) for tp in cluster.ledgers]
        return all(r is not None and r.leader >= 0 and sorted(r.isr) == sorted(r.replicas) for r in registrations)

    cluster.scheduler.run_until(in_sync, "all replicas are in sync", limit_ms=_HEAL_LIMIT_MS)
    acked = {tp: len(ledger.acked) for tp, ledger in cluster.ledgers.items()}
    cluster.scheduler.run_until(
        lambda: all(len(ledger.acked) > acked[tp] for tp, ledger in cluster.ledgers.items()),
        "records are acknowledged again",
        limit_ms=_HEAL_LIMIT_MS,
    )


def _check_equal(cluster: ReplicaCluster) -> None:
    for tp, ledger in cluster.ledgers.items():
        registration = cluster.registration(tp)
        assert registration is not None
        ends = []
        for broker_id in registration.replicas:
            broker = cluster.brokers[broker_id]
            cluster.check(broker)
            log = broker.manager.partitions.online[tp].local_log()
            ends.append((log.offsets.log_end_offset, log.offsets.high_watermark))
        ensure(
            len(dict.fromkeys(ends)) == 1 and ends[0][0] == ends[0][1],
            f"{tp}: nobody writes any more, and the replicas end at {ends}",
        )
        ledger.check_acked()


class _Faults:
    """Faults at random times, until `heal`."""

    def __init__(self, cluster: ReplicaCluster, random: Random) -> None:
        self._cluster = cluster
        self._random = random
        self._is_over = False
        self._mean_ms = random.choice((300, 700, 1_500))
        actions = [self._kill, self._lose_power, self._lose_joiner, self._pause, self._stop, self._cut, self._clog]
        actions.append(self._mend)
        #: Each seed has a taste of its own.
        self._weights = [random.choice((0, 1, 1, 3)) for _ in actions]
        self._weights[-1] = max(1, self._weights[-1])
        self._actions = actions

    def begin(self) -> None:
        random = self._random
        self._cluster.network.faults = NetworkFaults(
            loss=random.choice((0, 0, 0.02, 0.1)), delay_mean_ms=random.choice((1, 3, 10, 30))
        )
        self._again()

    def _again(self) -> None:
        if self._is_over:
            return
        [action] = self._random.choices(self._actions, self._weights)
        if not any(ledger.counts_on_damaged for ledger in self._cluster.ledgers.values()):
            action()
        self._cluster.scheduler.after(int(self._random.expovariate(1.0) * self._mean_ms), self._again)

    def heal(self) -> None:
        self._is_over = True
        self._cluster.network.heal()
        self._cluster.network.faults = CALM
        for broker in self._cluster.brokers:
            self._restart(broker)

    def _living(self) -> SimulatedBroker | None:
        broker = self._random.choice(self._cluster.brokers)
        return broker if broker.is_alive else None

    def _restart_later(self, broker: SimulatedBroker, delay_ms: int | None = None) -> None:
        delay_ms = self._random.choice((1, 100, 1_000, 3_000)) if delay_ms is None else delay_ms
        self._cluster.scheduler.after(delay_ms, lambda: self._restart(broker))

    def _restart(self, broker: SimulatedBroker) -> None:
        if broker.is_stopping and broker.is_alive:
            self._cluster.scheduler.after(500, lambda: self._restart(broker))
        elif not broker.is_alive:
            self._cluster.trace(f"start {broker.id}")
            broker.start()

    def _kill(self) -> None:
        broker = self._living()
        if broker is not None:
            self._cluster.trace(f"kill {broker.id}")
            self._cluster.kills += 1
            broker.kill("all")
            self._restart_later(broker)

    def _lose_joiner(self) -> None:
        """Cut the power of a follower whose addition to the ISR is pending at the controller (KIP-903)."""
        for broker in self._cluster.brokers:
            for partition in broker.manager.partitions.online.values() if broker.is_alive else ():
                role = partition.role
                if not isinstance(role, PartitionLeader):
                    continue
                requested = role.isr_state.pending
                if requested is not None and len(requested.isr) > len(role.isr_state.isr):
                    self._lose_power_of(self._cluster.brokers[requested.isr[-1]], restart_ms=1)
                    return

    def _lose_power(self) -> None:
        broker = self._living()
        if broker is not None:
            self._lose_power_of(broker)

    def _lose_power_of(self, broker: SimulatedBroker, restart_ms: int | None = None) -> None:
        if not broker.is_alive:
            return
        self._cluster.network.heal()
        ledgers = self._cluster.ledgers.values()
        if not all(any(self._is_well(keeper, broker) for keeper in ledger.keepers()) for ledger in ledgers):
            return
        self._cluster.trace(f"power of {broker.id}")
        self._cluster.kills += 1
        for ledger in ledgers:
            ledger.note_power_lost(broker.id, broker.manager.view.broker_epoch)
        broker.kill(Random(self._random.getrandbits(32)) if self._random.random() < 0.7 else "none")
        self._restart_later(broker, restart_ms)

    def _is_well(self, broker_id: int, victim: SimulatedBroker) -> bool:
        broker = self._cluster.brokers[broker_id]
        is_up = broker.is_alive and not broker.is_stopping
        is_awake = broker.paused_until_ms <= self._cluster.scheduler.now_ms
        return broker is not victim and is_up and is_awake and self._cluster.is_unfenced(broker)

    def _pause(self) -> None:
        broker = self._living()
        if broker is not None:
            broker.pause(self._cluster.scheduler.now_ms + self._random.choice((300, 1_000, 3_000)))
            self._cluster.trace(f"pause {broker.id}")

    def _stop(self) -> None:
        broker = self._living()
        if broker is not None and not broker.is_stopping:
            self._cluster.trace(f"stop {broker.id}")
            broker.stop()
            self._cluster.scheduler.after(2_500, lambda: self._restart(broker))

    def _cut(self) -> None:
        """One side keeps the controller, or one link goes in one direction only."""
        ids = [broker.id for broker in self._cluster.brokers]
        network, random = self._cluster.network, self._random
        if random.random() < 0.5:
            network.isolate(random.choice(ids), self._cluster.node_ids)
        elif random.random() < 0.5:
            network.cut(*random.sample(ids, 2))
        else:
            alone = random.choice(ids)
            network.cut(alone, CONTROLLER_ID)
            if random.random() < 0.5:
                network.cut(CONTROLLER_ID, alone)
        self._cluster.trace("cut")

    def _clog(self) -> None:
        ids = [*(broker.id for broker in self._cluster.brokers), CONTROLLER_ID]
        source, target = self._random.sample(ids, 2)
        until_ms = self._cluster.scheduler.now_ms + self._random.randint(100, 2_000)
        self._cluster.network.clog(source, target, until_ms)

    def _mend(self) -> None:
        self._cluster.network.heal()


def main(arguments: list[str]) -> None:
    [seed] = arguments
    sys.stdout.write(f"{run(int(seed))}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
