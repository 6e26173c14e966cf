"""A controller makes itself known, and does so again whenever the log says otherwise."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from odradek.common.failures import ApiError
from odradek.errors import RequestTimedOut
from odradek.metadata.features.feature_versions import supported_features
from odradek.metadata.features.metadata_version import MetadataVersion
from odradek.metadata.image.broker_registration import Endpoint
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.controller_registration_request import ControllerRegistrationRequest
from odradek.protocol.messages.controller_registration_response import ControllerRegistrationResponse
from odradek.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from odradek.protocol.schema import Versions
from odradek.server.drivers.controller_registration_task import ControllerRegistrar
from support.builders.controller import Bench, bootstrap_records
from support.processes.network import each_loop, run, until

__all__ = ["each_loop"]

LISTENER = Endpoint("CONTROLLER", "controller7", 9093, 0)


class CoreChannel:
    """Straight to the controller's core; `failures` come first."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.failures: list[ApiError | int] = []
        self.requests: list[ControllerRegistrationRequest] = []

    async def send(self, request: Message, timeout_ms: float) -> Any:
        assert isinstance(request, ControllerRegistrationRequest)
        self.requests.append(request)
        await asyncio.sleep(0)
        if self.failures:
            failure = self.failures.pop(0)
            if isinstance(failure, ApiError):
                raise failure
            return ControllerRegistrationResponse(error_code=failure, error_message="no")
        return self.bench.ask(request)

    async def forward(self, request: bytes, principal: str, client_address: str, timeout_ms: int) -> bytes:
        raise NotImplementedError

    @property
    def controller_versions(self) -> Mapping[int, Versions] | None:
        return None


def registrar(channel: CoreChannel, incarnation: bytes = b"i" * 16) -> ControllerRegistrar:
    return ControllerRegistrar(7, incarnation, [LISTENER], channel, first_backoff_ms=1)


def with_bench(
    test: Callable[[Bench, CoreChannel, ControllerRegistrar], Awaitable[None]],
    version: MetadataVersion = MetadataVersion.IBP_4_3_IV0,
) -> None:
    async def main() -> None:
        bench = Bench(options={"bootstrap": bootstrap_records(version)})
        channel = CoreChannel(bench)
        made = registrar(channel)
        bench.controller.loader.load_batches([], bench.controller.loader.image.offset + 1)
        bench.controller.loader.add_publisher(made)
        try:
            await test(bench, channel, made)
        finally:
            await made.close()

    run(main())


def test_it_registers_once_with_where_it_listens_and_what_it_can_do() -> None:
    async def test(bench: Bench, channel: CoreChannel, made: ControllerRegistrar) -> None:
        await until(lambda: made.is_registered, "in the log")
        known = bench.controller.loader.image.cluster.controllers[7]
        assert known.incarnation_id == b"i" * 16
        assert known.listeners == {"CONTROLLER": LISTENER}
        assert known.supported_features == supported_features()
        bench.tick(1_000)
        await asyncio.sleep(0)
        assert len(channel.requests) == 1

    with_bench(test)


def test_two_processes_of_one_id_quarrel_more_and_more_slowly() -> None:
    async def test(bench: Bench, channel: CoreChannel, made: ControllerRegistrar) -> None:
        await until(lambda: made.is_registered, "in the log")
        other_channel = CoreChannel(bench)
        other = registrar(other_channel, b"j" * 16)
        began_s = asyncio.get_running_loop().time()  # the quarrel begins with the other's registration
        bench.controller.loader.add_publisher(other)
        await until(lambda: other.is_registered, "the other one is in the log")
        await until(lambda: len(channel.requests) >= 6, "again and again")
        assert asyncio.get_running_loop().time() - began_s >= (1 + 2 + 4 + 8) / 1000
        bench.controller.loader.remove_publisher(other)
        await other.close()
        await until(lambda: made.is_registered, "the one that is left is registered")

    with_bench(test)


def test_failures_are_tried_again() -> None:
    async def test(bench: Bench, channel: CoreChannel, made: ControllerRegistrar) -> None:
        channel.failures = [RequestTimedOut("nobody leads"), ErrorCode.UNKNOWN_SERVER_ERROR, 31_000]
        await until(lambda: made.is_registered, "in the log")
        assert len(channel.requests) == 4

    with_bench(test)


def test_it_waits_for_a_metadata_version_that_has_a_word_for_it() -> None:
    async def test(bench: Bench, channel: CoreChannel, made: ControllerRegistrar) -> None:
        await asyncio.sleep(0)
        assert channel.requests == []
        update = FeatureUpdateKey(
            feature="metadata.version", max_version_level=MetadataVersion.IBP_3_7_IV0, upgrade_type=1
        )
        bench.ask(UpdateFeaturesRequest(feature_updates=[update]))
        await until(lambda: made.is_registered, "in the log")

    with_bench(test, MetadataVersion.IBP_3_6_IV2)
