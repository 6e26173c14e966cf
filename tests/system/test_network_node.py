"""A whole node under mutated frames and bombs: its real handlers, the controller's and the broker's.

Some of the frames are right by chance, or still right after the change: topics come and go, voters are proposed. None
of that may take the node down, leave a traceback in its log, or keep a good client from its answers.
"""

import os
import struct
from pathlib import Path

import pytest
from crc32c import crc32c

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.framing import FRAME_BYTES_MAX, LENGTH_BYTES
from odradek.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.produce_response import ProduceResponse
from odradek.protocol.requests import parse_response
from odradek.records.batch import ATTRIBUTES_AT, HEADER_BYTES, OVERHEAD_BYTES
from odradek.records.builder import BatchBuilder
from odradek.records.compression import Compression, compress
from support.figures import report
from support.fuzzing.protocol_fuzz import streams
from support.loads.data_load import create_topic
from support.processes.network import exchange, request_bytes
from support.processes.network_probe import Probe, probing
from support.processes.network_server import PATIENCE_S, Watched, answer_to
from support.processes.nodes import Cluster, Node, NodeSpec
from support.waiting import wait_until

FRAMES = int(os.environ.get("ODRADEK_SOCKET_FRAMES", "10000")) // 2
FRAMES_BETWEEN_CHECKS = 100
#: A frame may ask to wait for hours: for data, or for the controller.
WAIT_S = 0.5

#: What each codec is made to unfold to: more than any batch may, or a thousand times what is sent and more.
BOMBS_MIB = [
    *((Compression.GZIP, 400), (Compression.ZSTD, 400), (Compression.LZ4, 110), (Compression.SNAPPY, 110)),
    *((Compression.GZIP, 90), (Compression.ZSTD, 90), (Compression.ZSTD, 5)),
]
GROWTH_BYTES_MAX = 10 * 1024 * 1024
PRODUCE_VERSION = 9


@pytest.mark.slow
def test_mutated_frames_against_a_node(tmp_path: Path) -> None:
    with Cluster(tmp_path, [NodeSpec(1, roles="broker,controller")]) as cluster:
        cluster.start()
        node = cluster[1]
        watched = {"controller": watch(node, node.controller_port), "broker": watch(node, node.broker_port)}
        for each in watched.values():
            wait_until(lambda each=each: is_ready(each), "the node answers", PATIENCE_S, node.log_tail)
        answered = 0
        for seed, server in enumerate(watched.values()):
            for number, stream in enumerate(streams(seed, FRAMES // 2, FRAME_BYTES_MAX), 1):
                answered += len(answer_to(server.port, stream, WAIT_S)) > LENGTH_BYTES
                if number % FRAMES_BETWEEN_CHECKS == 0:
                    assert server.answers(), f"after frame {number}"
        server.check_log()
        report("mutated frames against a node", frames=FRAMES, answered=answered)
        assert node.stop() == 0


def watch(node: Node, port: int) -> Watched:
    assert node.process is not None
    return Watched(port, node.process, node.log)


def is_ready(server: Watched) -> bool:
    try:
        return server.answers()
    except OSError:
        return False


@pytest.mark.slow
def test_bombs_get_neither_memory_nor_into_the_log(tmp_path: Path) -> None:
    with Cluster(tmp_path, [NodeSpec(1, roles="broker,controller")]) as cluster:
        cluster.start()
        node = cluster[1]
        create_topic(cluster, "bombs", 1, 1, {"max.message.bytes": str(16 * 1024 * 1024)})
        for codec, _ in BOMBS_MIB:
            assert produced(node, batch(codec)) == ErrorCode.NONE
        with probing(node.broker_port) as probe:
            for codec, size_mib in BOMBS_MIB:
                explode(node, probe, codec, size_mib)
        watch(node, node.broker_port).check_log()
        assert node.stop() == 0


def explode(node: Node, probe: Probe, codec: Compression, size_mib: int) -> None:
    assert node.process is not None
    bomb = batch(codec, compress(codec, bytes(size_mib << 20)))
    probe.seen()
    # Forget the largest resident size so far.
    Path(f"/proc/{node.process.pid}/clear_refs").write_text("5")
    before = peak_bytes(node)
    assert produced(node, bomb) == ErrorCode.INVALID_RECORD
    growth = peak_bytes(node) - before
    waited_ms = probe.seen()["max_ms"]
    sizes = {"sent_kib": len(bomb) >> 10, "unfolds_to_mib": size_mib, "memory_growth_kib": growth >> 10}
    report("a bomb", codec=codec.name.lower(), **sizes, longest_wait_of_another_client_ms=waited_ms)
    assert growth < GROWTH_BYTES_MAX


def batch(codec: Compression, folded: bytes | None = None) -> bytes:
    """One record; or what says so in its header, and has these bytes for it."""
    builder = BatchBuilder(compression=codec)
    builder.append(0, b"key", b"value")
    right = bytes(builder.build())
    body = right[ATTRIBUTES_AT:] if folded is None else right[ATTRIBUTES_AT:HEADER_BYTES] + folded
    head = bytearray(right[:ATTRIBUTES_AT])
    struct.pack_into(">i", head, OVERHEAD_BYTES - 4, len(head) + len(body) - OVERHEAD_BYTES)
    struct.pack_into(">I", head, ATTRIBUTES_AT - 4, crc32c(body))
    return bytes(head) + body


def produced(node: Node, records: bytes) -> int:
    """The error code that it is answered with."""
    request = ProduceRequest(
        acks=1,
        timeout_ms=60_000,
        topic_data=[TopicProduceData(name="bombs", partition_data=[PartitionProduceData(index=0, records=records)])],
    )
    answer = exchange(node.broker_port, request_bytes(request, PRODUCE_VERSION))
    _, response = parse_response(answer, ApiKey.PRODUCE, PRODUCE_VERSION)
    assert isinstance(response, ProduceResponse)
    return response.responses[0].partition_responses[0].error_code


def peak_bytes(node: Node) -> int:
    assert node.process is not None
    status = Path(f"/proc/{node.process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024
