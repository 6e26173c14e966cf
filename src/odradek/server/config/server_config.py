"""The configuration of one node: `server.properties`, checked as a whole, as typed values.

Reading goes on after an error, so that one run tells all of them: each setting on its own, then the addresses, then
what the roles need, then what must fit together, then what is not supported. Only a file without errors becomes a
`ServerConfig`. Kafka's files mean the same here; settings of a role that this node does not play are allowed, as there.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from odradek.common.addresses import BadAddress, HostPort, parse_host_port
from odradek.common.ports import FileSystem
from odradek.common.properties import read_properties
from odradek.raft.config import QuorumConfig
from odradek.server.config.endpoints import VoterAddress, parse_voter, repeated
from odradek.server.config.listeners import Listeners, read_listeners
from odradek.server.config.problems import Problems
from odradek.server.config.role_rules import BROKER, CONTROLLER, RoleChecks
from odradek.server.config.setting_relations import check_relations
from odradek.server.config.settings import Settings, read_settings
from odradek.server.config.support_checks import check_support, is_for_zookeeper

_ROLES = (BROKER, CONTROLLER)
_VOTERS = "controller.quorum.voters"
_BOOTSTRAP_SERVERS = "controller.quorum.bootstrap.servers"

_Address = TypeVar("_Address")


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """`settings` has everything that is not spelt out here, by Kafka's names."""

    settings: Settings
    roles: tuple[str, ...]
    node_id: int
    listeners: Listeners
    #: Static voters; empty for a quorum whose voters are in its log.
    voters: tuple[VoterAddress, ...]
    bootstrap_servers: tuple[HostPort, ...]
    log_dirs: tuple[str, ...]
    metadata_log_dir: str
    warnings: tuple[str, ...] = ()

    @property
    def is_broker(self) -> bool:
        return BROKER in self.roles

    @property
    def is_controller(self) -> bool:
        return CONTROLLER in self.roles

    @property
    def all_dirs(self) -> tuple[str, ...]:
        """Return all log directories and the metadata log directory, sorted: those that are formatted and locked."""
        return tuple(sorted({*self.log_dirs, self.metadata_log_dir}))

    @property
    def rack(self) -> str | None:
        return self.settings.optional_text("broker.rack")

    @property
    def broker_disconnect_grace_ms(self) -> int:
        return self.settings.whole("odradek.broker.disconnect.grace.ms")

    @property
    def append_linger_ms(self) -> int:
        """None unless the file asks for it: records gather while the disk syncs those before them, which is as long as
        it pays. Kafka's 25 ms would be added to every change."""
        setting = "controller.quorum.append.linger.ms"
        return self.settings.whole(setting) if self.settings.is_given(setting) else 0

    def quorum(self) -> QuorumConfig:
        integer, prefix = self.settings.whole, "controller.quorum."
        return QuorumConfig(
            election_timeout_ms=integer(prefix + "election.timeout.ms"),
            fetch_timeout_ms=integer(prefix + "fetch.timeout.ms"),
            election_backoff_max_ms=integer(prefix + "election.backoff.max.ms"),
            append_linger_ms=self.append_linger_ms,
            request_timeout_ms=integer(prefix + "request.timeout.ms"),
            retry_backoff_ms=integer(prefix + "retry.backoff.ms"),
            auto_join=self.settings.boolean(prefix + "auto.join.enable"),
            fetch_snapshot_max_bytes=integer(prefix + "fetch.snapshot.max.bytes"),
            fetch_max_bytes=integer(prefix + "fetch.max.bytes"),
            disconnect_grace_ms=integer("odradek.quorum.disconnect.grace.ms"),
        )


def load_server_config(files: FileSystem, path: str, overrides: Iterable[str] = ()) -> ServerConfig:
    """Raises InputError with every error of the file, a line or two each; OSError if it cannot be read."""
    problems = Problems()
    settings = read_settings(read_properties(files, path), overrides, problems)
    return parse_server_config(settings, problems)


