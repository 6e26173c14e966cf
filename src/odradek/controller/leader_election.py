"""Who leads when brokers come and go, and when somebody asks for another leader.

Everything that the death of a broker changes is one list of records: its leaderships, its places in ISRs, and last its
own state, so that a beginning of the list never shows a fenced broker that leads.
"""

from collections.abc import Iterable

from odradek.common.failures import check
from odradek.controller.decision import DONE, Decision, Outcome, Refused
from odradek.controller.heartbeats import BrokerControlState
from odradek.controller.partition_change import Election, PartitionChange
from odradek.controller.partition_index import TopicIdPartition
from odradek.controller.replication_state import ReplicationState, TopicState
from odradek.metadata.image.broker_registration import BrokerRegistration
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_words import ERROR_WORDS
from odradek.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from odradek.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from odradek.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from odradek.protocol.messages.elect_leaders_request import ElectLeadersRequest
from odradek.protocol.messages.elect_leaders_response import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from odradek.protocol.messages.unregister_broker_record import UnregisterBrokerRecord
from odradek.protocol.messages.unregister_broker_response import UnregisterBrokerResponse

#: Elections of one round of rebalancing or of unclean elections: the rest waits for the next round, a moment later.
MAX_ELECTIONS_PER_ROUND = 1_000

_PREFERRED, _UNCLEAN = 0, 1

_FENCE, _UNFENCE = 1, -1


