"""ApiVersionsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class ApiVersionsRequest(Message):
    __slots__ = (
        "client_software_name",
        "client_software_version",
        "cluster_id",
        "node_id",
    )

    API_KEY = 18
    VERSIONS = (0, 5)
    FLEXIBLE_FROM = 3
    SCHEMA = """
ApiVersionsRequest request module=clients key=18 versions=0-5 flexible=3+
  ClientSoftwareName string 3+ ignorable
  ClientSoftwareVersion string 3+ ignorable
  ClusterId string 5+ nullable=5+ default=null ignorable
  NodeId int32 5+ default=-1 ignorable
"""

    def __init__(
        self,
        *,
        client_software_name: str = "",
        client_software_version: str = "",
        cluster_id: str | None = None,
        node_id: int = -1,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.client_software_name = client_software_name
        self.client_software_version = client_software_version
        self.cluster_id = cluster_id
        self.node_id = node_id
        self.unknown_tagged_fields = unknown_tagged_fields
