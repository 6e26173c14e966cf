"""The control that decides each request: the controller's API as one table.

A request that changes metadata is decided by one function of the state, and its response is its own message.
Heartbeats are not here: they change soft state as well, and `quorum_controller` handles them.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from odradek.controller.controls import Controls
from odradek.controller.decision import ControllerDecision
from odradek.metadata.features.feature_versions import ELIGIBLE_LEADER_REPLICAS_VERSION
from odradek.protocol.message import Message
from odradek.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from odradek.protocol.messages.alter_client_quotas_request import AlterClientQuotasRequest
from odradek.protocol.messages.alter_configs_request import AlterConfigsRequest
from odradek.protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from odradek.protocol.messages.alter_partition_request import AlterPartitionRequest
from odradek.protocol.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from odradek.protocol.messages.broker_registration_request import BrokerRegistrationRequest
from odradek.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from odradek.protocol.messages.controller_registration_request import ControllerRegistrationRequest
from odradek.protocol.messages.create_partitions_request import CreatePartitionsRequest
from odradek.protocol.messages.create_topics_request import CreateTopicsRequest
from odradek.protocol.messages.delete_topics_request import DeleteTopicsRequest
from odradek.protocol.messages.elect_leaders_request import ElectLeadersRequest
from odradek.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from odradek.protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from odradek.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from odradek.protocol.messages.update_features_request import UpdateFeaturesRequest
from odradek.protocol.messages.update_features_response import UpdateFeaturesResponse


class OperationContext(NamedTuple):
    now_ms: int
    #: Offset of the first record of the decision.
    next_offset: int


def decide(controls: Controls, request: Message, context: OperationContext) -> ControllerDecision[Any]:
    """Decide a request. Raises KeyError for one that the controller does not handle."""
    return _DECIDERS[type(request)](controls, request, context)


def handled_requests() -> tuple[type[Message], ...]:
    return tuple(_DECIDERS)


def register_broker(
    controls: Controls, request: BrokerRegistrationRequest, context: OperationContext
) -> ControllerDecision[BrokerRegistrationResponse]:
    """Register a broker. The epoch of a new incarnation is the offset of its first record, so later ones are
    greater."""
    cluster, cleanup = controls.cluster, []
    if cluster.is_new_incarnation(request):
        cleanup = controls.election.incarnation_ended(request.broker_id, cluster.was_clean_shutdown(request))
    return cluster.register_broker(request, context.next_offset, cleanup, context.now_ms)


def update_features(
    controls: Controls, request: UpdateFeaturesRequest, context: OperationContext
) -> ControllerDecision[UpdateFeaturesResponse]:
    decision = controls.features.update(request, controls.cluster.node_features())
    enables_elr = any(
        u.feature == ELIGIBLE_LEADER_REPLICAS_VERSION and u.max_version_level > 0 for u in request.feature_updates
    )
    if not enables_elr or not decision.records:
        return decision
    safety = controls.configuration.elr_safety_records()
    return ControllerDecision([*safety, *decision.records], decision.response, is_atomic=True)


_Decider = Callable[[Controls, Any, OperationContext], ControllerDecision[Any]]

_DECIDERS: Mapping[type[Message], _Decider] = {
    BrokerRegistrationRequest: register_broker,
    ControllerRegistrationRequest: lambda c, r, _: c.cluster.register_controller(r),
    UnregisterBrokerRequest: lambda c, r, _: c.election.unregister_broker(r.broker_id),
    CreateTopicsRequest: lambda c, r, _: c.topics.create_topics(r),
    DeleteTopicsRequest: lambda c, r, _: c.topics.delete_topics(r),
    CreatePartitionsRequest: lambda c, r, _: c.topics.create_partitions(r),
    AlterPartitionRequest: lambda c, r, _: c.isr.alter_partition(r),
    ElectLeadersRequest: lambda c, r, _: c.election.elect_leaders(r),
    AlterPartitionReassignmentsRequest: lambda c, r, _: c.reassignment.alter(r),
    ListPartitionReassignmentsRequest: lambda c, r, _: ControllerDecision([], c.reassignment.list_ongoing(r)),
    AssignReplicasToDirsRequest: lambda c, r, _: c.reassignment.assign_directories(r),
    IncrementalAlterConfigsRequest: lambda c, r, _: c.configuration.incremental_alter(r, c.check_resource_exists),
    AlterConfigsRequest: lambda c, r, _: c.configuration.legacy_alter(r, c.check_resource_exists),
    UpdateFeaturesRequest: update_features,
    AllocateProducerIdsRequest: lambda c, r, _: c.producer_ids.allocate(r),
    AlterClientQuotasRequest: lambda c, r, _: c.client_quotas.alter(r),
}
