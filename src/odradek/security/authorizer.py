"""Authorization: called once for all resources of a request.

A handler asks through its `Context` before it looks at anything else, and tells those who may not nothing more: not
even whether what they named is there. `ALLOW_ALL` is asked by nobody: whoever finds it in place of another authoriser
(`is`) goes on at once, so that a node without one pays nothing for it.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from odradek.security.resources import Operation, Resource, ResourceType


class Action(NamedTuple):
    operation: Operation
    resource: Resource


class Authorizer(Protocol):
    def authorize(self, principal: str, host: str, actions: Sequence[Action]) -> list[bool]:
        """For each action, in order, whether `principal` may do it from the address `host`."""
        ...

    def authorize_by_resource_type(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType
    ) -> bool:
        """Return whether `principal` may do it on any resource of the type, existing or not."""
        ...


class AllowAll:
    """Authorizer of a node that allows everything."""

    def authorize(self, principal: str, host: str, actions: Sequence[Action]) -> list[bool]:
        return [True] * len(actions)

    def authorize_by_resource_type(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType
    ) -> bool:
        return True


ALLOW_ALL: Final = AllowAll()


class Everything:
    """A container that has every name in it."""

    def __contains__(self, name: object) -> bool:
        return True


EVERYTHING: Final = Everything()