def parse_server_config(settings: Settings, problems: Problems) -> ServerConfig:
    settings.check_each(problems)
    roles = _roles(settings, problems)
    node_id = _node_id(settings, problems)
    voters = _addresses(
        settings,
        _VOTERS,
        parse_voter,
        problems,
        "Each voter is id@host:port, separated by commas, for example 1@localhost:9093.",
    )
    bootstrap_servers = _addresses(
        settings,
        _BOOTSTRAP_SERVERS,
        parse_host_port,
        problems,
        "Each server is host:port, separated by commas, for example localhost:9093.",
    )
    _check_voters(settings, voters, bootstrap_servers, problems)
    own_voter = next((voter.address for voter in voters if voter.id == node_id), None)
    listeners = read_listeners(settings, own_voter, problems)
    if roles and node_id is not None:
        RoleChecks(settings, roles, node_id, voters, listeners, problems).run()
    check_relations(settings, listeners, problems)
    check_support(settings, listeners, problems)
    log_dirs = _log_dirs(settings, problems)
    metadata_log_dir = _metadata_log_dir(settings, log_dirs, problems)
    problems.raise_if_any()
    return ServerConfig(
        settings,
        roles,
        node_id or 0,
        listeners,
        voters,
        bootstrap_servers,
        log_dirs,
        metadata_log_dir,
        tuple(problems.warnings),
    )


def _roles(settings: Settings, problems: Problems) -> tuple[str, ...]:
    key = "process.roles"
    right = "It is broker, controller, or both: broker,controller."
    if not settings.is_given(key):
        if not is_for_zookeeper(settings):
            problems.error(settings.where(key), "it is missing.", right)
        return ()
    roles = settings.items(key)
    unknown = [role for role in roles if role not in _ROLES]
    for role in unknown:
        problems.error(settings.where(key), f'"{role}" is no role.', right)
    if not roles:
        problems.error(settings.where(key), "it is empty.", right)
    return () if unknown else tuple(role for role in _ROLES if role in roles)


def _node_id(settings: Settings, problems: Problems) -> int | None:
    """`broker.id` is the old name; both may be there if they agree. None if it cannot be told."""
    key, old_key = "node.id", "broker.id"
    node_id = settings.optional_whole(key)
    old_id = settings.optional_whole(old_key) if settings.is_given(old_key) else None
    if not settings.is_given(key) and not settings.is_given(old_key):
        problems.error(settings.where(key), "it is missing.", "It is a number from 0 on, another one for each node.")
        return None
    if node_id is None and old_id is not None and old_id < 0:
        problems.error(settings.where(old_key), f"{old_id} is negative.", "It is a number from 0 on.")
        return None
    if node_id is not None and old_id is not None and node_id != old_id:
        problems.error(settings.where(old_key), f"{old_id} is not node.id={node_id}.", f"Leave {old_key} out.")
    return old_id if node_id is None else node_id


def _addresses(
    settings: Settings, key: str, parse: Callable[[str], _Address], problems: Problems, right: str
) -> tuple[_Address, ...]:
    addresses: list[_Address] = []
    for text in settings.items(key):
        try:
            addresses.append(parse(text))
        except BadAddress as error:
            problems.error(settings.where(key), str(error), right)
    return tuple(addresses)


def _check_voters(
    settings: Settings, voters: Sequence[VoterAddress], bootstrap_servers: Sequence[HostPort], problems: Problems
) -> None:
    for voter_id in repeated(voter.id for voter in voters):
        problems.error(settings.where(_VOTERS), f"the voter {voter_id} is there twice.", "Each node votes once.")
    if not settings.items(_VOTERS) and not settings.items(_BOOTSTRAP_SERVERS):
        if is_for_zookeeper(settings):
            return
        problems.error(
            settings.where(_BOOTSTRAP_SERVERS),
            f"neither this nor {_VOTERS} is set.",
            f"Say where controllers are: {_BOOTSTRAP_SERVERS}=localhost:9093 for a quorum whose voters are in its log, "
            f"or {_VOTERS}=1@localhost:9093.",
        )
    elif voters and bootstrap_servers:
        problems.warning(settings.where(_BOOTSTRAP_SERVERS), f"it is not used until the log has voters; {_VOTERS} is.")


def _log_dirs(settings: Settings, problems: Problems) -> tuple[str, ...]:
    key = "log.dirs" if settings.is_given("log.dirs") else "log.dir"
    log_dirs = tuple(_plain_path(text) for text in settings.items(key))
    if not log_dirs:
        problems.error(
            settings.where(key), "it is empty.", "Name at least one directory, for example /var/lib/odradek."
        )
    return log_dirs


def _metadata_log_dir(settings: Settings, log_dirs: Sequence[str], problems: Problems) -> str:
    key = "metadata.log.dir"
    configured = settings.optional_text(key)
    if configured == "":
        problems.error(settings.where(key), "it is empty.", "Name a directory, or leave it out: the first of log.dirs.")
    return _plain_path(configured) if configured else next(iter(log_dirs), "")


def _plain_path(text: str) -> str:
    """Without a slash at the end, so that one directory has one name."""
    return text.rstrip("/") or "/"
