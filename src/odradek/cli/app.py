"""The command as a whole: its subcommands, and what becomes of an error.

Exit status: 0 done; 1 the operation failed, the reason in one line on stderr; 2 wrong usage; 130 stopped by Ctrl-C.
A reader that closes our pipe has seen enough: that is no error. What a user cannot cause is a bug of ours and keeps
its traceback; `-v` shows it for the others too.
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

#: Only what exists is listed. The text is here so that `--help` imports none of them.
SUBCOMMANDS = (
    Subcommand(
        "cluster", "odradek.cli.commands.cluster", "Show brokers, features and log directories; unregister a broker."
    ),
    Subcommand(
        "completion", "odradek.cli.commands.completion", "Teach a shell to complete commands, topics and groups."
    ),
    Subcommand(
        "configs", "odradek.cli.commands.configs", "Show and change the settings of topics, brokers and groups."
    ),
    Subcommand(
        "consume",
        "odradek.cli.commands.consume.command",
        "Show the records of a topic, alone or as a member of a group.",
    ),
    Subcommand("elect-leaders", "odradek.cli.commands.elect_leaders", "Let preferred replicas lead again."),
    Subcommand(
        "groups",
        "odradek.cli.commands.groups.command",
        "Show groups of consumers and their lag; reset offsets; delete groups.",
    ),
    Subcommand("log", "odradek.cli.commands.log.command", "Show and check the files of a data directory."),
    Subcommand("metadata", "odradek.cli.commands.metadata.command", "Look into a cluster's metadata as a tree."),
    Subcommand("perf", "odradek.cli.commands.perf.command", "Measure how fast a cluster takes and gives records."),
    Subcommand("pipeline", "odradek.cli.commands.pipeline.command", "Make, check, run and watch pipelines on Spark."),
    Subcommand("produce", "odradek.cli.commands.produce.command", "Send lines or files as records to a topic."),
    Subcommand(
        "protocol", "odradek.cli.commands.protocol", "Kafka's messages: the API table, all their names, decode, encode."
    ),
    Subcommand(
        "quorum", "odradek.cli.commands.quorum.command", "Show the quorum of controllers, and change who votes in it."
    ),
    Subcommand("reassign", "odradek.cli.commands.reassign.command", "Move partitions to other brokers."),
    Subcommand("server", "odradek.cli.commands.server", "Run a node."),
    Subcommand("service", "odradek.cli.commands.service", "Run a consumer service: handlers, retries, dead letters."),
    Subcommand(
        "spark", "odradek.cli.commands.spark.command", "Bring Odradek to the executors of Spark, and examine a cluster."
    ),
    Subcommand("storage", "odradek.cli.commands.storage", "Format the directories of a node, and look at them."),
    Subcommand(
        "topics",
        "odradek.cli.commands.topics.command",
        "List, create, describe, alter and delete topics; their offsets.",
    ),
    Subcommand("transactions", "odradek.cli.commands.transactions", "List, describe and abort transactions."),
    Subcommand(
        "up", "odradek.cli.commands.up.command", "Run a local cluster in the foreground, without configuration."
    ),
)

#: Set by a shell that wants to know what would complete a line (see `odradek.cli.commands.completion`).
_COMPLETION = "_ODRADEK_COMPLETE"

_EXPECTED = (InputError, ApiError, ProtocolError, Fault, OSError)


@click.group(cls=LazyGroup, subcommands=SUBCOMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version_text(), prog_name="odradek", message="%(prog)s %(version)s")
@local_options
def odradek() -> None:
    """Kafka's architecture in Python.

    Exit status: 0 done; 1 failed, the reason on standard error; 2 wrong usage; 130 stopped by Ctrl-C.
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
    """A verb returns its exit status, or nothing for 0."""
    try:
        with odradek.make_context("odradek", arguments, obj=settings) as context:
            status = odradek.invoke(context)
    except click.exceptions.Exit as end:  # --help and --version
        return end.exit_code
    except click.ClickException as error:
        text = io.StringIO()
        error.show(text)
        sys.stderr.write(printable(text.getvalue(), keep="\n"))
        return error.exit_code
    return int(status or 0)


def _have_streams() -> bool:
    """A command may be started with its streams closed. Without stdout it has nobody to answer; stderr may be done
    without, and is replaced, since printing to a stream that is None means stdout."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  it is there until the end
    if sys.stdout is None:
        echo("odradek: standard output is closed", err=True)
        return False
    return True


def _accept_any_text() -> None:
    """What lies on disk need not be text in the terminal's encoding; it is shown escaped then."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _flush_or_discard(stream: TextIO) -> None:
    """Flush a stream; if nobody can receive what it has, send that nowhere.

    Python flushes both streams once more when it exits, and exits with status 120 if one of them fails."""
    try:
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
