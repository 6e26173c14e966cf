"""Producer ids: each block is allocated to one broker and never again, whichever controller is active."""

from odradek.common.failures import check
from odradek.controller.cluster_control import ClusterControl
from odradek.controller.decision import ControllerDecision, RequestRejected
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from odradek.protocol.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from odradek.protocol.messages.producer_ids_record import ProducerIdsRecord

#: Ids in a block; a broker requests the next block when it has used nine tenths.
BLOCK_SIZE = 1000

_LAST_ID = 2**63 - 1


class ProducerIdControl:
    def __init__(self, cluster: ClusterControl) -> None:
        self._cluster = cluster
        self.next_id = 0

    def allocate(self, request: AllocateProducerIdsRequest) -> ControllerDecision[AllocateProducerIdsResponse]:
        self._cluster.check_broker_epoch(request.broker_id, request.broker_epoch)
        first = self.next_id
        if first > _LAST_ID - BLOCK_SIZE:
            raise RequestRejected(
                ErrorCode.UNKNOWN_SERVER_ERROR,
                f"Exhausted all producerIds as the next block's end producerId "
                f"has exceeded the int64 type limit: {first}",
            )
        record = ProducerIdsRecord(
            broker_id=request.broker_id, broker_epoch=request.broker_epoch, next_producer_id=first + BLOCK_SIZE
        )
        response = AllocateProducerIdsResponse(producer_id_start=first, producer_id_len=BLOCK_SIZE)
        return ControllerDecision([MetadataRecord(record, 0)], response, is_atomic=True)

    def replay(self, record: ProducerIdsRecord) -> None:
        check(record.next_producer_id > self.next_id, "producer ids only grow")
        self.next_id = record.next_producer_id
