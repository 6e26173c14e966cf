"""Leaders when brokers are fenced, unfenced or stop, and on request.

All changes when a broker is fenced are one list of records: its leaderships, its memberships in ISRs, and last its own
state, so that no prefix of the list has a fenced broker that leads.
"""

from collections.abc import Iterable

from odradek.common.failures import check
from odradek.controller.cluster_control import ClusterControl
from odradek.controller.configuration_control import ConfigurationControl
from odradek.controller.decision import SUCCESS, ControllerDecision, ItemResult, RequestRejected
from odradek.controller.feature_control import FeatureControl
from odradek.controller.heartbeats import BrokerControlState
from odradek.controller.partition_change_builder import NO_TARGETS, PartitionTargets, partition_change_record
from odradek.controller.partition_contexts import PartitionContexts
from odradek.controller.partition_index import TopicIdPartition
from odradek.controller.rules.election import Election
from odradek.controller.topic_registry import TopicRegistry, TopicState
from odradek.metadata.image.broker_registration import BrokerRegistration
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_messages import ERROR_WORDS
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

#: Elections of one round of leader balancing or of unclean elections; the rest waits for the next round.
MAX_ELECTIONS_PER_ROUND = 1_000

_PREFERRED, _UNCLEAN = 0, 1

_FENCE, _UNFENCE = 1, -1


