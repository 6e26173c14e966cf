"""The `odradek` command: its subcommands, and the handling of errors.

Exit status: 0 success; 1 failure, with the reason in one line on stderr; 2 wrong usage; 130 stopped by Ctrl-C. A reader
that closes the pipe is no error. An error that a user cannot cause is a bug and keeps its traceback; `-v` shows the
traceback of all errors.
"""

import io
import os
import sys
from collections.abc import Sequence
from typing import TextIO

import click

from odradek.cli.base.errors import echo, report_error
from odradek.cli.base.lazy import LazyGroup, Subcommand
from odradek.cli.base.options import Settings, local_options
from odradek.cli.main import INTERRUPTED, version_text
from odradek.common.failures import ApiError, Fault, InputError, ProtocolError
from odradek.common.printable import printable

#: The summaries are here so that `--help` imports no subcommand.
SUBCOMMANDS = (
    Subcommand(
        "cluster", "odradek.cli.commands.cluster", "Show brokers, features and log directories; unregister a broker."
    ),
    Subcommand("completion", "odradek.cli.commands.completion", "Print the completion script of a shell."),
    Subcommand(
        "configs", "odradek.cli.commands.configs", "Show and change the settings of topics, brokers and groups."
    ),
    Subcommand(
        "consume",
        "odradek.cli.commands.consume.command",
        "Read the records of a topic, with or without a consumer group.",
    ),
    Subcommand("elect-leaders", "odradek.cli.commands.elect_leaders", "Elect preferred leaders."),
    Subcommand(
        "groups",
        "odradek.cli.commands.groups.command",
        "Show consumer groups and their lag; reset offsets; delete groups.",
    ),
    Subcommand("log", "odradek.cli.commands.log.command", "Show and check the files of a data directory."),
    Subcommand("metadata", "odradek.cli.commands.metadata.command", "Show the metadata of a cluster as a tree."),
    Subcommand("perf", "odradek.cli.commands.perf.command", "Measure the throughput and latency of a cluster."),
    Subcommand("pipeline", "odradek.cli.commands.pipeline.command", "Create, check, run and watch pipelines on Spark."),
    Subcommand("produce", "odradek.cli.commands.produce.command", "Send lines or files as records to a topic."),
    Subcommand(
        "protocol",
        "odradek.cli.commands.protocol",
        "List APIs and messages of the Kafka protocol; decode and encode messages.",
    ),
    Subcommand(
        "quorum", "odradek.cli.commands.quorum.command", "Show the quorum of controllers; add and remove voters."
    ),
    Subcommand("reassign", "odradek.cli.commands.reassign.command", "Move partitions to other brokers."),
    Subcommand("server", "odradek.cli.commands.server", "Run a node."),
    Subcommand(
        "service", "odradek.cli.commands.service", "Run a consumer service with handlers, retries and dead letters."
    ),
    Subcommand(
        "spark",
        "odradek.cli.commands.spark.command",
        "Package Odradek for Spark executors, and examine a Spark cluster.",
    ),
    Subcommand("storage", "odradek.cli.commands.storage", "Format and show the directories of a node."),
    Subcommand(
        "topics",
        "odradek.cli.commands.topics.command",
        "List, create, describe, alter and delete topics; show offsets, delete records.",
    ),
    Subcommand("transactions", "odradek.cli.commands.transactions", "List, describe and abort transactions."),
    Subcommand(
        "up", "odradek.cli.commands.up.command", "Run a local cluster in the foreground, without configuration."
    ),
)

#: Set by a shell to request completions (see `odradek.cli.commands.completion`).
_COMPLETION = "_ODRADEK_COMPLETE"

_EXPECTED = (InputError, ApiError, ProtocolError, Fault, OSError)


@click.group(cls=LazyGroup, subcommands=SUBCOMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version_text(), prog_name="odradek", message="%(prog)s %(version)s")
@local_options
def odradek() -> None:
    """Kafka's architecture in Python.

    Exit status: 0 success; 1 failure, with the reason on standard error; 2 wrong usage; 130 stopped by Ctrl-C.
    """


def run(arguments: Sequence[str]) -> int:
    if not _have_streams():
        return 1
    _accept_any_text()
    try:
        return _run(arguments, Settings())
    finally:
        for stream in (sys.stdout, sys.stderr):
            _flush_or_discard(stream)


def _run(arguments: Sequence[str], settings: Settings) -> int:
    if _COMPLETION in os.environ:
        return _complete(os.environ[_COMPLETION])
    try:
        status = _invoke(list(arguments), settings)
        sys.stdout.flush()
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except _EXPECTED as error:
        _flush_or_discard(sys.stdout)  # the error may be that of stdout itself, such as a full disk behind it
        report_error(error, verbose=settings.verbose)
        return 1
    return status


def _complete(instruction: str) -> int:
    from click.shell_completion import shell_complete

    try:
        return shell_complete(odradek, {"obj": Settings()}, "odradek", _COMPLETION, instruction)
    except InputError:  # a command whose extra is not installed completes to nothing
        return 1


def _invoke(arguments: list[str], settings: Settings) -> int:
    """Run the subcommand, which returns its exit status, or None for 0."""
    try:
        with odradek.make_context("odradek", arguments, obj=settings) as context:
            status = odradek.invoke(context)
    except click.exceptions.Exit as error:  # --help and --version
        return error.exit_code
    except click.ClickException as error:
        text = io.StringIO()
        error.show(text)
        sys.stderr.write(printable(text.getvalue(), keep="\n"))
        return error.exit_code
    return int(status or 0)


def _have_streams() -> bool:
    """Return whether stdout is open. A closed stderr is replaced: printing to a stream that is None means stdout."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  open until the process exits
    if sys.stdout is None:
        echo("odradek: standard output is closed", err=True)
        return False
    return True


def _accept_any_text() -> None:
    """Escape text that the encoding of the terminal does not have, such as file names."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _flush_or_discard(stream: TextIO) -> None:
    """Flush a stream; if that fails, discard what it has buffered.

    Python flushes both streams once more when it exits, and exits with status 120 if one of them fails."""
    try:
        stream.flush()
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
