"""StreamsGroupMetadataValue. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class LastAssignmentConfig(Message):
    __slots__ = (
        "key",
        "value",
    )

    def __init__(
        self,
        *,
        key: str = "",
        value: str = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.key = key
        self.value = value
        self.unknown_tagged_fields = unknown_tagged_fields


class StreamsGroupMetadataValue(Message):
    __slots__ = (
        "epoch",
        "failed_description_topology_epoch",
        "last_assignment_configs",
        "metadata_hash",
        "stored_description_topology_epoch",
        "validated_topology_epoch",
    )

    API_KEY = 17
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
StreamsGroupMetadataValue coordinator-value module=group-coordinator key=17 versions=0 flexible=0+
  struct LastAssignmentConfig
    Key string 0+
    Value string 0+
  Epoch int32 0+
  MetadataHash int64 0+
  ValidatedTopologyEpoch int32 0+ default=-1 tag=0
  LastAssignmentConfigs []LastAssignmentConfig 0+ nullable=0+ tag=1
  StoredDescriptionTopologyEpoch int32 0+ default=-1 tag=2
  FailedDescriptionTopologyEpoch int32 0+ default=-1 tag=3
"""

    def __init__(
        self,
        *,
        epoch: int = 0,
        metadata_hash: int = 0,
        validated_topology_epoch: int = -1,
        last_assignment_configs: list[LastAssignmentConfig] | None = DEFAULT,
        stored_description_topology_epoch: int = -1,
        failed_description_topology_epoch: int = -1,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash
        self.validated_topology_epoch = validated_topology_epoch
        self.last_assignment_configs: list[LastAssignmentConfig] | None = (
            [] if last_assignment_configs is DEFAULT else last_assignment_configs
        )
        self.stored_description_topology_epoch = stored_description_topology_epoch
        self.failed_description_topology_epoch = failed_description_topology_epoch
        self.unknown_tagged_fields = unknown_tagged_fields
