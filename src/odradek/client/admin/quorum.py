"""The quorum of controllers from outside: who votes and how far they are, and changes of voters (KIP-595, KIP-853)."""

from dataclasses import dataclass
from typing import NamedTuple

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.errors import check_error
from odradek.common.addresses import HostPort
from odradek.common.ids import METADATA_TOPIC, ZERO_UUID
from odradek.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from odradek.protocol.messages.add_raft_voter_request import Listener as VoterListener
from odradek.protocol.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from odradek.protocol.messages.describe_quorum_response import DescribeQuorumResponse, ReplicaState
from odradek.protocol.messages.describe_quorum_response import PartitionData as DescribedPartition
from odradek.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest


class VoterEndpoint(NamedTuple):
    listener: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.listener}://{HostPort(self.host, self.port)}"


@dataclass(frozen=True, slots=True)
class Replica:
    """Times are a calendar's; None where the leader does not know, or does not say."""

    id: int
    directory_id: bytes | None
    log_end_offset: int
    last_fetch_ms: int | None
    last_caught_up_ms: int | None
    endpoints: tuple[VoterEndpoint, ...]


@dataclass(frozen=True, slots=True)
class QuorumDescription:
    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[Replica, ...]
    observers: tuple[Replica, ...]

    @property
    def leader(self) -> Replica | None:
        """None when the leader is no voter: it is about to resign."""
        return next((voter for voter in self.voters if voter.id == self.leader_id), None)

    @property
    def controllers(self) -> tuple[HostPort, ...]:
        """An address of each voter that told one, the leader's first."""
        ordered = sorted(self.voters, key=lambda voter: voter.id != self.leader_id)
        return tuple(HostPort(*voter.endpoints[0][1:]) for voter in ordered if voter.endpoints)


async def describe_quorum(cluster: ClusterRouter) -> QuorumDescription:
    topic = TopicData(topic_name=METADATA_TOPIC, partitions=[PartitionData(partition_index=0)])
    response = await cluster.send_to_leader(DescribeQuorumRequest(topics=[topic]), _error_of, repeatable=True)
    check_error(response.error_code, response.error_message)
    partition = _partition_of(response)
    check_error(partition.error_code, partition.error_message)
    endpoints = {
        node.node_id: tuple(VoterEndpoint(each.name, each.host, each.port) for each in node.listeners)
        for node in response.nodes
    }
    return QuorumDescription(
        partition.leader_id,
        partition.leader_epoch,
        partition.high_watermark,
        tuple(_replica(voter, endpoints.get(voter.replica_id, ())) for voter in partition.current_voters),
        tuple(
            _replica(observer, endpoints.get(observer.replica_id, ()))
            for observer in sorted(partition.observers, key=lambda observer: observer.replica_id)
        ),
    )


async def add_voter(
    cluster: ClusterRouter, cluster_id: str, voter_id: int, directory_id: bytes, endpoints: tuple[VoterEndpoint, ...]
) -> None:
    """Returns when the new voter is committed. Raises Refused."""
    request = AddRaftVoterRequest(
        cluster_id=cluster_id,
        timeout_ms=cluster.config.request_timeout_ms,
        voter_id=voter_id,
        voter_directory_id=directory_id,
        listeners=[VoterListener(name=each.listener, host=each.host, port=each.port) for each in endpoints],
    )
    response = await cluster.send_to_leader(request, lambda answer: int(answer.error_code), repeatable=False)
    check_error(response.error_code, response.error_message)


async def remove_voter(cluster: ClusterRouter, voter_id: int, directory_id: bytes) -> None:
    """Returns when its removal is committed. Raises Refused."""
    request = RemoveRaftVoterRequest(cluster_id=None, voter_id=voter_id, voter_directory_id=directory_id)
    response = await cluster.send_to_leader(request, lambda answer: int(answer.error_code), repeatable=False)
    check_error(response.error_code, response.error_message)


def _error_of(response: DescribeQuorumResponse) -> int:
    return response.error_code or _partition_of(response).error_code


def _partition_of(response: DescribeQuorumResponse) -> DescribedPartition:
    """A response with an error has no partition."""
    found = [partition for topic in response.topics for partition in topic.partitions]
    return found[0] if found else DescribedPartition()


def _replica(state: ReplicaState, endpoints: tuple[VoterEndpoint, ...]) -> Replica:
    return Replica(
        state.replica_id,
        None if state.replica_directory_id == ZERO_UUID else state.replica_directory_id,
        state.log_end_offset,
        _known(state.last_fetch_timestamp),
        _known(state.last_caught_up_timestamp),
        endpoints,
    )


def _known(timestamp_ms: int) -> int | None:
    return None if timestamp_ms < 0 else timestamp_ms
