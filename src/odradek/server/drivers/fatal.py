"""The one way in which a part of a node reports that it cannot go on."""

from collections.abc import Callable

from odradek.common.failures import Fault

#: Called with an error after which the state of the caller cannot be trusted any more: the node stops.
FatalHandler = Callable[[BaseException], None]


def as_fault(error: BaseException) -> Fault:
    return error if isinstance(error, Fault) else Fault(f"{type(error).__name__}: {error}")
