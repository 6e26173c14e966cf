"""NoOpRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class NoOpRecord(Message):
    __slots__ = ()

    API_KEY = 20
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
NoOpRecord metadata module=metadata key=20 versions=0 flexible=0+
"""

    def __init__(
        self,
        *,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.unknown_tagged_fields = unknown_tagged_fields
