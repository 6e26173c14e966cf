"""Topics beside those that handlers read, for retries and dead letters: made at the start where they are missing."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.topics import NewTopic, TopicDescription, TopicOperations
from odradek.common.failures import InputError
from odradek.errors import Refused
from odradek.protocol.error_codes import ErrorCode
from odradek.service.handlers import Handler
from odradek.service.message_intake import Route

logger = logging.getLogger("odradek.service")


@dataclass(frozen=True, slots=True)
class TopicNames:
    """Patterns with {topic}, {group}, and {delay} in the first. With {group} services that read the same topic have
    retry topics of their own; without it each passes over those of the others."""

    group: str
    retry: str = "{topic}.retry.{delay}"
    dead: str = "{topic}.dead"

    def __post_init__(self) -> None:
        try:
            retry, other_delay = self.retry_topic("a", "1s"), self.retry_topic("a", "2s")
            retry_other, dead_other = self.retry_topic("b", "1s"), self.dead_topic("b")
            dead = self.dead_topic("a")
        except (KeyError, IndexError, ValueError) as error:
            raise InputError(f"the name of a retry or dead-letter topic cannot be made: {error}; {_RIGHT}") from None
        if len({retry, other_delay, retry_other, dead, dead_other}) < 5:
            raise InputError(f"{self.retry!r} and {self.dead!r} give several topics one name; {_RIGHT}")

    def retry_topic(self, topic: str, delay: str) -> str:
        return self.retry.format(topic=topic, delay=delay, group=self.group)

    def dead_topic(self, topic: str) -> str:
        return self.dead.format(topic=topic, group=self.group)


_RIGHT = "right are {topic}.retry.{delay} and {topic}.dead, where {group} may be added."


def routes_of(handlers: Iterable[Handler], names: TopicNames) -> dict[str, Route]:
    """All topics that are read. Raises InputError where two handlers would read one topic."""
    routes: dict[str, Route] = {}
    for handler in handlers:
        for stage, topic in enumerate(_read_topics(handler, names)):
            if topic in routes:
                raise InputError(f"topic {topic} has two handlers: {routes[topic].handler.name} and {handler.name}.")
            routes[topic] = Route(handler, stage)
    return routes


def _read_topics(handler: Handler, names: TopicNames) -> Iterator[str]:
    yield handler.topic
    for delay in handler.retries.topics:
        yield names.retry_topic(handler.topic, delay)


async def prepare_topics(cluster: ClusterRouter, handlers: Sequence[Handler], names: TopicNames) -> None:
    """Raises InputError if a topic to read is not there, or one that is needed cannot be made."""
    described = await TopicOperations(cluster).describe([handler.topic for handler in handlers])
    requested: dict[str, NewTopic] = {}
    for handler in handlers:
        description = described[handler.topic]
        if not isinstance(description, TopicDescription):
            raise InputError(
                f"topic {handler.topic} cannot be read: {description}. Create it with "
                f"`odradek topics create {handler.topic}`."
            )
        for name in _beside(handler, names):
            requested[name] = NewTopic(name, len(description.partitions), description.replication_factor)
    await _create_missing(cluster, requested)


def _beside(handler: Handler, names: TopicNames) -> Iterator[str]:
    yield from list(_read_topics(handler, names))[1:]
    if handler.dead_letters:
        yield names.dead_topic(handler.topic)


async def _create_missing(cluster: ClusterRouter, requested: dict[str, NewTopic]) -> None:
    """Another instance of the service may make them at the same time."""
    if not requested:
        return
    there = await TopicOperations(cluster).describe(list(requested))
    missing = [topic for name, topic in requested.items() if isinstance(there[name], Refused)]
    for name, created in (await TopicOperations(cluster).create(missing)).items() if missing else ():
        if not isinstance(created, Refused):
            logger.info("made topic %s", name)
        elif created.code != ErrorCode.TOPIC_ALREADY_EXISTS:
            raise InputError(f"topic {name} cannot be made: {created}")
