"""The one way in which a part of a node reports that it cannot go on."""

from collections.abc import Callable

#: Called with an error after which the state of the caller cannot be trusted any more: the node stops.
FatalHandler = Callable[[BaseException], None]
