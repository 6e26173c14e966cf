"""Fixtures for pytest, there as soon as the package is installed.

    def test_orders(odradek_bootstrap, odradek_topic): ...

`odradek_cluster`    a cluster for the whole session; each worker of pytest-xdist has its own
`odradek_bootstrap`  its address, for clients
`odradek_topic`      the name of a topic that only this test has; it is deleted afterwards. A mark says more of it:
                     `@pytest.mark.odradek_topic(partitions=3, configs={"cleanup.policy": "compact"})`

`--odradek-nodes N` and `--odradek-processes`, or `odradek_nodes`, `odradek_processes` and `odradek_settings` (lines of
`key=value`) in pytest's ini file, say what the cluster is like. Nothing is imported for who does not use it.
"""

import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from odradek.testing.cluster import Cluster

#: Kafka allows 249; the rest is for the number.
_NAME_MAX = 200

_numbers = itertools.count(1)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    _leave_asserts_alone(pluginmanager)
    group = parser.getgroup("odradek", "a Kafka cluster for the tests")
    group.addoption("--odradek-nodes", type=int, metavar="N", help="how many nodes the cluster has [default: 1]")
    group.addoption("--odradek-processes", action="store_true", default=None, help="each node is a process of its own")
    parser.addini("odradek_nodes", "how many nodes the cluster has", default="1")
    parser.addini("odradek_processes", "each node is a process of its own", type="bool", default=False)
    parser.addini("odradek_settings", "settings of the brokers, key=value a line", type="linelist", default=[])


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "odradek_topic(partitions, replication_factor, configs): what the topic of the test is like"
    )


@pytest.fixture(scope="session")
def odradek_cluster(pytestconfig: pytest.Config) -> "Iterator[Cluster]":
    """A cluster that all tests share. One that a test breaks is better made for it: `with Cluster(nodes=3) as …`."""
    from odradek.testing.cluster import Cluster

    with Cluster(
        _node_count(pytestconfig),
        processes=_option(pytestconfig, "odradek_processes"),
        settings=_settings(pytestconfig.getini("odradek_settings")),
    ) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def odradek_bootstrap(odradek_cluster: "Cluster") -> str:
    """For clients' `bootstrap.servers`."""
    return odradek_cluster.bootstrap


@pytest.fixture
def odradek_topic(odradek_cluster: "Cluster", request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a topic that only this test has."""
    from odradek.errors import Refused, UnknownTopic

    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", request.node.name)[:_NAME_MAX].strip("-.")
    name = f"{stem}-{next(_numbers)}"
    mark = request.node.get_closest_marker("odradek_topic")
    odradek_cluster.create_topic(name, *(mark.args if mark else ()), **(mark.kwargs if mark else {}))
    yield name
    try:
        odradek_cluster.delete_topic(name)
    except Refused as error:
        if error.code != UnknownTopic.code:  # the test may have deleted it
            raise


def _leave_asserts_alone(pluginmanager: pytest.PytestPluginManager) -> None:
    """Pytest rewrites the asserts of every module of a package that has a plugin, for better messages. Here that would
    be four hundred modules of a node, without a test's assert among them, and seconds at the first run."""
    marked = getattr(pluginmanager.rewrite_hook, "_must_rewrite", None)
    if isinstance(marked, set):
        marked.discard("odradek")


def _option(config: pytest.Config, name: str) -> Any:
    value = config.getoption(name)
    return config.getini(name) if value is None else value


def _node_count(config: pytest.Config) -> int:
    text = str(_option(config, "odradek_nodes"))
    if not text.isdecimal():
        raise pytest.UsageError(f'odradek_nodes: "{text}" is no number of nodes')
    return int(text)


def _settings(lines: list[str]) -> dict[str, str]:
    pairs = [line.partition("=") for line in lines]
    wrong = [key for key, is_pair, _ in pairs if not is_pair]
    if wrong:
        raise pytest.UsageError(f'odradek_settings: "{wrong[0]}" is no key=value')
    return {key.strip(): value.strip() for key, _, value in pairs}
