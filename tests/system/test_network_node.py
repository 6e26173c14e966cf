"""A whole node under mutated frames: its real handlers, the controller's and the broker's.

Some of the frames are right by chance, or still right after the change: topics come and go, voters are proposed. None
of that may take the node down, leave a traceback in its log, or keep a good client from its answers.
"""

import os
from pathlib import Path

import pytest

from helpers.figures import report
from helpers.kafka_node import wait_until
from helpers.network_server import PATIENCE_S, Watched, answer_to
from helpers.nodes import Cluster, Node, NodeSpec
from helpers.protocol_fuzz import streams
from odradek.protocol.framing import FRAME_BYTES_MAX, LENGTH_BYTES

FRAMES = int(os.environ.get("ODRADEK_SOCKET_FRAMES", "10000")) // 2
FRAMES_BETWEEN_CHECKS = 100
#: A frame may ask to wait for hours: for data, or for the controller.
WAIT_S = 0.5


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
