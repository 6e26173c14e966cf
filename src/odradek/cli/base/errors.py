"""Errors as a user sees them: one line on stderr, `odradek: LOCATION: reason`, with control characters escaped."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from odradek.common.failures import InputError
from odradek.common.printable import printable, traceback_lines


@contextmanager
def wrong_usage() -> Iterator[None]:
    """Turn the InputError of a malformed option into wrong usage, like that of an unknown option."""
    try:
        yield
    except InputError as error:
        raise click.UsageError(str(error)) from None


def describe(error: Exception) -> str:
    """Return the message of an error, with the file name of an OSError."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def report_error(error: Exception, *, verbose: bool) -> None:
    """Write an error to stderr; with `verbose` its traceback, too."""
    if verbose:
        for line in traceback_lines(error):
            echo(line, err=True)
    if isinstance(error, InputError):
        for line in describe(error).splitlines():  # a file may have several errors, one per line
            warn(line)
    else:
        warn(describe(error))


def warn(message: str) -> None:
    """Write a line to stderr, after everything written to stdout so far."""
    sys.stdout.flush()
    echo(f"odradek: {message}", err=True)


def echo(text: str = "", *, err: bool = False) -> None:
    """Write one line to stdout or stderr. It may contain names of foreign origin, so all of it is escaped."""
    stream = sys.stderr if err else sys.stdout
    stream.write(printable(text) + "\n")
    if err:
        stream.flush()
