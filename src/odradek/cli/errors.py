"""How an error reaches a person: one line on stderr, `odradek: PLACE: reason`, whatever the names in it hold."""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import click

from odradek.common.failures import InputError


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
        traceback.print_exception(error)
    if isinstance(error, InputError):
        for line in describe(error).splitlines():  # a file may have several things wrong with it, one a line
            warn(line)
    else:
        warn(describe(error))


def warn(said: str) -> None:
    """It stands after everything already said on stdout."""
    sys.stdout.flush()
    print(f"odradek: {one_line(said)}", file=sys.stderr, flush=True)


def one_line(text: str) -> str:
    """A file may be called anything; what would break the line or steer the terminal is shown escaped."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
