"""Levels of `metadata.version`: the records, and the versions of them, that the cluster may write.

A level is an integer in the log and has a readable name (`4.3-IV0`). The finalized level is itself a record, so every
node changes at the same offset. The name of a release alone (`4.3`) means the last level of the release.
"""

from enum import IntEnum

from odradek.common.failures import InputError

FEATURE_NAME = "metadata.version"


class MetadataVersion(IntEnum):
    """The comment of a level says what it allows beyond the level before it."""

    IBP_3_3_IV3 = 7  # controlled shutdown in broker registrations (KIP-841)
    IBP_3_4_IV0 = 8  # migration from ZooKeeper (KIP-866)
    IBP_3_5_IV0 = 9  # tiered storage (KIP-405)
    IBP_3_5_IV1 = 10  # replica epoch in Fetch (KIP-903)
    IBP_3_5_IV2 = 11  # SCRAM credentials
    IBP_3_6_IV0 = 12  # no new leader epoch when the ISR shrinks
    IBP_3_6_IV1 = 13  # transactions of metadata records (KIP-868)
    IBP_3_6_IV2 = 14  # delegation tokens
    IBP_3_7_IV0 = 15  # registration of controllers (KIP-919)
    IBP_3_7_IV1 = 16  # nothing: reserved
    IBP_3_7_IV2 = 17  # directories of replicas (KIP-858)
    IBP_3_7_IV3 = 18  # nothing: reserved
    IBP_3_7_IV4 = 19  # Fetch v16 (KIP-951)
    IBP_3_8_IV0 = 20
    IBP_3_9_IV0 = 21  # ListOffsets v9 (KIP-1005), kraft.version 1 (KIP-853)
    IBP_4_0_IV0 = 22  # group.version 1 for new clusters (KIP-848)
    IBP_4_0_IV1 = 23  # eligible leader replicas in records (KIP-966)
    IBP_4_0_IV2 = 24  # transaction.version 1 and 2 for new clusters (KIP-890)
    IBP_4_0_IV3 = 25  # asynchronous remote ListOffsets (KIP-1075)
    IBP_4_1_IV0 = 26  # eligible leader replicas for new clusters
    IBP_4_1_IV1 = 27  # Fetch v18 (KIP-1166)
    IBP_4_2_IV0 = 28  # share groups for new clusters (KIP-932)
    IBP_4_2_IV1 = 29  # streams groups for new clusters (KIP-1071)
    IBP_4_3_IV0 = 30  # cordoned log directories

    @property
    def release(self) -> str:
        _, major, minor, _ = self.name.split("_")
        return f"{major}.{minor}"

    @property
    def version(self) -> str:
        """Readable name, for example `4.3-IV0`."""
        return f"{self.release}-{self.name.rpartition('_')[2]}"

    @property
    def is_scram_supported(self) -> bool:
        return self >= MetadataVersion.IBP_3_5_IV2

    @property
    def is_leader_epoch_bump_required_on_isr_shrink(self) -> bool:
        return self < MetadataVersion.IBP_3_6_IV0

    @property
    def is_metadata_transaction_supported(self) -> bool:
        return self >= MetadataVersion.IBP_3_6_IV1

    @property
    def is_delegation_token_supported(self) -> bool:
        return self >= MetadataVersion.IBP_3_6_IV2

    @property
    def is_controller_registration_supported(self) -> bool:
        return self >= MetadataVersion.IBP_3_7_IV0

    @property
    def is_directory_assignment_supported(self) -> bool:
        return self >= MetadataVersion.IBP_3_7_IV2

    @property
    def is_elr_supported(self) -> bool:
        return self >= MetadataVersion.IBP_4_0_IV1

    @property
    def is_migration_supported(self) -> bool:
        return self >= MetadataVersion.IBP_3_4_IV0

    @property
    def is_cordoned_log_dirs_supported(self) -> bool:
        return self >= MetadataVersion.IBP_4_3_IV0

    @property
    def register_broker_record_version(self) -> int:
        if self.is_cordoned_log_dirs_supported:
            return 4
        if self.is_directory_assignment_supported:
            return 3
        return 2 if self.is_migration_supported else 1

    @property
    def broker_registration_change_record_version(self) -> int:
        if self.is_cordoned_log_dirs_supported:
            return 3
        return 2 if self.is_directory_assignment_supported else 1

    @property
    def partition_record_version(self) -> int:
        if self.is_elr_supported:
            return 2
        return 1 if self.is_directory_assignment_supported else 0

    @property
    def partition_change_record_version(self) -> int:
        return self.partition_record_version


MINIMUM_VERSION = MetadataVersion.IBP_3_3_IV3
LATEST_PRODUCTION = MetadataVersion.IBP_4_3_IV0

#: Levels at which the meaning of records changed: going below one of them loses data.
_CHANGED_RECORDS = (
    MetadataVersion.IBP_3_3_IV3,
    MetadataVersion.IBP_3_4_IV0,
    MetadataVersion.IBP_3_5_IV2,
    MetadataVersion.IBP_3_6_IV1,
    MetadataVersion.IBP_3_6_IV2,
    MetadataVersion.IBP_3_7_IV0,
    MetadataVersion.IBP_3_7_IV2,
    MetadataVersion.IBP_4_0_IV1,
    MetadataVersion.IBP_4_3_IV0,
)


def metadata_changed_between(level: int, other_level: int) -> bool:
    """Return whether the format of some record differs between the two levels."""
    low, high = sorted((level, other_level))
    return any(low < changed <= high for changed in _CHANGED_RECORDS)


def from_version_string(text: str) -> MetadataVersion:
    """Parse `4.3-IV0`, `4.3` or `4.3.1`, whose third part is ignored, as in Kafka."""
    parts = text.split(".")
    name = text if len(parts) <= 2 else ".".join(parts[:2])
    for level in reversed(MetadataVersion):
        if name in (level.version, level.release):
            return level
    supported = ", ".join(level.version for level in MetadataVersion)
    raise InputError(f'"{text}" is not a valid metadata.version. Supported levels: {supported}.')
