"""FeatureLevelRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class FeatureLevelRecord(Message):
    __slots__ = (
        "feature_level",
        "name",
    )

    API_KEY = 12
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
FeatureLevelRecord metadata module=metadata key=12 versions=0 flexible=0+
  Name string 0+
  FeatureLevel int16 0+
"""

    def __init__(
        self,
        *,
        name: str = "",
        feature_level: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.feature_level = feature_level
        self.unknown_tagged_fields = unknown_tagged_fields
