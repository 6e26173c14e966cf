"""Writes snapshots of the metadata image when the generator says that one is due.

An image never changes, so it can be written while the node goes on: a slice of records at a time, the loop in between.
A failure is told to the generator, which asks for no more; the node goes on without new snapshots.
"""

import asyncio
import logging
from itertools import islice

from odradek.common.failures import ApiError, Fault
from odradek.common.ports import Clock
from odradek.metadata.image.image import MetadataImage
from odradek.metadata.publishing.snapshot_generator import SnapshotDue, SnapshotGenerator
from odradek.metadata.records.record_serde import encode_record
from odradek.raft.storage.snapshots import SnapshotWriter
from odradek.raft.values import OffsetAndEpoch
from odradek.server.drivers.raft_driver import RaftDriver

logger = logging.getLogger("odradek.snapshot")

#: Records between two turns of the loop: about five milliseconds.
_SLICE = 300


class SnapshotTask:
    def __init__(self, generator: SnapshotGenerator, driver: RaftDriver, clock: Clock) -> None:
        self._generator = generator
        self._driver = driver
        self._clock = clock

    async def run(self, look_every_ms: int) -> None:
        """Until it is cancelled."""
        while True:
            due = self._generator.due(self._clock.monotonic_ms())
            if due is not None:
                await self._write(due)
            await asyncio.sleep(look_every_ms / 1000)

    async def _write(self, due: SnapshotDue) -> None:
        provenance = due.image.provenance
        snapshot_id = OffsetAndEpoch(provenance.last_contained_epoch, provenance.last_contained_offset + 1)
        writer = self._driver.raft.create_snapshot(snapshot_id, provenance.last_contained_log_time_ms)
        if writer is None:
            self._generator.written()
            return
        started_ms = self._clock.monotonic_ms()
        try:
            await self._write_records(writer, due.image)
            await self._driver.between_steps(lambda: self._freeze(writer, snapshot_id))
        except (ApiError, Fault) as error:
            logger.error("the snapshot at %s failed, there will be no more: %s", snapshot_id, error)
            self._generator.failed(str(error))
            return
        finally:
            writer.close()
        self._generator.written()
        elapsed_ms = self._clock.monotonic_ms() - started_ms
        logger.info("wrote the snapshot at %s in %d ms: %s", snapshot_id, elapsed_ms, due.reason)

    async def _write_records(self, writer: SnapshotWriter, image: MetadataImage) -> None:
        records = image.records()
        while slice_ := [encode_record(record) for record in islice(records, _SLICE)]:
            for value in slice_:  # one by one: together they may be more than a batch holds
                writer.append([value])
            await asyncio.sleep(0)

    def _freeze(self, writer: SnapshotWriter, snapshot_id: OffsetAndEpoch) -> None:
        writer.freeze()
        self._driver.raft.snapshot_frozen(snapshot_id)
