"""ZkMigrationStateRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class ZkMigrationStateRecord(Message):
    __slots__ = ("zk_migration_state",)

    API_KEY = 21
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ZkMigrationStateRecord metadata module=metadata key=21 versions=0 flexible=0+
  ZkMigrationState int8 0+
"""

    def __init__(
        self,
        *,
        zk_migration_state: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.zk_migration_state = zk_migration_state
        self.unknown_tagged_fields = unknown_tagged_fields
