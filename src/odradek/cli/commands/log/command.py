"""`odradek log`: show and check the data directory of a node, of Odradek or of Apache Kafka, without changing it."""

import click

from odradek.cli.base.errors import report_error
from odradek.cli.base.options import Settings, local_options
from odradek.common.failures import InputError


@click.group()
@local_options
def log() -> None:
    """Show and check the files of a data directory. Nothing is changed."""


@log.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR…")
@click.option(
    "--from",
    "from_offset",
    type=click.IntRange(min=0),
    default=0,
    metavar="OFFSET",
    help="Leave out records before OFFSET.",
)
@click.option("--batches", "batches_only", is_flag=True, help="Show only batches, without their records.")
@click.option("--decode", is_flag=True, help='With JSON: add "decoded" to records of internal topics.')
@click.option("--control", is_flag=True, help="With JSON: include control records, such as transaction markers.")
@local_options
@click.pass_obj
def dump(
    settings: Settings, paths: tuple[str, ...], from_offset: int, batches_only: bool, decode: bool, control: bool
) -> int:
    """Show segments, indexes, snapshots and checkpoints; decode internal topics and metadata.

    A DIR is a data directory or the directory of a partition. With --format json, each line is a record: topic,
    partition, offset, timestamp, timestamp_type (1 create time, 2 append time, 0 none), key, value, headers,
    leader_epoch; bytes in hex or null. With --batches each line is a batch.

    The JSON of a directory has the records that a client could read. It leaves out files to be deleted (.deleted) or
    not yet complete (.cleaned, .swap), partitions marked as such (-delete, -future, -stray), indexes, snapshots and
    checkpoints, and control records without --control. Each of these is shown when its own path is passed.

    Exit status 1 if anything cannot be read; everything else is shown nevertheless.
    """
    from odradek.cli.commands.log.dump import Dump, DumpOptions

    output = Dump(settings, DumpOptions(decode, control, batches_only, from_offset))
    for path in paths:
        output.show(path)
    return 1 if output.damaged else 0


@log.command()
@click.argument("directories", nargs=-1, required=True, metavar="DIR…")
@local_options
@click.pass_obj
def verify(settings: Settings, directories: tuple[str, ...]) -> int:
    """Check all files of data directories, or of directories of partitions, and list the problems.

    Batches, CRCs, records, indexes, producer snapshots, epochs, checkpoints and file names are checked; files derived
    from segments are compared with a rebuild. The first few problems of a file are listed, the others counted; -v lists
    all problems, and notes. Exit status 1 if there are problems.
    """
    from odradek.cli.base.output import Progress
    from odradek.cli.commands.log.verify import PROBLEMS_PER_FILE, Findings, Verification
    from odradek.cli.commands.log.verify_output import print_findings
    from odradek.inspection.directory_listing import LogFile, find_target

    findings = Findings(None if settings.verbose else PROBLEMS_PER_FILE)
    progress = Progress()
    verification = Verification(findings, progress)
    failed_count = 0
    for directory in directories:
        try:
            target = find_target(directory)
            if isinstance(target, LogFile):
                raise InputError(f"{directory} is a file; expected a data directory, or the directory of a partition")
        except (InputError, OSError) as error:
            report_error(error, verbose=settings.verbose)
            failed_count += 1
        else:
            verification.check(target)
    progress.finish()
    if failed_count < len(directories):
        print_findings(settings, verification.reports, findings)
    return 1 if findings.count or failed_count else 0
