"""What the controller is told of log directories, and what comes of its word."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from odradek.common.failures import ApiError
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from odradek.protocol.messages.assign_replicas_to_dirs_response import (
    AssignReplicasToDirsResponse,
    DirectoryData,
    PartitionData,
    TopicData,
)
from odradek.server.drivers import directory_assignment_task
from odradek.server.drivers.directory_assignment_task import DirectoryAssignments

TOPIC_ID, ONE, TWO = b"t" * 16, b"1" * 16, b"2" * 16


class Controller:
    """Has a word for each partition, or none for the first request."""

    controller_versions = None

    def __init__(self, *codes: dict[int, int] | Exception) -> None:
        self.codes = list(codes)
        self.asked: list[list[tuple[bytes, int]]] = []

    async def forward(self, request: bytes, principal: str, client_address: str, timeout_ms: int) -> bytes:
        raise NotImplementedError

    async def send(self, request: Any, timeout_ms: int) -> AssignReplicasToDirsResponse:
        assert isinstance(request, AssignReplicasToDirsRequest)
        directories = [
            (directory.id, [each.partition_index for topic in directory.topics for each in topic.partitions])
            for directory in request.directories
        ]
        self.asked.append(sorted((id_, index) for id_, indexes in directories for index in indexes))
        codes = self.codes.pop(0)
        if isinstance(codes, Exception):
            raise codes
        return AssignReplicasToDirsResponse(
            directories=[
                DirectoryData(
                    id=id_,
                    topics=[
                        TopicData(
                            topic_id=TOPIC_ID,
                            partitions=[
                                PartitionData(partition_index=index, error_code=codes[index]) for index in indexes
                            ],
                        )
                    ],
                )
                for id_, indexes in directories
            ]
        )


@pytest.fixture(autouse=True)
def no_linger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_assignment_task, "_LINGER_MS", 1)


def told(controller: Controller, *tell: Callable[[DirectoryAssignments], None]) -> list[tuple[int, bytes]]:
    """What was accepted, when nothing is left to tell."""
    accepted: list[tuple[int, bytes]] = []

    async def work() -> None:
        assignments = DirectoryAssignments(1, lambda: 5, controller)
        assignments.on_accepted = lambda _, partition, directory_id: accepted.append((partition, directory_id))
        for each in tell:
            each(assignments)
        while controller.codes:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0)
        await assignments.close()

    asyncio.run(work())
    return accepted


def test_what_is_taken_is_known_and_what_is_not_is_told_again() -> None:
    code = ErrorCode.NOT_CONTROLLER
    controller = Controller(ApiError("nobody"), {0: 0, 1: code, 2: ErrorCode.UNKNOWN_TOPIC_ID}, {1: 0})
    accepted = told(
        controller,
        lambda one: one.tell(TOPIC_ID, 0, ONE),
        lambda one: one.tell(TOPIC_ID, 1, TWO),
        lambda one: one.tell(TOPIC_ID, 2, TWO),
    )
    assert controller.asked == [[(ONE, 0), (TWO, 1), (TWO, 2)]] * 2 + [[(TWO, 1)]]
    assert accepted == [(0, ONE), (1, TWO)]


def test_only_the_last_place_of_a_replica_is_told() -> None:
    controller = Controller({0: 0})
    assert told(controller, lambda one: one.tell(TOPIC_ID, 0, ONE), lambda one: one.tell(TOPIC_ID, 0, TWO)) == [
        (0, TWO)
    ]
