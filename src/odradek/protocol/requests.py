"""Requests and responses as they travel: a header and a body in one frame.

The header's version follows from the API and its version: flexible messages have a header with tagged fields. Two
exceptions, both so that peers that do not know each other's versions yet can talk: the response of ApiVersions always
has the oldest header, and an ApiVersions request of a version that we do not know is not parsed but answered in
version 0.
"""

import struct
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from odradek.common.failures import ProtocolError
from odradek.common.ports import Buffer
from odradek.protocol.api_table import ApiKey
from odradek.protocol.codec import decode, decoder, encode_parts
from odradek.protocol.message import Message
from odradek.protocol.messages.request_header import RequestHeader
from odradek.protocol.messages.response_header import ResponseHeader
from odradek.protocol.registry import request_class, response_class
from odradek.protocol.schema import Versions

_KEY_AND_VERSION = struct.Struct(">hh")
_API_VERSIONS = int(ApiKey.API_VERSIONS)

#: Versions of APIs of which the decoders are kept at hand: more than there are. A peer may make up versions of
#: ApiVersions, which must not fill the memory.
_KINDS_MAX = 1024


class ParsedRequest(NamedTuple):
    header: RequestHeader
    #: None for an ApiVersions request of an unknown version: answer it in version 0 with UNSUPPORTED_VERSION.
    body: Message | None


@lru_cache(_KINDS_MAX)
def request_header_version(api_key: int, api_version: int) -> int:
    return 2 if api_version >= request_class(api_key).FLEXIBLE_FROM else 1


@lru_cache(_KINDS_MAX)
def response_header_version(api_key: int, api_version: int) -> int:
    if api_key == _API_VERSIONS:
        return 0
    return 1 if api_version >= response_class(api_key).FLEXIBLE_FROM else 0


@lru_cache(_KINDS_MAX)
def _header_decoder(api_key: int, api_version: int) -> Callable[[Buffer, int], tuple[RequestHeader, int]]:
    return decoder(RequestHeader, request_header_version(api_key, api_version))


@lru_cache(_KINDS_MAX)
def _body_decoder(api_key: int, api_version: int) -> Callable[[Buffer, int], tuple[Message, int]]:
    return decoder(request_class(api_key), api_version)


def parse_request(buffer: Buffer, accepted: Mapping[int, Versions]) -> ParsedRequest:
    """A request frame, without its length. `accepted` is what the listener takes; all else raises ProtocolError."""
    if len(buffer) < _KEY_AND_VERSION.size:
        raise ProtocolError(f"a request of {len(buffer)} bytes")
    view = memoryview(buffer)
    api_key, api_version = _KEY_AND_VERSION.unpack_from(view)
    versions = accepted.get(api_key)
    if versions is None:
        raise ProtocolError(f"API key {api_key} is not served here")
    is_supported = versions.first <= api_version <= versions.last
    if not is_supported and api_key != _API_VERSIONS:
        raise ProtocolError(f"API key {api_key} has versions {versions}, not {api_version}")
    header, position = _header_decoder(api_key, api_version)(view, 0)
    if header.client_id is None:
        header.client_id = ""  # Kafka makes no difference
    if not is_supported:
        return ParsedRequest(header, None)
    # What stands behind the body is left alone, as in Kafka: librdkafka sends three bytes too many with Metadata.
    body, _ = _body_decoder(api_key, api_version)(view, position)
    return ParsedRequest(header, body)


def request_parts(header: RequestHeader, body: Message) -> list[Buffer]:
    """Header and body, in pieces, for `framing.frame`. Key and version in the header say how both are written."""
    version = request_header_version(header.request_api_key, header.request_api_version)
    return encode_parts(header, version) + encode_parts(body, header.request_api_version)


def response_parts(header: ResponseHeader, body: Message, api_version: int) -> list[Buffer]:
    """Header and body, in pieces, for `framing.frame`."""
    version = response_header_version(body.API_KEY, api_version)
    return encode_parts(header, version) + encode_parts(body, api_version)


def parse_response(buffer: Buffer, api_key: int, api_version: int) -> tuple[ResponseHeader, Message]:
    """A response frame, without its length, to a request of this key and version."""
    header_version = response_header_version(api_key, api_version)
    header, position = decoder(ResponseHeader, header_version)(buffer, 0)
    return header, decode(response_class(api_key), api_version, buffer, position)
