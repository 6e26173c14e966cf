"""Types of coordinators, with the numbers of FindCoordinator."""

from enum import IntEnum


class CoordinatorKind(IntEnum):
    GROUP = 0
    TRANSACTION = 1
