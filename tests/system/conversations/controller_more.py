"""What a controller is asked about what there is: replicas and leaders, quotas, features, envelopes, Raft."""

from collections.abc import Iterator
from typing import Any

from odradek.api.dispatch.envelope_codec import wrap
from odradek.protocol.message import Message
from odradek.protocol.messages import add_raft_voter_request as voters
from odradek.protocol.messages import alter_client_quotas_request as quotas
from odradek.protocol.messages import alter_partition_reassignments_request as reassign
from odradek.protocol.messages import assign_replicas_to_dirs_request as assign
from odradek.protocol.messages import describe_configs_request as configs
from odradek.protocol.messages import describe_quorum_request as quorums
from odradek.protocol.messages import fetch_request as fetching
from odradek.protocol.messages import vote_request as voting
from odradek.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from odradek.protocol.messages.alter_partition_request import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from odradek.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from odradek.protocol.messages.controller_registration_request import ControllerRegistrationRequest
from odradek.protocol.messages.create_topics_request import CreateTopicsRequest
from odradek.protocol.messages.describe_cluster_request import DescribeClusterRequest
from odradek.protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from odradek.protocol.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from odradek.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from odradek.protocol.messages.request_header import RequestHeader
from odradek.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from odradek.protocol.requests import request_parts
from support.builders.controller import topic
from system.conversations.compare import UNKNOWN_ID, Learned, Line

TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32


def more_questions() -> Iterator[Line]:
    yield from _isr_and_leaders()
    yield from _reassignments()
    yield from _the_rest()
    yield from _envelopes()
    yield from _descriptions()
    yield from _raft()


def _isr_and_leaders() -> Iterator[Line]:
    def isr(known: Learned, name: str, partition: int, leader: int, *ids: int, **fields: Any) -> Message:
        states = [BrokerState(broker_id=i, broker_epoch=known.epochs.get(i, 5)) for i in ids]
        data = PartitionData(partition_index=partition, **{"new_isr_with_epochs": states, **fields})
        asked = TopicData(topic_id=known.topic_ids.get(name, UNKNOWN_ID), partitions=[data])
        return AlterPartitionRequest(broker_id=leader, broker_epoch=known.epochs.get(leader, 5), topics=[asked])

    yield Line("shrink", lambda known: isr(known, "third", 0, 10, 10, 12))
    yield Line("shrink again with the old epoch", lambda known: isr(known, "third", 0, 10, 10))
    yield Line("grow", lambda known: isr(known, "third", 0, 10, 10, 11, 12, partition_epoch=1))
    yield Line("an ISR without its leader", lambda known: isr(known, "third", 0, 10, 11, 12, partition_epoch=2))
    yield Line("an ISR with a stranger", lambda known: isr(known, "third", 0, 10, 10, 77, partition_epoch=2))
    yield Line("an empty ISR", lambda known: isr(known, "third", 0, 10, partition_epoch=2))
    yield Line("an ISR from somebody else", lambda known: isr(known, "third", 0, 11, 10, 11, partition_epoch=2))
    yield Line("an ISR from the future", lambda known: isr(known, "third", 0, 10, 10, leader_epoch=9))
    yield Line("an ISR of an unknown topic", lambda known: isr(known, "missing", 0, 10, 10))
    yield Line("an ISR of an unknown partition", lambda known: isr(known, "third", 9, 10, 10))
    yield Line("an ISR from nobody", lambda known: isr(known, "third", 0, 77, 10))

    def elect(kind: int, **partitions: list[int]) -> Message:
        asked = [TopicPartitions(topic=name, partitions=numbers) for name, numbers in partitions.items()]
        return ElectLeadersRequest(election_type=kind, topic_partitions=asked)

    yield Line("elect preferred", lambda known: elect(0, first=[0, 9], missing=[0]))
    yield Line("elect unclean", lambda known: elect(1, first=[1]))
    yield Line("elect by no rule", lambda known: elect(7, first=[1]))
    yield Line("elect all", lambda known: ElectLeadersRequest(topic_partitions=None))
    yield Line("elect v0", lambda known: elect(0, first=[0], missing=[0]), 0)


