"""A cluster on one machine without configuration: one directory holds all of it.

    DIR/cluster.properties          the cluster's id, how many nodes it has, and how many of them vote
    DIR/node-1/server.properties    made anew at every start, since ports may change
    DIR/node-1/data                 formatted once, and kept
    DIR/node-1/node.log             what the node says

Nodes are 1, 2, … and all are brokers. The first three of a cluster that begins with three or more are controllers as
well; a smaller one begins with a single controller, since two would both be needed. Who votes never changes after
that: nodes that are added later, with nothing in their logs, must not be able to outvote those that have the metadata.
Voters stand in the nodes' files and not in the metadata log, so that the next start may use other ports.

Node i listens on `port + i - 1`; controllers listen on the ports after those of all nodes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from odradek.common.failures import InputError
from odradek.common.ids import uuid_to_text
from odradek.common.ports import Clock, FileSystem, write_atomically
from odradek.common.properties import format_properties, read_properties
from odradek.common.uuids import random_uuid
from odradek.server.config.server_config import ServerConfig, load_server_config
from odradek.server.storage.format import FormatRequest, plan_format, run_format

HOST = "localhost"

#: One broker may fail with three copies, and one controller with three voters; Kafka's defaults say the same.
_COPIES = 3

_MAX_PORT = 65_535

#: A group of three is balanced well within a second; a member costs five small requests a second.
_HEARTBEAT_MS = "200"
#: Kafka's 50 partitions are for many machines; on one they cost files and time at the first use of a group.
_INTERNAL_PARTITIONS = "8"

_CLUSTER_FILE = "cluster.properties"


@dataclass(frozen=True, slots=True)
class LocalNode:
    id: int
    port: int
    #: Its log.dirs.
    data: str
    #: Where what it says goes.
    log: str
    config: ServerConfig

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def config_path(self) -> str:
        return self.config.settings.path


@dataclass(frozen=True, slots=True)
class _Shape:
    """Properties of a cluster that persist between starts; nodes may be added."""

    cluster_id: str
    node_count: int
    controller_count: int


def prepare_cluster(
    files: FileSystem,
    clock: Clock,
    directory: str,
    node_count: int | None,
    port: int,
    settings: Mapping[str, str] | None = None,
) -> tuple[LocalNode, ...]:
    """The nodes, formatted and ready to start; without a count as many as there are, or one. `settings` are for all of
    them, and count more than those made here.

    Raises InputError for a directory with something else in it, for fewer nodes than it holds, and for ports that are
    none.
    """
    if "," in directory:
        raise InputError(f"{directory}: a data directory may have no comma in its name; log.dirs is a list.")
    path = f"{directory}/{_CLUSTER_FILE}"
    existing = _read_shape(files, path) if files.exists(path) else None
    shape = _shape(files, directory, existing, node_count)
    _check_ports(port, shape)
    if shape != existing:
        _write_shape(files, path, shape)
    return tuple(
        _prepare_node(files, clock, f"{directory}/node-{node_id}", shape, node_id, port, settings or {})
        for node_id in _ids(shape.node_count)
    )


def ports_needed(node_count: int) -> int:
    """Return the number of consecutive ports that a new cluster needs."""
    return node_count + _first_controllers(node_count)


def _shape(files: FileSystem, directory: str, found: _Shape | None, node_count: int | None) -> _Shape:
    if found is None:
        if files.exists(directory) and [name for name in files.list_dir(directory) if not name.startswith(".")]:
            raise InputError(f"{directory} is neither empty nor a cluster of odradek up; name another directory.")
        count = node_count or 1
        return _Shape(uuid_to_text(random_uuid()), count, _first_controllers(count))
    if node_count is not None and node_count < found.node_count:
        raise InputError(
            f"{directory} holds a cluster of {found.node_count} nodes, which cannot do with {node_count}; "
            f"say --nodes {found.node_count}, or name another directory."
        )
    return _Shape(found.cluster_id, node_count or found.node_count, found.controller_count)


def _first_controllers(node_count: int) -> int:
    return _COPIES if node_count >= _COPIES else 1


def _read_shape(files: FileSystem, path: str) -> _Shape:
    properties = read_properties(files, path)
    counts = []
    for key in ("nodes", "controllers"):
        text = properties.get(key, "")
        if not text or not text.isdecimal() or int(text) < 1:
            raise properties.error(key, f'"{text}" is no number of nodes')
        counts.append(int(text))
    return _Shape(properties.get("cluster.id") or "", *counts)


def _write_shape(files: FileSystem, path: str, shape: _Shape) -> None:
    values = {
        "cluster.id": shape.cluster_id,
        "nodes": str(shape.node_count),
        "controllers": str(shape.controller_count),
    }
    files.make_dirs(path.rpartition("/")[0])
    write_atomically(files, path, format_properties(values, ["Written by odradek up."]).encode())


def _check_ports(port: int, shape: _Shape) -> None:
    last = _controller_port(port, shape, shape.controller_count)
    if port < 1 or last > _MAX_PORT:
        raise InputError(f"--port {port}: ports {port} to {last} would be needed, and there are 1 to {_MAX_PORT}.")


def _prepare_node(
    files: FileSystem,
    clock: Clock,
    place: str,
    shape: _Shape,
    node_id: int,
    port: int,
    settings: Mapping[str, str],
) -> LocalNode:
    data = f"{place}/data"
    files.make_dirs(place)
    config_path = f"{place}/server.properties"
    text = format_properties(
        {**_node_settings(shape, node_id, port, data), **settings},
        ["Made by odradek up, at every start.", f"Alone: odradek server start {config_path}"],
        escape_unicode=True,
    )
    write_atomically(files, config_path, text.encode(), sync=False)
    config = load_server_config(files, config_path)
    run_format(
        files,
        plan_format(files, config, FormatRequest(shape.cluster_id, ignore_formatted=True), random_uuid),
        clock.wall_ms(),
    )
    return LocalNode(node_id, port + node_id - 1, data, f"{place}/node.log", config)


def _node_settings(shape: _Shape, node_id: int, port: int, data: str) -> Mapping[str, str]:
    listeners = [f"PLAINTEXT://{HOST}:{port + node_id - 1}"]
    roles = "broker"
    if node_id <= shape.controller_count:
        listeners.append(f"CONTROLLER://{HOST}:{_controller_port(port, shape, node_id)}")
        roles = "broker,controller"
    voters = [
        f"{voter_id}@{HOST}:{_controller_port(port, shape, voter_id)}" for voter_id in _ids(shape.controller_count)
    ]
    return {
        "process.roles": roles,
        "node.id": str(node_id),
        "listeners": ",".join(listeners),
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.quorum.voters": ",".join(voters),
        "log.dirs": data,
        **_laptop_settings(shape.node_count),
    }


def _laptop_settings(node_count: int) -> Mapping[str, str]:
    """Return settings for one machine where Kafka's defaults assume several."""
    copies = str(min(_COPIES, node_count))
    min_isr = str(max(1, min(_COPIES, node_count) - 1))
    return {
        "default.replication.factor": copies,
        "offsets.topic.replication.factor": copies,
        "offsets.topic.num.partitions": _INTERNAL_PARTITIONS,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": min_isr,
        "transaction.state.log.num.partitions": _INTERNAL_PARTITIONS,
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.num.partitions": _INTERNAL_PARTITIONS,
        # Long enough for members that are started together, short enough for one that is alone.
        "group.initial.rebalance.delay.ms": "250",
        # Members of consumer groups hear of each other by their heartbeats, in two rounds of them.
        "group.consumer.min.heartbeat.interval.ms": _HEARTBEAT_MS,
        "group.consumer.heartbeat.interval.ms": _HEARTBEAT_MS,
        "group.consumer.assignment.interval.ms": "0",
    }


def _controller_port(port: int, shape: _Shape, node_id: int) -> int:
    return port + shape.node_count + node_id - 1


def _ids(count: int) -> range:
    return range(1, count + 1)
