"""The form of an Envelope (KIP-590): a client's request, which a broker passes on to the active controller as it came.

Inside are the request with its header, who asked (a principal that the broker vouches for, two bytes of version before
it) and from where (4 or 16 bytes of address). Back comes the response with its header. An error of the envelope's own
is about the passing on: NOT_CONTROLLER means that another controller must be asked.

A broker calls `wrap` and `unwrap`; the handler of Envelope does the opposite.
"""

import ipaddress
import struct

from odradek.common.failures import ApiError, ProtocolError
from odradek.common.ports import Buffer
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.codec import decode, encode
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.default_principal_data import DefaultPrincipalData
from odradek.protocol.messages.envelope_request import EnvelopeRequest
from odradek.protocol.messages.envelope_response import EnvelopeResponse

#: What a broker may pass on; anything else in an envelope is refused.
FORWARDABLE = (
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.CREATE_ACLS,
    ApiKey.DELETE_ACLS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.CREATE_DELEGATION_TOKEN,
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
    ApiKey.ELECT_LEADERS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.ALTER_CLIENT_QUOTAS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.UPDATE_FEATURES,
    ApiKey.UNREGISTER_BROKER,
    ApiKey.ALLOCATE_PRODUCER_IDS,
    ApiKey.ADD_RAFT_VOTER,
    ApiKey.REMOVE_RAFT_VOTER,
)

ENVELOPE_VERSION = 0

_PRINCIPAL_VERSION = 0
_VERSION = struct.Struct(">h")
_ADDRESS_SIZES = (4, 16)


def wrap(request: bytes, principal: str, client_address: str) -> EnvelopeRequest:
    """`request` is a whole one with its header, without the length before it."""
    return EnvelopeRequest(
        request_data=request,
        request_principal=principal_bytes(principal),
        client_host_address=ipaddress.ip_address(client_address).packed,
    )


def unwrap(response: EnvelopeResponse) -> bytes:
    """The response with its header. Raises ApiError with the envelope's own error, NOT_CONTROLLER among them."""
    if response.error_code != ErrorCode.NONE:
        raise ApiError(f"the controller refused the envelope with error {response.error_code}", response.error_code)
    if response.response_data is None:
        raise ProtocolError("an envelope that has neither a response nor an error")
    return bytes(response.response_data)


def principal_bytes(principal: str) -> bytes:
    """Serialize a principal such as `User:alice`."""
    principal_type, _, name = principal.partition(":")
    return _VERSION.pack(_PRINCIPAL_VERSION) + encode(
        DefaultPrincipalData(type=principal_type, name=name), _PRINCIPAL_VERSION
    )


def principal_of(envelope: EnvelopeRequest) -> str:
    """Raises ApiError where nobody can be read from the bytes."""
    data = envelope.request_principal
    try:
        if data is None or len(data) < _VERSION.size or _VERSION.unpack_from(data) != (_PRINCIPAL_VERSION,):
            raise ProtocolError("no principal of a known version")
        principal = decode(DefaultPrincipalData, _PRINCIPAL_VERSION, data, _VERSION.size)
    except ProtocolError:
        code = ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE
        raise ApiError("Failed to deserialize client principal from envelope", code) from None
    return f"{principal.type}:{principal.name}"


def client_address_of(envelope: EnvelopeRequest) -> str:
    """Raises ApiError for what is no address."""
    address: Buffer = envelope.client_host_address
    if len(address) not in _ADDRESS_SIZES:
        raise ApiError("Failed to parse client address from envelope", ErrorCode.INVALID_REQUEST)
    return str(ipaddress.ip_address(bytes(address)))
