"""Nodes of the Raft simulator whose log is the real one, on a disk that forgets what was not synced."""

from random import Random

from odradek.metadata_log.metadata_log import MetadataLogConfig
from odradek.sim.raft.cluster import RaftCluster
from odradek.sim.raft.node import SimulatedNode
from support.builders.raft_logs import TwinRaftLog

#: Small enough that segments end and the log goes behind its snapshots within one run.
CONFIG = MetadataLogConfig(segment_bytes=2_000, retention_bytes=4_000)


class NodeOnDisk(SimulatedNode):
    def __init__(self, cluster: RaftCluster, node_id: int, directory_id: bytes, random: Random) -> None:
        super().__init__(cluster, node_id, directory_id, random)
        self._insert_disk()

    def wipe(self, directory_id: bytes) -> None:
        super().wipe(directory_id)
        self._insert_disk()

    def _insert_disk(self) -> None:
        self.log = TwinRaftLog(self.cluster.ledger.appended, self.cluster.ledger.chain_of, self.random, CONFIG)
