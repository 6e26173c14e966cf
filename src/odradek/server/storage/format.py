"""Formatting the directories of a node, as Kafka's StorageTool does: they belong to a cluster and a node from then on.

Each directory gets `bootstrap.checkpoint`, and `meta.properties` last of all: a directory without it is not
formatted, whatever a crash or a full disk left in it, and can be formatted again. With voters in the log, the
directory of the metadata log also gets the snapshot `0-0` that names the first of them.

Everything is checked before anything is written.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from odradek.common.addresses import BadAddress, HostPort
from odradek.common.failures import InputError
from odradek.common.ids import uuid_from_text, uuid_to_text
from odradek.common.ports import FileSystem
from odradek.log.manager.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from odradek.metadata.features.feature_versions import KRAFT_VERSION
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.metadata_log.bootstrap_checkpoint import write_bootstrap
from odradek.metadata_log.snapshot_file import SnapshotFile
from odradek.raft.storage.snapshots import SnapshotWriter
from odradek.raft.values import (
    BOOTSTRAP_SNAPSHOT_ID,
    METADATA_PARTITION,
    METADATA_TOPIC,
    RECONFIGURABLE,
    SUPPORTED_KRAFT_VERSIONS,
    Endpoint,
    Endpoints,
    ReplicaKey,
)
from odradek.raft.voters import Voter, VoterSet
from odradek.server.config.endpoints import VoterAddress, parse_initial_controller, repeated
from odradek.server.config.server_config import ServerConfig
from odradek.server.storage.initial_features import InitialFeatures, initial_features
from odradek.server.storage.scram_argument import parse_scram_argument

METADATA_LOG_NAME = f"{METADATA_TOPIC}-{METADATA_PARTITION}"

_CONTROLLER_FORM = "Each is id@host:port:directory-id, separated by commas; odradek storage random-uuid makes ids."


@dataclass(frozen=True, slots=True)
class FormatRequest:
    """Arguments of the command line. At most one of the three about voters is given."""

    cluster_id: str
    ignore_formatted: bool = False
    standalone: bool = False
    initial_controllers: str | None = None
    no_initial_controllers: bool = False
    features: Sequence[str] = ()
    release_version: str | None = None
    scram: Sequence[str] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class DirectoryPlan:
    path: str
    #: Kafka's words for what it is.
    kind: str
    meta: MetaProperties
    #: To be written beside the log, if any.
    voters: VoterSet | None = None


@dataclass(frozen=True, slots=True)
class FormatPlan:
    """All that will be written; nothing is yet."""

    features: InitialFeatures
    records: Sequence[MetadataRecord]
    directories: Sequence[DirectoryPlan]
    already_formatted: Sequence[str]


def plan_format(
    files: FileSystem, config: ServerConfig, request: FormatRequest, new_uuid: Callable[[], bytes]
) -> FormatPlan:
    """Raises InputError, in one line, for anything that cannot be."""
    _check_cluster_id(request.cluster_id)
    features = initial_features(request.features, request.release_version, dynamic_quorum=not config.voters)
    voters = _voters(config, request, new_uuid)
    records = [*features.records(), *_scram_records(request, features)]
    formatted = _read_formatted(files, config, request.cluster_id)
    if formatted and not request.ignore_formatted:
        raise InputError(
            f"{next(iter(formatted))} is formatted already. With --ignore-formatted it stays as it is, "
            "and only the others are formatted."
        )
    directories = [
        _plan_directory(config, request.cluster_id, path, voters, new_uuid)
        for path in config.all_dirs
        if path not in formatted
    ]
    return FormatPlan(features, records, directories, list(formatted))


def run_format(files: FileSystem, plan: FormatPlan, wall_ms: int) -> None:
    """`meta.properties` come when everything else is there: until then no directory counts as formatted."""
    for directory in plan.directories:
        files.make_dirs(directory.path)
        write_bootstrap(files, directory.path, plan.records, wall_ms)
        if directory.voters is not None:
            kraft_version = plan.features.levels[KRAFT_VERSION]
            _write_first_snapshot(files, directory.path, directory.voters, kraft_version, wall_ms)
    for directory in plan.directories:
        write_meta_properties(files, directory.path, directory.meta, wall_ms)


def _check_cluster_id(cluster_id: str) -> None:
    try:
        uuid_from_text(cluster_id)
    except ValueError as error:
        raise InputError(f"--cluster-id: {error}. odradek storage random-uuid makes one.") from None


def _voters(
    config: ServerConfig, request: FormatRequest, new_uuid: Callable[[], bytes]
) -> Sequence[VoterAddress] | None:
    """The first voters of a quorum that keeps them in its log; None if the file has them, or nobody knows yet."""
    if config.voters:
        if request.standalone or request.initial_controllers is not None:
            raise InputError(
                f"{config.settings.where('controller.quorum.voters')}: it is set, so the voters cannot be given by "
                "--standalone or --initial-controllers. Set controller.quorum.bootstrap.servers instead."
            )
        return None
    if request.initial_controllers is not None:
        return _parse_initial_controllers(request.initial_controllers)
    if request.standalone:
        return [_standalone_voter(config, new_uuid)]
    if config.is_controller and not request.no_initial_controllers:
        raise InputError(
            "this controller's file has no controller.quorum.voters, so say who votes at first: "
            "--standalone, --initial-controllers or --no-initial-controllers."
        )
    return None


def _parse_initial_controllers(text: str) -> list[VoterAddress]:
    try:
        voters = [parse_initial_controller(entry) for entry in text.split(",") if entry.strip()]
    except BadAddress as error:
        raise InputError(f"--initial-controllers: {error} {_CONTROLLER_FORM}") from None
    if not voters:
        raise InputError(f"--initial-controllers: there is none. {_CONTROLLER_FORM}")
    for voter_id in repeated(voter.id for voter in voters):
        raise InputError(f"--initial-controllers: the node {voter_id} is there twice. {_CONTROLLER_FORM}")
    return voters


def _standalone_voter(config: ServerConfig, new_uuid: Callable[[], bytes]) -> VoterAddress:
    if not config.is_controller:
        raise InputError("--standalone is for controllers, and process.roles says that this node is only a broker.")
    listener = config.listeners.advertised_to_controllers[0]
    return VoterAddress(config.node_id, HostPort(listener.host or "localhost", listener.port), new_uuid())


def _scram_records(request: FormatRequest, features: InitialFeatures) -> list[MetadataRecord]:
    if request.scram and not features.metadata_version.is_scram_supported:
        raise InputError(f"--add-scram: metadata.version {features.metadata_version.version} knows no SCRAM yet.")
    return [MetadataRecord(parse_scram_argument(text), 0) for text in request.scram]


def _read_formatted(files: FileSystem, config: ServerConfig, cluster_id: str) -> Mapping[str, MetaProperties]:
    """Directories that are formatted; they belong to this cluster and node, or it is an error."""
    formatted: dict[str, MetaProperties] = {}
    for path in config.all_dirs:
        if files.exists(path) and not files.is_dir(path):
            raise InputError(f"{path} is not a directory.")
        meta = read_meta_properties(files, path) if files.exists(path) else None
        if meta is None:
            continue
        if meta.cluster_id not in (None, cluster_id):
            raise InputError(f"{path} belongs to the cluster {meta.cluster_id}, not to {cluster_id}.")
        if meta.node_id not in (None, config.node_id):
            raise InputError(f"{path} belongs to the node {meta.node_id}, and node.id is {config.node_id}.")
        formatted[path] = meta
    for directory_id in repeated(meta.directory_id for meta in formatted.values() if meta.directory_id is not None):
        raise InputError(f"two directories have the same directory.id, {uuid_to_text(directory_id)}.")
    return formatted


def _plan_directory(
    config: ServerConfig,
    cluster_id: str,
    path: str,
    voters: Sequence[VoterAddress] | None,
    new_uuid: Callable[[], bytes],
) -> DirectoryPlan:
    directory_id, directory_kind, voter_set = None, "data directory", None
    if path == config.metadata_log_dir:
        directory_kind = "metadata directory"
        if voters is not None:
            directory_id = next((voter.directory_id for voter in voters if voter.id == config.node_id), None)
            directory_kind = f"dynamic metadata {'' if directory_id is None else 'voter '}directory"
            voter_set = _voter_set(voters, config.listeners.controller_names[0])
    meta = MetaProperties(1, cluster_id, config.node_id, directory_id or new_uuid())
    return DirectoryPlan(path, directory_kind, meta, voter_set)


def _voter_set(voters: Sequence[VoterAddress], listener: str) -> VoterSet:
    return VoterSet(
        Voter(
            ReplicaKey(voter.id, voter.directory_id),
            Endpoints((Endpoint(listener, voter.address.host, voter.address.port),)),
            SUPPORTED_KRAFT_VERSIONS,
        )
        for voter in voters
    )


def _write_first_snapshot(files: FileSystem, log_dir: str, voters: VoterSet, kraft_version: int, wall_ms: int) -> None:
    directory = f"{log_dir}/{METADATA_LOG_NAME}"
    files.make_dirs(directory)
    raw = SnapshotFile(files, directory, BOOTSTRAP_SNAPSHOT_ID)
    try:
        writer = SnapshotWriter(
            raw,
            last_contained_log_timestamp=wall_ms,
            kraft_version=max(kraft_version, RECONFIGURABLE),
            voters=voters,
            wall_ms=wall_ms,
        )
        writer.freeze()
    finally:
        raw.close()
    files.sync_dir(log_dir)
