"""What a directory of `odradek up` holds, from start to start."""

from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.common.failures import InputError
from odradek.common.files import OsFileSystem
from odradek.common.system_clock import SystemClock
from odradek.log.manager.meta_properties import read_meta_properties
from odradek.server.host.layout import LocalNode, prepare_cluster

Prepare = Callable[..., tuple[LocalNode, ...]]


@pytest.fixture
def prepare(tmp_path: Path) -> Prepare:
    def prepared(node_count: int | None = None, port: int = 9092) -> tuple[LocalNode, ...]:
        return prepare_cluster(OsFileSystem(), SystemClock(), str(tmp_path), node_count, port)

    return prepared


def controllers(nodes: tuple[LocalNode, ...]) -> list[int]:
    return [node.id for node in nodes if node.config.is_controller]


def ports(nodes: tuple[LocalNode, ...]) -> list[int]:
    return sorted(listener.port for node in nodes for listener in node.config.listeners.bound)


@pytest.mark.parametrize(("count", "voting"), [(None, [1]), (1, [1]), (2, [1]), (3, [1, 2, 3]), (5, [1, 2, 3])])
def test_how_many_vote(prepare: Prepare, count: int | None, voting: list[int]) -> None:
    nodes = prepare(count)
    assert [node.id for node in nodes] == list(range(1, (count or 1) + 1))
    assert controllers(nodes) == voting
    assert [node.port for node in nodes] == [9092 + index for index in range(len(nodes))]
    assert ports(nodes) == list(range(9092, 9092 + len(nodes) + len(voting)))
    assert {node.config.voters for node in nodes} == {nodes[0].config.voters}
    assert all(node.config.warnings == () for node in nodes)


@pytest.mark.parametrize(("count", "copies", "min_isr"), [(1, 1, 1), (2, 2, 1), (3, 3, 2), (4, 3, 2)])
def test_no_more_copies_than_nodes(prepare: Prepare, count: int, copies: int, min_isr: int) -> None:
    settings = prepare(count)[0].config.settings
    for topic in ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic"):
        assert settings.whole(f"{topic}.replication.factor") == copies
    assert settings.whole("default.replication.factor") == copies
    assert settings.whole("transaction.state.log.min.isr") == min_isr


def test_the_next_start_finds_the_same_cluster_on_other_ports(prepare: Prepare) -> None:
    first = prepare(3)
    before = [read_meta_properties(OsFileSystem(), node.data) for node in first]
    again = prepare(None, 19092)
    assert [read_meta_properties(OsFileSystem(), node.data) for node in again] == before
    assert ports(again) == list(range(19092, 19098))
    assert controllers(again) == [1, 2, 3]


def test_nodes_that_are_added_do_not_vote(prepare: Prepare) -> None:
    """With empty logs, two of them could outvote the one that has the metadata."""
    prepare(1)
    assert controllers(prepare(3)) == [1]
    assert len(prepare(None)) == 3


def test_a_cluster_cannot_shrink(prepare: Prepare) -> None:
    prepare(3)
    with pytest.raises(InputError, match=r"holds a cluster of 3 nodes.*--nodes 3"):
        prepare(1)


def test_a_directory_of_something_else(prepare: Prepare, tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("Dear Milena")
    with pytest.raises(InputError, match="neither empty nor a cluster of odradek up"):
        prepare()
    assert [path.name for path in tmp_path.iterdir()] == ["letters.txt"]


@pytest.mark.parametrize("port", [0, -1, 65_535, 70_000])
def test_ports_that_are_none(prepare: Prepare, port: int, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"--port {port}: ports"):
        prepare(1, port)
    assert not list(tmp_path.iterdir())


def test_a_spoilt_cluster_file(prepare: Prepare, tmp_path: Path) -> None:
    (tmp_path / "cluster.properties").write_text("cluster.id=x\nnodes=many\ncontrollers=1\n")
    with pytest.raises(InputError, match=r'cluster.properties:2: nodes: "many" is no number of nodes'):
        prepare()


def test_any_directory_name_but_one_with_a_comma(tmp_path: Path) -> None:
    odd = str(tmp_path / "Käfer = #1: a\\b")
    (node,) = prepare_cluster(OsFileSystem(), SystemClock(), odd, 1, 9092)
    assert node.config.log_dirs == (f"{odd}/node-1/data",)
    with pytest.raises(InputError, match="no comma"):
        prepare_cluster(OsFileSystem(), SystemClock(), str(tmp_path / "a,b"), 1, 9092)
