"""Topics that clients ask for and that are not there yet, where `auto.create.topics.enable` is set.

The request goes to the active controller in an Envelope, as the client that asked. Nobody waits for its answer: a
client that asks again finds the topic, or asks for its creation again. While a creation is under way, the same topic is
not asked for twice.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping

from odradek.api.facades import Forwarder
from odradek.common.failures import ApiError, ProtocolError
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_names import error_name
from odradek.protocol.facts import Versions
from odradek.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from odradek.protocol.messages.create_topics_response import CreateTopicsResponse
from odradek.protocol.messages.request_header import RequestHeader
from odradek.protocol.requests import parse_response, request_parts
from odradek.server.config import ServerConfig
from odradek.server.settings import Settings

logger = logging.getLogger("odradek.broker")

#: The controller's default applies.
_DEFAULT = -1


class TopicCreation:
    """A `TopicCreator`."""

    def __init__(self, config: ServerConfig, forwarder: Forwarder) -> None:
        self._settings = config.settings
        self._client_id = str(config.node_id)
        self._forwarder = forwarder
        self._under_way: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def create(self, names: Iterable[str], principal: str, client_address: str) -> None:
        wanted = [name for name in names if name not in self._under_way]
        if wanted:
            self._under_way.update(wanted)
            task = asyncio.ensure_future(self._create(wanted, principal, client_address))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _create(self, names: list[str], principal: str, client_address: str) -> None:
        try:
            response = await self._ask(names, principal, client_address)
            for topic in response.topics:
                if topic.error_code:
                    error = error_name(topic.error_code)
                    logger.warning("topic %s was not made for a client: %s %s", topic.name, error, topic.error_message)
                else:
                    logger.info("topic %s was made because %s asked for it", topic.name, principal)
        except (ApiError, ProtocolError) as error:
            logger.warning("topics %s were not made for a client: %s", ", ".join(names), error)
        finally:
            self._under_way.difference_update(names)

    async def _ask(self, names: list[str], principal: str, client_address: str) -> CreateTopicsResponse:
        timeout_ms = self._settings.whole("request.timeout.ms")
        topics = [_creatable(name, self._settings) for name in names]
        version = _common_version(self._forwarder.controller_versions)
        header = RequestHeader(
            request_api_key=ApiKey.CREATE_TOPICS, request_api_version=version, client_id=self._client_id
        )
        request = b"".join(request_parts(header, CreateTopicsRequest(topics=topics, timeout_ms=timeout_ms)))
        answer = await self._forwarder.forward(request, principal, client_address, timeout_ms)
        response = parse_response(answer, ApiKey.CREATE_TOPICS, version)[1]
        assert isinstance(response, CreateTopicsResponse)
        return response


def _common_version(controller: Mapping[int, Versions] | None) -> int:
    last = CreateTopicsRequest.VERSIONS[1]
    known = (controller or {}).get(ApiKey.CREATE_TOPICS)
    return last if known is None else min(last, known.last)


def _creatable(name: str, settings: Settings) -> CreatableTopic:
    internal = _INTERNAL.get(name)
    if internal is not None:
        prefix, configs = internal
        return CreatableTopic(
            name=name,
            num_partitions=settings.whole(f"{prefix}.num.partitions"),
            replication_factor=settings.whole(f"{prefix}.replication.factor"),
            configs=[
                CreatableTopicConfig(
                    name=key, value=settings.text(f"{prefix}.{value[1:]}") if value[0] == "." else value
                )
                for key, value in configs.items()
            ],
        )
    return CreatableTopic(
        name=name,
        num_partitions=_if_given(settings, "num.partitions"),
        replication_factor=_if_given(settings, "default.replication.factor"),
    )


def _if_given(settings: Settings, key: str) -> int:
    return settings.whole(key) if settings.is_given(key) else _DEFAULT


#: Topics of the cluster's own: what their settings begin with, and their configuration, where a value that begins with
#: a dot names another of these settings.
_INTERNAL: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "__consumer_offsets": (
        "offsets.topic",
        {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": ".segment.bytes"},
    ),
    "__transaction_state": (
        "transaction.state.log",
        {
            "unclean.leader.election.enable": "false",
            "compression.type": "uncompressed",
            "cleanup.policy": "compact",
            "min.insync.replicas": ".min.isr",
            "segment.bytes": ".segment.bytes",
        },
    ),
    "__share_group_state": (
        "share.coordinator.state.topic",
        {
            "cleanup.policy": "delete",
            "compression.type": "producer",
            "segment.bytes": ".segment.bytes",
            "retention.ms": "-1",
        },
    ),
}
