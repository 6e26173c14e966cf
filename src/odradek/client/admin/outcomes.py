"""Results of an operation on several resources.

The cluster handles each resource on its own: some succeed and others are rejected. An error of the operation as a whole
is raised instead.
"""

from collections.abc import Iterable
from typing import TypeVar

from odradek.errors import PartlyRefused, Refused
from odradek.protocol.error_codes import ErrorCode

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Outcomes(dict[_Key, _Value | Refused]):
    """Maps each resource to its value, or to the `Refused` that says why there is none."""

    def values_or_raise(self) -> dict[_Key, _Value]:
        """Return all values. Raises Refused if the only resource was rejected, PartlyRefused for some of several."""
        rejected = self.rejected()
        if not rejected:
            return self.succeeded()
        first = next(iter(rejected.values()))
        if len(self) == 1:
            raise first
        messages = "; ".join(f"{key}: {error.message}" for key, error in rejected.items())
        raise PartlyRefused(f"{len(rejected)} of {len(self)}: {messages}", first.code, self)

    def succeeded(self) -> dict[_Key, _Value]:
        return {key: outcome for key, outcome in self.items() if not isinstance(outcome, Refused)}

    def rejected(self) -> dict[_Key, Refused]:
        return {key: outcome for key, outcome in self.items() if isinstance(outcome, Refused)}

    def in_order_of(self, requested: Iterable[_Key]) -> "Outcomes[_Key, _Value]":
        """Return the same outcomes in the order of the request; nodes respond in an order of their own."""
        return Outcomes({key: self[key] for key in dict.fromkeys(requested) if key in self})


def broker_not_running(broker_id: int) -> Refused:
    """Return the outcome of a resource whose broker is not among the brokers of the cluster."""
    return Refused(f"broker {broker_id} is not running", ErrorCode.BROKER_NOT_AVAILABLE)
