"""Settings of transactions, as one value."""

from dataclasses import dataclass


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
