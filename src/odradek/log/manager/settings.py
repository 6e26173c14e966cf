"""The broker's settings that concern all logs together; names (with underscores) and defaults are Kafka's."""

from dataclasses import dataclass

from odradek.log.manager.maintenance_schedule import NEVER_MS


@dataclass(frozen=True, slots=True)
class ManagerSettings:
    log_initial_task_delay_ms: int = 30_000
    log_retention_check_interval_ms: int = 5 * 60 * 1000
    log_flush_scheduler_interval_ms: int = NEVER_MS
    log_flush_offset_checkpoint_interval_ms: int = 60_000
    log_flush_start_offset_checkpoint_interval_ms: int = 60_000
    replica_high_watermark_checkpoint_interval_ms: int = 5_000
    producer_id_expiration_ms: int = 24 * 60 * 60 * 1000
    producer_id_expiration_check_interval_ms: int = 10 * 60 * 1000
    transaction_max_timeout_ms: int = 15 * 60 * 1000
    transaction_partition_verification_enable: bool = True
    #: Not a setting of Kafka's, which flushes a rolled segment at once in its own scheduler thread.
    flush_after_roll_check_ms: int = 1_000