class LeaderElection:
    def __init__(
        self,
        registry: TopicRegistry,
        cluster: ClusterControl,
        configuration: ConfigurationControl,
        features: FeatureControl,
        contexts: PartitionContexts,
    ) -> None:
        self._registry = registry
        self._index = registry.index
        self._cluster = cluster
        self._configuration = configuration
        self._features = features
        self._contexts = contexts

    # Changes of brokers

    def heartbeat(self, request: BrokerHeartbeatRequest) -> ControllerDecision[BrokerHeartbeatResponse]:
        """Decide the next state of the broker, and the changes of partitions that follow from it."""
        cluster = self._cluster
        cluster.check_broker_epoch(request.broker_id, request.broker_epoch)
        broker = cluster.brokers[request.broker_id]
        registration_offset = cluster.registration_offsets[broker.id]
        current, following = self._next_state(broker, request, registration_offset)
        if current is not following is BrokerControlState.UNFENCED and self._newly_offline(broker, request):
            # Take the directory offline first, so that no replica in it is elected. The next heartbeat unfences the
            # broker.
            following = current
        records: list[MetadataRecord] = []
        if current is not following:
            records += self._records_for(broker, following)
        records += self._directory_records(broker, request)
        response = BrokerHeartbeatResponse(
            is_caught_up=request.current_metadata_offset >= registration_offset,
            is_fenced=following in (BrokerControlState.FENCED, BrokerControlState.SHUTDOWN_NOW),
            should_shut_down=following is BrokerControlState.SHUTDOWN_NOW,
        )
        return ControllerDecision(records, response)

    def fence_stale_broker(self, now_ms: int) -> ControllerDecision[int | None]:
        """Fence one broker, the one that has been silent for the longest; the response is its id."""
        cluster = self._cluster
        broker_id = cluster.heartbeats.stale(cluster.unfenced_ids(), now_ms)
        records = [] if broker_id is None else self.fence(broker_id)
        return ControllerDecision(records, broker_id)

    def unregister_broker(self, broker_id: int) -> ControllerDecision[UnregisterBrokerResponse]:
        broker = self._cluster.brokers.get(broker_id)
        if broker is None:
            raise RequestRejected(
                ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker ID {broker_id} is not currently registered"
            )
        index = self._index
        keys = dict.fromkeys((*index.with_broker_in_isr(broker_id), *index.with_broker_in_elr(broker_id)))
        records = self._updates(keys, remove=broker_id)
        record = UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.epoch)
        return ControllerDecision([*records, MetadataRecord(record, 0)], UnregisterBrokerResponse())

    def fence(self, broker_id: int) -> list[MetadataRecord]:
        broker = self._cluster.brokers.get(broker_id)
        check(broker is not None, f"broker {broker_id} is to be fenced, but it is not registered")
        assert broker is not None
        records = self._updates(self._index.with_broker_in_isr(broker_id), remove=broker_id)
        change = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker.epoch, fenced=_FENCE)
        return [*records, MetadataRecord(change, 0)]

    def incarnation_ended(self, broker_id: int, was_clean: bool) -> list[MetadataRecord]:
        """Remove the previous process of a broker from ISRs. An unclean stop may have lost unflushed records
        (KIP-966)."""
        index = self._index
        if was_clean or not self._features.is_elr_enabled:
            return self._updates(index.with_broker_in_isr(broker_id), remove=broker_id)
        keys = dict.fromkeys((*index.with_broker_in_isr(broker_id), *index.with_broker_in_elr(broker_id)))
        return self._updates(keys, unclean=broker_id)

    def _next_state(
        self, broker: BrokerRegistration, request: BrokerHeartbeatRequest, registration_offset: int
    ) -> tuple[BrokerControlState, BrokerControlState]:
        states = BrokerControlState
        if broker.fenced:
            if request.want_shut_down:
                return states.FENCED, states.SHUTDOWN_NOW
            caught_up = request.current_metadata_offset >= registration_offset
            may_unfence = caught_up and not request.want_fence and not broker.in_controlled_shutdown
            return states.FENCED, states.UNFENCED if may_unfence else states.FENCED
        if broker.in_controlled_shutdown:
            return states.CONTROLLED_SHUTDOWN, self._next_of_stopping(broker)
        if request.want_fence:
            return states.UNFENCED, states.SHUTDOWN_NOW if request.want_shut_down else states.FENCED
        if request.want_shut_down:
            leads = self._index.has_leaderships(broker.id)
            return states.UNFENCED, states.CONTROLLED_SHUTDOWN if leads else states.SHUTDOWN_NOW
        return states.UNFENCED, states.UNFENCED

    def _next_of_stopping(self, broker: BrokerRegistration) -> BrokerControlState:
        """Let the broker stop if it leads no partition and every active broker has read that."""
        cluster = self._cluster
        lowest = cluster.lowest_active_offset()
        has_been_read = lowest is None or cluster.heartbeats.shutdown_offset(broker.id) <= lowest
        if has_been_read and not self._index.has_leaderships(broker.id):
            return BrokerControlState.SHUTDOWN_NOW
        return BrokerControlState.CONTROLLED_SHUTDOWN

    def _records_for(self, broker: BrokerRegistration, following: BrokerControlState) -> list[MetadataRecord]:
        if following in (BrokerControlState.FENCED, BrokerControlState.SHUTDOWN_NOW):
            return [] if broker.fenced else self.fence(broker.id)
        if following is BrokerControlState.UNFENCED:
            change = BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, fenced=_UNFENCE)
            return [MetadataRecord(change, 0), *self._updates(self._index.leaderless, add=broker.id)]
        change = BrokerRegistrationChangeRecord(
            broker_id=broker.id, broker_epoch=broker.epoch, in_controlled_shutdown=1
        )
        updates = self._updates(self._index.with_broker_in_isr(broker.id), remove=broker.id)
        return [MetadataRecord(change, 1), *updates]

    def _directory_records(self, broker: BrokerRegistration, request: BrokerHeartbeatRequest) -> list[MetadataRecord]:
        version = self._features.metadata_version
        records: list[MetadataRecord] = []
        offline = self._newly_offline(broker, request)
        if offline and version.is_directory_assignment_supported:
            for directory in offline:
                records += self._updates(self._index.in_directory(directory), remove=broker.id)
            online = [directory for directory in broker.directories if directory not in offline]
            change = BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, log_dirs=online)
            records.append(MetadataRecord(change, 2))
        cordoned = request.cordoned_log_dirs
        if cordoned is not None and version.is_cordoned_log_dirs_supported:
            current = broker.cordoned_directories
            if current is None or sorted(current) != sorted(cordoned):
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
        """Return new leaders and ISRs of partitions when a broker is removed from them, has stopped uncleanly or is
        unfenced."""
        removed = tuple(broker_id for broker_id in (remove, unclean) if broker_id is not None)
        records = []
        for key in keys:
            topic = self._registry.topics[key.topic_id]
            partition = topic.partitions[key.partition_id]
            targets = PartitionTargets(
                isr=[replica for replica in partition.isr if replica not in removed],
                unclean_shutdown_replicas=() if unclean is None else (unclean,),
            )
            may_be_unclean = self._configuration.is_unclean_election_enabled(topic.name)
            election = Election.UNCLEAN if may_be_unclean else Election.ONLINE
            context = self._contexts.context(key, without=removed, also=add)
            record = partition_change_record(partition, context, targets, election)
            if record is not None:
                records.append(record)
        return records

    # Requests and periodic tasks

    def elect_leaders(self, request: ElectLeadersRequest) -> ControllerDecision[ElectLeadersResponse]:
        if request.election_type not in (_PREFERRED, _UNCLEAN):
            raise RequestRejected(ErrorCode.INVALID_REQUEST, f"Unknown election type {request.election_type}")
        records: list[MetadataRecord] = []
        results = []
        if request.topic_partitions is None:
            requested = [(topic.name, sorted(topic.partitions)) for topic in self._registry.topics.values()]
        else:
            requested = [(topic.topic, topic.partitions) for topic in request.topic_partitions]
        for name, partition_ids in requested:
            partition_results = [(p, self._elect(name, p, request.election_type, records)) for p in partition_ids]
            if request.topic_partitions is None:
                partition_results = [(p, r) for p, r in partition_results if r.code != ErrorCode.ELECTION_NOT_NEEDED]
            results.append(
                ReplicaElectionResult(
                    topic=name,
                    partition_result=[
                        PartitionResult(partition_id=p, error_code=result.code, error_message=result.message)
                        for p, result in partition_results
                    ],
                )
            )
        return ControllerDecision(records, ElectLeadersResponse(replica_election_results=results))

    def balance_leaders(self) -> ControllerDecision[bool]:
        """Elect preferred replicas; the response is whether more partitions may be imbalanced."""
        records: list[MetadataRecord] = []
        for key in self._index.imbalanced:
            if len(records) >= MAX_ELECTIONS_PER_ROUND:
                break
            record = self._preferred(key)
            if record is not None:
                records.append(record)
        return ControllerDecision(records, len(records) >= MAX_ELECTIONS_PER_ROUND)

    def elect_unclean_leaders(self) -> ControllerDecision[bool]:
        """Elect leaders for leaderless partitions whose topics allow it by now; the response is whether more may
        remain."""
        records: list[MetadataRecord] = []
        for key in self._index.leaderless:
            if len(records) >= MAX_ELECTIONS_PER_ROUND:
                break
            topic = self._registry.topics[key.topic_id]
            if self._configuration.is_unclean_election_enabled(topic.name):
                self._elect(topic.name, key.partition_id, _UNCLEAN, records)
        return ControllerDecision(records, len(records) >= MAX_ELECTIONS_PER_ROUND)

    def _preferred(self, key: TopicIdPartition) -> MetadataRecord | None:
        return partition_change_record(
            self._registry.partition(key), self._contexts.context(key), NO_TARGETS, Election.PREFERRED
        )

    def _elect(self, name: str, partition_id: int, election_type: int, records: list[MetadataRecord]) -> ItemResult:
        topic: TopicState | None = self._registry.topic_named(name)
        if topic is None:
            return ItemResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
        partition = topic.partitions.get(partition_id)
        if partition is None:
            return ItemResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{partition_id}")
        has_leader = (
            partition.has_leader if election_type == _UNCLEAN else partition.leader == partition.preferred_replica
        )
        if has_leader:
            return ItemResult(ErrorCode.ELECTION_NOT_NEEDED, ERROR_WORDS[ErrorCode.ELECTION_NOT_NEEDED])
        election = Election.UNCLEAN if election_type == _UNCLEAN else Election.PREFERRED
        key = TopicIdPartition(topic.id, partition_id)
        record = partition_change_record(partition, self._contexts.context(key), NO_TARGETS, election)
        if record is None:
            unclean, preferred = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
            code = unclean if election_type == _UNCLEAN else preferred
            return ItemResult(code, ERROR_WORDS[code])
        records.append(record)
        return SUCCESS
