"""FindCoordinatorRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class FindCoordinatorRequest(Message):
    __slots__ = (
        "coordinator_keys",
        "key",
        "key_type",
    )

    API_KEY = 10
    VERSIONS = (0, 6)
    FLEXIBLE_FROM = 3
    SCHEMA = """
FindCoordinatorRequest request module=clients key=10 versions=0-6 flexible=3+
  Key string 0-3
  KeyType int8 1+
  CoordinatorKeys []string 4+
"""

    def __init__(
        self,
        *,
        key: str = "",
        key_type: int = 0,
        coordinator_keys: list[str] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.key = key
        self.key_type = key_type
        self.coordinator_keys: list[str] = [] if coordinator_keys is DEFAULT else coordinator_keys
        self.unknown_tagged_fields = unknown_tagged_fields
