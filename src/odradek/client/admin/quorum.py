"""Quorum of controllers: describe its replicas, add and remove voters (KIP-595, KIP-853)."""

from dataclasses import dataclass
from typing import NamedTuple

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.errors import check_error
from odradek.common.addresses import HostPort
from odradek.common.ids import METADATA_TOPIC, ZERO_UUID
from odradek.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from odradek.protocol.messages.add_raft_voter_request import Listener as VoterListener
from odradek.protocol.messages.add_raft_voter_response import AddRaftVoterResponse
from odradek.protocol.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from odradek.protocol.messages.describe_quorum_response import DescribeQuorumResponse, ReplicaState
from odradek.protocol.messages.describe_quorum_response import PartitionData as DescribedPartition
from odradek.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from odradek.protocol.messages.remove_raft_voter_response import RemoveRaftVoterResponse


class VoterEndpoint(NamedTuple):
    """Address of a voter on a listener."""

    listener: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.listener}://{HostPort(self.host, self.port)}"


@dataclass(frozen=True, slots=True)
class QuorumReplica:
    """Voter or observer of the metadata log. Times are wall-clock times; None if the leader does not return them."""

    id: int
    directory_id: bytes | None
    log_end_offset: int
    last_fetch_ms: int | None
    last_caught_up_ms: int | None
    endpoints: tuple[VoterEndpoint, ...]


@dataclass(frozen=True, slots=True)
class QuorumDescription:
    """Leader, voters and observers of the quorum."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]

    @property
    def leader(self) -> QuorumReplica | None:
        """Voter that leads; None if the leader is not a voter: then it is about to resign."""
        return next((voter for voter in self.voters if voter.id == self.leader_id), None)

    @property
    def controllers(self) -> tuple[HostPort, ...]:
        """First address of each voter that has one, the leader's first."""
        ordered = sorted(self.voters, key=lambda voter: voter.id != self.leader_id)
        return tuple(HostPort(*voter.endpoints[0][1:]) for voter in ordered if voter.endpoints)


class QuorumOperations:
    """Describes the quorum, and changes its voters."""

    def __init__(self, router: ClusterRouter) -> None:
        self._router = router

    async def describe(self) -> QuorumDescription:
        """Return the quorum as its leader sees it. Raises Refused and NoLeader."""
        topic = TopicData(topic_name=METADATA_TOPIC, partitions=[PartitionData(partition_index=0)])
        response: DescribeQuorumResponse = await self._router.send_to_leader(
            DescribeQuorumRequest(topics=[topic]), _error_code_of, repeatable=True
        )
        check_error(response.error_code, response.error_message)
        partition = _partition_of(response)
        check_error(partition.error_code, partition.error_message)
        endpoints = {
            node.node_id: tuple(
                VoterEndpoint(listener.name, listener.host, listener.port) for listener in node.listeners
            )
            for node in response.nodes
        }
        return QuorumDescription(
            partition.leader_id,
            partition.leader_epoch,
            partition.high_watermark,
            tuple(_quorum_replica(voter, endpoints.get(voter.replica_id, ())) for voter in partition.current_voters),
            tuple(
                _quorum_replica(observer, endpoints.get(observer.replica_id, ()))
                for observer in sorted(partition.observers, key=lambda observer: observer.replica_id)
            ),
        )

    async def add_voter(
        self, cluster_id: str, voter_id: int, directory_id: bytes, endpoints: tuple[VoterEndpoint, ...]
    ) -> None:
        """Add a voter, and return when the change is committed. Raises Refused."""
        request = AddRaftVoterRequest(
            cluster_id=cluster_id,
            timeout_ms=self._router.config.request_timeout_ms,
            voter_id=voter_id,
            voter_directory_id=directory_id,
            listeners=[
                VoterListener(name=endpoint.listener, host=endpoint.host, port=endpoint.port) for endpoint in endpoints
            ],
        )
        response: AddRaftVoterResponse = await self._router.send_to_leader(
            request, lambda r: int(r.error_code), repeatable=False
        )
        check_error(response.error_code, response.error_message)

    async def remove_voter(self, voter_id: int, directory_id: bytes) -> None:
        """Remove a voter, and return when the change is committed. Raises Refused."""
        request = RemoveRaftVoterRequest(cluster_id=None, voter_id=voter_id, voter_directory_id=directory_id)
        response: RemoveRaftVoterResponse = await self._router.send_to_leader(
            request, lambda r: int(r.error_code), repeatable=False
        )
        check_error(response.error_code, response.error_message)


def _error_code_of(response: DescribeQuorumResponse) -> int:
    return response.error_code or _partition_of(response).error_code


def _partition_of(response: DescribeQuorumResponse) -> DescribedPartition:
    """Return the only partition of a response; a response with an error has none."""
    partitions = [partition for topic in response.topics for partition in topic.partitions]
    return partitions[0] if partitions else DescribedPartition()


def _quorum_replica(state: ReplicaState, endpoints: tuple[VoterEndpoint, ...]) -> QuorumReplica:
    return QuorumReplica(
        state.replica_id,
        None if state.replica_directory_id == ZERO_UUID else state.replica_directory_id,
        state.log_end_offset,
        _none_if_negative(state.last_fetch_timestamp),
        _none_if_negative(state.last_caught_up_timestamp),
        endpoints,
    )


def _none_if_negative(timestamp_ms: int) -> int | None:
    return None if timestamp_ms < 0 else timestamp_ms
