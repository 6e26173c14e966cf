"""Version of transactions that the cluster supports (feature transaction.version). Pure.

Version 1: partitions and groups are added to a transaction before anything is sent to them, and only an error raises
the epoch. Version 2 (KIP-890): brokers add partitions themselves, and the end of every transaction gives the next one
an epoch of its own.
"""

#: Level of transaction.version from which on brokers add partitions themselves.
_VERSION_2 = 2


class TransactionFeatures:
    def __init__(self) -> None:
        self.is_version_2 = False
        self._latest_epoch = -1
        self._latest_level = 0
        self._applied_epoch = -1

    def note(self, epoch: int, level: int) -> None:
        """Store the level that a broker reported if it is newer; it counts from the next transaction on."""
        if epoch > self._latest_epoch:
            self._latest_epoch, self._latest_level = epoch, level

    def apply(self) -> bool:
        """Use the latest level from now on, and return whether that changes version 1 to version 2."""
        if self._latest_epoch <= self._applied_epoch:
            return False
        self._applied_epoch = self._latest_epoch
        was_version_2, self.is_version_2 = self.is_version_2, self._latest_level >= _VERSION_2
        return self.is_version_2 and not was_version_2
