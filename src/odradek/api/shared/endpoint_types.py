"""Type of the nodes that DescribeCluster returns (KIP-919), checked against the listener."""

from enum import IntEnum

from odradek.common.failures import ApiError
from odradek.protocol.error_codes import ErrorCode


class EndpointType(IntEnum):
    BROKER = 1
    CONTROLLER = 2


def check_endpoint_type(asked: int, here: EndpointType, version: int) -> None:
    """Refuses a request that was meant for the other kind of listener. v0 cannot say what it was meant for."""
    if asked not in tuple(EndpointType):
        code = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE if version else ErrorCode.INVALID_REQUEST
        raise ApiError(f"Unsupported endpoint type {asked}", code)
    if asked != here:
        code = ErrorCode.MISMATCHED_ENDPOINT_TYPE if version else ErrorCode.INVALID_REQUEST
        raise ApiError(
            f"The request was sent to an endpoint of type {here.name}, but we wanted an endpoint of type "
            f"{EndpointType(asked).name}",
            code,
        )
