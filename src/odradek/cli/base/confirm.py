"""Confirmation of operations that cannot be undone."""

import sys

import click

from odradek.common.failures import InputError
from odradek.common.printable import printable


def confirm(consequence: str, *, yes: bool) -> None:
    """Ask the user to confirm `consequence`, a sentence, unless `yes`. Raises InputError if it is not confirmed."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError(f"{consequence} Standard input is not a terminal, so this cannot be confirmed: pass --yes.")
    try:
        is_confirmed = click.confirm(printable(f"{consequence} Continue?"), err=True)
    except click.Abort:  # Ctrl-C or the end of the input
        raise KeyboardInterrupt from None
    if not is_confirmed:
        raise InputError("not confirmed; nothing was changed")
