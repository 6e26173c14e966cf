"""ApiVersions (key 18): which APIs and versions this listener serves, and which features the node and cluster have.

v0 first version · v1 throttle time · v2 throttle after the response (KIP-219) · v3 flexible, the client names its
software (KIP-511), features (KIP-584) · v4 features whose lowest level is 0

A version that we do not know is answered in v0 with UNSUPPORTED_VERSION and the versions of this API alone, so that
the client can ask again. It is answered before authentication, too.
"""

import re
from collections.abc import Mapping
from weakref import WeakKeyDictionary

from odradek.api.dispatch.context import Context, Features
from odradek.api.dispatch.envelope_codec import FORWARDABLE
from odradek.api.dispatch.registry import Registry
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.api_versions_request import ApiVersionsRequest
from odradek.protocol.messages.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from odradek.protocol.schema import Versions

#: Of a client's software and of its version; both end up in metrics, so both are kept to this.
SOFTWARE_NAME = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")

FIRST_VERSION_WITH_SOFTWARE_NAME = 3
#: Clients before it fail to read a feature whose lowest level is 0, so it is left out for them.
FIRST_VERSION_WITH_LEVEL_0 = 4


def handle(ctx: Context, request: ApiVersionsRequest | None) -> ApiVersionsResponse:
    """`request` is None where its version is unknown."""
    if request is None:
        key = int(ApiKey.API_VERSIONS)
        return ApiVersionsResponse(
            error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[_api_version(key, ctx.registry.advertised[key])]
        )
    if ctx.api_version >= FIRST_VERSION_WITH_SOFTWARE_NAME:
        if not _is_valid(request):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        ctx.session.client_software_name = request.client_software_name
        ctx.session.client_software_version = request.client_software_version
    return _repeated(ctx, ctx.services.features())


#: By registry and version: what the last response was made from, and the response. Eighty APIs take as many objects,
#: and whoever connects asks for them.
_SAID: WeakKeyDictionary[Registry, dict[int, tuple[object, ApiVersionsResponse]]] = WeakKeyDictionary()


def _repeated(ctx: Context, features: Features) -> ApiVersionsResponse:
    forwarder = ctx.services.forwarder
    made_from = (features, forwarder and forwarder.controller_versions)
    said = _SAID.setdefault(ctx.registry, {})
    last = said.get(ctx.api_version)
    if last is not None and last[0] == made_from:
        return last[1]
    response = _response(ctx, features)
    said[ctx.api_version] = (made_from, response)
    return response


def _response(ctx: Context, features: Features) -> ApiVersionsResponse:
    return ApiVersionsResponse(
        api_keys=[_api_version(key, versions) for key, versions in _advertised(ctx).items()],
        supported_features=_supported(features, with_level_0=ctx.api_version >= FIRST_VERSION_WITH_LEVEL_0),
        finalized_features_epoch=features.finalized_epoch,
        finalized_features=_finalized(features),
        zk_migration_ready=features.zk_migration_ready,
    )


def _advertised(ctx: Context) -> Mapping[int, Versions]:
    """Of what a broker passes on, only the versions that the controller has too, as far as that is known."""
    advertised, forwarder = ctx.registry.advertised, ctx.services.forwarder
    if forwarder is None or ctx.session.listener is not ListenerRole.BROKER or forwarder.controller_versions is None:
        return advertised
    common = {}
    for key, ours in advertised.items():
        theirs = forwarder.controller_versions.get(key) if key in FORWARDABLE else ours
        if theirs is not None and max(ours.first, theirs.first) <= min(ours.last, theirs.last):
            common[key] = Versions(max(ours.first, theirs.first), min(ours.last, theirs.last))
    return common


def _is_valid(request: ApiVersionsRequest) -> bool:
    matches = SOFTWARE_NAME.fullmatch
    return bool(matches(request.client_software_name) and matches(request.client_software_version))


def _api_version(api_key: int, versions: Versions) -> ApiVersion:
    return ApiVersion(api_key=api_key, min_version=versions.first, max_version=versions.last)


def _supported(features: Features, *, with_level_0: bool) -> list[SupportedFeatureKey]:
    return [
        SupportedFeatureKey(name=name, min_version=levels.first, max_version=levels.last)
        for name, levels in features.supported.items()
        if with_level_0 or levels.first != 0
    ]


def _finalized(features: Features) -> list[FinalizedFeatureKey]:
    """Level 0 is "off", and not said."""
    return [
        FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
        for name, level in features.finalized.items()
        if level
    ]
