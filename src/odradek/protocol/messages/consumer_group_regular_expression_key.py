"""ConsumerGroupRegularExpressionKey. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class ConsumerGroupRegularExpressionKey(Message):
    __slots__ = (
        "group_id",
        "regular_expression",
    )

    API_KEY = 16
    VERSIONS = (0, 0)
    SCHEMA = """
ConsumerGroupRegularExpressionKey coordinator-key module=group-coordinator key=16 versions=0 flexible=none
  GroupId string 0
  RegularExpression string 0
"""

    def __init__(
        self,
        *,
        group_id: str = "",
        regular_expression: str = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.regular_expression = regular_expression
        self.unknown_tagged_fields = unknown_tagged_fields
