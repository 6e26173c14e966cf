"""Features of a cluster, and changes of their finalized levels."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from odradek import __version__
from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.errors import check_error
from odradek.protocol.messages.api_versions_request import ApiVersionsRequest
from odradek.protocol.messages.api_versions_response import ApiVersionsResponse
from odradek.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from odradek.protocol.messages.update_features_response import UpdateFeaturesResponse


@dataclass(frozen=True, slots=True)
class Feature:
    """Supported levels of a feature, and the finalized level that all nodes use; 0 means that it is off."""

    name: str
    supported_min: int
    supported_max: int
    finalized: int


@dataclass(frozen=True, slots=True)
class Features:
    """All features that a node supports."""

    #: Offset in the metadata log at which the finalized levels hold.
    epoch: int
    features: tuple[Feature, ...]


class UpgradeType(IntEnum):
    """Permitted direction of a feature update."""

    UPGRADE = 1
    #: Downgrade only if no metadata is lost.
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@dataclass(frozen=True, slots=True)
class FeatureUpdate:
    """New finalized level of a feature; level 0 disables it."""

    max_version_level: int
    upgrade_type: UpgradeType = UpgradeType.UPGRADE


class FeatureOperations:
    """Describes features, and updates their finalized levels."""

    def __init__(self, router: ClusterRouter) -> None:
        self._router = router

    async def describe(self) -> Features:
        """Return the features that the responding node supports, by name. Raises Refused."""
        request = ApiVersionsRequest(client_software_name="odradek", client_software_version=__version__)
        response: ApiVersionsResponse = await self._router.send_to_any(request)
        check_error(response.error_code, None)
        finalized = {feature.name: feature.max_version_level for feature in response.finalized_features}
        features = [
            Feature(feature.name, feature.min_version, feature.max_version, finalized.get(feature.name, 0))
            for feature in sorted(response.supported_features, key=lambda feature: feature.name)
        ]
        return Features(response.finalized_features_epoch, tuple(features))

    async def update(self, updates: Mapping[str, FeatureUpdate], *, validate_only: bool = False) -> None:
        """Make all updates, or none of them. Raises Refused."""
        request = UpdateFeaturesRequest(
            timeout_ms=self._router.config.request_timeout_ms,
            feature_updates=[
                FeatureUpdateKey(
                    feature=name, max_version_level=update.max_version_level, upgrade_type=update.upgrade_type
                )
                for name, update in updates.items()
            ],
            validate_only=validate_only,
        )
        response: UpdateFeaturesResponse = await self._router.send_change(request, lambda r: [r.error_code])
        check_error(response.error_code, response.error_message)
        for result in response.results:  # before version 2 each feature has its own error
            check_error(result.error_code, result.error_message)
