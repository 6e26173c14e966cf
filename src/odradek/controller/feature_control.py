"""Features and metadata.version: which levels are in force, and which change of them is safe."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from odradek.common.failures import check, fail
from odradek.controller.decision import DONE, Decision, Outcome, Refused, outcome_of
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
    """What this node supports, and which nodes must support a level before it is in force."""

    node_id: int
    quorum_node_ids: Sequence[int] = ()
    supported: Mapping[str, VersionRange] = field(default_factory=supported_features)


#: Name of a node for people, and the ranges it registered.
NodeFeatures = tuple[str, int, Mapping[str, VersionRange]]


class FeatureControl:
    def __init__(self, quorum: QuorumFeatures, kraft_version: Callable[[], int]) -> None:
        """`kraft_version` asks Raft, which keeps that one."""
        self._quorum = quorum
        self._kraft_version = kraft_version
        self.levels: dict[str, int] = {}
        self._metadata_version: MetadataVersion | None = None

    @property
    def is_bootstrapped(self) -> bool:
        """Whether the log has said a metadata.version at all."""
        return self._metadata_version is not None

    @property
    def metadata_version(self) -> MetadataVersion:
        if self._metadata_version is None:
            fail("nothing has been decided before the first metadata.version")
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
            f"{record.name} is at level {record.feature_level} by the log, but this node supports {supported} only",
        )
        if record.name == metadata_version.FEATURE_NAME:
            self._metadata_version = supported_version(record.feature_level)
        elif record.name == KRAFT_VERSION:
            pass  # Raft's own
        elif record.feature_level == 0:
            self.levels.pop(record.name, None)
        else:
            self.levels[record.name] = record.feature_level

    def update(self, request: UpdateFeaturesRequest, nodes: Sequence[NodeFeatures]) -> Decision[UpdateFeaturesResponse]:
        """All changes or none. `nodes` are the registered brokers and controllers."""
        proposed = self.finalized_levels() | {u.feature: u.max_version_level for u in request.feature_updates}
        records: list[MetadataRecord] = []
        outcome = DONE
        for update in request.feature_updates:
            try:
                records += self._update_one(update, proposed, nodes)
            except Refused as refused:
                records, outcome = [], outcome_of(refused)
                break
        if request.validate_only:
            records = []
        return Decision(records, _response(request, outcome), is_atomic=True)

    def _update_one(
        self, update: FeatureUpdateKey, proposed: Mapping[str, int], nodes: Sequence[NodeFeatures]
    ) -> list[MetadataRecord]:
        name, level, kind = update.feature, update.max_version_level, update.upgrade_type
        if kind == UPGRADE and update.allow_downgrade:
            kind = SAFE_DOWNGRADE
        if kind not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
            raise _invalid(name, level, "The controller does not support the given upgrade type.")
        if level < 0:
            raise _invalid(name, level, "A feature version cannot be less than 0.")
        reason = self._reason_not_supported(name, level, nodes)
        if reason is not None:
            raise _invalid(name, level, reason)
        current = self._current(name)
        if level < current and kind == UPGRADE:
            raise _invalid(
                name,
                level,
                "Can't downgrade the version of this feature without setting the upgrade type to either safe or "
                "unsafe downgrade.",
            )
        if level > current and kind != UPGRADE:
            raise _invalid(name, level, "Can't downgrade to a newer version.")
        if name == metadata_version.FEATURE_NAME:
            return self._update_metadata_version(level, is_unsafe=kind == UNSAFE_DOWNGRADE)
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
        own = self._quorum.supported.get(name, _ABSENT)
        if level not in own:
            return _not_supported(f"Local controller {self._quorum.node_id}", own)
        registered = [self._quorum.node_id]
        for kind, node_id, ranges in nodes:
            if kind == "Controller":
                registered.append(node_id)
            supported = ranges.get(name, _ABSENT)
            if level not in supported and not (kind == "Controller" and node_id == self._quorum.node_id):
                return _not_supported(f"{kind} {node_id}", supported)
        if self.metadata_version.is_controller_registration_supported:
            for node_id in self._quorum.quorum_node_ids:
                if node_id not in registered:
                    return f"controller {node_id} has not registered, and may not support this feature"
        return None

    def _update_metadata_version(self, level: int, is_unsafe: bool) -> list[MetadataRecord]:
        current = self.metadata_version
        if level not in tuple(MetadataVersion):
            raise Refused(
                ErrorCode.INVALID_UPDATE_VERSION,
                f"Invalid metadata.version {level}. Valid versions are from {int(MINIMUM_VERSION)} to "
                f"{int(LATEST_PRODUCTION)}.",
            )
        if level < current and metadata_changed_between(level, current):
            why = (
                "Unsafe metadata downgrade is not supported in this version."
                if is_unsafe
                else "Refusing to perform the requested downgrade because it might delete metadata information."
            )
            raise Refused(
                ErrorCode.INVALID_UPDATE_VERSION,
                f"Unsupported metadata.version downgrade from {int(current)} to {level}. {why}",
            )
        return [_level_record(metadata_version.FEATURE_NAME, level)]

    def _update_kraft_version(self, level: int, current: int) -> list[MetadataRecord]:
        """Raft writes its own record; the no-op gives the response an offset to wait for."""
        if level < current:
            raise _invalid(KRAFT_VERSION, level, "Can't downgrade the version of this feature.")
        return [MetadataRecord(NoOpRecord(), 0)] if level > current else []


def _not_supported(who: str, supported: VersionRange) -> str:
    if supported.max == 0:
        return f"{who} does not support this feature."
    return f"{who} only supports versions {supported}"


def _invalid(name: str, level: int, message: str) -> Refused:
    text = f"Invalid update version {level} for feature {name}. {message}"
    return Refused(ErrorCode.INVALID_UPDATE_VERSION, text)


def _level_record(name: str, level: int) -> MetadataRecord:
    return MetadataRecord(FeatureLevelRecord(name=name, feature_level=level), 0)


def _response(request: UpdateFeaturesRequest, outcome: Outcome) -> UpdateFeaturesResponse:
    """The whole has one outcome. Versions before v2 list each feature as well, if all went well."""
    if outcome is not DONE:
        why = f"The update failed for all features since the following feature had an error: {outcome.message}"
        return UpdateFeaturesResponse(error_code=outcome.code, error_message=why)
    # Kafka's word for the message of no error.
    results = [UpdatableFeatureResult(feature=u.feature, error_message="NONE") for u in request.feature_updates]
    return UpdateFeaturesResponse(error_message=None, results=results)
