"""A consumer group as it will be: a copy to which records are written before the log has them.

An operation decides on a draft: every record that it needs is written to the draft, too, so that each of its steps sees
what the ones before it have decided.
"""

from dataclasses import dataclass, field, replace

from odradek.coordinator.group.consumer.group import ConsumerGroup
from odradek.coordinator.group.consumer.replay import replay_consumer_record
from odradek.coordinator.runtime.shard import CoordinatorRecord


@dataclass(slots=True)
class Draft:
    group: ConsumerGroup
    records: list[CoordinatorRecord] = field(default_factory=list)

    @classmethod
    def of(cls, group: ConsumerGroup) -> "Draft":
        return cls(
            replace(
                group,
                members=dict(group.members),
                targets=dict(group.targets),
                regexes=dict(group.regexes),
                owners=dict(group.owners),
            )
        )

    def write(self, *records: CoordinatorRecord) -> None:
        for record in records:
            self.records.append(record)
            replay_consumer_record(self.group, record)
