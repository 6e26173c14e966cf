"""Faults that a test orders from a simulated disk: the n-th operation, or every one that matches, raises an error."""

import errno
import os
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(slots=True)
class FaultRule:
    """Rule for operations that fail. Every condition that is set must hold; `times` None means always."""

    error: int = errno.EIO
    operation: int | None = None
    kind: str | None = None
    path: str | None = None
    times: int | None = 1

    def matches(self, operation: int, kind: str, path: str) -> bool:
        return (
            self.times != 0
            and (self.operation is None or self.operation == operation)
            and (self.kind is None or self.kind == kind)
            and (self.path is None or fnmatchcase(path, self.path))
        )

    def spend(self) -> None:
        if self.times is not None:
            self.times -= 1


class FaultRules:
    """Rules in the order in which they were given; the first that matches decides."""

    def __init__(self) -> None:
        self.rules: list[FaultRule] = []
        self.raised = 0

    def check(self, operation: int, kind: str, path: str) -> None:
        """Raise what the rules say for this call."""
        for rule in self.rules:
            if rule.matches(operation, kind, path):
                rule.spend()
                self.raised += 1
                raise OSError(rule.error, os.strerror(rule.error), path)