class LeaderElection:
    def __init__(self, state: ReplicationState) -> None:
        self._state = state

    # Brokers come and go

    def heartbeat(self, request: BrokerHeartbeatRequest) -> Decision[BrokerHeartbeatResponse]:
        """The next state of the broker, and what changes with it."""
        cluster = self._state.cluster
        cluster.check_broker_epoch(request.broker_id, request.broker_epoch)
        broker = cluster.brokers[request.broker_id]
        registered_at = cluster.registration_offsets[broker.id]
        current, following = self._next_state(broker, request, registered_at)
        if current is not following is BrokerControlState.UNFENCED and self._newly_offline(broker, request):
            # The directory first: it must not be elected for what was in it. The next heartbeat unfences it.
            following = current
        records: list[MetadataRecord] = []
        if current is not following:
            records += self._records_for(broker, following)
        records += self._directory_records(broker, request)
        response = BrokerHeartbeatResponse(
            is_caught_up=request.current_metadata_offset >= registered_at,
            is_fenced=following in (BrokerControlState.FENCED, BrokerControlState.SHUTDOWN_NOW),
            should_shut_down=following is BrokerControlState.SHUTDOWN_NOW,
        )
        return Decision(records, response)

    def fence_stale_broker(self, now_ms: int) -> Decision[int | None]:
        """One at a time, the one silent for the longest; the response is its id."""
        cluster = self._state.cluster
        broker_id = cluster.heartbeats.stale(cluster.unfenced_ids(), now_ms)
        records = [] if broker_id is None else self.fence(broker_id)
        return Decision(records, broker_id)

    def unregister_broker(self, broker_id: int) -> Decision[UnregisterBrokerResponse]:
        broker = self._state.cluster.brokers.get(broker_id)
        if broker is None:
            raise Refused(ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker ID {broker_id} is not currently registered")
        index = self._state.index
        keys = dict.fromkeys((*index.with_broker_in_isr(broker_id), *index.with_broker_in_elr(broker_id)))
        records = self._updates(keys, remove=broker_id)
        record = UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.epoch)
        return Decision([*records, MetadataRecord(record, 0)], UnregisterBrokerResponse())

    def fence(self, broker_id: int) -> list[MetadataRecord]:
        broker = self._state.cluster.brokers.get(broker_id)
        check(broker is not None, f"broker {broker_id} is to be fenced but not registered")
        assert broker is not None
        records = self._updates(self._state.index.with_broker_in_isr(broker_id), remove=broker_id)
        change = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker.epoch, fenced=_FENCE)
        return [*records, MetadataRecord(change, 0)]

    def incarnation_ended(self, broker_id: int, was_clean: bool) -> list[MetadataRecord]:
        """A new process has the broker's id. Of an unclean stop, what was not flushed may be gone (KIP-966)."""
        index = self._state.index
        if was_clean or not self._state.features.is_elr_enabled:
            return self._updates(index.with_broker_in_isr(broker_id), remove=broker_id)
        keys = dict.fromkeys((*index.with_broker_in_isr(broker_id), *index.with_broker_in_elr(broker_id)))
        return self._updates(keys, unclean=broker_id)

    def _next_state(
        self, broker: BrokerRegistration, request: BrokerHeartbeatRequest, registered_at: int
    ) -> tuple[BrokerControlState, BrokerControlState]:
        states = BrokerControlState
        if broker.fenced:
            if request.want_shut_down:
                return states.FENCED, states.SHUTDOWN_NOW
            caught_up = request.current_metadata_offset >= registered_at
            may_join = caught_up and not request.want_fence and not broker.in_controlled_shutdown
            return states.FENCED, states.UNFENCED if may_join else states.FENCED
        if broker.in_controlled_shutdown:
            return states.CONTROLLED_SHUTDOWN, self._next_of_stopping(broker)
        if request.want_fence:
            return states.UNFENCED, states.SHUTDOWN_NOW if request.want_shut_down else states.FENCED
        if request.want_shut_down:
            leads = self._state.index.has_leaderships(broker.id)
            return states.UNFENCED, states.CONTROLLED_SHUTDOWN if leads else states.SHUTDOWN_NOW
        return states.UNFENCED, states.UNFENCED

    def _next_of_stopping(self, broker: BrokerRegistration) -> BrokerControlState:
        """It may go when it leads nothing and every active broker knows."""
        cluster = self._state.cluster
        lowest = cluster.lowest_active_offset()
        everyone_knows = lowest is None or cluster.heartbeats.shutdown_offset(broker.id) <= lowest
        if everyone_knows and not self._state.index.has_leaderships(broker.id):
            return BrokerControlState.SHUTDOWN_NOW
        return BrokerControlState.CONTROLLED_SHUTDOWN

    def _records_for(self, broker: BrokerRegistration, following: BrokerControlState) -> list[MetadataRecord]:
        if following in (BrokerControlState.FENCED, BrokerControlState.SHUTDOWN_NOW):
            return [] if broker.fenced else self.fence(broker.id)
        if following is BrokerControlState.UNFENCED:
            change = BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, fenced=_UNFENCE)
            return [MetadataRecord(change, 0), *self._updates(self._state.index.leaderless, add=broker.id)]
        change = BrokerRegistrationChangeRecord(
            broker_id=broker.id, broker_epoch=broker.epoch, in_controlled_shutdown=1
        )
        updates = self._updates(self._state.index.with_broker_in_isr(broker.id), remove=broker.id)
        return [MetadataRecord(change, 1), *updates]

    def _directory_records(self, broker: BrokerRegistration, request: BrokerHeartbeatRequest) -> list[MetadataRecord]:
        version = self._state.features.metadata_version
        records: list[MetadataRecord] = []
        offline = self._newly_offline(broker, request)
        if offline and version.is_directory_assignment_supported:
            for directory in offline:
                records += self._updates(self._state.index.in_directory(directory), remove=broker.id)
            online = [directory for directory in broker.directories if directory not in offline]
            change = BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, log_dirs=online)
            records.append(MetadataRecord(change, 2))
        cordoned = request.cordoned_log_dirs
        if cordoned is not None and version.is_cordoned_log_dirs_supported:
            known = broker.cordoned_directories
            if known is None or sorted(known) != sorted(cordoned):
                change = BrokerRegistrationChangeRecord(
                    broker_id=broker.id, broker_epoch=broker.epoch, cordoned_log_dirs=cordoned
                )
                records.append(MetadataRecord(change, 3))
        return records

    def _newly_offline(self, broker: BrokerRegistration, request: BrokerHeartbeatRequest) -> list[bytes]:
        return [directory for directory in broker.directories if directory in request.offline_log_dirs]

    def _updates(
        self,
        keys: Iterable[TopicIdPartition],
        *,
        remove: int | None = None,
        add: int | None = None,
        unclean: int | None = None,
    ) -> list[MetadataRecord]:
        """New leaders and ISRs for these partitions when one broker goes (perhaps uncleanly) or comes."""
        gone = tuple(broker_id for broker_id in (remove, unclean) if broker_id is not None)
        records = []
        for key in keys:
            topic = self._state.topics[key.topic_id]
            partition = topic.partitions[key.partition_id]
            change = PartitionChange(partition, self._state.context(key, without=gone, also=add))
            change.target_isr = [replica for replica in partition.isr if replica not in gone]
            if unclean is not None:
                change.unclean_shutdown_replicas = (unclean,)
            if self._state.configuration.is_unclean_election_enabled(topic.name):
                change.election = Election.UNCLEAN
            record = change.build()
            if record is not None:
                records.append(record)
        return records

    # Somebody asks, or time has come

    def elect_leaders(self, request: ElectLeadersRequest) -> Decision[ElectLeadersResponse]:
        if request.election_type not in (_PREFERRED, _UNCLEAN):
            raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown election type {request.election_type}")
        records: list[MetadataRecord] = []
        results = []
        if request.topic_partitions is None:
            asked = [(topic.name, sorted(topic.partitions)) for topic in self._state.topics.values()]
        else:
            asked = [(topic.topic, topic.partitions) for topic in request.topic_partitions]
        for name, partition_ids in asked:
            outcomes = [(p, self._elect(name, p, request.election_type, records)) for p in partition_ids]
            if request.topic_partitions is None:
                outcomes = [(p, o) for p, o in outcomes if o.code != ErrorCode.ELECTION_NOT_NEEDED]
            results.append(
                ReplicaElectionResult(
                    topic=name,
                    partition_result=[
                        PartitionResult(partition_id=p, error_code=o.code, error_message=o.message) for p, o in outcomes
                    ],
                )
            )
        return Decision(records, ElectLeadersResponse(replica_election_results=results))

    def balance_leaders(self) -> Decision[bool]:
        """Back to preferred replicas; the response says whether there may be more to do."""
        records: list[MetadataRecord] = []
        for key in self._state.index.imbalanced:
            if len(records) >= MAX_ELECTIONS_PER_ROUND:
                break
            record = self._preferred(key)
            if record is not None:
                records.append(record)
        return Decision(records, len(records) >= MAX_ELECTIONS_PER_ROUND)

    def elect_unclean_leaders(self) -> Decision[bool]:
        """Where a topic has come to allow it since its partition lost its leader."""
        records: list[MetadataRecord] = []
        for key in self._state.index.leaderless:
            if len(records) >= MAX_ELECTIONS_PER_ROUND:
                break
            topic = self._state.topics[key.topic_id]
            if self._state.configuration.is_unclean_election_enabled(topic.name):
                self._elect(topic.name, key.partition_id, _UNCLEAN, records)
        return Decision(records, len(records) >= MAX_ELECTIONS_PER_ROUND)

    def _preferred(self, key: TopicIdPartition) -> MetadataRecord | None:
        change = PartitionChange(self._state.partition(key), self._state.context(key), Election.PREFERRED)
        return change.build()

    def _elect(self, name: str, partition_id: int, kind: int, records: list[MetadataRecord]) -> Outcome:
        topic: TopicState | None = self._state.topic_named(name)
        if topic is None:
            return Outcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
        partition = topic.partitions.get(partition_id)
        if partition is None:
            return Outcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{partition_id}")
        is_settled = partition.has_leader if kind == _UNCLEAN else partition.leader == partition.preferred_replica
        if is_settled:
            return Outcome(ErrorCode.ELECTION_NOT_NEEDED, ERROR_WORDS[ErrorCode.ELECTION_NOT_NEEDED])
        election = Election.UNCLEAN if kind == _UNCLEAN else Election.PREFERRED
        key = TopicIdPartition(topic.id, partition_id)
        record = PartitionChange(partition, self._state.context(key), election).build()
        if record is None:
            unclean, preferred = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
            code = unclean if kind == _UNCLEAN else preferred
            return Outcome(code, ERROR_WORDS[code])
        records.append(record)
        return DONE
