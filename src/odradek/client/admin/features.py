"""Levels of features from outside: what all nodes keep to is raised and lowered."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.outcomes import change
from odradek.client.errors import check_error
from odradek.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from odradek.protocol.messages.update_features_response import UpdateFeaturesResponse


class UpgradeType(IntEnum):
    UPGRADE = 1
    #: Only where nothing is lost.
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@dataclass(frozen=True, slots=True)
class FeatureUpdate:
    """Level 0 turns a feature off."""

    max_version_level: int
    upgrade_type: UpgradeType = UpgradeType.UPGRADE


async def update_features(
    cluster: ClusterRouter, updates: Mapping[str, FeatureUpdate], *, validate_only: bool = False
) -> None:
    """All of them, or none. Raises Refused."""
    request = UpdateFeaturesRequest(
        timeout_ms=cluster.config.request_timeout_ms,
        feature_updates=[
            FeatureUpdateKey(feature=name, max_version_level=each.max_version_level, upgrade_type=each.upgrade_type)
            for name, each in updates.items()
        ],
        validate_only=validate_only,
    )
    response: UpdateFeaturesResponse = await change(cluster, request, lambda r: [r.error_code])
    check_error(response.error_code, response.error_message)
    for result in response.results:  # nodes from before version 2 say it for each
        check_error(result.error_code, result.error_message)
