"""StreamsGroupTopologyDescriptionUpdateRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class TopologyDescriptionNode(Message):
    __slots__ = (
        "name",
        "node_type",
        "sink_topic",
        "source_topics",
        "stores",
        "successors",
    )

    def __init__(
        self,
        *,
        name: str = "",
        node_type: int = 0,
        source_topics: list[str] = DEFAULT,
        sink_topic: str | None = None,
        stores: list[str] = DEFAULT,
        successors: list[str] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.node_type = node_type
        self.source_topics: list[str] = [] if source_topics is DEFAULT else source_topics
        self.sink_topic = sink_topic
        self.stores: list[str] = [] if stores is DEFAULT else stores
        self.successors: list[str] = [] if successors is DEFAULT else successors
        self.unknown_tagged_fields = unknown_tagged_fields


class TopologyDescriptionSubtopology(Message):
    __slots__ = (
        "nodes",
        "subtopology_id",
    )

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        nodes: list[TopologyDescriptionNode] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.nodes: list[TopologyDescriptionNode] = [] if nodes is DEFAULT else nodes
        self.unknown_tagged_fields = unknown_tagged_fields


class TopologyDescriptionGlobalStore(Message):
    __slots__ = (
        "processor",
        "source",
    )

    def __init__(
        self,
        *,
        source: TopologyDescriptionNode = DEFAULT,
        processor: TopologyDescriptionNode = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.source: TopologyDescriptionNode = TopologyDescriptionNode() if source is DEFAULT else source
        self.processor: TopologyDescriptionNode = TopologyDescriptionNode() if processor is DEFAULT else processor
        self.unknown_tagged_fields = unknown_tagged_fields


class TopologyDescription(Message):
    __slots__ = (
        "global_stores",
        "subtopologies",
    )

    def __init__(
        self,
        *,
        subtopologies: list[TopologyDescriptionSubtopology] = DEFAULT,
        global_stores: list[TopologyDescriptionGlobalStore] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.subtopologies: list[TopologyDescriptionSubtopology] = [] if subtopologies is DEFAULT else subtopologies
        self.global_stores: list[TopologyDescriptionGlobalStore] = [] if global_stores is DEFAULT else global_stores
        self.unknown_tagged_fields = unknown_tagged_fields


class StreamsGroupTopologyDescriptionUpdateRequest(Message):
    __slots__ = (
        "group_id",
        "member_id",
        "topology_description",
        "topology_epoch",
    )

    API_KEY = 93
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
StreamsGroupTopologyDescriptionUpdateRequest request module=clients key=93 versions=0 flexible=0+
  struct TopologyDescription
    Subtopologies []TopologyDescriptionSubtopology 0+
    GlobalStores []TopologyDescriptionGlobalStore 0+
  struct TopologyDescriptionSubtopology
    SubtopologyId string 0+
    Nodes []TopologyDescriptionNode 0+
  struct TopologyDescriptionNode
    Name string 0+
    NodeType int8 0+
    SourceTopics []string 0+ entity=topicName
    SinkTopic string 0+ nullable=0+ default=null entity=topicName
    Stores []string 0+
    Successors []string 0+
  struct TopologyDescriptionGlobalStore
    Source TopologyDescriptionNode 0+
    Processor TopologyDescriptionNode 0+
  GroupId string 0+ entity=groupId
  MemberId string 0+
  TopologyEpoch int32 0+
  TopologyDescription TopologyDescription 0+
"""

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
        topology_epoch: int = 0,
        topology_description: TopologyDescription = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.topology_epoch = topology_epoch
        self.topology_description: TopologyDescription = (
            TopologyDescription() if topology_description is DEFAULT else topology_description
        )
        self.unknown_tagged_fields = unknown_tagged_fields
