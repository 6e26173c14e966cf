"""Control batches of the metadata log and its snapshots: leader changes, voters, `kraft.version`, header and footer."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from odradek.protocol.codec import decode, encode
from odradek.protocol.message import Message
from odradek.protocol.messages.kraft_version_record import KRaftVersionRecord
from odradek.protocol.messages.leader_change_message import LeaderChangeMessage
from odradek.protocol.messages.leader_change_message import Voter as LeaderChangeVoter
from odradek.protocol.messages.snapshot_footer_record import SnapshotFooterRecord
from odradek.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from odradek.protocol.messages.voters_record import VotersRecord
from odradek.records.batch import Batch
from odradek.records.builder import control_batch
from odradek.records.control import ControlType, control_type
from odradek.records.errors import InvalidRecord

#: Kafka writes the first version of each.
_VERSION = 0

_CLASSES: dict[ControlType, type[Message]] = {
    ControlType.LEADER_CHANGE: LeaderChangeMessage,
    ControlType.SNAPSHOT_HEADER: SnapshotHeaderRecord,
    ControlType.SNAPSHOT_FOOTER: SnapshotFooterRecord,
    ControlType.KRAFT_VERSION: KRaftVersionRecord,
    ControlType.KRAFT_VOTERS: VotersRecord,
}
_TYPES = {message_class: kind for kind, message_class in _CLASSES.items()}


class ControlRecord(NamedTuple):
    offset: int
    message: Message


def leader_change(leader_id: int, voter_ids: Sequence[int], granting_ids: Sequence[int]) -> LeaderChangeMessage:
    return LeaderChangeMessage(
        version=_VERSION,
        leader_id=leader_id,
        voters=[LeaderChangeVoter(voter_id=voter_id) for voter_id in voter_ids],
        granting_voters=[LeaderChangeVoter(voter_id=voter_id) for voter_id in granting_ids],
    )


def build_control_batch(messages: Sequence[Message], base_offset: int, epoch: int, wall_ms: int) -> bytes:
    records = [(_TYPES[type(message)], encode(message, _VERSION)) for message in messages]
    return control_batch(records, wall_ms, base_offset=base_offset, leader_epoch=epoch)


def read_control_records(batch: Batch) -> Iterator[ControlRecord]:
    """Return the records of a control batch, without those of unknown types."""
    for record in batch.records():
        message_class = _CLASSES.get(control_type(record.key))
        if message_class is None:
            continue
        if record.value is None:
            raise InvalidRecord(f"the control record at offset {record.offset} has no value")
        yield ControlRecord(record.offset, decode(message_class, _VERSION, record.value))
