"""KRaftVersionRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class KRaftVersionRecord(Message):
    __slots__ = (
        "kraft_version",
        "version",
    )

    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
KRaftVersionRecord data module=clients versions=0 flexible=0+
  Version int16 0+
  KRaftVersion int16 0+
"""

    def __init__(
        self,
        *,
        version: int = 0,
        kraft_version: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.version = version
        self.kraft_version = kraft_version
        self.unknown_tagged_fields = unknown_tagged_fields
