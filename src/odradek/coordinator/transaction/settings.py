"""Settings of transactions, as one value."""

from dataclasses import dataclass

from odradek.coordinator.transaction.errors import InvalidTransactionTimeout, TwoPhaseCommitRefused
from odradek.coordinator.transaction.transaction import NEVER_MS


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    #: `transaction.max.timeout.ms`
    max_timeout_ms: int = 900_000
    #: `transactional.id.expiration.ms`
    transactional_id_expiration_ms: int = 604_800_000
    #: `transaction.abort.timed.out.transaction.cleanup.interval.ms`
    abort_interval_ms: int = 10_000
    #: `transaction.remove.expired.transaction.cleanup.interval.ms`
    expiry_interval_ms: int = 3_600_000
    #: `transaction.two.phase.commit.enable`
    is_two_phase_commit_enabled: bool = False

    def checked_timeout_ms(self, timeout_ms: int, is_two_phase: bool) -> int:
        """Raises ApiError."""
        if is_two_phase:
            if not self.is_two_phase_commit_enabled:
                raise TwoPhaseCommitRefused("transaction.two.phase.commit.enable is false on this broker")
            return NEVER_MS
        if not 0 < timeout_ms <= self.max_timeout_ms:
            raise InvalidTransactionTimeout(
                f"{timeout_ms} ms is not above 0 and at most {self.max_timeout_ms} ms, transaction.max.timeout.ms"
            )
        return timeout_ms
