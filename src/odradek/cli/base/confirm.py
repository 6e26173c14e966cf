"""Ask before something is done that cannot be undone."""

import sys

import click

from odradek.common.failures import InputError
from odradek.common.printable import printable


def confirm(what: str, *, yes: bool) -> None:
    """Raises InputError unless the user, or `--yes`, confirms `what`, a sentence on what will be done."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError(f"{what} Standard input is not a terminal, so this cannot be confirmed: pass --yes.")
    try:
        agreed = click.confirm(printable(f"{what} Continue?"), err=True)
    except click.Abort:  # Ctrl-C or the end of the input
        raise KeyboardInterrupt from None
    if not agreed:
        raise InputError("nothing was done")
