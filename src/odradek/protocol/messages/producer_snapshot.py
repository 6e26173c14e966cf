"""ProducerSnapshot. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class ProducerEntry(Message):
    __slots__ = (
        "coordinator_epoch",
        "current_txn_first_offset",
        "epoch",
        "last_offset",
        "last_sequence",
        "offset_delta",
        "producer_id",
        "timestamp",
    )

    def __init__(
        self,
        *,
        producer_id: int = 0,
        epoch: int = 0,
        last_sequence: int = 0,
        last_offset: int = 0,
        offset_delta: int = 0,
        timestamp: int = 0,
        coordinator_epoch: int = 0,
        current_txn_first_offset: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.last_sequence = last_sequence
        self.last_offset = last_offset
        self.offset_delta = offset_delta
        self.timestamp = timestamp
        self.coordinator_epoch = coordinator_epoch
        self.current_txn_first_offset = current_txn_first_offset
        self.unknown_tagged_fields = unknown_tagged_fields


class ProducerSnapshot(Message):
    __slots__ = (
        "crc",
        "producer_entries",
    )

    VERSIONS = (1, 1)
    SCHEMA = """
ProducerSnapshot data module=storage versions=1 flexible=none
  Crc uint32 1
  ProducerEntries []ProducerEntry 1
    ProducerId int64 1
    Epoch int16 1
    LastSequence int32 1
    LastOffset int64 1
    OffsetDelta int32 1
    Timestamp int64 1
    CoordinatorEpoch int32 1
    CurrentTxnFirstOffset int64 1
"""

    def __init__(
        self,
        *,
        crc: int = 0,
        producer_entries: list[ProducerEntry] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.crc = crc
        self.producer_entries: list[ProducerEntry] = [] if producer_entries is DEFAULT else producer_entries
        self.unknown_tagged_fields = unknown_tagged_fields
