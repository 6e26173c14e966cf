"""Partitions of a member of a classic group, and the steps by which its application comes to have others. Pure.

Before a join the application gives up what it must: everything if the protocol is eager, only what it no longer
subscribes to if it is cooperative. After the sync it gets its new partitions. The group may go on without the member
while a callback of the application runs: a step is valid only as long as the member has the identity that it had when
the step began.
"""

from collections.abc import Callable, Mapping

from odradek.client.group.assignors.assignor import Assignor
from odradek.client.group.core import Identity, Partitions, Step
from odradek.client.group.generation import Generation, RejoinTimer
from odradek.client.group.subscription import decode_assignment
from odradek.common.failures import ApiError, ProtocolError
from odradek.errors import Refused


class AssignmentHandover:
    def __init__(
        self,
        generation: Generation,
        rejoin: RejoinTimer,
        assignors: Mapping[str, Assignor],
        is_subscribed: Callable[[str], bool],
        on_error: Callable[[ApiError], None],
        *,
        is_cooperative: bool,
    ) -> None:
        self.owned: Partitions = ()
        #: Identity with which the member last had an assignment.
        self.assigned_as = Identity()
        #: Whether the application has given up what it must before a join.
        self.is_prepared = False
        self._generation = generation
        self._rejoin = rejoin
        self._assignors = assignors
        self._is_subscribed = is_subscribed
        self._on_error = on_error
        self._is_cooperative = is_cooperative
        #: New assignment that the application does not have yet.
        self._assignment: bytes | None = None
        #: Identity of the member when the current step began.
        self._identity_at_start = Identity()

    @property
    def has_assignment(self) -> bool:
        """Return whether there is an assignment that the application does not have yet."""
        return self._assignment is not None

    def assign(self, assignment: bytes) -> None:
        self._assignment = assignment

    def release_owned(self) -> None:
        self.owned = ()

    def unprepare(self) -> None:
        self.is_prepared = False

    def preparation(self) -> Step:
        """Begin the step before a join."""
        identity = self._identity_at_start = self._generation.identity
        if not identity.is_member:
            return Step(False, None, self.owned or None, (), None)
        if not self._is_cooperative:
            return Step(True, self.owned, None, (), None)
        retained = tuple(partition for partition in self.owned if self._rejoin.includes(partition.topic))
        revoked = tuple(partition for partition in self.owned if partition not in retained)
        return Step(True, revoked or None, None, retained, None)

    def completion(self) -> Step | None:
        """Begin the step to a new assignment, if there is one and the member can have it."""
        data = self._assignment
        if data is None:
            return None
        identity = self._identity_at_start = self._generation.identity
        if not self._generation.is_stable or not identity.is_member:
            self._drop_assignment("the generation is over")
            return None
        try:
            assigned = tuple(sorted(decode_assignment(data)))
        except ProtocolError as error:
            self._drop_assignment("the assignment cannot be read")
            self._on_error(Refused(f"the leader of the group sent an assignment that cannot be read: {error}"))
            return None
        if not all(self._is_subscribed(partition.topic) for partition in assigned):
            self._drop_assignment("received assignment does not match the current subscription")
            return None
        revoked = tuple(partition for partition in self.owned if partition not in assigned)
        added = tuple(partition for partition in assigned if partition not in self.owned)
        return Step(bool(revoked), revoked or None, None, assigned, added)

    def _drop_assignment(self, reason: str) -> None:
        self._assignment = None
        self.is_prepared = False
        self._rejoin.request(reason)

    def holds(self, step: Step) -> bool:
        """Return whether a step is still valid; a new assignment needs its generation to be stable."""
        is_same = self._generation.identity == self._identity_at_start
        return is_same and (step.added is None or self._generation.is_stable)

    def complete(self, step: Step) -> None:
        """Take over the result of a step, valid or not: the next step revokes what the application should not have."""
        self.owned = step.assigned
        if step.added is None:
            self.is_prepared = self.holds(step)
            return
        self._assignment = None
        self.is_prepared = False
        assignor = self._assignors.get(self._identity_at_start.protocol_name or "")
        if assignor is not None:
            assignor.on_assignment(step.assigned, self._identity_at_start.generation_id)
        self.assigned_as = self._identity_at_start
        if step.revoked:
            self._rejoin.request("need to revoke partitions and re-join")
