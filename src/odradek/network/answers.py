"""Answers: what waits to be one, and how one becomes bytes."""

import asyncio
import struct

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.registry import Answer, LoadedHandler
from odradek.common.ports import Buffer
from odradek.protocol.codec import encode, encode_parts
from odradek.protocol.framing import LENGTH_BYTES
from odradek.protocol.message import Message
from odradek.protocol.requests import response_header_version

#: Of a response, by the version of its header: length, correlation id, and no tagged fields.
_HEADS = (struct.Struct(">ii"), struct.Struct(">iix"))


class Begun:
    """A request whose answer has not left yet."""

    __slots__ = ("answer", "context", "counted_bytes", "done", "dropped", "entry", "request", "task")

    def __init__(self, context: Context, entry: LoadedHandler, request: Message | None = None) -> None:
        self.context = context
        self.entry = entry
        #: What was asked, in case that the answer is an error for each part of it.
        self.request = request
        self.task: asyncio.Future[Answer] | None = None
        self.counted_bytes = -1
        self.answer: list[Buffer] = []
        self.done = False
        #: There will be no answer, nor any behind it.
        self.dropped = False


def framed_answer(context: Context, entry: LoadedHandler, response: Message) -> list[Buffer]:
    """Raises what the codec raises where this version cannot say it, and anything else for what is no response."""
    pieces = _body(entry, response, context.api_version)
    # Length and header in one go: `framing.frame` and `requests.response_parts` say the same at twice the cost.
    head = _HEADS[response_header_version(context.api_key, context.api_version)]
    pieces.insert(0, head.pack(head.size - LENGTH_BYTES + sum(map(len, pieces)), context.correlation_id))
    return pieces


def _body(entry: LoadedHandler, response: Message, version: int) -> list[Buffer]:
    if not entry.repeats:
        return encode_parts(response, version)
    last = entry.encoded.get(version)
    if last is None or last[0] is not response:
        last = entry.encoded[version] = (response, encode(response, version))
    return [last[1]]
