"""Topics that are made because a client asked for them."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from odradek.common.failures import ApiError
from odradek.common.files import OsFileSystem
from odradek.errors import RequestTimedOut
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from odradek.protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from odradek.protocol.messages.response_header import ResponseHeader
from odradek.protocol.requests import parse_request, response_parts
from odradek.protocol.schema import Versions
from odradek.server.config.server_config import load_server_config
from odradek.server.links.topic_creation import TopicCreation
from support.oracles.config_cases import BROKER
from support.processes.network import each_loop, run, until

__all__ = ["each_loop"]


class Controller:
    """A `Forwarder` that keeps requests until it is told to answer."""

    def __init__(self, versions: Mapping[int, Versions] | None = None) -> None:
        self.controller_versions = versions
        self.may_answer = asyncio.Event()
        self.failure: ApiError | None = None
        self.error_code = 0
        self.asked: list[tuple[int, CreateTopicsRequest, str, str]] = []

    async def forward(self, request: bytes, principal: str, client_address: str, timeout_ms: int) -> bytes:
        header, body = parse_request(request, {ApiKey.CREATE_TOPICS: Versions(2, 7)})
        assert isinstance(body, CreateTopicsRequest)
        self.asked.append((header.request_api_version, body, principal, client_address))
        await self.may_answer.wait()
        if self.failure is not None:
            raise self.failure
        results = [CreatableTopicResult(name=topic.name, error_code=self.error_code) for topic in body.topics]
        head = ResponseHeader(correlation_id=header.correlation_id)
        return b"".join(response_parts(head, CreateTopicsResponse(topics=results), header.request_api_version))

    async def send(self, request: Message, timeout_ms: int) -> Any:
        raise NotImplementedError

    def topics(self) -> list[CreatableTopic]:
        return [topic for _, request, *_ in self.asked for topic in request.topics]


def creation(tmp_path: Path, controller: Controller, **settings: str) -> TopicCreation:
    given = {**BROKER, **{key.replace("_", "."): value for key, value in settings.items()}}
    path = tmp_path / "server.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in given.items()))
    return TopicCreation(load_server_config(OsFileSystem(), str(path)), controller)


def test_topics_are_asked_for_as_the_client(tmp_path: Path) -> None:
    async def main() -> None:
        controller = Controller()
        made = creation(tmp_path, controller)
        made.create(["a", "b"], "User:alice", "10.0.0.1")
        await until(lambda: bool(controller.asked), "asked")
        version, request, principal, address = controller.asked[0]
        assert (version, principal, address) == (7, "User:alice", "10.0.0.1")
        assert request.timeout_ms == 30_000
        assert [(topic.name, topic.num_partitions, topic.replication_factor) for topic in request.topics] == [
            ("a", -1, -1),
            ("b", -1, -1),
        ]
        await made.close()

    run(main())


def test_what_the_file_sets_counts_more_than_the_controllers_defaults(tmp_path: Path) -> None:
    async def main() -> None:
        controller = Controller()
        made = creation(tmp_path, controller, num_partitions="4", default_replication_factor="2")
        made.create(["a"], "User:alice", "10.0.0.1")
        await until(lambda: bool(controller.asked), "asked")
        (topic,) = controller.topics()
        assert (topic.num_partitions, topic.replication_factor) == (4, 2)
        await made.close()

    run(main())


@pytest.mark.parametrize(
    ("name", "partitions", "configs"),
    [
        (
            "__consumer_offsets",
            7,
            {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"},
        ),
        (
            "__transaction_state",
            50,
            {
                "unclean.leader.election.enable": "false",
                "compression.type": "uncompressed",
                "cleanup.policy": "compact",
                "min.insync.replicas": "2",
                "segment.bytes": "104857600",
            },
        ),
        (
            "__share_group_state",
            50,
            {
                "cleanup.policy": "delete",
                "compression.type": "producer",
                "segment.bytes": "104857600",
                "retention.ms": "-1",
            },
        ),
    ],
)
def test_topics_of_the_cluster_have_settings_of_their_own(
    tmp_path: Path, name: str, partitions: int, configs: dict[str, str]
) -> None:
    async def main() -> None:
        controller = Controller()
        made = creation(tmp_path, controller, num_partitions="4", offsets_topic_num_partitions="7")
        made.create([name], "User:alice", "10.0.0.1")
        await until(lambda: bool(controller.asked), "asked")
        (topic,) = controller.topics()
        assert (topic.num_partitions, topic.replication_factor) == (partitions, 3)
        assert {config.name: config.value for config in topic.configs} == configs
        await made.close()

    run(main())


def test_nothing_is_asked_for_twice_while_it_is_under_way(tmp_path: Path) -> None:
    async def main() -> None:
        controller = Controller()
        made = creation(tmp_path, controller)
        made.create(["a"], "User:alice", "10.0.0.1")
        made.create(["a", "b"], "User:bob", "10.0.0.2")
        made.create(["b", "a"], "User:carol", "10.0.0.3")
        await until(lambda: len(controller.asked) == 2, "asked")
        assert [topic.name for topic in controller.topics()] == ["a", "b"]
        await made.close()

    run(main())


@pytest.mark.parametrize(
    ("failure", "error_code"), [(RequestTimedOut("nobody"), 0), (None, ErrorCode.INVALID_REPLICATION_FACTOR), (None, 0)]
)
def test_a_topic_can_be_asked_for_again_when_it_was_answered(
    tmp_path: Path, failure: ApiError | None, error_code: int
) -> None:
    async def main() -> None:
        controller = Controller()
        controller.failure, controller.error_code = failure, error_code
        controller.may_answer.set()
        made = creation(tmp_path, controller)

        def asked_again() -> bool:
            made.create(["a"], "User:alice", "10.0.0.1")
            return len(controller.asked) >= 3

        await until(asked_again, "each time anew")
        await made.close()

    run(main())


def test_a_controller_of_an_older_version_is_asked_in_its_own(tmp_path: Path) -> None:
    async def main() -> None:
        controller = Controller({ApiKey.CREATE_TOPICS: Versions(2, 5)})
        made = creation(tmp_path, controller)
        made.create(["a"], "User:alice", "10.0.0.1")
        await until(lambda: bool(controller.asked), "asked")
        assert controller.asked[0][0] == 5
        await made.close()

    run(main())
