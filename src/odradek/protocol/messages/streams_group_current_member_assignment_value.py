"""StreamsGroupCurrentMemberAssignmentValue. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class TaskIds(Message):
    __slots__ = (
        "assignment_epochs",
        "partitions",
        "subtopology_id",
    )

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        partitions: list[int] = DEFAULT,
        assignment_epochs: list[int] | None = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions: list[int] = [] if partitions is DEFAULT else partitions
        self.assignment_epochs: list[int] | None = [] if assignment_epochs is DEFAULT else assignment_epochs
        self.unknown_tagged_fields = unknown_tagged_fields


class StreamsGroupCurrentMemberAssignmentValue(Message):
    __slots__ = (
        "active_tasks",
        "active_tasks_pending_revocation",
        "member_epoch",
        "previous_member_epoch",
        "standby_tasks",
        "standby_tasks_pending_revocation",
        "state",
        "warmup_tasks",
        "warmup_tasks_pending_revocation",
    )

    API_KEY = 22
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
StreamsGroupCurrentMemberAssignmentValue coordinator-value module=group-coordinator key=22 versions=0 flexible=0+
  struct TaskIds
    SubtopologyId string 0+
    Partitions []int32 0+
    AssignmentEpochs []int32 0+ nullable=0+ tag=0
  MemberEpoch int32 0+
  PreviousMemberEpoch int32 0+
  State int8 0+
  ActiveTasks []TaskIds 0+
  StandbyTasks []TaskIds 0+
  WarmupTasks []TaskIds 0+
  ActiveTasksPendingRevocation []TaskIds 0+
  StandbyTasksPendingRevocation []TaskIds 0+
  WarmupTasksPendingRevocation []TaskIds 0+
"""

    def __init__(
        self,
        *,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        active_tasks: list[TaskIds] = DEFAULT,
        standby_tasks: list[TaskIds] = DEFAULT,
        warmup_tasks: list[TaskIds] = DEFAULT,
        active_tasks_pending_revocation: list[TaskIds] = DEFAULT,
        standby_tasks_pending_revocation: list[TaskIds] = DEFAULT,
        warmup_tasks_pending_revocation: list[TaskIds] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.active_tasks: list[TaskIds] = [] if active_tasks is DEFAULT else active_tasks
        self.standby_tasks: list[TaskIds] = [] if standby_tasks is DEFAULT else standby_tasks
        self.warmup_tasks: list[TaskIds] = [] if warmup_tasks is DEFAULT else warmup_tasks
        self.active_tasks_pending_revocation: list[TaskIds] = (
            [] if active_tasks_pending_revocation is DEFAULT else active_tasks_pending_revocation
        )
        self.standby_tasks_pending_revocation: list[TaskIds] = (
            [] if standby_tasks_pending_revocation is DEFAULT else standby_tasks_pending_revocation
        )
        self.warmup_tasks_pending_revocation: list[TaskIds] = (
            [] if warmup_tasks_pending_revocation is DEFAULT else warmup_tasks_pending_revocation
        )
        self.unknown_tagged_fields = unknown_tagged_fields