def _reassignments() -> Iterator[Line]:
    def move(name: str, partition: int, replicas: list[int] | None) -> reassign.ReassignableTopic:
        one = reassign.ReassignablePartition(partition_index=partition, replicas=replicas)
        return reassign.ReassignableTopic(name=name, partitions=[one])

    moves = [
        move("first", 0, [12, 11]),
        move("second", 0, None),
        move("third", 9, [10]),
        move("missing", 0, [10]),
        move("v2", 0, [10, 77]),
        move("v3", 0, [10, 10]),
        move("v4", 0, []),
    ]
    request = reassign.AlterPartitionReassignmentsRequest(topics=moves)
    yield Line("move", lambda known: request)
    kept = reassign.AlterPartitionReassignmentsRequest(
        topics=[move("second", 1, [10, 11])], allow_replication_factor_change=False
    )
    yield Line("move without more replicas", lambda known: kept)
    yield Line("moving", lambda known: ListPartitionReassignmentsRequest(topics=None))
    some = [ListPartitionReassignmentsTopics(name=n, partition_indexes=[0, 9]) for n in ("first", "third", "missing")]
    yield Line("some moving", lambda known: ListPartitionReassignmentsRequest(topics=some))
    back = reassign.AlterPartitionReassignmentsRequest(topics=[move("first", 0, None)])
    yield Line("move back", lambda known: back)
    yield Line("moving no more", lambda known: ListPartitionReassignmentsRequest(topics=None))

    def placed(known: Learned, broker: int, epoch: int) -> Message:
        topics = [
            assign.TopicData(topic_id=known.topic_ids["first"], partitions=[assign.PartitionData(partition_index=0)]),
            assign.TopicData(topic_id=known.topic_ids["second"], partitions=[assign.PartitionData(partition_index=0)]),
            assign.TopicData(topic_id=UNKNOWN_ID, partitions=[assign.PartitionData(partition_index=0)]),
        ]
        directory = assign.DirectoryData(id=b"some directory 1", topics=topics)
        return assign.AssignReplicasToDirsRequest(broker_id=broker, broker_epoch=epoch, directories=[directory])

    yield Line("placed in directories", lambda known: placed(known, 11, known.epochs[11]))
    yield Line("placed by another epoch", lambda known: placed(known, 11, 1))


def _the_rest() -> Iterator[Line]:
    for number in (1, 2):
        yield Line(
            f"producer ids {number}",
            lambda known: AllocateProducerIdsRequest(broker_id=10, broker_epoch=known.epochs[10]),
        )
    yield Line("producer ids for nobody", lambda known: AllocateProducerIdsRequest(broker_id=77, broker_epoch=1))

    def quota(entity: dict[str, str | None], key: str, value: float, remove: bool = False) -> quotas.EntryData:
        parts = [quotas.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()]
        return quotas.EntryData(entity=parts, ops=[quotas.OpData(key=key, value=value, remove=remove)])

    entries = [
        quota({"user": "alice"}, "producer_byte_rate", 1000.0),
        quota({"user": None}, "consumer_byte_rate", 1000.0),
        quota({"user": "bob", "client-id": "c"}, "request_percentage", 50.5),
        quota({"ip": "10.0.0.1"}, "connection_creation_rate", 5.0),
        quota({"ip": "10.0.0.2"}, "producer_byte_rate", 5.0),
        quota({"ip": "not an address"}, "connection_creation_rate", 5.0),
        quota({"ip": "10.0.0.3", "user": "x"}, "connection_creation_rate", 5.0),
        quota({"user": "c"}, "no_such", 5.0),
        quota({"user": "d"}, "producer_byte_rate", -5.0),
        quota({"user": "e"}, "producer_byte_rate", 5.5),
        quota({"user": ""}, "producer_byte_rate", 5.0),
        quota({"planet": "mars"}, "producer_byte_rate", 5.0),
        quota({}, "producer_byte_rate", 5.0),
        quota({"user": "f"}, "producer_byte_rate", 0.0, remove=True),
    ]
    yield Line("quotas", lambda known: quotas.AlterClientQuotasRequest(entries=entries))

    def feature(name: str, level: int, kind: int = 1) -> Message:
        update = FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
        return UpdateFeaturesRequest(feature_updates=[update])

    yield Line("an unknown feature", lambda known: feature("no.such", 1))
    yield Line("a level too high", lambda known: feature("metadata.version", 999))
    yield Line("a downgrade by accident", lambda known: feature("group.version", 0))
    yield Line("a downgrade by no rule", lambda known: feature("group.version", 0, 7))
    yield Line("a downgrade", lambda known: feature("group.version", 0, 2))
    yield Line("an upgrade", lambda known: feature("group.version", 1))
    yield Line("a metadata downgrade", lambda known: feature("metadata.version", 7, 2))
    for version in range(2):
        yield Line(f"an unknown feature v{version}", lambda known: feature("no.such", 1), version)
        yield Line(f"a feature that is there v{version}", lambda known: feature("group.version", 1), version)
    yield Line("a controller registers", lambda known: ControllerRegistrationRequest(controller_id=9))
    yield Line("a feature that a controller lacks", lambda known: feature("group.version", 1))


