"""`odradek log verify`: check all files of a data directory. Files are opened for reading only.

A *problem* is something that Kafka or Odradek would have to repair, or would fail at; it makes the exit status 1. A
*note* is harmless, for example a file that will be deleted.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from odradek.cli.base.output import Progress, plural
from odradek.common.failures import ApiError, InputError
from odradek.common.ids import TopicPartition
from odradek.common.locks import LOCK_FILE_NAME
from odradek.inspection.directory_listing import DataDir, Kind, LogFile, PartitionDir
from odradek.inspection.entry_readers import read_entries, read_offsets
from odradek.inspection.verify_partition import PartitionCheck, PartitionReport
from odradek.inspection.verify_snapshot import check_metadata_snapshot
from odradek.log import file_names
from odradek.log.errors import DamagedFile

#: A few problems show what is wrong with a file; a corrupt file has one at every entry.
PROBLEMS_PER_FILE = 5


@dataclass(slots=True)
class FileProblems:
    """Problems of a file; those beyond the limit are only counted."""

    messages: list[str] = field(default_factory=list)
    more_count: int = 0


class Findings:
    """Problems by file, in the order in which the files were checked, and notes."""

    def __init__(self, max_per_file: int | None = PROBLEMS_PER_FILE) -> None:
        self.notes: list[str] = []
        self._max_per_file = max_per_file
        self._by_file: dict[str, FileProblems] = {}

    @property
    def count(self) -> int:
        return sum(len(problems.messages) + problems.more_count for problems in self._by_file.values())

    @property
    def problems(self) -> list[str]:
        lines = []
        for path, problems in self._by_file.items():
            lines += problems.messages
            if problems.more_count:
                lines.append(f"{path}: and {plural(problems.more_count, 'more problem')}")
        return lines

    def complain(self, path: str, position: int | None, reason: str) -> None:
        location = path if position is None else f"{path}:{position}"
        self._add(path, f"{location}: {reason}")

    def note(self, path: str, text: str) -> None:
        self.notes.append(f"{path}: {text}")

    @contextmanager
    def caught(self, path: str) -> Iterator[None]:
        """Record an error as a problem of the file, so that the other files are still checked."""
        try:
            yield
        except (DamagedFile, InputError) as error:
            self._add(path, str(error))
        except ApiError as error:
            self.complain(path, None, error.message)
        except OSError as error:
            self.complain(path, None, error.strerror or str(error))

    def _add(self, path: str, line: str) -> None:
        problems = self._by_file.setdefault(path, FileProblems())
        if self._max_per_file is None or len(problems.messages) < self._max_per_file:
            problems.messages.append(line)
        else:
            problems.more_count += 1


class Verification:
    """Checks each directory once. A partition whose directory cannot be read has no report."""

    def __init__(self, findings: Findings, progress: Progress) -> None:
        self._findings = findings
        self._progress = progress
        self._checked: dict[str, PartitionReport | None] = {}
        self._data_dirs: set[str] = set()
        self._log_start_offsets: dict[str, dict[TopicPartition, int]] = {}

    @property
    def reports(self) -> list[PartitionReport]:
        return [report for report in self._checked.values() if report is not None]

    def check(self, target: PartitionDir | DataDir) -> None:
        if isinstance(target, PartitionDir):
            self._check_partition(target)
            return
        real_path = os.path.realpath(target.path)
        if real_path in self._data_dirs:
            return
        self._data_dirs.add(real_path)
        live: dict[TopicPartition, PartitionReport | None] = {}
        for directory in target.partitions:
            report = self._check_partition(directory)
            if not directory.mark:
                live[directory.partition] = report
        self._check_data_dir(target, live)

    def _check_partition(self, directory: PartitionDir) -> PartitionReport | None:
        real_path = os.path.realpath(directory.path)
        if real_path not in self._checked:
            self._checked[real_path] = None
            if directory.mark:
                self._findings.note(directory.path, f"marked {directory.mark[1:]}; checked like other partitions")
            if directory.unreadable:
                self._findings.complain(directory.path, None, directory.unreadable)
            else:
                log_start_offset = self._log_start_offset(os.path.dirname(real_path), directory.partition)
                check = PartitionCheck(directory, self._findings, self._progress, log_start_offset)
                self._checked[real_path] = check.run()
        return self._checked[real_path]

    def _log_start_offset(self, data_dir: str, partition: TopicPartition) -> int:
        """Return the checkpointed log start offset. An unreadable checkpoint is a problem of the data directory."""
        if data_dir not in self._log_start_offsets:
            path = os.path.join(data_dir, file_names.LOG_START_CHECKPOINT)
            self._log_start_offsets[data_dir] = {}
            with suppress(DamagedFile, InputError, ApiError, OSError):
                self._log_start_offsets[data_dir] = read_offsets(LogFile(path, Kind.OFFSETS, partition))
        return self._log_start_offsets[data_dir].get(partition, 0)

    def _check_data_dir(self, target: DataDir, live: dict[TopicPartition, PartitionReport | None]) -> None:
        present = {file.name for file in target.files}
        if file_names.META_PROPERTIES not in present:
            reason = f"{file_names.META_PROPERTIES} is missing: the directory is not formatted"
            self._findings.complain(target.path, None, reason)
        if file_names.CLEAN_SHUTDOWN not in present:
            self._findings.note(target.path, "no clean shutdown: the node is running, or it has crashed")
        for path in target.strangers:
            self._findings.note(path, "has the name of a partition, but no files of Kafka")
        for file in target.files:
            with self._findings.caught(file.path):
                self._check_file(file, live)

    def _check_file(self, file: LogFile, live: dict[TopicPartition, PartitionReport | None]) -> None:
        if file.kind is Kind.OFFSETS:
            self._check_offsets(file, live)
        elif file.kind is Kind.METADATA_SNAPSHOT:
            check_metadata_snapshot(file, self._findings.complain, self._progress)
        elif file.name == LOCK_FILE_NAME:
            return  # exists in every data directory, also of a stopped node
        elif file.kind is Kind.UNKNOWN:
            self._findings.note(file.path, "not a file of an Apache Kafka data directory")
        else:
            list(read_entries(file))

    def _check_offsets(self, file: LogFile, live: dict[TopicPartition, PartitionReport | None]) -> None:
        """Check the offsets of a checkpoint; those of partitions that could not be read are skipped."""
        for partition, offset in read_offsets(file).items():
            if partition not in live:
                self._findings.note(file.path, f"names {partition}, which is not in this directory")
                continue
            report = live[partition]
            if report is None or report.end_offset is None:
                continue
            if not 0 <= offset <= report.end_offset:
                reason = f"offset {offset} for {partition}, whose log ends at {report.end_offset}"
                self._findings.complain(file.path, None, reason)
