"""Partitions of this broker as the writer of transaction markers sees them: a `MarkerLog` on the replicas."""

from collections.abc import Callable, Sequence

from odradek.common.ids import TopicPartition
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.write_txn_markers_request import WritableTxnMarker
from odradek.replica.broker_replicas import BrokerReplicas
from odradek.replica.produce import TransactionMarker
from odradek.replica.requests import ProduceResult


class ReplicaMarkerLog:
    def __init__(self, replicas: BrokerReplicas, on_new_deadline: Callable[[], None]) -> None:
        """`on_new_deadline` is called when an append waits for other replicas."""
        self._replicas = replicas
        self._on_new_deadline = on_new_deadline

    def hosts(self, partition: TopicPartition) -> bool:
        return partition in self._replicas.partitions.online

    def append_markers(
        self,
        partitions: Sequence[TopicPartition],
        marker: WritableTxnMarker,
        on_appended: Callable[[Sequence[int]], None],
    ) -> None:
        is_done = False

        def on_results(results: list[ProduceResult]) -> None:
            nonlocal is_done
            is_done = True
            on_appended([self._code(tp, result) for tp, result in zip(partitions, results, strict=True)])

        self._replicas.produce.append_markers(partitions, _marker(marker), on_results)
        if not is_done:
            self._on_new_deadline()

    def _code(self, partition: TopicPartition, result: ProduceResult) -> int:
        """Return UNKNOWN_TOPIC_OR_PARTITION for any failure in a partition that is not hosted: senders drop markers of
        partitions that no longer exist."""
        if result.error_code and not self.hosts(partition):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return result.error_code


def _marker(marker: WritableTxnMarker) -> TransactionMarker:
    return TransactionMarker(
        marker.producer_id,
        marker.producer_epoch,
        marker.transaction_result,
        marker.coordinator_epoch,
        marker.transaction_version,
    )
