"""One replica's log: its segments on disk, and the offsets, epochs and producers that belong to them.

`UnifiedLog` puts the parts together; each part owns its state, and callers use the part that does what they need:

* `appender`, `reader`, `truncation`, `retention`, `roller`, `flusher`: the operations;
* `offsets`, `segments`, `epochs`, `producers`: the state, changed only by its own methods;
* `health`: whether the log can be used at all.

`log_loader` builds a log from a directory. A log is used by one thread at a time; only `FlushPlan.run` and
`Removal.run` may run beside it.

The caller carries out `segments.take_removals()` after their delay, and flushes (in a worker) when
`flusher.requested_up_to` is set.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from odradek.common.ids import TopicPartition
from odradek.common.ports import Clock, FileSystem
from odradek.log.errors import InconsistentTopicId
from odradek.log.file_names import FUTURE_DIR_SUFFIX
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.log_appender import LogAppender
from odradek.log.log_config import CurrentConfig
from odradek.log.log_flusher import LogFlusher
from odradek.log.log_health import LogHealth
from odradek.log.log_offsets import LogOffsets
from odradek.log.log_reader import LogReader
from odradek.log.log_retention import LogRetention
from odradek.log.log_roller import LogRoller
from odradek.log.log_truncation import LogTruncation
from odradek.log.manager.checkpoint_files import write_partition_metadata
from odradek.log.producers.producer_state import ProducerState
from odradek.log.segment_list import SegmentList
from odradek.log.segments.segment import Segment


@dataclass(slots=True, eq=False, repr=False)
class UnifiedLog:
    """The parts of one log, its topic id, and the operations on its directory as a whole."""

    files: FileSystem
    clock: Clock
    topic_partition: TopicPartition
    topic_id: bytes | None
    config: CurrentConfig
    health: LogHealth
    offsets: LogOffsets
    segments: SegmentList
    epochs: LeaderEpochs
    producers: ProducerState
    appender: LogAppender
    reader: LogReader
    truncation: LogTruncation
    retention: LogRetention
    roller: LogRoller
    flusher: LogFlusher
    #: Descriptions of what loading had to repair.
    repairs: tuple[str, ...]

    def __repr__(self) -> str:
        return f"UnifiedLog({self.directory}, {self.offsets})"

    @property
    def directory(self) -> str:
        return self.health.directory

    @property
    def log_dir(self) -> str:
        """The directory that holds this log among others, and goes offline as a whole."""
        return self.health.log_dir

    @property
    def name(self) -> str:
        return self.directory.rpartition("/")[2]

    @property
    def is_future(self) -> bool:
        return self.directory.endswith(FUTURE_DIR_SUFFIX)

    def replace_segments(self, new: Iterable[Segment], old: Iterable[Segment]) -> None:
        """Swap cleaned segments in. `new` are `.cleaned` and synced, and hold what remains of `old`."""
        self.health.check_online()
        with self.health.guard():
            self.segments.replace(new, old)
        self.offsets.forget_positions()

    def assign_topic_id(self, topic_id: bytes) -> None:
        """Set the topic id if there is none. Raises InconsistentTopicId if the log belongs to another topic."""
        if self.topic_id is not None and self.topic_id != topic_id:
            raise InconsistentTopicId(
                f"Tried to assign topic ID {topic_id.hex()} to log for topic partition {self.topic_partition}, but log "
                f"already contained topic ID {self.topic_id.hex()}"
            )
        if self.topic_id is None:
            self.health.check_online()
            with self.health.guard():
                write_partition_metadata(self.files, self.directory, topic_id)
            self.topic_id = topic_id

    def rename_dir(self, name: str, *, keep_state: bool = True, sync: bool = True) -> None:
        """Rename the directory, for instance to `-delete` or from `-future`. With `sync` the new name is durable.

        A log that is being deleted needs no epochs any more: `keep_state` False drops them."""
        self.health.check_disk()
        target = f"{self.log_dir}/{name}"
        if target == self.directory:
            return
        with self.health.guard():
            self.files.rename(self.directory, target)
            if sync:
                self.files.sync_dir(self.log_dir)
        self.health.moved_to(target)
        self.segments.update_directory(target)
        self.producers.update_directory(target)
        self.epochs.update_directory(target)
        if not keep_state:
            self.epochs.clear()

    def close(self) -> None:
        """Close the log as the next start expects it. Flush first: a clean stop means that all is synced."""
        if self.health.is_closed:
            return
        if self.health.fault is not None:
            self.close_handlers()
            return
        self.health.close()
        with self.health.guard():
            self.epochs.flush()
            self.producers.take_snapshot()
            self.segments.close()

    def close_handlers(self) -> None:
        """Close all files and write nothing, because the directory is offline."""
        self.health.close()
        self.segments.close_handlers()

    def delete(self) -> None:
        """Remove the log and its directory. Nothing is synced: a directory that a crash brings back has a name that
        marks it for deletion."""
        self.health.check_disk()
        self.health.close()
        with self.health.guard():
            self.epochs.clear()
            self.segments.close_handlers()
            self.files.remove_tree(self.directory)
