"""DescribeClusterRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class DescribeClusterRequest(Message):
    __slots__ = (
        "endpoint_type",
        "include_cluster_authorized_operations",
        "include_fenced_brokers",
    )

    API_KEY = 60
    VERSIONS = (0, 2)
    FLEXIBLE_FROM = 0
    SCHEMA = """
DescribeClusterRequest request module=clients key=60 versions=0-2 flexible=0+
  IncludeClusterAuthorizedOperations bool 0+
  EndpointType int8 1+ default=1
  IncludeFencedBrokers bool 2+
"""

    def __init__(
        self,
        *,
        include_cluster_authorized_operations: bool = False,
        endpoint_type: int = 1,
        include_fenced_brokers: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.endpoint_type = endpoint_type
        self.include_fenced_brokers = include_fenced_brokers
        self.unknown_tagged_fields = unknown_tagged_fields
