"""StreamsGroupTargetAssignmentMemberValue. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class TaskIds(Message):
    __slots__ = (
        "partitions",
        "subtopology_id",
    )

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        partitions: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions: list[int] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class StreamsGroupTargetAssignmentMemberValue(Message):
    __slots__ = (
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
    )

    API_KEY = 21
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
StreamsGroupTargetAssignmentMemberValue coordinator-value module=group-coordinator key=21 versions=0 flexible=0+
  struct TaskIds
    SubtopologyId string 0+
    Partitions []int32 0+
  ActiveTasks []TaskIds 0+
  StandbyTasks []TaskIds 0+
  WarmupTasks []TaskIds 0+
"""

    def __init__(
        self,
        *,
        active_tasks: list[TaskIds] = DEFAULT,
        standby_tasks: list[TaskIds] = DEFAULT,
        warmup_tasks: list[TaskIds] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.active_tasks: list[TaskIds] = [] if active_tasks is DEFAULT else active_tasks
        self.standby_tasks: list[TaskIds] = [] if standby_tasks is DEFAULT else standby_tasks
        self.warmup_tasks: list[TaskIds] = [] if warmup_tasks is DEFAULT else warmup_tasks
        self.unknown_tagged_fields = unknown_tagged_fields
