"""A broker over sockets, with the controller's core at the other end."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.lifecycle import BrokerState, Standing
from odradek.common.failures import InputError
from odradek.common.files import OsFileSystem
from odradek.controller.cluster_control import RegistrationState
from odradek.metadata.features.metadata_version import MetadataVersion
from odradek.metadata.image.broker_registration import Endpoint
from odradek.network.listener import Listener
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from odradek.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from odradek.protocol.messages.broker_registration_request import BrokerRegistrationRequest
from odradek.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from odradek.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from odradek.server.config.server_config import ServerConfig, load_server_config
from odradek.server.drivers.lifecycle_driver import BrokerDriver
from support.builders.controller import CLUSTER_ID, Bench, bootstrap_records, directory_of
from support.fakes.controllers import FakeQuorum, break_connections, controller_listener, of_core
from support.figures import report
from support.oracles.config_cases import BROKER
from support.processes.network import each_loop, run, until

__all__ = ["each_loop"]

LIFECYCLE = (ApiKey.BROKER_REGISTRATION, ApiKey.BROKER_HEARTBEAT)

#: Longer than any test takes: what comes sooner was not waiting for its turn.
FAR_MS = 600_000


def config(directory: Path, **settings: int | str) -> ServerConfig:
    lines = {**BROKER, "node.id": "3", "broker.rack": "r1", "log.dirs": str(directory)}
    given = {key.replace("_", "."): str(value) for key, value in settings.items()}
    path = directory / "server.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in {**lines, **given}.items()))
    return load_server_config(OsFileSystem(), str(path))


@dataclass
class World:
    """One broker, and one controller that it can reach."""

    bench: Bench
    quorum: FakeQuorum
    listener: Listener
    driver: BrokerDriver
    requests: list[Message]
    over: list[BaseException] = field(default_factory=list)

    @property
    def heartbeats(self) -> list[BrokerHeartbeatRequest]:
        return [request for request in self.requests if isinstance(request, BrokerHeartbeatRequest)]

    def seen(self) -> RegistrationState:
        return self.bench.controller.controls.cluster.state(3)


@asynccontextmanager
async def world(
    tmp_path: Path, handlers: dict[ApiKey, Any] | None = None, bench: Bench | None = None, **settings: int | str
) -> AsyncIterator[World]:
    bench, quorum, requests = bench or Bench(), FakeQuorum(), list[Message]()
    over: list[BaseException] = []
    driver = BrokerDriver(
        config(tmp_path, **settings),
        cluster_id=CLUSTER_ID,
        listeners=[Endpoint("PLAINTEXT", "broker3", 9092, 0)],
        directories={str(tmp_path): directory_of(3)},
        quorum=quorum,
        image=lambda: bench.controller.loader.image,
        fatal=over.append,
    )
    bench.controller.loader.add_publisher(driver)
    async with controller_listener(handlers or of_core(bench, LIFECYCLE, requests)) as listener:
        quorum.lead(listener)
        try:
            yield World(bench, quorum, listener, driver, requests, over)
        finally:
            await driver.close()


def in_world(tmp_path: Path, test: Callable[[World], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        async with world(tmp_path, **options) as made:
            await test(made)

    run(main())


def publish(world: World) -> None:
    """The node has caught up: publishers get their first image."""
    loader = world.bench.controller.loader
    loader.load_batches([], loader.image.offset + 1)


async def started(world: World) -> None:
    publish(world)
    await world.driver.start()


def test_it_is_registered_unfenced_and_let_go(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test(world: World) -> None:
        await started(world)
        driver = world.driver
        assert (driver.state, driver.standing, world.seen()) == (
            BrokerState.RUNNING,
            Standing.ONLINE,
            RegistrationState.ONLINE,
        )
        registered = world.bench.controller.controls.cluster.brokers[3]
        assert (registered.epoch, registered.rack) == (driver.epoch, "r1")
        assert registered.incarnation_id == driver.incarnation_id
        assert registered.directories == (directory_of(3),)
        assert await driver.controlled_shutdown(FAR_MS)
        assert world.seen() is RegistrationState.FENCED
        assert world.over == []

    caplog.set_level(logging.INFO, "odradek.broker")
    in_world(tmp_path, test)
    told = [line for line in caplog.messages if line.startswith("broker 3: ")]
    states = [line.removeprefix("broker 3: ").partition(":")[0] for line in told]
    epoch = states[-1].rpartition(" ")[2]
    assert states == [
        "STARTING, Offline at epoch -1",
        f"STARTING, Fenced at epoch {epoch}",
        f"RECOVERY, Fenced at epoch {epoch}",
        f"RUNNING, Online at epoch {epoch}",
        f"PENDING_CONTROLLED_SHUTDOWN, Online at epoch {epoch}",
        f"SHUTTING_DOWN, Fenced at epoch {epoch}",
    ]


def test_it_asks_to_be_unfenced_only_when_the_node_is_ready(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        is_ready = asyncio.Event()
        called: list[BrokerState] = []

        async def ready() -> None:
            called.append(world.driver.state)
            await is_ready.wait()

        starting = asyncio.ensure_future(world.driver.start(ready))
        await until(lambda: world.driver.state is BrokerState.RECOVERY, "it has caught up")
        await until(lambda: world.driver.state is BrokerState.RECOVERY, "and waits for its first metadata")
        assert called == []
        publish(world)
        await until(lambda: called == [BrokerState.RECOVERY], "the node gets ready")
        assert all(beat.want_fence for beat in world.heartbeats)
        is_ready.set()
        await starting
        assert not world.heartbeats[-1].want_fence

    in_world(tmp_path, test, broker_heartbeat_interval_ms=1_000, broker_session_timeout_ms=FAR_MS)


def test_a_broken_connection_is_followed_by_a_heartbeat_on_a_new_one(tmp_path: Path) -> None:
    """Within the grace of 300 ms, if the machine lets it: that is a figure and not a verdict."""

    async def test(world: World) -> None:
        await started(world)
        loop, took_ms = asyncio.get_running_loop(), list[float]()
        for _ in range(10):
            before, broke_s = len(world.heartbeats), loop.time()
            break_connections(world.listener)
            await until(lambda: len(world.heartbeats) > before, "heard again, long before its time")  # noqa: B023
            took_ms.append((loop.time() - broke_s) * 1000)
        report("heard again after a broken connection", breaks=len(took_ms), longest_ms=round(max(took_ms)))

    in_world(tmp_path, test, broker_heartbeat_interval_ms=FAR_MS, broker_session_timeout_ms=FAR_MS)


def test_another_controller_is_heartbeaten_as_soon_as_it_leads(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await started(world)
        requests: list[Message] = []
        async with controller_listener(of_core(world.bench, LIFECYCLE, requests)) as second:
            world.quorum.lead(second, 2)
            world.bench.controller.loader.controller_changed(world.bench.controller.leader_and_epoch)
            await until(lambda: bool(requests), "the new one is told that the broker lives")
            assert world.seen() is RegistrationState.ONLINE

    in_world(tmp_path, test, broker_heartbeat_interval_ms=FAR_MS, broker_session_timeout_ms=FAR_MS)


def test_a_broker_that_stops_does_not_wait_for_the_heartbeats_of_others(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await started(world)
        bench = world.bench
        bench.add_broker(5)
        bench.create("t", [[5, 3]])
        before = len(world.heartbeats)
        assert not bench.ask(bench.beat(5, want_shut_down=True)).should_shut_down
        await until(lambda: len(world.heartbeats) > before, "the controller is told that it was read of")
        assert bench.ask(bench.beat(5, want_shut_down=True)).should_shut_down

    in_world(tmp_path, test, broker_heartbeat_interval_ms=FAR_MS, broker_session_timeout_ms=FAR_MS)


def test_a_controlled_shutdown_that_nobody_answers_ends_in_time(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await started(world)
        world.quorum.lead(None)
        break_connections(world.listener)
        assert not await world.driver.controlled_shutdown(100)
        assert world.driver.state is BrokerState.SHUTTING_DOWN

    in_world(tmp_path, test)


def test_without_controlled_shutdown_it_just_goes(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await started(world)
        assert await world.driver.controlled_shutdown(FAR_MS)
        assert not any(beat.want_shut_down for beat in world.heartbeats)

    in_world(tmp_path, test, controlled_shutdown_enable="false")


def test_a_broker_that_is_not_taken_in_says_why(tmp_path: Path) -> None:
    def refuse(ctx: Any, request: BrokerRegistrationRequest) -> Message:
        return BrokerRegistrationResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)

    async def test(world: World) -> None:
        with pytest.raises(InputError, match=r"broker 3 did not start: .*3000 ms.*INCONSISTENT_CLUSTER_ID"):
            await world.driver.start()
        assert world.over == []

    handlers = {ApiKey.BROKER_REGISTRATION: refuse}
    # Time for at least one answer, also on a machine that is busy.
    in_world(tmp_path, test, handlers=handlers, initial_broker_registration_timeout_ms=3_000)


def test_without_controllers_it_does_not_start(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        world.quorum.lead(None)
        with pytest.raises(InputError, match="broker 3 did not start: it could not register in 300 ms"):
            await world.driver.start()

    in_world(tmp_path, test, initial_broker_registration_timeout_ms=300)


def test_a_start_that_is_given_up_ends(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        starting = asyncio.ensure_future(world.driver.start())
        await until(lambda: world.driver.state is BrokerState.RECOVERY, "it waits for its first metadata")
        await world.driver.close()
        with pytest.raises(InputError, match="the node stops"):
            await starting

    in_world(tmp_path, test)


def test_the_node_is_told_when_a_failed_directory_cannot_be_reported(tmp_path: Path) -> None:
    def silent(ctx: Any, request: BrokerHeartbeatRequest) -> Message:
        error = ErrorCode.UNKNOWN_SERVER_ERROR if request.offline_log_dirs else ErrorCode.NONE
        fenced = request.want_fence
        return BrokerHeartbeatResponse(error_code=error, is_caught_up=True, is_fenced=fenced)

    async def test(world: World) -> None:
        await started(world)
        world.driver.directory_failed(directory_of(3))
        await until(lambda: bool(world.over), "it gives up")
        assert "failed log directory" in str(world.over[0])

    bench = Bench()
    handlers = {**of_core(bench, LIFECYCLE, []), ApiKey.BROKER_HEARTBEAT: silent}
    in_world(tmp_path, test, handlers=handlers, bench=bench, log_dir_failure_timeout_ms=200)


def test_a_flaw_of_ours_is_told_and_not_swallowed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test(world: World) -> None:
        await started(world)
        break_connections(world.listener)  # so that something is sent
        world.driver._core.answered = None  # type: ignore[assignment, method-assign]
        await until(lambda: bool(world.over), "the node is told")
        assert "it is broken" in str(world.over[0])

    in_world(tmp_path, test, broker_heartbeat_interval_ms=FAR_MS, broker_session_timeout_ms=FAR_MS)


def test_it_registers_again_when_the_cluster_learns_the_word_for_directories(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await started(world)
        assert world.bench.controller.controls.cluster.brokers[3].directories == ()
        epoch = world.driver.epoch
        update = FeatureUpdateKey(
            feature="metadata.version", max_version_level=MetadataVersion.IBP_3_7_IV2, upgrade_type=1
        )
        response = world.bench.ask(UpdateFeaturesRequest(feature_updates=[update]))
        assert response.error_code == 0, response
        await until(
            lambda: world.bench.controller.controls.cluster.brokers[3].directories == (directory_of(3),), "told"
        )
        assert world.driver.epoch == epoch
        assert world.seen() is RegistrationState.ONLINE

    bench = Bench(options={"bootstrap": bootstrap_records(MetadataVersion.IBP_3_7_IV0)})
    in_world(tmp_path, test, bench=bench)
