"""Requests, bytes and error codes of a listener, counted in plain integers: their cost is independent of scrapes.

A request costs two readings of the clock and a few additions. Durations fall into buckets of powers of two, found by
the bit length of the duration. Error codes are looked up only in responses that can have one.
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


class ApiMetrics:
    """Counters of one API on one listener. A request is counted when its response is ready, or when it has none."""

    __slots__ = ("buckets", "errors", "requests", "spent_ns")

    def __init__(self) -> None:
        self.requests = 0
        #: Time from the start of the requests to their responses, waiting in a purgatory included.
        self.spent_ns = 0
        #: Requests that took less than the `bound_s` of the bucket, and not less than that of the previous bucket.
        self.buckets = [0] * _BUCKETS
        #: Count by error code; one response may contain many.
        self.errors: dict[int, int] = {}

    def count(self, spent_ns: int) -> None:
        self.requests += 1
        self.spent_ns += spent_ns
        self.buckets[(spent_ns >> _UNIT_BITS).bit_length()] += 1


def bound_s(bucket: int) -> float:
    return float(1 << (bucket + _UNIT_BITS)) / 1e9


class RequestMetrics:
    __slots__ = ("apis", "received_bytes", "sent_bytes")

    def __init__(self) -> None:
        self.apis: dict[int, ApiMetrics] = {}
        self.received_bytes = 0
        self.sent_bytes = 0

    def of(self, api_key: int) -> ApiMetrics:
        api = self.apis.get(api_key)
        if api is None:
            api = self.apis[api_key] = ApiMetrics()
        return api

    def answered(self, api_key: int, spent_ns: int, response: Message | None) -> None:
        api = self.of(api_key)
        api.count(spent_ns)
        if response is not None:
            plan = _PLANS.get(type(response)) or _new_plan(type(response))
            _count_errors(plan, response, api.errors)


class _Plan(NamedTuple):
    """Fields of a message, or of a structure in one, that hold error codes."""

    has_code: bool
    #: Name of a field whose structures have error codes, whether it is an array, and the plan of the structure.
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
            for element in value if is_array else (value,):
                _count_errors(part, element, errors)
