"""Topics that are not there yet: those that clients ask for, where they may, and the cluster's own.

The request goes to the active controller, in an Envelope as the client that asked if it is one. Nobody waits for its
answer: a client that asks again finds the topic, or asks for its creation again. While a creation is under way, the
same topic is not asked for twice.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping

from odradek.api.dispatch.services import Forwarder
from odradek.common.failures import ApiError, ProtocolError
from odradek.metadata.internal_topics import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from odradek.protocol.messages.create_topics_response import CreateTopicsResponse
from odradek.protocol.messages.request_header import RequestHeader
from odradek.protocol.requests import parse_response, request_parts
from odradek.protocol.schema import Versions
from odradek.server.config.server_config import ServerConfig
from odradek.server.config.settings import Settings

logger = logging.getLogger("odradek.broker")

#: The controller's default applies.
_DEFAULT = -1

_Ask = Callable[[CreateTopicsRequest], Awaitable[CreateTopicsResponse]]


class TopicCreation:
    """A `TopicCreator`."""

    def __init__(self, config: ServerConfig, forwarder: Forwarder) -> None:
        self._settings = config.settings
        self._timeout_ms = config.settings.whole("request.timeout.ms")
        self._client_id = str(config.node_id)
        self._forwarder = forwarder
        self._under_way: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def create(self, names: Iterable[str], principal: str, client_address: str) -> None:
        self._begin([*names], lambda request: self._forward(request, principal, client_address), principal)

    def create_internal(self, name: str) -> None:
        """One of the cluster's own, which the broker asks for itself: clients need no right to make it."""
        self._begin([name], self._send, "a coordinator")

    def _begin(self, names: list[str], ask: _Ask, whose: str) -> None:
        wanted = [name for name in names if name not in self._under_way]
        if wanted:
            self._under_way.update(wanted)
            task = asyncio.ensure_future(self._create(wanted, ask, whose))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _create(self, names: list[str], ask: _Ask, whose: str) -> None:
        topics = [_creatable(name, self._settings) for name in names]
        try:
            response = await ask(CreateTopicsRequest(topics=topics, timeout_ms=self._timeout_ms))
            for topic in response.topics:
                if topic.error_code == ErrorCode.TOPIC_ALREADY_EXISTS:
                    logger.debug("topic %s was made for somebody else meanwhile", topic.name)
                elif topic.error_code:
                    error = error_name(topic.error_code)
                    logger.warning("topic %s was not made for %s: %s %s", topic.name, whose, error, topic.error_message)
                else:
                    logger.info("topic %s was made because %s asked for it", topic.name, whose)
        except (ApiError, ProtocolError) as error:
            logger.warning("topics %s were not made for %s: %s", ", ".join(names), whose, error)
        finally:
            self._under_way.difference_update(names)

    async def _send(self, request: CreateTopicsRequest) -> CreateTopicsResponse:
        response = await self._forwarder.send(request, self._timeout_ms)
        assert isinstance(response, CreateTopicsResponse)
        return response

    async def _forward(self, request: CreateTopicsRequest, principal: str, client_address: str) -> CreateTopicsResponse:
        version = _common_version(self._forwarder.controller_versions)
        header = RequestHeader(
            request_api_key=ApiKey.CREATE_TOPICS, request_api_version=version, client_id=self._client_id
        )
        data = b"".join(request_parts(header, request))
        answer = await self._forwarder.forward(data, principal, client_address, self._timeout_ms)
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
    CONSUMER_OFFSETS: (
        "offsets.topic",
        {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": ".segment.bytes"},
    ),
    TRANSACTION_STATE: (
        "transaction.state.log",
        {
            "unclean.leader.election.enable": "false",
            "compression.type": "uncompressed",
            "cleanup.policy": "compact",
            "min.insync.replicas": ".min.isr",
            "segment.bytes": ".segment.bytes",
        },
    ),
    SHARE_GROUP_STATE: (
        "share.coordinator.state.topic",
        {
            "cleanup.policy": "delete",
            "compression.type": "producer",
            "segment.bytes": ".segment.bytes",
            "retention.ms": "-1",
        },
    ),
}
