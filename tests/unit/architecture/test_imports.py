"""Packages and the imports between them: which package may import which, down to sub-packages.

The table is that of docs/architecture.md. Imports are read from the source, so that those inside functions count too.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src" / "odradek"

_CORES = (
    *("broker", "coordinator", "replica", "controller", "metadata_log", "metadata", "raft", "log", "records"),
    *("protocol", "common"),
)
_BELOW_SERVER = ("errors", "network", "api", "client", "observability", "security", *_CORES)
_CLIENT = ("errors", "client.*", "client.net", "client.settings", "protocol", "records", "common")

#: Package -> what it may import beside itself; the entry of the nearest package above counts where there is none. A
#: name allows that package or module with all below it, `log.*` the modules directly in `log` only.
ALLOWED: dict[str, tuple[str, ...]] = {
    "common": (),
    "protocol": ("common",),
    "records": ("protocol.primitives", "common"),
    "log": ("records", "common"),
    "log.segments": ("log.*", "records", "common"),
    "log.producers": ("log.*", "records", "common"),
    "log.recovery": ("log.*", "log.segments", "log.producers", "log.manager", "records", "common"),
    "log.cleaner": ("log.*", "log.segments", "log.manager", "records", "common"),
    "log.manager": ("log.*", "log.cleaner", "log.recovery", "common"),
    "raft": ("records", "protocol", "common"),
    "raft.states": ("raft.*", "raft.storage", "common"),
    "raft.roles": ("raft", "records", "protocol", "common"),
    "raft.messages": ("raft.*", "raft.states", "raft.storage", "protocol", "common"),
    "raft.storage": ("raft.*", "raft.states", "records", "protocol", "common"),
    "metadata": ("protocol", "common"),
    "metadata.features": ("common",),
    "metadata.records": ("metadata.features", "protocol", "common"),
    "metadata.image": ("metadata.records", "metadata.features", "protocol", "common"),
    "metadata.configs": ("metadata.image", "protocol", "common"),
    "metadata.publishing": ("metadata.image", "metadata.records", "protocol", "common"),
    "metadata_log": ("log", "raft", "metadata", "records", "protocol", "common"),
    "broker": ("metadata", "protocol", "common"),
    "controller": ("metadata", "raft.*", "protocol", "common"),
    "controller.rules": ("metadata.image", "protocol", "common"),
    "replica": ("log", "metadata", "records", "protocol", "common"),
    "coordinator": ("records", "metadata", "protocol", "common"),
    "coordinator.group": ("coordinator.runtime", "metadata", "protocol", "common"),
    "coordinator.transaction": ("coordinator.runtime", "metadata", "protocol", "common"),
    "security": ("metadata", "protocol", "common"),
    "client": ("errors", "protocol", "records", "security", "common"),
    "client.settings": ("client.*", "common"),
    "client.net": ("errors", "client.*", "client.settings", "protocol", "records", "common"),
    "client.admin": _CLIENT,
    "client.producer": _CLIENT,
    "client.consumer": (*_CLIENT, "client.group"),
    "client.group": (*_CLIENT, "client.consumer"),
    "client.group.assignors": ("client.*", "client.group", "common"),
    "client.schema_registry": ("protocol.primitives", "common"),
    "client.direct": (*_CLIENT, "client.consumer", "client.producer"),
    "client.blocking": ("errors", "client", "records", "common"),
    "api": (),
    "api.dispatch": (
        *("protocol", "security", "metadata", "coordinator.runtime", "coordinator.transaction.marker_writing"),
        *("coordinator.transaction.partition_addition", "replica", "common"),
    ),
    "api.shared": (
        *("api.dispatch", "protocol", "security", "metadata", "coordinator.group.values", "controller.topic_names"),
        *("replica.requests", "replica.fetch_sessions", "common"),
    ),
    "api.handlers": (
        *("api.dispatch", "api.shared", "protocol", "security", "replica", "coordinator", "controller", "metadata"),
        "common",
    ),
    "network": ("api.dispatch", "security", "protocol", "common"),
    "observability": ("common",),
    "server": _BELOW_SERVER,
    "server.process": ("common",),
    "server.config": (
        *("metadata", "metadata_log", "log", "raft", "replica", "coordinator", "network", "protocol", "records"),
        "common",
    ),
    "server.storage": ("server.config", "metadata_log", "metadata", "log.manager", "raft", "protocol", "common"),
    "server.links": (
        "errors",
        "server.config",
        "api.dispatch",
        "client",
        "coordinator",
        "metadata",
        "protocol",
        "common",
    ),
    "server.drivers": ("errors", "server.config", "server.links", "api.dispatch", "client", *_CORES),
    "server.broker": (*_BELOW_SERVER, "server"),
    "server.controller": (*_BELOW_SERVER, "server"),
    "server.metrics": (*_BELOW_SERVER, "server"),
    "server.host": ("server.config", "server.storage", "common"),
    # Of the client the value that a fetched metadata log is.
    "inspection": (
        *("log", "metadata_log", "raft", "metadata", "records", "protocol", "common"),
        "client.admin.metadata_log_fetch",
    ),
    "service": ("errors", "client", "observability", "records", "protocol", "common"),
    "service.celery": ("service", "common"),
    "testing": ("errors", "server", "network", "client", "metadata", "protocol", "common"),
    "spark": ("errors", "client", "observability", "records", "protocol", "common"),
    # The data source is also the entry of the sink.
    "spark.source": (
        *("errors", "spark.*", "spark.exactly_once.decisions", "spark.sink.data_sink", "client", "records"),
        *("protocol", "common"),
    ),
    "spark.sink": (
        *("errors", "spark.*", "spark.exactly_once", "spark.source.options", "client", "records", "protocol"),
        "common",
    ),
    "spark.exactly_once": ("errors", "spark.*", "client", "records", "protocol", "common"),
    "spark.formats": ("spark.*", "client.schema_registry", "common"),
    "spark.deploy": ("spark.*", "spark.pipeline.causes", "spark.source", "common"),
    "sim": ("api", "client", "observability", "security", *_CORES),
    "sim.world": ("common",),
    "sim.raft": ("sim.world", "raft", "records", "protocol", "common"),
    "sim.replica": (
        *("sim.world", "api.shared", "controller", "replica", "log", "metadata", "records", "protocol", "common"),
    ),
    "sim.coordinator": ("sim.world", "client", *_CORES),
    "sim.controller": ("sim.world", "controller", "metadata", "protocol", "common"),
    "cli": (*_BELOW_SERVER, "inspection", "server", "testing", "service", "spark", "sim"),
    "cli.base": ("errors", "client", "protocol", "common"),
    "cli.commands": (*_BELOW_SERVER, "cli", "inspection", "server", "testing", "service", "spark", "sim"),
}


def imported_modules(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import below `odradek`; `package` resolves the relative ones."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            above = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
            base = ".".join(part for part in (above, node.module) if part)
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.startswith("odradek."))


def rule_of(package: str) -> str:
    """The entry that counts for a package, both without `odradek.`; empty if there is none."""
    while package and package not in ALLOWED:
        package = package.rpartition(".")[0]
    return package


def allows(allowed: str, name: str) -> bool:
    if allowed.endswith(".*"):
        package = allowed[:-2]
        below = name.removeprefix(f"{package}.")
        return (
            name.startswith(f"{package}.") and not (SOURCE / package.replace(".", "/") / below.split(".")[0]).is_dir()
        )
    return name == allowed or name.startswith(f"{allowed}.")


def violations(package: str, tree: ast.AST) -> Iterator[str]:
    rule = rule_of(package)
    for line, name in imported_modules(tree, f"odradek.{package}"):
        inside = name.removeprefix("odradek.")
        if inside != "__version__" and not any(allows(allowed, inside) for allowed in (rule, *ALLOWED[rule])):
            yield f"line {line}: {package} imports {name}"


def packages() -> list[str]:
    return sorted(
        ".".join(path.parent.relative_to(SOURCE).parts) for path in SOURCE.rglob("__init__.py") if path.parent != SOURCE
    )


@pytest.mark.parametrize("package", packages())
def test_a_package_imports_only_what_it_may(package: str) -> None:
    assert rule_of(package), f"{package} has no rule: add it to the table and to docs/architecture.md"
    found = [
        f"{path.relative_to(SOURCE)} {violation}"
        for path in sorted((SOURCE / package.replace(".", "/")).glob("*.py"))
        for violation in violations(package, ast.parse(path.read_text()))
    ]
    assert not found, "\n".join(found)


def test_the_public_exceptions_import_nothing_above_the_protocol() -> None:
    imported = {name for _, name in imported_modules(ast.parse((SOURCE / "errors.py").read_text()), "odradek")}
    types = {"odradek.client.types.OffsetAndMetadata", "odradek.client.types.TopicPartition"}  # while types are checked
    assert all(name.startswith(("odradek.common.", "odradek.protocol.")) for name in imported - types)


def test_every_rule_is_that_of_a_package() -> None:
    assert set(ALLOWED) <= set(packages())


@pytest.mark.parametrize(
    ("package", "source", "refused"),
    [
        ("log", "from odradek.records.batch import Batch", False),
        ("log", "from odradek.log.segments.segment import Segment", False),
        ("log", "from odradek.protocol.codec import encode", True),
        ("log", "def f():\n    import odradek.server.node", True),
        ("log.segments", "from odradek.log.errors import StorageFault", False),
        ("log.segments", "from odradek.log import errors", False),
        ("log.segments", "from odradek.log.manager.log_manager import LogManager", True),
        ("log.segments", "from odradek.log.manager import log_manager", True),
        ("coordinator.group.classic", "from odradek.coordinator.group.store import GroupStore", False),
        ("coordinator.group.classic", "from odradek.coordinator.transaction.shard import TransactionShard", True),
        ("records", "from odradek.protocol.primitives import varint", False),
        ("records", "from odradek.protocol import primitives", False),
        ("records", "from odradek.protocol import codec", True),
        ("protocol", "from ..records import batch", True),
        ("protocol", "from .codec import encode", False),
        ("sim.world", "import odradek.network", True),
    ],
)
def test_the_guard_itself(package: str, source: str, refused: bool) -> None:
    assert bool(list(violations(package, ast.parse(source)))) is refused
