"""The logs of a topic on the disks of several nodes, side by side."""

from collections.abc import Iterable
from itertools import pairwise

from odradek.records.batch import read_batches
from support.processes.nodes import Node


def check_identical_logs(nodes: Iterable[Node], topic: str, partitions: int) -> int:
    """Of nodes that are down and were all in sync: every partition has the same bytes on all of them. Where a segment
    ends is each node's own affair. How many bytes were compared."""
    compared = 0
    for partition in range(partitions):
        logs = {node.id: log_bytes(node, topic, partition) for node in nodes}
        first, *rest = logs
        for other in rest:
            assert logs[other] == logs[first], _difference(logs, first, other, f"{topic}-{partition}")
        compared += len(logs[first])
    return compared


def log_bytes(node: Node, topic: str, partition: int) -> bytes:
    """All segments; every batch is whole, and each follows the one before it. A log of ours that never had a batch
    has no segment either."""
    directory = node.data / f"{topic}-{partition}"
    assert directory.is_dir(), f"node {node.id} has no log of {topic}-{partition}"
    data = b"".join(segment.read_bytes() for segment in sorted(directory.glob("*.log")))
    batches = list(read_batches(data))
    for batch in batches:
        batch.check()
    for before, after in pairwise(batches):
        assert before.next_offset == after.base_offset, f"node {node.id} has a hole at offset {before.next_offset}"
    return data


def _difference(logs: dict[int, bytes], first: int, other: int, name: str) -> str:
    left, right = list(read_batches(logs[first])), list(read_batches(logs[other]))
    pairs = zip(left, right, strict=False)
    at = next((a.base_offset for a, b in pairs if bytes(a.buffer) != bytes(b.buffer)), None)
    if at is None:
        at = min(left[-1].next_offset if left else 0, right[-1].next_offset if right else 0)
    return f"{name} differs on nodes {first} ({len(left)} batches) and {other} ({len(right)}) from offset {at} on"
