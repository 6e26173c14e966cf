"""Content of a disk after a power failure: everything synced, and a part of the rest.

A real disk may keep any subset of the unsynced writes and names, in any order, and may tear a write at a sector or,
behind a file system that journals sizes apart from data, at any byte. So `survivors` asks a seeded generator about
each change: keep, drop, keep a prefix, keep some sectors. A rename is kept or lost as a whole, which is what every
journalling file system promises.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Literal

from odradek.sim.world.disk_nodes import DirNode, FileChange, FileNode, NameChange, Node

#: "all": as after a crash of the process alone; "none": only what was synced; a generator: any subset, torn anywhere.
Keep = Literal["all", "none"] | Random

SECTOR_BYTES = 512


class Survivors:
    """Copies a tree of nodes as it is found after the crash. Every node is copied once, under whatever name."""

    def __init__(self, keep: Keep) -> None:
        self._keep = keep
        self._copies: dict[int, Node] = {}
        self._entries: dict[int, dict[str, Node]] = {}

    def tree(self, root: DirNode, unsynced_names: Iterable[NameChange]) -> DirNode:
        for change in unsynced_names:
            if not self._keeps_name():
                continue
            for entry in change:
                entry.apply(self._entries_of(entry.directory))
        copy = self._copy(root)
        assert isinstance(copy, DirNode)
        return copy

    def _entries_of(self, directory: DirNode) -> dict[str, Node]:
        entries = self._entries.get(directory.number)
        if entries is None:
            entries = self._entries[directory.number] = dict(directory.durable)
        return entries

    def _keeps_name(self) -> bool:
        return self._keep == "all" or (isinstance(self._keep, Random) and self._keep.random() < 0.5)

    def _copy(self, node: Node) -> Node:
        copy = self._copies.get(node.number)
        if copy is not None:
            return copy
        if isinstance(node, FileNode):
            content = self._content(node)
            copy = FileNode(node.number, content, bytearray(content), [], node.modified_ms)
            self._copies[node.number] = copy
            return copy
        directory = DirNode(node.number)
        self._copies[node.number] = directory
        for name, child in self._entries_of(node).items():
            directory.entries[name] = self._copy(child)
        directory.durable = dict(directory.entries)
        return directory

    def _content(self, node: FileNode) -> bytearray:
        content = bytearray(node.durable)
        if self._keep == "none":
            return content
        for change in node.unsynced:
            if self._keep == "all":
                change.apply(content)
            else:
                for part in torn(change, self._keep):
                    part.apply(content)
        return content


def torn(change: FileChange, random: Random) -> list[FileChange]:
    """The parts of an unsynced change that reached the disk."""
    fate = random.randrange(4)
    if fate == 0:
        return []
    if fate == 1 or not change.data:
        return [change]
    if fate == 2:
        return [FileChange(change.position, change.data[: random.randrange(len(change.data) + 1)])]
    parts = []
    begin = 0
    while begin < len(change.data):
        end = begin + SECTOR_BYTES - (change.position + begin) % SECTOR_BYTES
        if random.random() < 0.5:
            parts.append(FileChange(change.position + begin, change.data[begin:end]))
        begin = end
    return parts
