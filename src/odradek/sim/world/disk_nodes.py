"""Nodes of a simulated disk: files and directories, each in two states at once.

`content` and `entries` are what the running process sees. `durable` is what the platter holds. Between the two stand
the changes that were made but not yet synced; a crash keeps any part of them (see `disk_crash`).
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FileChange:
    """An unsynced change to the content of one file: bytes at a position, or a new size if `data` is None."""

    position: int
    data: bytes | None

    def apply(self, content: bytearray) -> None:
        if self.data is None:
            resize(content, self.position)
            return
        if self.position > len(content):
            resize(content, self.position)
        content[self.position : self.position + len(self.data)] = self.data


@dataclass(slots=True)
class FileNode:
    number: int
    content: bytearray = field(default_factory=bytearray)
    durable: bytearray = field(default_factory=bytearray)
    unsynced: list[FileChange] = field(default_factory=list)
    modified_ms: int = 0

    def sync(self) -> None:
        for change in self.unsynced:
            change.apply(self.durable)
        self.unsynced.clear()


@dataclass(slots=True)
class DirNode:
    number: int
    entries: dict[str, Node] = field(default_factory=dict)
    durable: dict[str, Node] = field(default_factory=dict)


Node = FileNode | DirNode


@dataclass(frozen=True, slots=True)
class EntryChange:
    """One name of one directory set to a node, or removed if `node` is None."""

    directory: DirNode
    name: str
    node: Node | None

    def apply(self, entries: dict[str, Node]) -> None:
        if self.node is None:
            entries.pop(self.name, None)
        else:
            entries[self.name] = self.node


#: A change of names that a file system makes as a whole: a rename is two entries, everything else one.
NameChange = tuple[EntryChange, ...]


def resize(content: bytearray, size: int) -> None:
    """Truncate the content, or extend it with zeros, as ftruncate does."""
    if size < len(content):
        del content[size:]
    else:
        content.extend(bytes(size - len(content)))
