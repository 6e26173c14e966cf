"""`odradek log dump`: content of the files of a data directory.

Text output has every file. JSON output of a directory has its records as a client would read them, or its batches;
that of a single file other than a segment has its entries. Damage is reported on stderr with file and position, what
follows it is shown nevertheless, and the exit status is 1.
"""

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from odradek.cli.base.errors import describe, echo, warn
from odradek.cli.base.options import Settings
from odradek.cli.base.output import print_json
from odradek.cli.commands.log.show import (
    batch_json,
    batch_line,
    entry_field_text,
    json_prefix,
    record_json,
    record_line,
)
from odradek.common.failures import ApiError, InputError
from odradek.common.printable import printable_json
from odradek.inspection.damaged_walk import BatchAt, Damage, walk_batches
from odradek.inspection.directory_listing import DataDir, Kind, LogFile, PartitionDir, find_target
from odradek.inspection.entry_readers import Entry, read_entries
from odradek.inspection.record_decoding import Undecodable, decode_control, decoder_for
from odradek.inspection.safe_reading import mapped
from odradek.log.errors import DamagedFile
from odradek.records.batch import Batch, Record


@dataclass(frozen=True, slots=True)
class DumpOptions:
    """Options of the output. `decode` and `control` concern JSON; text is always decoded, and has control records."""

    decode: bool = False
    control: bool = False
    batches_only: bool = False
    from_offset: int = 0


class Dump:
    """Writes the content of files, and remembers whether any was damaged."""

    def __init__(self, settings: Settings, options: DumpOptions) -> None:
        self.settings = settings
        self.options = options
        self.damaged = False
        self._shown_paths: set[str] = set()

    def show(self, path: str) -> None:
        """Show a file or a directory, once if it is passed twice. An error of one path does not stop the others."""
        if os.path.realpath(path) in self._shown_paths:
            return
        self._shown_paths.add(os.path.realpath(path))
        try:
            target = find_target(path)
        except (InputError, OSError) as error:
            self._report_damage(describe(error))
            return
        if isinstance(target, LogFile):
            self._show_named_file(target)
            return
        partitions = target.partitions if isinstance(target, DataDir) else (target,)
        if isinstance(target, DataDir) and not self.settings.as_json:
            self._show_files(target.files)
        for partition in partitions:
            self._show_partition(partition, named=isinstance(target, PartitionDir))

    def _show_named_file(self, file: LogFile) -> None:
        if file.kind is Kind.UNKNOWN:
            self._report_damage(f"{file.path}: not a file of an Apache Kafka data directory")
        else:
            self._show_file(file)

    def _show_partition(self, directory: PartitionDir, *, named: bool) -> None:
        if directory.unreadable:
            self._report_damage(f"{directory.path}: {directory.unreadable}")
        elif not self.settings.as_json:
            self._show_files(directory.files)
        elif named or not directory.mark:  # a marked copy would repeat records, or show deleted ones
            self._show_files(directory.live(Kind.SEGMENT))

    def _show_files(self, files: Iterable[LogFile]) -> None:
        for file in files:
            if file.kind is not Kind.UNKNOWN or not os.path.isdir(file.path):
                self._show_file(file)

    def _show_file(self, file: LogFile) -> None:
        try:
            if not self.settings.as_json:
                echo(f"{file.path}  ({file.kind}, {os.path.getsize(file.path)} bytes)")
            if file.kind in (Kind.SEGMENT, Kind.METADATA_SNAPSHOT):
                self._show_batches(file)
            elif file.kind is not Kind.UNKNOWN:
                self._show_entries(file)
        except (DamagedFile, InputError) as error:
            self._report_damage(str(error))
        except OSError as error:
            if error.filename is None:  # stdout's, not the file's
                raise
            self._report_damage(describe(error))

    def _show_entries(self, file: LogFile) -> None:
        for entry in read_entries(file):
            if self.settings.as_json:
                print_json({"file": file.path, **entry})
            else:
                fields = [entry_field_text(name, value, utc=self.settings.utc) for name, value in entry.items()]
                echo("  " + "  ".join(fields))

    def _show_batches(self, file: LogFile) -> None:
        with mapped(file.path) as view:
            for item in walk_batches(view):
                if isinstance(item, Damage):
                    skipped = f"; {item.end - item.position} bytes skipped, continued with the batch at {item.end}"
                    more = skipped if item.end < len(view) else ""
                    self._report_damage(f"{file.path}:{item.position}: {item.reason}{more}")
                elif item.batch.last_offset >= self.options.from_offset:
                    self._show_batch(file, item)

    def _show_batch(self, file: LogFile, item: BatchAt) -> None:
        batch = item.batch
        try:
            if not self.settings.as_json:
                echo("  " + batch_line(batch, item.position, utc=self.settings.utc))
            elif self.options.batches_only:
                print_json(batch_json(file.partition, item.position, batch))
            if self.options.batches_only or (self.settings.as_json and batch.is_control and not self.options.control):
                return
            for record in batch.records():
                if record.offset >= self.options.from_offset:
                    self._show_record(file, batch, record)
        except ApiError as error:  # the CRC matches, but the records are malformed
            self._report_damage(f"{file.path}:{item.position}: {error.message}")

    def _show_record(self, file: LogFile, batch: Batch, record: Record) -> None:
        content = self._decoded_content(file, batch, record)
        if not self.settings.as_json:
            decoded = None if content is None else printable_json(content)
            echo("    " + record_line(record, decoded, utc=self.settings.utc, in_full=self.settings.verbose))
            return
        sys.stdout.write(record_json(json_prefix(file.partition), batch.leader_epoch, record, content))

    def _decoded_content(self, file: LogFile, batch: Batch, record: Record) -> Entry | None:
        if self.settings.as_json and not self.options.decode:
            return None
        decode = decode_control if batch.is_control else decoder_for(file.partition.topic)
        if decode is None:
            return None
        try:
            return decode(record)
        except Undecodable as error:
            return {"undecodable": str(error)}

    def _report_damage(self, message: str) -> None:
        self.damaged = True
        warn(message)
