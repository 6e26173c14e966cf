"""What goes through a listener, counted in plain integers, so that nobody pays for metrics but who asks for them.

A request costs two looks at the clock and a few additions. Durations fall into buckets of powers of two, found by the
length of a number in bits. Error codes are looked for only where a response of that kind can have one.
"""

from collections.abc import Sequence
from typing import NamedTuple

from odradek.protocol.codec import schema_of
from odradek.protocol.message import Message
from odradek.protocol.schema import Field, Schema

_ERROR_CODE = "error_code"

#: Durations are counted in units of 1,024 ns.
_UNIT_BITS = 10
#: More than any duration in nanoseconds has bits.
_BUCKETS = 64


class ApiTraffic:
    """Of one API on one listener. A request is counted when it is answered, or needs no answer."""

    __slots__ = ("buckets", "errors", "requests", "spent_ns")

    def __init__(self) -> None:
        self.requests = 0
        #: From the moment in which a request began until its answer was there, waiting in a purgatory included.
        self.spent_ns = 0
        #: How many took less than `bound_s` of their place, and not less than that of the one before.
        self.buckets = [0] * _BUCKETS
        #: By error code, how many were said; one response may say many.
        self.errors: dict[int, int] = {}

    def count(self, spent_ns: int) -> None:
        self.requests += 1
        self.spent_ns += spent_ns
        self.buckets[(spent_ns >> _UNIT_BITS).bit_length()] += 1


def bound_s(bucket: int) -> float:
    return float(1 << (bucket + _UNIT_BITS)) / 1e9


class Traffic:
    __slots__ = ("apis", "received_bytes", "sent_bytes")

    def __init__(self) -> None:
        self.apis: dict[int, ApiTraffic] = {}
        self.received_bytes = 0
        self.sent_bytes = 0

    def of(self, api_key: int) -> ApiTraffic:
        found = self.apis.get(api_key)
        if found is None:
            found = self.apis[api_key] = ApiTraffic()
        return found

    def answered(self, api_key: int, spent_ns: int, response: Message | None) -> None:
        api = self.of(api_key)
        api.count(spent_ns)
        if response is not None:
            plan = _PLANS.get(type(response)) or _new_plan(type(response))
            _count_errors(plan, response, api.errors)


class _Plan(NamedTuple):
    """Where a message, or a structure in one, has error codes."""

    has_code: bool
    #: Fields with structures that have some, and whether they are arrays.
    within: "Sequence[tuple[str, bool, _Plan]]"


_PLANS: dict[type[Message], _Plan] = {}


def _new_plan(message_class: type[Message]) -> _Plan:
    schema = schema_of(message_class)
    plan = _PLANS[message_class] = _plan(schema, schema.fields)
    return plan


def _plan(schema: Schema, fields: Sequence[Field]) -> _Plan:
    within = [
        (field.name, field.is_array, _plan(schema, schema.structs[field.element]))
        for field in fields
        if field.is_struct
    ]
    has_code = any(field.name == _ERROR_CODE for field in fields)
    return _Plan(has_code, tuple(part for part in within if part[2].has_code or part[2].within))


def _count_errors(plan: _Plan, message: Message, errors: dict[int, int]) -> None:
    if plan.has_code:
        code = getattr(message, _ERROR_CODE)
        if code:
            errors[code] = errors.get(code, 0) + 1
    for name, is_array, part in plan.within:
        value = getattr(message, name)
        if value:
            for each in value if is_array else (value,):
                _count_errors(part, each, errors)
