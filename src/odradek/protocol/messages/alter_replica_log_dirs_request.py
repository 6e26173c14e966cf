"""AlterReplicaLogDirsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class AlterReplicaLogDirTopic(Message):
    __slots__ = (
        "name",
        "partitions",
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.partitions: list[int] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterReplicaLogDir(Message):
    __slots__ = (
        "path",
        "topics",
    )

    def __init__(
        self,
        *,
        path: str = "",
        topics: list[AlterReplicaLogDirTopic] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.path = path
        self.topics: list[AlterReplicaLogDirTopic] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterReplicaLogDirsRequest(Message):
    __slots__ = ("dirs",)

    API_KEY = 34
    VERSIONS = (1, 2)
    FLEXIBLE_FROM = 2
    SCHEMA = """
AlterReplicaLogDirsRequest request module=clients key=34 versions=1-2 flexible=2+
  Dirs []AlterReplicaLogDir 0+
    Path string 0+ key
    Topics []AlterReplicaLogDirTopic 0+
      Name string 0+ key entity=topicName
      Partitions []int32 0+
"""

    def __init__(
        self,
        *,
        dirs: list[AlterReplicaLogDir] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.dirs: list[AlterReplicaLogDir] = [] if dirs is DEFAULT else dirs
        self.unknown_tagged_fields = unknown_tagged_fields
