"""`odradek log verify`: read everything in a data directory and say what is wrong. It opens files for reading only.

A *problem* is something that Kafka or Odradek would have to repair or would stumble over; it makes the exit status 1.
A *note* is worth knowing and harmless, for example files that wait for their deletion.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from odradek.cli.log_files import DataDir, Kind, LogFile, PartitionDir, find_target
from odradek.cli.log_readers import READERS
from odradek.cli.log_verify_partition import PartitionCheck, PartitionReport
from odradek.cli.log_verify_snapshot import check_metadata_snapshot
from odradek.cli.output import Progress
from odradek.common.failures import ApiError, InputError
from odradek.common.files import OsFileSystem
from odradek.common.ids import TopicPartition
from odradek.log import checkpoints, names
from odradek.log.errors import DamagedFile


@dataclass(slots=True)
class Findings:
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def complain(self, path: str, position: int | None, reason: str) -> None:
        where = path if position is None else f"{path}:{position}"
        self.problems.append(f"{where}: {reason}")

    def note(self, path: str, said: str) -> None:
        self.notes.append(f"{path}: {said}")

    @contextmanager
    def caught(self, path: str) -> Iterator[None]:
        """What cannot be read is a problem of that file, and the rest is still checked."""
        try:
            yield
        except (DamagedFile, InputError) as error:
            self.problems.append(str(error))
        except ApiError as error:
            self.complain(path, None, error.message)
        except OSError as error:
            self.complain(path, None, error.strerror or str(error))


def verify(path: str, findings: Findings, progress: Progress) -> list[PartitionReport]:
    """Raises InputError or OSError if there is nothing to verify at `path`."""
    target = find_target(path)
    if isinstance(target, LogFile):
        raise InputError(f"{path}: a file; verify checks the directory of a partition or a whole data directory")
    if isinstance(target, PartitionDir):
        return [_verify_partition(target, findings, progress)]
    reports = [_verify_partition(partition, findings, progress) for partition in target.partitions]
    _verify_data_dir(target, reports, findings)
    return reports


def _verify_partition(directory: PartitionDir, findings: Findings, progress: Progress) -> PartitionReport:
    if directory.mark:
        findings.note(directory.path, f"marked {directory.mark[1:]}, checked like the others")
    check = PartitionCheck(directory, findings, progress)
    return check.run()


def _verify_data_dir(target: DataDir, reports: list[PartitionReport], findings: Findings) -> None:
    present = {file.name for file in target.files}
    if names.META_PROPERTIES not in present:
        findings.complain(target.path, None, f"{names.META_PROPERTIES} is missing: the directory is not formatted")
    if names.CLEAN_SHUTDOWN not in present:
        findings.note(target.path, "no clean shutdown: the node is running, or it has crashed")
    live = {report.partition: report for report in reports if not report.mark}
    for file in target.files:
        if file.kind is Kind.OFFSETS:
            _verify_checkpoint(file, live, findings)
        elif file.kind is Kind.METADATA_SNAPSHOT:
            with findings.caught(file.path):
                check_metadata_snapshot(file, findings.complain)
        elif file.kind is Kind.UNKNOWN:
            findings.note(file.path, "no file of Kafka's has such a name")
        else:
            with findings.caught(file.path):
                list(READERS[file.kind](file))


def _verify_checkpoint(file: LogFile, live: dict[TopicPartition, PartitionReport], findings: Findings) -> None:
    with findings.caught(file.path):
        offsets = checkpoints.read_offset_checkpoint(OsFileSystem(), file.path)
        for partition, offset in offsets.items():
            report = live.get(partition)
            if report is None:
                findings.note(file.path, f"names {partition}, which is not in this directory")
            elif not 0 <= offset <= report.end_offset:
                findings.complain(
                    file.path, None, f"offset {offset} for {partition}, whose log ends at {report.end_offset}"
                )
