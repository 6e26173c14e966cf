"""Resources that every part of a node uses."""

from dataclasses import dataclass
from random import Random

from odradek.common.ports import Clock, FileSystem
from odradek.server.config.dynamic_config import DynamicConfig
from odradek.server.config.server_config import ServerConfig
from odradek.server.storage.node_directories import NodeDirs


@dataclass(frozen=True, slots=True)
class Foundation:
    files: FileSystem
    clock: Clock
    random: Random
    config: ServerConfig
    #: Taken by this node, and no other's while it runs.
    dirs: NodeDirs
    #: What holds of the settings while the node runs.
    dynamic: DynamicConfig
