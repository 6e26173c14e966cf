"""Ask before something is done that cannot be undone."""

import sys

import click

from odradek.common.failures import InputError
from odradek.common.printable import printable


def confirm(what: str, *, yes: bool) -> None:
    """Raises InputError unless a person, or `--yes`, agrees to `what` will be done."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError(f"{what} Nobody is there to be asked whether that is right: --yes would say so.")
    try:
        agreed = click.confirm(printable(f"{what} Is that right?"), err=True)
    except click.Abort:  # Ctrl-C or the end of the input
        raise KeyboardInterrupt from None
    if not agreed:
        raise InputError("nothing was done")
