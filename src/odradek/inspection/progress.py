"""Whom a long inspection tells how far it is."""

from typing import Protocol


class Progress(Protocol):
    def at(self, path: str, position: int, size_bytes: int) -> None:
        """Called for every batch."""