def _envelopes() -> Iterator[Line]:
    def whole(request: Message, version: int) -> bytes:
        header = RequestHeader(
            request_api_key=request.API_KEY, request_api_version=version, correlation_id=5, client_id="c"
        )
        return b"".join(request_parts(header, request))

    def sealed(request: bytes, **fields: Any) -> Message:
        envelope = wrap(request, "User:alice", "10.0.0.7")
        for name, value in fields.items():
            setattr(envelope, name, value)
        return envelope

    create = whole(CreateTopicsRequest(topics=[topic("enveloped", [[10]])]), 4)
    yield Line("an envelope", lambda known: sealed(create))
    yield Line("an envelope without principal", lambda known: sealed(create, request_principal=None))
    yield Line("an envelope with a broken principal", lambda known: sealed(create, request_principal=b"\x00\x05abc"))
    yield Line("an envelope without address", lambda known: sealed(create, client_host_address=b"123"))
    yield Line("an envelope of a heartbeat", lambda known: sealed(whole(BrokerHeartbeatRequest(), 0)))
    yield Line("an envelope of an unknown API", lambda known: sealed(b"\x7f\xff" + bytes(20)))
    yield Line("an envelope of an unknown version", lambda known: sealed(b"\x00\x13\x00\x63" + bytes(20)))
    yield Line("an envelope of half a request", lambda known: sealed(create[:-3]))


def _descriptions() -> Iterator[Line]:
    for endpoint_type in (0, 1, 3):
        yield Line(
            f"describe endpoints of type {endpoint_type}",
            lambda known, t=endpoint_type: DescribeClusterRequest(endpoint_type=t),
        )
    yield Line("describe brokers", lambda known: DescribeClusterRequest(), 0)

    def described(kind: int, name: str, *keys: str) -> configs.DescribeConfigsResource:
        return configs.DescribeConfigsResource(
            resource_type=kind, resource_name=name, configuration_keys=list(keys) or None
        )

    resources = [
        described(TOPIC, "first"),
        described(TOPIC, "second", "retention.ms", "no.such"),
        described(TOPIC, "missing"),
        described(TOPIC, "a b"),
        described(BROKER, "1", "log.cleaner.threads", "num.partitions", "broker.session.timeout.ms"),
        described(BROKER, ""),
        described(BROKER, "77"),
        described(BROKER, "ten"),
        described(GROUP, "g"),
        described(GROUP, ""),
        described(CLIENT_METRICS, "m"),
        described(CLIENT_METRICS, ""),
    ]
    for version in range(1, 5):
        yield Line(
            f"describe settings v{version}",
            lambda known: configs.DescribeConfigsRequest(resources=resources, include_synonyms=True),
            version,
        )
    yield Line(
        "describe settings of nothing known",
        lambda known: configs.DescribeConfigsRequest(resources=[described(77, "x"), described(TOPIC, "first")]),
    )


def _raft() -> Iterator[Line]:
    """A quorum of one voter that is in its file: nobody is voted for, and nobody comes or goes."""
    listener = voters.Listener(name="CONTROLLER", host="127.0.0.1", port=9)
    for cluster in ("another", None):
        yield Line(
            f"add a voter to {cluster}",
            lambda known, c=cluster: voters.AddRaftVoterRequest(
                cluster_id=c, voter_id=2, voter_directory_id=UNKNOWN_ID, listeners=[listener], timeout_ms=1000
            ),
        )
        yield Line(
            f"remove a voter of {cluster}",
            lambda known, c=cluster: RemoveRaftVoterRequest(cluster_id=c, voter_id=1, voter_directory_id=UNKNOWN_ID),
        )

    def vote(cluster_id: str | None, name: str, epoch: int) -> Message:
        asked = voting.PartitionData(replica_epoch=epoch, replica_id=2)
        topics = [voting.TopicData(topic_name=name, partitions=[asked])]
        return voting.VoteRequest(cluster_id=cluster_id, voter_id=1, topics=topics)

    yield Line("vote in another cluster", lambda known: vote("another", "__cluster_metadata", 0))
    yield Line("vote on another topic", lambda known: vote(known.cluster_id, "first", 0))
    yield Line("vote for the past", lambda known: vote(known.cluster_id, "__cluster_metadata", 0))

    def quorum(name: str) -> Message:
        partition = quorums.PartitionData(partition_index=0)
        return quorums.DescribeQuorumRequest(topics=[quorums.TopicData(topic_name=name, partitions=[partition])])

    yield Line("describe the quorum of another topic", lambda known: quorum("first"))

    def fetch(cluster_id: str | None, topic_id: bytes, epoch: int, offset: int = 0) -> Message:
        partition = fetching.FetchPartition(
            partition=0, current_leader_epoch=epoch, fetch_offset=offset, partition_max_bytes=1
        )
        topics = [fetching.FetchTopic(topic_id=topic_id, partitions=[partition])]
        return fetching.FetchRequest(cluster_id=cluster_id, max_wait_ms=0, topics=topics)

    metadata = bytes(15) + b"\x01"
    yield Line("fetch in another cluster", lambda known: fetch("another", metadata, 1))
    yield Line("fetch another topic", lambda known: fetch(known.cluster_id, UNKNOWN_ID, 1))
    yield Line("fetch in the past", lambda known: fetch(known.cluster_id, metadata, 0))
    yield Line("fetch in the future", lambda known: fetch(known.cluster_id, metadata, 99))
