"""Warnings about settings that the metadata log has and that do nothing here; a publisher of every broker.

Apache Kafka takes them, and so does the controller: tools that set them go on working. A line of the log names each
setting once for each update of the metadata, however many topics or groups have it.
"""

import logging
from collections.abc import Iterator
from typing import NamedTuple

from odradek.common.config_support import Support, is_ignored
from odradek.metadata.configs.definitions import definitions
from odradek.metadata.configs.support import FILE_ONLY, TABLES
from odradek.metadata.image.configs import ConfigResource
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import MetadataImage
from odradek.metadata.publishing.publisher import LeaderAndEpoch, LoaderManifest
from odradek.protocol.config_types import ConfigResourceType
from odradek.server.config.support_checks import ignored_support

logger = logging.getLogger("odradek.config")


class _Unsupported(NamedTuple):
    resource: ConfigResource
    name: str
    support: Support


class UnsupportedSettings:
    """A `MetadataPublisher`."""

    name = "UnsupportedSettings"

    def on_metadata_update(self, delta: MetadataDelta, image: MetadataImage, manifest: LoaderManifest) -> None:
        by_setting: dict[tuple[int, str], list[_Unsupported]] = {}
        for unsupported in _changed(delta):
            by_setting.setdefault((unsupported.resource.type, unsupported.name), []).append(unsupported)
        for (_, name), all_of_it in by_setting.items():
            first = all_of_it[0]
            others = f" and {len(all_of_it) - 1} more" if len(all_of_it) > 1 else ""
            logger.warning(
                "%s is set for %s%s, and has no effect: %s",
                name,
                _words(first.resource),
                others,
                first.support.sentence,
            )
        if _sets_quotas(delta):
            logger.warning("client quotas are set; they are stored, and not enforced")

    def on_controller_change(self, leader_and_epoch: LeaderAndEpoch) -> None:
        """Settings do not depend on it."""


def _changed(delta: MetadataDelta) -> Iterator[_Unsupported]:
    for resource, settings in {} if delta.configs is None else delta.configs.changed.items():
        for name, value in settings.changes.items():
            support = None if value is None else _ignored(resource, name, value)
            if support is not None:
                yield _Unsupported(resource, name, support)


def _sets_quotas(delta: MetadataDelta) -> bool:
    changed = () if delta.client_quotas is None else delta.client_quotas.changed.values()
    return any(value is not None for quotas in changed for value in quotas.changes.values())


def _ignored(resource: ConfigResource, name: str, value: str) -> Support | None:
    if resource.type == ConfigResourceType.BROKER:
        return FILE_ONLY.get(name) or ignored_support(name, value)
    table, definition = TABLES.get(resource.type), definitions(resource.type).get(name)
    support = None if table is None else table.find(name)
    if support is None or definition is None:
        return None
    return support if is_ignored(definition, support, value) else None


def _words(resource: ConfigResource) -> str:
    if resource.type == ConfigResourceType.BROKER and not resource.name:
        return "all brokers"
    return f"{ConfigResourceType(resource.type).name.lower().replace('_', ' ')} {resource.name}"
