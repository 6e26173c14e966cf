"""Logs to be damaged: mixed content on a simulated disk, and what must be left of it afterwards."""

import os
from dataclasses import dataclass
from itertools import accumulate
from random import Random

from odradek.log.offsets import AppendOrigin
from odradek.log.unified_log import UnifiedLog
from odradek.records.batch import Batch, Compression, read_batches
from odradek.records.builder import end_transaction_marker
from odradek.sim.world.disk import SimulatedDisk
from support.builders.logs import DIRECTORY, HandClock, Rig, batch, idempotent

CODECS = tuple(Compression)


def shards(count: int, parts: int = 4) -> list[range]:
    """`count` cases in parts that run in parallel."""
    return [range(part, count, parts) for part in range(parts)]


def scaled(count: int) -> int:
    """A count of a fault test: `make soak` multiplies it."""
    return count * int(os.environ.get("ODRADEK_SOAK_FACTOR", "1"))


def new_rig(disk: SimulatedDisk | None = None) -> Rig:
    clock = HandClock()
    files = disk if disk is not None else SimulatedDisk(clock)
    files.make_dirs("/data")
    files.settle()
    return Rig(files, clock)


def append_mixed(log: UnifiedLog, count: int, seed: int = 0, epoch: int = 0, first_producer: int = 1) -> None:
    """`count` appends: plain batches of every codec, two idempotent producers, and transactions that end either way."""
    random = Random(seed)
    plain, transactional = first_producer, first_producer + 1
    sequences = {plain: 0, transactional: 0}
    is_open = False
    for number in range(count):
        values = [random.randbytes(random.randrange(300)) for _ in range(random.randint(1, 5))]
        codec = CODECS[number % len(CODECS)]
        kind = number % 4
        if kind == 0:
            data = batch(*values, compression=codec)
        elif kind == 3 and is_open:
            marker = end_transaction_marker(
                commit=number % 8 == 3,
                timestamp=log.clock.wall_ms(),
                producer_id=transactional,
                producer_epoch=0,
                coordinator_epoch=0,
            )
            log.appender.append_as_leader(bytearray(marker), epoch, AppendOrigin.COORDINATOR, transaction_version=1)
            is_open = False
            continue
        else:
            producer = transactional if kind == 2 else plain
            data = idempotent(
                producer, sequences[producer], *values, compression=codec, is_transactional=producer == transactional
            )
            sequences[producer] += len(values)
            is_open = is_open or producer == transactional
        log.appender.append_as_leader(bytearray(data), epoch)


def log_bytes(files: SimulatedDisk, directory: str = DIRECTORY) -> dict[str, bytes]:
    """Content of the segment files by name."""
    return {name: files.read_file(f"{directory}/{name}") for name in files.list_dir(directory) if name.endswith(".log")}


@dataclass(frozen=True, slots=True)
class Content:
    """The batches of a log in order, as bytes, with the offset after each."""

    batches: tuple[bytes, ...]
    next_offsets: tuple[int, ...]

    def up_to(self, offset: int) -> "Content":
        count = sum(1 for end in self.next_offsets if end <= offset)
        return Content(self.batches[:count], self.next_offsets[:count])

    def is_prefix_of(self, other: "Content") -> bool:
        return self.batches == other.batches[: len(self.batches)]

    def ends(self) -> list[int]:
        """Where each batch ends, if all are in one file."""
        return list(accumulate(len(data) for data in self.batches))


def content_of(batches: "list[Batch]") -> Content:
    return Content(tuple(bytes(found.buffer) for found in batches), tuple(found.next_offset for found in batches))


def file_content(files: SimulatedDisk, directory: str = DIRECTORY) -> Content:
    """What the segment files hold, read without the log."""
    return content_of([found for data in log_bytes(files, directory).values() for found in read_batches(data)])


def overwrite(files: SimulatedDisk, path: str, data: bytes) -> None:
    file = files.open(path, create=True)
    file.truncate(0)
    file.append(data)
    file.sync()
    file.close()
