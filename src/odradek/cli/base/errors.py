"""How an error reaches a person: one line on stderr, `odradek: PLACE: reason`, whatever the names in it hold."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from odradek.common.failures import InputError
from odradek.common.printable import printable, traceback_lines


@contextmanager
def wrong_usage() -> Iterator[None]:
    """Around the reading of options: what is wrong with them is wrong usage, as an option that is not there."""
    try:
        yield
    except InputError as error:
        raise click.UsageError(str(error)) from None


def describe(error: Exception) -> str:
    """What was wrong, and where."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def tell(error: Exception, *, verbose: bool) -> None:
    """`verbose` shows the way to it too."""
    if verbose:
        for line in traceback_lines(error):
            echo(line, err=True)
    if isinstance(error, InputError):
        for line in describe(error).splitlines():  # a file may have several things wrong with it, one a line
            warn(line)
    else:
        warn(describe(error))


def warn(said: str) -> None:
    """It stands after everything already said on stdout."""
    sys.stdout.flush()
    echo(f"odradek: {said}", err=True)


def echo(text: str = "", *, err: bool = False) -> None:
    """Write one line to stdout or stderr. Names in it may be anybody's, so it is escaped as a whole."""
    stream = sys.stderr if err else sys.stdout
    stream.write(printable(text) + "\n")
    if err:
        stream.flush()
