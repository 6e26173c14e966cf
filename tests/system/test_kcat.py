"""kcat against a node of ours: it lists, writes, reads from anywhere, asks for offsets, and reads in a group."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from support.processes.nodes import OURS, Cluster, Node, NodeSpec
from support.waiting import wait_until

pytestmark = pytest.mark.slow

TIMEOUT_S = 120
#: Partition, offset, key, value, headers, timestamp.
FORMAT = "%p|%o|%k|%s|%h|%T\\n"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    spec = NodeSpec(1, OURS, roles="broker,controller", settings={"num.partitions": "2"})
    with Cluster(tmp_path_factory.mktemp("kcat"), [spec]) as cluster:
        cluster.start()
        wait_until(lambda: listed(cluster[1])["brokers"], "the node serves")
        yield cluster[1]


def kcat(node: Node, *options: str, given: str | None = None) -> str:
    command = shutil.which("kcat")
    assert command is not None, "kcat is missing: make setup installs it"
    done = subprocess.run(
        [command, "-b", node.broker_address, *options],
        input=given,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def listed(node: Node, *options: str) -> Any:
    return json.loads(kcat(node, "-L", "-J", *options))


def topic(node: Node, name: str) -> str:
    """Made by asking for it, and there with its leaders."""

    def is_there() -> bool:
        (found,) = listed(node, "-t", name)["topics"]
        return [each["leader"] for each in found["partitions"]] == [1, 1]

    wait_until(is_there, f"{name} is there")
    return name


def read(node: Node, name: str, *options: str) -> list[list[str]]:
    out = kcat(node, "-C", "-q", "-e", "-t", name, "-f", FORMAT, *options)
    return [line.split("|") for line in out.splitlines()]


def test_it_lists(node: Node) -> None:
    name = topic(node, "listed")
    found = listed(node)
    assert [(each["id"], each["name"]) for each in found["brokers"]] == [(1, node.broker_address)]
    (described,) = (each for each in found["topics"] if each["topic"] == name)
    assert [(each["partition"], each["replicas"], each["isrs"]) for each in described["partitions"]] == [
        (number, [{"id": 1}], [{"id": 1}]) for number in range(2)
    ]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_it_writes_and_reads(node: Node, codec: str) -> None:
    name = topic(node, f"codec-{codec}")
    lines = [f"k{number}:value {number} " + "x" * 500 for number in range(50)]
    options = ["-K", ":", "-z", codec, "-H", "color=red", "-X", "enable.idempotence=true", "-p", "1"]
    kcat(node, "-P", "-t", name, *options, given="".join(f"{line}\n" for line in lines))
    found = read(node, name)
    assert [(p, o, f"{k}:{v}", h) for p, o, k, v, h, _ in found] == [
        ("1", str(number), line, "color=red") for number, line in enumerate(lines)
    ]
    assert all(int(timestamp) > 0 for *_, timestamp in found)


def test_it_reads_from_anywhere_and_asks_for_offsets(node: Node) -> None:
    name = topic(node, "anywhere")
    kcat(node, "-P", "-t", name, "-p", "0", given="".join(f"{number}\n" for number in range(10)))
    every = read(node, name, "-p", "0")
    assert [(offset, value) for _, offset, _, value, *_ in every] == [(str(n), str(n)) for n in range(10)]

    def values(*options: str) -> list[str]:
        return [value for _, _, _, value, *_ in read(node, name, "-p", "0", *options)]

    assert values("-o", "7") == ["7", "8", "9"]
    assert values("-o", "-2") == ["8", "9"]
    assert values("-o", "beginning", "-c", "3") == ["0", "1", "2"]
    first_ms, last_ms = int(every[0][-1]), int(every[-1][-1])
    assert values("-o", f"s@{first_ms}", "-o", f"e@{last_ms + 1}") == [str(number) for number in range(10)]

    def offset(timestamp: int) -> str:
        return kcat(node, "-Q", "-t", f"{name}:0:{timestamp}").strip()

    assert offset(-1) == f"{name} [0] offset 10"
    assert offset(-2) == f"{name} [0] offset 0"
    assert offset(first_ms) == f"{name} [0] offset 0"
    assert offset(last_ms + 60_000) == f"{name} [0] offset -1"


def test_it_reads_in_a_group(node: Node) -> None:
    name = topic(node, "grouped")
    for partition in ("0", "1"):
        kcat(node, "-P", "-t", name, "-p", partition, given="".join(f"{partition}-{n}\n" for n in range(5)))
    wanted = [f"{partition}-{number}" for partition in "01" for number in range(5)]
    options = ["-q", "-c", "10", "-f", "%s\\n", "-X", "auto.offset.reset=earliest"]
    out = kcat(node, "-G", "readers", *options, name)
    assert sorted(out.split()) == wanted
    # What was read is committed: the next reader goes on behind it.
    kcat(node, "-P", "-t", name, "-p", "0", given="next\n")
    assert kcat(node, "-G", "readers", *options[:1], "-c", "1", *options[3:], name).split() == ["next"]
