"""The metadata that nodes left on their disks: whole logs side by side, and the image that each one gives."""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from odradek.metadata.image.image import MetadataImage
from odradek.metadata.publishing.loader import MetadataLoader
from odradek.records.batch import Batch, read_batches
from support.builders.metadata import read_metadata_log, records_of, snapshot_provenance
from support.processes.nodes import Node


def check_identical(nodes: Iterable[Node], end_offset: int) -> int:
    """Up to `end_offset`, which is committed, all logs have the same bytes. Logs may begin at different offsets, where
    a snapshot took the place of what was before. How many batches were compared."""
    logs = {node.id: _batches(node.metadata_directory, end_offset) for node in nodes}
    for node_id, log in logs.items():
        assert log and log[-1].next_offset == end_offset, f"node {node_id} has no batch that ends at {end_offset}"
    begin = max(log[0].base_offset for log in logs.values())
    compared = {
        node_id: [bytes(batch.buffer) for batch in log if batch.base_offset >= begin] for node_id, log in logs.items()
    }
    first, *rest = compared
    for other in rest:
        assert compared[other] == compared[first], f"nodes {first} and {other} have different logs"
    return len(compared[first])


def image_at(node: Node, end_offset: int) -> MetadataImage:
    """Of the newest snapshot up to there, and the log after it."""
    loader = MetadataLoader()
    begin = 0
    usable = [path for path in _snapshots(node.metadata_directory) if _end_offset(path) <= end_offset]
    for snapshot in usable[-1:]:
        begin = _end_offset(snapshot)
        loader.load_snapshot(snapshot_provenance(snapshot), records_of(read_metadata_log(snapshot)), None)
    for segment in _segments(node.metadata_directory):
        batches = [batch for batch in read_metadata_log(segment) if begin <= batch.base_offset < end_offset]
        loader.load_batches(batches, None)
    return loader.image


def topics_of(image: MetadataImage) -> dict[str, bytes]:
    """Ids by name."""
    return {name: topic.id for name, topic in image.topics.by_name.items()}


def _batches(directory: Path, end_offset: int) -> list[Batch]:
    found: list[Batch] = []
    for segment in _segments(directory):
        for batch in read_batches(segment.read_bytes()):
            batch.check()
            if batch.base_offset < end_offset:
                found.append(batch)
    for before, after in pairwise(found):
        assert before.next_offset == after.base_offset, f"{directory} has a hole at offset {before.next_offset}"
    return found


def _segments(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.log"))


def _snapshots(directory: Path) -> list[Path]:
    """Without the one that formatting wrote: it holds no records of the cluster's life."""
    return sorted(path for path in directory.glob("*.checkpoint") if not path.name.startswith("0" * 20))


def _end_offset(snapshot: Path) -> int:
    return snapshot_provenance(snapshot).last_contained_offset + 1
