"""Images reach the replicas in slices that others may run between, and one after the other."""

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import EMPTY, MetadataImage, MetadataProvenance
from odradek.metadata.publishing.publisher import LeaderAndEpoch, LoaderManifest, ManifestKind
from odradek.server.drivers.replica_driver import ReplicaDriver
from support.builders.logs import HandClock

MANIFEST = LoaderManifest(ManifestKind.LOG_DELTA, MetadataProvenance(0, 1), LeaderAndEpoch())


class SlowReplicas:
    """Each step takes 4 ms, each image five of them."""

    deadline_ms = 1 << 40

    def __init__(self, clock: HandClock) -> None:
        self.clock = clock
        self.taken: list[int] = []
        self.alter_partition = self.fetchers = SimpleNamespace(on_ready=lambda listener: None)
        self.view = SimpleNamespace(set_broker_epoch=lambda epoch: None)
        self.metadata = self

    def tick(self, now_ms: int) -> None:
        raise NotImplementedError

    def apply_in_steps(self, delta: MetadataDelta, image: MetadataImage) -> Iterator[None]:
        for _ in range(5):
            self.clock.now_ms += 4
            self.taken.append(image.offset)
            yield


def image_at(offset: int) -> MetadataImage:
    return MetadataDelta(EMPTY).apply(MetadataProvenance(offset, 1))


async def driven() -> tuple[list[int], list[int]]:
    clock = HandClock()
    replicas = SlowReplicas(clock)
    config = SimpleNamespace(
        node_id=1,
        listeners=SimpleNamespace(inter_broker_name="PLAINTEXT"),
        settings=SimpleNamespace(whole=lambda _: 1000),
    )
    errors: list[BaseException] = []
    driver = ReplicaDriver(
        cast(Any, replicas), cast(Any, config), cast(Any, None), lambda: 7, clock, fatal=errors.append
    )
    applied = []
    for offset in (1, 2):
        driver.on_metadata_update(MetadataDelta(EMPTY), image_at(offset), MANIFEST)
    steps = []
    while driver.applied_image.offset < 2:
        applied.append(driver.applied_image.offset)
        steps.append(len(replicas.taken))
        await asyncio.sleep(0)
    await driver.close()
    assert not errors
    assert replicas.taken == [1] * 5 + [2] * 5
    return applied, steps


def test_others_have_their_turn_between_slices_and_images_wait_for_each_other() -> None:
    applied, steps = asyncio.run(driven())
    assert steps == [3, 6, 9]
    assert applied == [EMPTY.offset, 1, 1]
