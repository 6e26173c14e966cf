"""Types of the records in the metadata log, and typed routes from a record to the method that replays it.

A record's type is the `API_KEY` of its message class. A route is an entry of a table by that key. The type checker
rejects a route whose method does not take the class of record that it is registered for.
"""

from collections.abc import Callable
from enum import IntEnum
from types import MethodType
from typing import Any, Final, TypeVar

from odradek.protocol.message import Message

Record = TypeVar("Record", bound=Message)
Owner = TypeVar("Owner")
Part = TypeVar("Part")

Replay = Callable[[Any], object]


class MetadataRecordType(IntEnum):
    """Kafka's `MetadataRecordType`."""

    REGISTER_BROKER_RECORD = 0
    UNREGISTER_BROKER_RECORD = 1
    TOPIC_RECORD = 2
    PARTITION_RECORD = 3
    CONFIG_RECORD = 4
    PARTITION_CHANGE_RECORD = 5
    FENCE_BROKER_RECORD = 7
    UNFENCE_BROKER_RECORD = 8
    REMOVE_TOPIC_RECORD = 9
    DELEGATION_TOKEN_RECORD = 10
    USER_SCRAM_CREDENTIAL_RECORD = 11
    FEATURE_LEVEL_RECORD = 12
    CLIENT_QUOTA_RECORD = 14
    PRODUCER_IDS_RECORD = 15
    BROKER_REGISTRATION_CHANGE_RECORD = 17
    ACCESS_CONTROL_ENTRY_RECORD = 18
    REMOVE_ACCESS_CONTROL_ENTRY_RECORD = 19
    NO_OP_RECORD = 20
    ZK_MIGRATION_STATE_RECORD = 21
    REMOVE_USER_SCRAM_CREDENTIAL_RECORD = 22
    BEGIN_TRANSACTION_RECORD = 23
    END_TRANSACTION_RECORD = 24
    ABORT_TRANSACTION_RECORD = 25
    REMOVE_DELEGATION_TOKEN_RECORD = 26
    REGISTER_CONTROLLER_RECORD = 27
    CLEAR_ELR_RECORD = 28
    UNREGISTER_CONTROLLER_RECORD = 29


#: Records that change neither an image nor the controller's state: NoOp, and the state of a migration from ZooKeeper,
#: which is over wherever this software runs.
TYPES_WITHOUT_EFFECT: Final = (MetadataRecordType.NO_OP_RECORD, MetadataRecordType.ZK_MIGRATION_STATE_RECORD)

TRANSACTION_TYPES: Final = (
    MetadataRecordType.BEGIN_TRANSACTION_RECORD,
    MetadataRecordType.END_TRANSACTION_RECORD,
    MetadataRecordType.ABORT_TRANSACTION_RECORD,
)


def route(record_class: type[Record], replay: Callable[[Record], object]) -> tuple[int, Replay]:
    """Return the entry for records of this class in a table of replay methods."""
    return record_class.API_KEY, replay


def part_route(
    record_class: type[Record], part: Callable[[Owner], Part], replay: Callable[[Part, Record], object]
) -> tuple[int, Callable[[Owner], Replay]]:
    """Return the entry for records that one part of an object replays: `part` selects it when the first one comes."""

    def replay_of(owner: Owner) -> Replay:
        return MethodType(replay, part(owner))

    return record_class.API_KEY, replay_of
