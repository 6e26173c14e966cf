"""What coordinators are for; the numbers are those of FindCoordinator."""

from enum import IntEnum


class CoordinatorKind(IntEnum):
    GROUP = 0
    TRANSACTION = 1
