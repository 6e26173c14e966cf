"""Handlers as they were declared: for which topic, of which messages, and how they are to be run."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from odradek.common.failures import InputError
from odradek.service.codecs import BYTES, Codec, Undecodable, codec_for, split_optional
from odradek.service.retries import Retries

#: Each is a task, or a thread, and a message in memory.
CONCURRENCY_MAX = 10_000


class Order(Enum):
    """Order in which messages are handled."""

    #: Messages of one key are handled one after the other; those without a key do not wait for each other.
    KEY = "key"
    #: All messages of a partition are handled one after the other.
    PARTITION = "partition"
    #: None waits for another.
    NONE = "none"


@dataclass(frozen=True, slots=True, eq=False)
class Handler:
    topic: str
    function: Callable[..., Any]
    codec: Codec
    retries: Retries
    dead_letters: bool
    concurrency: int
    order: Order
    time_limit_s: float | None
    #: Whether the function takes the context, too.
    takes_context: bool
    #: Whether it takes None for records without a value.
    takes_none: bool
    is_async: bool

    @property
    def name(self) -> str:
        return str(getattr(self.function, "__qualname__", self.function))

    def decode(self, value: bytes | None) -> Any:
        """Raises Undecodable, or whatever the codec does."""
        if value is not None:
            return self.codec.decode(value)
        if self.takes_none:
            return None
        raise Undecodable(f"the record has no value; annotate the message with | None to get those, in {self.name}")


def make_handler(
    topic: str,
    function: Callable[..., Any],
    *,
    message: Any,
    codec: Codec | None,
    retries: Retries,
    dead_letters: bool,
    concurrency: int,
    order: Order | str,
    time_limit_s: float | None,
) -> Handler:
    """Raises InputError for what cannot be run."""
    if not 1 <= concurrency <= CONCURRENCY_MAX:
        raise InputError(f"handler of {topic}: concurrency {concurrency} is not from 1 to {CONCURRENCY_MAX}.")
    if time_limit_s is not None and time_limit_s <= 0:
        raise InputError(f"handler of {topic}: time_limit_s {time_limit_s} is not above 0; None is no limit.")
    parameters = _parameters(topic, function)
    annotated = message if message is not None else _annotation(function, parameters[0])
    value_type, takes_none = split_optional(annotated)
    return Handler(
        topic,
        function,
        codec or (BYTES if value_type is inspect.Parameter.empty else codec_for(value_type)),
        retries,
        dead_letters,
        concurrency,
        _order(topic, order),
        time_limit_s,
        takes_context=len(parameters) > 1,
        takes_none=takes_none,
        is_async=inspect.iscoroutinefunction(function),
    )


def _order(topic: str, order: Order | str) -> Order:
    try:
        return Order(order)
    except ValueError:
        right = ", ".join(each.value for each in Order)
        raise InputError(f"handler of {topic}: order {order!r} is none of {right}.") from None


def _parameters(topic: str, function: Callable[..., Any]) -> list[inspect.Parameter]:
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [
        parameter for parameter in inspect.signature(function).parameters.values() if parameter.kind in positional
    ]
    needed = [parameter for parameter in parameters if parameter.default is inspect.Parameter.empty]
    if not parameters or len(needed) > 2:
        raise InputError(
            f"handler of {topic}: it takes (message) or (message, context), not {len(parameters)} arguments."
        )
    return parameters[:2]


def _annotation(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """A name that is not known where the function is defined cannot be found; then `message=` says it."""
    try:
        hints = typing.get_type_hints(function)
    except NameError as error:
        raise InputError(
            f"the annotations of {function.__qualname__} cannot be read ({error}); give message=."
        ) from None
    return hints.get(parameter.name, inspect.Parameter.empty)
