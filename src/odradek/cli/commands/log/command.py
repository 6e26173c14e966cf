"""`odradek log`: look into a data directory, Kafka's or ours, without changing it."""

import click

from odradek.cli.base.errors import report_error
from odradek.cli.base.options import Settings, local_options
from odradek.common.failures import InputError


@click.group()
@local_options
def log() -> None:
    """Show and check the files of a data directory. Nothing is ever changed."""


@log.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR…")
@click.option(
    "--from",
    "from_offset",
    type=click.IntRange(min=0),
    default=0,
    metavar="OFFSET",
    help="Leave out what lies before OFFSET.",
)
@click.option("--batches", "batches_only", is_flag=True, help="Only the batches, not their records.")
@click.option("--decode", is_flag=True, help='In JSON too: add "decoded" to records of internal topics.')
@click.option("--control", is_flag=True, help="In JSON too: control records, such as transaction markers.")
@local_options
@click.pass_obj
def dump(
    settings: Settings, paths: tuple[str, ...], from_offset: int, batches_only: bool, decode: bool, control: bool
) -> int:
    """Show segments, indexes, snapshots and checkpoints; internal topics and metadata decoded.

    A DIR is a whole data directory or that of one partition. With --format json, one record a line: topic, partition,
    offset, timestamp, timestamp_type (1 create time, 2 append time, 0 none), key, value, headers, leader_epoch; bytes
    in hex or null; with --batches, one batch a line.

    The JSON of a directory is what a client could read. It leaves out files that wait for their deletion (.deleted) or
    are being made (.cleaned, .swap), partitions marked so (-delete, -future, -stray), indexes, snapshots and
    checkpoints, and control records unless --control is given. Each of them is shown when it is named itself.

    Exit status 1 if anything cannot be read; the rest is shown all the same.
    """
    from odradek.cli.commands.log.dump import Dump, DumpOptions

    shown = Dump(settings, DumpOptions(decode, control, batches_only, from_offset))
    for path in paths:
        shown.show(path)
    return 1 if shown.damaged else 0


@log.command()
@click.argument("directories", nargs=-1, required=True, metavar="DIR…")
@local_options
@click.pass_obj
def verify(settings: Settings, directories: tuple[str, ...]) -> int:
    """Read everything in data directories, or in those of single partitions, and say what is wrong.

    Batches, CRCs, records, indexes, producer snapshots, epochs, checkpoints and names; what repeats what the segments
    say is compared with a rebuild from them. Of a file the first few problems are listed and the others counted; -v
    lists all, and shows notes. Exit status 1 if anything is wrong.
    """
    from odradek.cli.base.output import Progress
    from odradek.cli.commands.log.verify import SHOWN_PER_FILE, Findings, Verification
    from odradek.cli.commands.log.verify_output import print_findings
    from odradek.inspection.directory_listing import LogFile, find_target

    findings = Findings(None if settings.verbose else SHOWN_PER_FILE)
    progress = Progress()
    verification = Verification(findings, progress)
    refused = 0
    for directory in directories:
        try:
            target = find_target(directory)
            if isinstance(target, LogFile):
                raise InputError(f"{directory}: a file; verify checks the directory of a partition or of all data")
        except (InputError, OSError) as error:
            report_error(error, verbose=settings.verbose)
            refused += 1
        else:
            verification.check(target)
    progress.finish()
    if refused < len(directories):
        print_findings(settings, verification.reports, findings)
    return 1 if findings.count or refused else 0
