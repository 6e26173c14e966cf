"""A file system in memory that forgets what was not synced: the port `FileSystem` for tests and the simulator.

Every call that changes something is an `Operation`: numbered, kept in `journal`, and carried out by one function. So
a workload runs once, and `states()` walks through the disk as it stood after each of its operations; at any of them
`crash(keep)` gives the disk that the next process would find. A written byte is durable after `sync` of its file, a
name after `sync_dir` of its directory; until then it may be lost, whole or in part, on its own.

A failed `sync` behaves as Linux does: the dirty pages are clean afterwards, readable for as long as the process
lives, and never on the disk unless they are written again.

Nothing here depends on time or chance: time comes from a clock, chance from a generator that the caller seeds.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from odradek.common.failures import check, fail
from odradek.common.ports import Buffer, Clock
from odradek.sim.world.disk_crash import Keep, Survivors
from odradek.sim.world.disk_faults import FaultRule, FaultRules
from odradek.sim.world.disk_nodes import DirNode, EntryChange, FileChange, FileNode, NameChange, Node


@dataclass(frozen=True, slots=True)
class Operation:
    """One change of the disk. `kind`: create, write, truncate, sync, sync_dir, mkdir, rename, remove, touch, or
    lose: a sync that failed and dropped what was to be synced.

    `node` is the number of the file or directory; `path` is the name by which the caller reached it.
    """

    kind: str
    path: str
    node: int
    position: int = 0
    data: bytes = b""
    target: str = ""


class SimulatedFile:
    """An open file of a `SimulatedDisk`. It stays usable after its name is gone, as a descriptor does."""

    __slots__ = ("_disk", "_node", "_open", "_path", "_writable")

    def __init__(self, disk: SimulatedDisk, node: FileNode, path: str, writable: bool) -> None:
        self._disk = disk
        self._node = node
        self._path = path
        self._writable = writable
        self._open = True

    @property
    def path(self) -> str:
        return self._path

    def size(self) -> int:
        return len(self._node.content)

    def read(self, position: int, length: int) -> bytes:
        check(self._open, f"{self._path} is closed")
        self._disk.faults.check(-1, "read", self._path)
        return bytes(self._node.content[position : position + length])

    def append(self, data: Buffer) -> None:
        self.write(len(self._node.content), data)

    def write(self, position: int, data: Buffer) -> None:
        self._check_writable()
        self._disk.write(Operation("write", self._path, self._node.number, position, bytes(data)))

    def truncate(self, size: int) -> None:
        self._check_writable()
        self._disk.do(Operation("truncate", self._path, self._node.number, size))

    def sync(self) -> None:
        check(self._open, f"{self._path} is closed")
        self._disk.sync_file(self._path, self._node)

    def close(self) -> None:
        self._open = False

    def _check_writable(self) -> None:
        check(self._open, f"{self._path} is closed")
        if not self._writable:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self._path)


class SimulatedDisk:
    """The disk. `capacity_bytes` bounds the content of all files together; beyond it writes fail with ENOSPC."""

    def __init__(
        self,
        clock: Clock | None = None,
        capacity_bytes: int | None = None,
        content: tuple[DirNode, int] | None = None,
    ) -> None:
        """`content` is a tree in which everything is durable, and the next number of a node."""
        self.clock = clock
        self.capacity_bytes = capacity_bytes
        self.journal: list[Operation] = []
        self.faults = FaultRules()
        root, next_number = (DirNode(0), 1) if content is None else content
        self._root = root
        self._nodes: dict[int, Node] = {}
        self._next_number = next_number
        self._used_bytes = 0
        self._unsynced_names: list[NameChange] = []
        self._start: SimulatedDisk | None = None
        self._count_nodes()

    # -- what a test asks for

    def fail(
        self,
        error: int = errno.EIO,
        *,
        operation: int | None = None,
        kind: str | None = None,
        path: str | None = None,
        times: int | None = 1,
    ) -> FaultRule:
        """Let the operation with this number, or those of this kind on a path like this pattern, raise `error`.

        Kinds are those of `Operation`, and `open` and `read`. `times` None: from now on, always.
        """
        rule = FaultRule(error, operation, kind, path, times)
        self.faults.rules.append(rule)
        return rule

    def crash(self, keep: Keep = "none") -> SimulatedDisk:
        """Return the disk after a power failure: synced content, and the unsynced changes that `keep` selects."""
        root = Survivors(keep).tree(self._root, self._unsynced_names)
        return SimulatedDisk(self.clock, self.capacity_bytes, content=(root, self._next_number))

    def copy(self) -> SimulatedDisk:
        """The same content and names, all of it durable."""
        return self.crash("all")

    def settle(self) -> None:
        """Make everything durable, and start the journal anew here."""
        for node in self._nodes.values():
            if isinstance(node, FileNode):
                node.sync()
            else:
                node.durable = dict(node.entries)
        self._unsynced_names.clear()
        self.journal.clear()
        self._start = self.copy()

    def states(self) -> Iterator[SimulatedDisk]:
        """The disk after 0, 1, 2 … operations of the journal since `settle`; one object, changed between steps."""
        disk = self._start.copy() if self._start is not None else SimulatedDisk(self.clock, self.capacity_bytes)
        yield disk
        for operation in self.journal:
            disk.do(operation)
            yield disk

    def used_bytes(self) -> int:
        return self._used_bytes

    # -- the port

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> SimulatedFile:
        self.faults.check(-1, "open", path)
        node = self._find(path)
        if node is None:
            if not create:
                raise _error(errno.ENOENT, path)
            self.do(Operation("create", path, self._next_number))
            node = self._find(path)
        if not isinstance(node, FileNode):
            raise _error(errno.EISDIR, path)
        return SimulatedFile(self, node, path, writable)

    def read_file(self, path: str) -> bytes:
        self.faults.check(-1, "read", path)
        return bytes(self._file(path).content)

    def map_file(self, path: str) -> memoryview:
        return memoryview(self.read_file(path))

    def exists(self, path: str) -> bool:
        return self._find(path) is not None

    def is_dir(self, path: str) -> bool:
        return isinstance(self._find(path), DirNode)

    def size(self, path: str) -> int:
        return len(self._file(path).content)

    def modified_ms(self, path: str) -> int:
        return self._file(path).modified_ms

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        self.do(Operation("touch", path, self._file(path).number, modified_ms))

    def list_dir(self, path: str) -> Sequence[str]:
        self.faults.check(-1, "read", path)
        return sorted(self._dir(path).entries)

    def make_dirs(self, path: str) -> None:
        parts = _parts(path)
        for depth in range(1, len(parts) + 1):
            prefix = "/" + "/".join(parts[:depth])
            node = self._find(prefix)
            if node is None:
                self.do(Operation("mkdir", prefix, self._next_number))
            elif not isinstance(node, DirNode):
                raise _error(errno.EEXIST, prefix)

    def rename(self, source: str, target: str) -> None:
        node = self._find(source)
        if node is None:
            raise _error(errno.ENOENT, source)
        replaced = self._find(target)
        if isinstance(replaced, DirNode) and (replaced.entries or isinstance(node, FileNode)):
            raise _error(errno.ENOTEMPTY, target)
        self.do(Operation("rename", source, node.number, target=target))

    def remove(self, path: str) -> None:
        self.do(Operation("remove", path, self._file(path).number))

    def remove_tree(self, path: str) -> None:
        directory = self._dir(path)
        for name in sorted(directory.entries):
            if isinstance(directory.entries[name], DirNode):
                self.remove_tree(f"{path}/{name}")
            else:
                self.remove(f"{path}/{name}")
        self.do(Operation("remove", path, directory.number))

    def sync_dir(self, path: str) -> None:
        self.do(Operation("sync_dir", path, self._dir(path).number))

    # -- carrying out

    def do(self, operation: Operation) -> None:
        """Number the operation, let it fail if it is to, carry it out."""
        self.faults.check(len(self.journal), operation.kind, operation.path)
        self.journal.append(operation)
        self._apply(operation)

    def write(self, operation: Operation) -> None:
        """A write, or as much of it as fits on the disk."""
        node = self._nodes[operation.node]
        assert isinstance(node, FileNode)
        accepted = len(operation.data)
        if self.capacity_bytes is not None:
            free = self.capacity_bytes - self._used_bytes
            accepted = min(accepted, max(0, len(node.content) + free - operation.position))
        if accepted == len(operation.data):
            self.do(operation)
            return
        if accepted:
            cut = operation.data[:accepted]
            self.do(Operation("write", operation.path, operation.node, operation.position, cut))
        raise _error(errno.ENOSPC, operation.path)

    def sync_file(self, path: str, node: FileNode) -> None:
        try:
            self.do(Operation("sync", path, node.number))
        except OSError:
            self.journal.append(Operation("lose", path, node.number))
            node.unsynced.clear()
            raise

    def _apply(self, operation: Operation) -> None:
        match operation.kind:
            case "create":
                self._apply_create(operation)
            case "mkdir":
                self._apply_mkdir(operation)
            case "write":
                self._apply_write(operation)
            case "truncate":
                self._apply_truncate(operation)
            case "sync":
                self._apply_sync(operation)
            case "lose":
                self._apply_lose(operation)
            case "sync_dir":
                self._apply_sync_dir(operation)
            case "rename":
                self._apply_rename(operation)
            case "remove":
                self._apply_remove(operation)
            case "touch":
                self._apply_touch(operation)
            case _:
                fail(f"unknown operation {operation}")

    def _apply_create(self, operation: Operation) -> None:
        self._add(operation, FileNode(operation.node, modified_ms=self._now_ms()))

    def _apply_mkdir(self, operation: Operation) -> None:
        self._add(operation, DirNode(operation.node))

    def _add(self, operation: Operation, node: Node) -> None:
        parent, name = self._parent(operation.path)
        self._nodes[operation.node] = node
        self._next_number = operation.node + 1
        self._change_names((EntryChange(parent, name, node),))

    def _apply_write(self, operation: Operation) -> None:
        self._change_content(operation, FileChange(operation.position, operation.data))

    def _apply_truncate(self, operation: Operation) -> None:
        self._change_content(operation, FileChange(operation.position, None))

    def _change_content(self, operation: Operation, change: FileChange) -> None:
        node = self._file_of(operation)
        if node is None:
            return
        previous_size = len(node.content)
        change.apply(node.content)
        self._used_bytes += len(node.content) - previous_size
        node.unsynced.append(change)
        node.modified_ms = self._now_ms()

    def _apply_sync(self, operation: Operation) -> None:
        node = self._file_of(operation)
        if node is not None:
            node.sync()

    def _apply_lose(self, operation: Operation) -> None:
        """A failed sync: the kernel marks the pages clean though they never reached the disk."""
        node = self._file_of(operation)
        if node is not None:
            node.unsynced.clear()

    def _apply_touch(self, operation: Operation) -> None:
        node = self._file_of(operation)
        if node is not None:
            node.modified_ms = operation.position

    def _apply_rename(self, operation: Operation) -> None:
        source, source_name = self._parent(operation.path)
        target, target_name = self._parent(operation.target)
        self._forget(target.entries.get(target_name))
        node = self._nodes[operation.node]
        self._change_names((EntryChange(source, source_name, None), EntryChange(target, target_name, node)))

    def _apply_remove(self, operation: Operation) -> None:
        parent, name = self._parent(operation.path)
        self._forget(parent.entries.get(name))
        self._change_names((EntryChange(parent, name, None),))

    def _apply_sync_dir(self, operation: Operation) -> None:
        waiting = []
        for change in self._unsynced_names:
            if any(entry.directory.number == operation.node for entry in change):
                for entry in change:
                    entry.apply(entry.directory.durable)
            else:
                waiting.append(change)
        self._unsynced_names = waiting

    def _change_names(self, change: NameChange) -> None:
        for entry in change:
            entry.apply(entry.directory.entries)
        self._unsynced_names.append(change)

    def _forget(self, node: Node | None) -> None:
        """A file without a name gives its room back; an open descriptor still reads it."""
        if isinstance(node, FileNode):
            self._used_bytes -= len(node.content)

    # -- finding

    def _count_nodes(self) -> None:
        """Index the nodes of the tree, and sum up their sizes."""
        waiting: list[Node] = [self._root]
        while waiting:
            node = waiting.pop()
            self._nodes[node.number] = node
            if isinstance(node, DirNode):
                waiting.extend(node.entries.values())
            else:
                self._used_bytes += len(node.content)

    def _file_of(self, operation: Operation) -> FileNode | None:
        """None in `states()` for a file that had lost its name, but not its descriptor, before the journal began."""
        node = self._nodes.get(operation.node)
        return node if isinstance(node, FileNode) else None

    def _find(self, path: str) -> Node | None:
        node: Node = self._root
        for part in _parts(path):
            if not isinstance(node, DirNode):
                return None
            child = node.entries.get(part)
            if child is None:
                return None
            node = child
        return node

    def _file(self, path: str) -> FileNode:
        node = self._find(path)
        if node is None:
            raise _error(errno.ENOENT, path)
        if not isinstance(node, FileNode):
            raise _error(errno.EISDIR, path)
        return node

    def _dir(self, path: str) -> DirNode:
        node = self._find(path)
        if node is None:
            raise _error(errno.ENOENT, path)
        if not isinstance(node, DirNode):
            raise _error(errno.ENOTDIR, path)
        return node

    def _parent(self, path: str) -> tuple[DirNode, str]:
        directory, _, name = path.rstrip("/").rpartition("/")
        return self._dir(directory), name

    def _now_ms(self) -> int:
        return self.clock.wall_ms() if self.clock is not None else 0


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _error(code: int, path: str) -> OSError:
    return OSError(code, os.strerror(code), path)
