"""DescribeUserScramCredentials (key 50): who has credentials for which mechanism, and never what they are.

v0 KIP-554

On a broker's listener only: Kafka's controllers advertise it and do not answer it.

Authorised by DESCRIBE on the cluster.
"""

from collections import Counter

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.describe_user_scram_credentials_request import DescribeUserScramCredentialsRequest
from odradek.protocol.messages.describe_user_scram_credentials_response import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from odradek.security.resources import Operation

API = Api(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, listeners=(ListenerRole.BROKER,))


def handle(ctx: Context, request: DescribeUserScramCredentialsRequest) -> DescribeUserScramCredentialsResponse:
    ctx.authorize(Operation.DESCRIBE)
    credentials: dict[str, list[CredentialInfo]] = {}
    for (mechanism, name), credential in sorted(ctx.services.image().scram.credentials.items()):
        credentials.setdefault(name, []).append(CredentialInfo(mechanism=mechanism, iterations=credential.iterations))
    requested_users = Counter(user.name for user in request.users) if request.users else dict.fromkeys(credentials, 1)
    return DescribeUserScramCredentialsResponse(
        results=[_result(name, times, credentials.get(name, [])) for name, times in requested_users.items()]
    )


def _result(name: str, times: int, infos: list[CredentialInfo]) -> DescribeUserScramCredentialsResult:
    result = DescribeUserScramCredentialsResult(user=name, error_message=None)
    if times > 1:
        result.error_code = int(ErrorCode.DUPLICATE_RESOURCE)
        result.error_message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
    elif not infos:
        result.error_code = int(ErrorCode.RESOURCE_NOT_FOUND)
        result.error_message = f"Attempt to describe a user credential that does not exist: {name}"
    else:
        result.credential_infos = infos
    return result
