"""Where partitions should live: a plan that moves as little as it can.

A replica on a broker that may keep it stays. Missing ones go to the brokers with the fewest replicas, on a rack that
the partition does not have yet if there is one. Then replicas move from the fullest broker to the emptiest until no
two brokers differ by more than one, and at last the order of replicas is changed until the first ones, who lead, are
spread as evenly. The same input gives the same plan.
"""

from collections.abc import Mapping, Sequence

from odradek.client.admin.outcomes import TopicPartition
from odradek.common.failures import InputError

Assignment = Mapping[TopicPartition, Sequence[int]]


def plan_reassignment(current: Assignment, racks: Mapping[int, str | None]) -> dict[TopicPartition, tuple[int, ...]]:
    """All partitions of `current`, on the brokers of `racks`. Raises InputError where those are too few."""
    for partition, replicas in current.items():
        if len(replicas) > len(racks):
            raise InputError(
                f"{partition} has {len(replicas)} replicas, and {len(racks)} brokers are named; "
                "each replica needs one of its own."
            )
    plan = _Plan(racks)
    for partition, replicas in current.items():
        plan.keep(partition, [broker_id for broker_id in replicas if broker_id in racks])
    for partition, replicas in current.items():
        plan.fill(partition, len(replicas))
    plan.even_out()
    plan.even_out_leaders()
    return {partition: tuple(plan.replicas[partition]) for partition in current}


class _Plan:
    def __init__(self, racks: Mapping[int, str | None]) -> None:
        self.racks = racks
        self.replicas: dict[TopicPartition, list[int]] = {}
        self.load = dict.fromkeys(sorted(racks), 0)

    def keep(self, partition: TopicPartition, replicas: list[int]) -> None:
        self.replicas[partition] = replicas
        for broker_id in replicas:
            self.load[broker_id] += 1

    def fill(self, partition: TopicPartition, count: int) -> None:
        replicas = self.replicas[partition]
        while len(replicas) < count:
            chosen = min(
                (broker_id for broker_id in self.load if broker_id not in replicas),
                key=lambda broker_id: (self._crowding(broker_id, replicas), self.load[broker_id], broker_id),
            )
            replicas.append(chosen)
            self.load[chosen] += 1

    def even_out(self) -> None:
        """Each move lessens the sum of squares of the loads, so it ends."""
        while True:
            ranked = sorted(self.load, key=lambda broker_id: (self.load[broker_id], broker_id))
            if not any(
                self._move(fullest, emptiest)
                for fullest in reversed(ranked)
                for emptiest in ranked
                if self.load[fullest] - self.load[emptiest] > 1
            ):
                return

    def _move(self, source: int, target: int) -> bool:
        """One replica that `target` does not have, and whose partition loses no rack by it."""
        for replicas in self.replicas.values():
            if source not in replicas or target in replicas:
                continue
            others = [broker_id for broker_id in replicas if broker_id != source]
            if self._crowding(target, others) > self._crowding(source, others):
                continue
            replicas[replicas.index(source)] = target
            self.load[source] -= 1
            self.load[target] += 1
            return True
        return False

    def even_out_leaders(self) -> None:
        leads = dict.fromkeys(self.load, 0)
        for replicas in self.replicas.values():
            if replicas:
                leads[replicas[0]] += 1
        changed = True
        while changed:
            changed = False
            for replicas in self.replicas.values():
                best = min(replicas, key=lambda broker_id: (leads[broker_id], broker_id), default=None)
                if best is not None and leads[replicas[0]] - leads[best] > 1:
                    leads[replicas[0]] -= 1
                    leads[best] += 1
                    replicas.remove(best)
                    replicas.insert(0, best)
                    changed = True

    def _crowding(self, broker_id: int, replicas: Sequence[int]) -> int:
        """How many of these replicas are on the broker's rack already; brokers without one have each its own."""
        rack = self.racks[broker_id]
        return 0 if rack is None else sum(self.racks[each] == rack for each in replicas)
