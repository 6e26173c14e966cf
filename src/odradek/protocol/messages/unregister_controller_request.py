"""UnregisterControllerRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class UnregisterControllerRequest(Message):
    __slots__ = ("controller_id",)

    API_KEY = 94
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
UnregisterControllerRequest request module=clients key=94 versions=0 flexible=0+
  ControllerId int32 0+
"""

    def __init__(
        self,
        *,
        controller_id: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.controller_id = controller_id
        self.unknown_tagged_fields = unknown_tagged_fields
