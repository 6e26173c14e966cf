"""Features and metadata.version: finalized levels, and the rules for changing them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from odradek.common.failures import check, fail
from odradek.controller.decision import SUCCESS, ControllerDecision, ItemResult, RequestRejected, item_result
from odradek.metadata.features import metadata_version
from odradek.metadata.features.feature_versions import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    KRAFT_VERSION,
    VersionRange,
    supported_features,
    unmet_dependency,
)
from odradek.metadata.features.metadata_version import (
    LATEST_PRODUCTION,
    MINIMUM_VERSION,
    MetadataVersion,
    metadata_changed_between,
)
from odradek.metadata.image.features import supported_version
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.feature_level_record import FeatureLevelRecord
from odradek.protocol.messages.no_op_record import NoOpRecord
from odradek.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from odradek.protocol.messages.update_features_response import UpdatableFeatureResult, UpdateFeaturesResponse

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3

_ABSENT = VersionRange(0, 0)


@dataclass(frozen=True, slots=True)
class QuorumFeatures:
    """Levels that this node supports, and the nodes that must support a level before it is finalized."""

    node_id: int
    quorum_node_ids: Sequence[int] = ()
    supported: Mapping[str, VersionRange] = field(default_factory=supported_features)


#: Type and id of a node, and the ranges that it registered.
NodeFeatures = tuple[str, int, Mapping[str, VersionRange]]


class FeatureControl:
    def __init__(self, quorum: QuorumFeatures, kraft_version: Callable[[], int]) -> None:
        """`kraft_version` returns the level that Raft keeps."""
        self._quorum = quorum
        self._kraft_version = kraft_version
        self.levels: dict[str, int] = {}
        self._metadata_version: MetadataVersion | None = None

    @property
    def is_bootstrapped(self) -> bool:
        """Whether the log has a metadata.version."""
        return self._metadata_version is not None

    @property
    def metadata_version(self) -> MetadataVersion:
        if self._metadata_version is None:
            fail("the metadata log has no metadata.version yet")
        return self._metadata_version

    @property
    def is_elr_enabled(self) -> bool:
        return self.levels.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) >= 1

    def finalized_levels(self) -> dict[str, int]:
        return {metadata_version.FEATURE_NAME: int(self.metadata_version), **self.levels}

    def replay(self, record: FeatureLevelRecord) -> None:
        supported = self._quorum.supported.get(record.name, _ABSENT)
        check(
            record.feature_level in supported,
            f"{record.name} is at level {record.feature_level} in the log, but this node supports only {supported}",
        )
        if record.name == metadata_version.FEATURE_NAME:
            self._metadata_version = supported_version(record.feature_level)
        elif record.name == KRAFT_VERSION:
            pass  # kept by Raft
        elif record.feature_level == 0:
            self.levels.pop(record.name, None)
        else:
            self.levels[record.name] = record.feature_level

    def update(
        self, request: UpdateFeaturesRequest, nodes: Sequence[NodeFeatures]
    ) -> ControllerDecision[UpdateFeaturesResponse]:
        """Change levels, all or none. `nodes` are the registered brokers and controllers."""
        proposed = self.finalized_levels() | {u.feature: u.max_version_level for u in request.feature_updates}
        records: list[MetadataRecord] = []
        result = SUCCESS
        for update in request.feature_updates:
            try:
                records += self._update_feature(update, proposed, nodes)
            except RequestRejected as rejection:
                records, result = [], item_result(rejection)
                break
        if request.validate_only:
            records = []
        return ControllerDecision(records, _response(request, result), is_atomic=True)

    def _update_feature(
        self, update: FeatureUpdateKey, proposed: Mapping[str, int], nodes: Sequence[NodeFeatures]
    ) -> list[MetadataRecord]:
        name, level, upgrade_type = update.feature, update.max_version_level, update.upgrade_type
        if upgrade_type == UPGRADE and update.allow_downgrade:
            upgrade_type = SAFE_DOWNGRADE
        if upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
            raise _invalid(name, level, "The controller does not support the given upgrade type.")
        if level < 0:
            raise _invalid(name, level, "A feature version cannot be less than 0.")
        reason = self._reason_not_supported(name, level, nodes)
        if reason is not None:
            raise _invalid(name, level, reason)
        current = self._current(name)
        if level < current and upgrade_type == UPGRADE:
            raise _invalid(
                name,
                level,
                "Can't downgrade the version of this feature without setting the upgrade type to either safe or "
                "unsafe downgrade.",
            )
        if level > current and upgrade_type != UPGRADE:
            raise _invalid(name, level, "Can't downgrade to a newer version.")
        if name == metadata_version.FEATURE_NAME:
            return self._update_metadata_version(level, is_unsafe=upgrade_type == UNSAFE_DOWNGRADE)
        if name == KRAFT_VERSION:
            return self._update_kraft_version(level, current)
        unmet = unmet_dependency(name, level, proposed)
        if unmet is not None:
            raise _invalid(name, level, unmet)
        return [_level_record(name, level)]

    def _current(self, name: str) -> int:
        if name == metadata_version.FEATURE_NAME:
            return int(self.metadata_version)
        if name == KRAFT_VERSION:
            return self._kraft_version()
        return self.levels.get(name, 0)

    def _reason_not_supported(self, name: str, level: int, nodes: Sequence[NodeFeatures]) -> str | None:
        supported_here = self._quorum.supported.get(name, _ABSENT)
        if level not in supported_here:
            return _not_supported(f"Local controller {self._quorum.node_id}", supported_here)
        registered = [self._quorum.node_id]
        for node_type, node_id, ranges in nodes:
            if node_type == "Controller":
                registered.append(node_id)
            supported = ranges.get(name, _ABSENT)
            if level not in supported and not (node_type == "Controller" and node_id == self._quorum.node_id):
                return _not_supported(f"{node_type} {node_id}", supported)
        if self.metadata_version.is_controller_registration_supported:
            for node_id in self._quorum.quorum_node_ids:
                if node_id not in registered:
                    return f"controller {node_id} has not registered, and may not support this feature"
        return None

    def _update_metadata_version(self, level: int, is_unsafe: bool) -> list[MetadataRecord]:
        current = self.metadata_version
        if level not in tuple(MetadataVersion):
            raise RequestRejected(
                ErrorCode.INVALID_UPDATE_VERSION,
                f"Invalid metadata.version {level}. Valid versions are from {int(MINIMUM_VERSION)} to "
                f"{int(LATEST_PRODUCTION)}.",
            )
        if level < current and metadata_changed_between(level, current):
            reason = (
                "Unsafe metadata downgrade is not supported in this version."
                if is_unsafe
                else "Refusing to perform the requested downgrade because it might delete metadata information."
            )
            raise RequestRejected(
                ErrorCode.INVALID_UPDATE_VERSION,
                f"Unsupported metadata.version downgrade from {int(current)} to {level}. {reason}",
            )
        return [_level_record(metadata_version.FEATURE_NAME, level)]

    def _update_kraft_version(self, level: int, current: int) -> list[MetadataRecord]:
        """Return a no-op record, which gives the response an offset to wait for: Raft writes the level itself."""
        if level < current:
            raise _invalid(KRAFT_VERSION, level, "Can't downgrade the version of this feature.")
        return [MetadataRecord(NoOpRecord(), 0)] if level > current else []


def _not_supported(node: str, supported: VersionRange) -> str:
    if supported.max == 0:
        return f"{node} does not support this feature."
    return f"{node} only supports versions {supported}"


def _invalid(name: str, level: int, message: str) -> RequestRejected:
    text = f"Invalid update version {level} for feature {name}. {message}"
    return RequestRejected(ErrorCode.INVALID_UPDATE_VERSION, text)


def _level_record(name: str, level: int) -> MetadataRecord:
    return MetadataRecord(FeatureLevelRecord(name=name, feature_level=level), 0)


def _response(request: UpdateFeaturesRequest, result: ItemResult) -> UpdateFeaturesResponse:
    """Build the response, which has one result. A success also lists each feature, for versions before v2."""
    if result is not SUCCESS:
        message = f"The update failed for all features since the following feature had an error: {result.message}"
        return UpdateFeaturesResponse(error_code=result.code, error_message=message)
    # Kafka's message for a success.
    results = [UpdatableFeatureResult(feature=u.feature, error_message="NONE") for u in request.feature_updates]
    return UpdateFeaturesResponse(error_message=None, results=results)
