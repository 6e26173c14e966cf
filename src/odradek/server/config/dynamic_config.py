"""The settings that hold on this node right now: its file, what is set for all brokers, what is set for this one.

A publisher, the first of all, so that everybody who hears of an image finds the settings that belong to it. Whoever
can live with another value while the node runs subscribes to the settings it needs:

    dynamic.subscribe(("log.cleaner.threads",), lambda settings: cleaner.resize(settings.whole("log.cleaner.threads")))

It is called at once, and again whenever one of them has changed. What cannot be heeded (a value that is none, a setting
that is read only at the start, settings that do not go together) is not, with a line in the log: a controller takes
what it does not know.

`check_change` is for those who would change something: it says in Kafka's words why that cannot be.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from odradek.common.config_definition import InvalidConfig
from odradek.common.failures import ApiError
from odradek.metadata.configs.dynamic import broker_definition, check_dynamic, effective, usable
from odradek.metadata.image.configs import ConfigResource
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import MetadataImage
from odradek.metadata.publishing.publisher import LeaderAndEpoch, LoaderManifest
from odradek.protocol.config_types import ConfigResourceType
from odradek.server.config.dynamic_rules import check_together, check_update
from odradek.server.config.settings import Settings
from odradek.server.config.support_checks import rejection

logger = logging.getLogger("odradek.config")

Apply = Callable[[Settings], None]


class _Subscriber(NamedTuple):
    names: frozenset[str]
    apply: Apply


class DynamicConfig:
    """A `MetadataPublisher`. `settings` is what holds."""

    name = "DynamicConfig"

    def __init__(self, node_id: int, static: Settings) -> None:
        self._static = static
        self._own = ConfigResource(ConfigResourceType.BROKER, str(node_id))
        self._all_brokers = ConfigResource(ConfigResourceType.BROKER, "")
        self._node: dict[str, str] = {}
        self._cluster: dict[str, str] = {}
        self._subscribers: list[_Subscriber] = []
        self.settings = static

    def subscribe(self, names: Iterable[str], apply: Apply) -> None:
        """`apply` gets all settings, now and whenever one of `names` has changed."""
        subscriber = _Subscriber(frozenset(names), apply)
        self._subscribers.append(subscriber)
        _tell(subscriber, self.settings)

    def check_change(self, values: Mapping[str, str], for_one_broker: bool) -> None:
        """Check all that would be set for this broker, or for all brokers. Raises ApiError: INVALID_CONFIG for what is
        not supported, INVALID_REQUEST for anything else."""
        check_dynamic(values, for_one_broker)
        self._check_supported(values, self._node if for_one_broker else self._cluster)
        layers = (self._cluster, values) if for_one_broker else (values, self._node)
        check_update(self.settings, self._static.replaced(effective(self._static.given, *layers)))

    def _check_supported(self, values: Mapping[str, str], before: Mapping[str, str]) -> None:
        """Only what would change: an older setting that is in the log already must not block all others."""
        for name, value in values.items():
            support = rejection(name, value)
            if support is not None and before.get(name) != value:
                raise InvalidConfig(
                    f"Invalid value {_shown(name, values)} for configuration {name}: {support.sentence}"
                )

    # The metadata

    def on_metadata_update(self, delta: MetadataDelta, image: MetadataImage, manifest: LoaderManifest) -> None:
        if delta.configs is None:
            return
        changed = delta.configs.changed
        if self._own in changed or self._all_brokers in changed:
            self._node = self._heeded(image, self._own)
            self._cluster = self._heeded(image, self._all_brokers)
            self._maybe_update(self._static.replaced(effective(self._static.given, self._cluster, self._node)))

    def on_controller_change(self, leader_and_epoch: LeaderAndEpoch) -> None:
        """Nothing of it is ours."""

    def _heeded(self, image: MetadataImage, resource: ConfigResource) -> dict[str, str]:
        wanted = image.configs.settings(resource)
        heeded = usable(wanted, resource == self._own)
        for name, value in wanted.items():
            if name not in heeded:
                logger.error("%s is set for %s, and cannot be applied", name, _words(resource))
            elif rejection(name, value) is not None:
                logger.error("%s is set for %s, and is not supported", name, _words(resource))
        return heeded

    def _maybe_update(self, settings: Settings) -> None:
        try:
            check_together(settings)
        except ApiError as error:
            logger.error("the settings stay as they are: %s", error)
        else:
            self._update(settings)

    def _update(self, settings: Settings) -> None:
        before, after = self.settings.given, settings.given
        changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        self.settings = settings
        for name in changed:
            logger.info("%s: %s instead of %s", name, _shown(name, after), _shown(name, before))
        for subscriber in self._subscribers:
            if not subscriber.names.isdisjoint(changed):
                _tell(subscriber, settings)


def _tell(subscriber: _Subscriber, settings: Settings) -> None:
    """One who cannot go along stays as it was; the others and the node go on."""
    try:
        subscriber.apply(settings)
    except ApiError as error:
        logger.error("settings cannot be applied: %s", error)
    except Exception:
        # What is set stays set: a node that ended here would end at every start, and all the others with it.
        logger.exception("settings cannot be applied: %s", ", ".join(sorted(subscriber.names)))


def _words(resource: ConfigResource) -> str:
    return f"broker {resource.name}" if resource.name else "all brokers"


def _shown(name: str, values: Mapping[str, str]) -> str:
    definition = broker_definition(name)
    if name not in values:
        return "the default"
    return "(hidden)" if definition is None or definition.is_sensitive else values[name]
