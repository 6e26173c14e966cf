"""Producer id and epoch: what brokers know an idempotent producer by. Pure."""

from typing import NamedTuple

from odradek.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID


class ProducerIdentity(NamedTuple):
    producer_id: int
    epoch: int

    @property
    def is_valid(self) -> bool:
        return self.producer_id != NO_PRODUCER_ID


NO_IDENTITY = ProducerIdentity(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
