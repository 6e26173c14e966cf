"""Plan of a reassignment: replicas spread evenly over brokers, with as few moves as possible.

A replica on one of the brokers stays. Missing replicas go to the brokers with the fewest replicas, if possible on a
rack that the partition does not have yet. Then replicas move from the broker with the most replicas to the one with the
fewest until no two brokers differ by more than one. At last the order of replicas is changed until the preferred
leaders are spread as evenly. The same input results in the same plan.
"""

from collections.abc import Mapping, Sequence

from odradek.client.types import TopicPartition
from odradek.common.failures import InputError

Assignment = Mapping[TopicPartition, Sequence[int]]


def plan_reassignment(current: Assignment, racks: Mapping[int, str | None]) -> dict[TopicPartition, tuple[int, ...]]:
    """Return the replicas of all partitions of `current` on the brokers of `racks`.

    Raises InputError if a partition has more replicas than there are brokers.
    """
    for partition, replicas in current.items():
        if len(replicas) > len(racks):
            raise InputError(
                f"{partition} has {len(replicas)} replicas, which need as many brokers, but {len(racks)} are available."
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
    """Assignment of replicas under construction, with the number of replicas of each broker."""

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
            broker_id = min(
                (candidate for candidate in self.load if candidate not in replicas),
                key=lambda candidate: (self._replicas_on_rack(candidate, replicas), self.load[candidate], candidate),
            )
            replicas.append(broker_id)
            self.load[broker_id] += 1

    def even_out(self) -> None:
        """Move replicas until loads differ by at most one. Each move lowers the sum of their squares, so it ends."""
        while True:
            ranked = sorted(self.load, key=lambda broker_id: (self.load[broker_id], broker_id))
            if not any(
                self._move(source, target)
                for source in reversed(ranked)
                for target in ranked
                if self.load[source] - self.load[target] > 1
            ):
                return

    def _move(self, source: int, target: int) -> bool:
        """Move one replica of a partition that `target` does not have, unless the partition would lose a rack."""
        for replicas in self.replicas.values():
            if source not in replicas or target in replicas:
                continue
            others = [broker_id for broker_id in replicas if broker_id != source]
            if self._replicas_on_rack(target, others) > self._replicas_on_rack(source, others):
                continue
            replicas[replicas.index(source)] = target
            self.load[source] -= 1
            self.load[target] += 1
            return True
        return False

    def even_out_leaders(self) -> None:
        leaderships = dict.fromkeys(self.load, 0)
        for replicas in self.replicas.values():
            if replicas:
                leaderships[replicas[0]] += 1
        changed = True
        while changed:
            changed = False
            for replicas in self.replicas.values():
                best = min(replicas, key=lambda broker_id: (leaderships[broker_id], broker_id), default=None)
                if best is not None and leaderships[replicas[0]] - leaderships[best] > 1:
                    leaderships[replicas[0]] -= 1
                    leaderships[best] += 1
                    replicas.remove(best)
                    replicas.insert(0, best)
                    changed = True

    def _replicas_on_rack(self, broker_id: int, replicas: Sequence[int]) -> int:
        """Return how many of these replicas are on the broker's rack; brokers without a rack have each their own."""
        rack = self.racks[broker_id]
        return 0 if rack is None else sum(self.racks[replica] == rack for replica in replicas)
