"""Features of a new cluster: the release's levels, except for those that were requested explicitly."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from odradek.common.failures import InputError
from odradek.metadata.features import metadata_version
from odradek.metadata.features.feature_versions import FEATURES, KRAFT_VERSION, default_level, unmet_dependency
from odradek.metadata.features.metadata_version import LATEST_PRODUCTION, MetadataVersion, from_version_string
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.messages.feature_level_record import FeatureLevelRecord

_LEVEL_MAX = (1 << 15) - 1
_FORM = "A feature is name=level, for example group.version=1."


@dataclass(frozen=True, slots=True)
class InitialFeatures:
    metadata_version: MetadataVersion
    #: By name; `metadata.version` is not among them, `kraft.version` is.
    levels: Mapping[str, int]

    def records(self) -> list[MetadataRecord]:
        """`metadata.version` first, since it says how to read the others. What is off has none, and `kraft.version`
        has a control record of its own."""
        named = {metadata_version.FEATURE_NAME: int(self.metadata_version)}
        named |= {name: self.levels[name] for name in sorted(self.levels) if name != KRAFT_VERSION}
        return [
            MetadataRecord(FeatureLevelRecord(name=name, feature_level=level), 0)
            for name, level in named.items()
            if level
        ]


def initial_features(asked: Iterable[str], release_version: str | None, *, dynamic_quorum: bool) -> InitialFeatures:
    """`asked` are `name=level` each. Raises InputError for what is unknown or does not go together."""
    requested = dict(_parse(text) for text in asked)
    version = _version(requested.pop(metadata_version.FEATURE_NAME, None), release_version)
    for name in requested:
        if name not in FEATURES:
            raise InputError(f'--feature: there is no "{name}". Known ones: {", ".join(sorted(FEATURES))}.')
    _check_kraft_version(requested.get(KRAFT_VERSION), dynamic_quorum)
    levels = (
        {name: default_level(name, version) for name in FEATURES} | {KRAFT_VERSION: int(dynamic_quorum)} | requested
    )
    for name, level in levels.items():
        reason = unmet_dependency(name, level, {**levels, metadata_version.FEATURE_NAME: version})
        if reason is not None:
            raise InputError(f"--feature {name}={level}: {reason}.")
    return InitialFeatures(version, levels)


def _parse(text: str) -> tuple[str, int]:
    name, equals, level = (part.strip() for part in text.partition("="))
    if not equals or not name:
        raise InputError(f'--feature "{text}" has no level. {_FORM}')
    if not level.isdecimal() or int(level) > _LEVEL_MAX:
        raise InputError(f'--feature "{text}": "{level}" is no level. {_FORM}')
    return name, int(level)


def _version(level: int | None, release_version: str | None) -> MetadataVersion:
    if level is None:
        return LATEST_PRODUCTION if release_version is None else from_version_string(release_version)
    if release_version is not None:
        raise InputError("--release-version and --feature metadata.version say the same thing: give one of the two.")
    try:
        return MetadataVersion(level)
    except ValueError:
        supported_range = f"{min(MetadataVersion).value} to {max(MetadataVersion).value}"
        raise InputError(
            f"--feature metadata.version={level}: there is no such level, only {supported_range}."
        ) from None


def _check_kraft_version(level: int | None, dynamic_quorum: bool) -> None:
    if level == 0 and dynamic_quorum:
        raise InputError(
            "--feature kraft.version=0: the voters must be in controller.quorum.voters then. "
            "Set them there, or leave the option out."
        )
    if level and not dynamic_quorum:
        raise InputError(
            f"--feature kraft.version={level}: the voters are in the log then, and controller.quorum.voters is set. "
            "Take it out of the file, or leave the option out."
        )
