"""`odradek log`: look into a data directory, Kafka's or ours, without changing it."""

import click

from odradek.cli.options import Settings, local_options


@click.group()
@local_options
def log() -> None:
    """Show and check the files of a data directory. Nothing is ever changed."""


@log.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR…")
@click.option("--from", "from_offset", type=int, default=0, metavar="OFFSET", help="Leave out what lies before OFFSET.")
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
    in hex or null.
    """
    from odradek.cli.log_dump import Dump, DumpOptions

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
    say is compared with a rebuild from them. Exit status 1 if anything is wrong.
    """
    from odradek.cli.log_verify import Findings, verify
    from odradek.cli.log_verify_output import print_findings
    from odradek.cli.output import Progress

    findings = Findings()
    progress = Progress()
    reports = []
    for directory in directories:
        reports += verify(directory, findings, progress)
    progress.finish()
    print_findings(settings, reports, findings)
    return 1 if findings.problems else 0
