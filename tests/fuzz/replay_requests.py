"""Sends requests again that were saved by a failed run of `test_typed_requests.py`: `replay_requests.py FILE`

To a cluster of its own, one at a time, each to all three nodes. Prints every request with its answers, and ends with
what a node logged when it has stopped. The ids of the cluster and of its topics are replaced by those of the new one.
"""

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from odradek.common.ids import uuid_to_text
from odradek.protocol.json_form import from_json, to_json
from odradek.protocol.message import Message
from odradek.protocol.messages.produce_request import ProduceRequest
from odradek.protocol.registry import request_class
from support.fuzzing.typed_cluster import fuzzed_cluster, register_own_broker
from support.fuzzing.typed_sender import ANSWER_S, exchange

#: Produce with acks=0 is not answered, or its connection closed soon.
_SILENCE_S = 1


def main(path: Path) -> None:
    names, *lines = path.read_text().splitlines()
    before = json.loads(names)
    with tempfile.TemporaryDirectory() as root, fuzzed_cluster(Path(root)) as (cluster, vocabulary):
        register_own_broker(cluster, vocabulary)
        replaced = {before["clusterId"]: vocabulary.cluster_id}
        replaced |= dict(zip(before["topicIds"], map(uuid_to_text, vocabulary.topic_ids), strict=False))
        for line in lines:
            for old, new in replaced.items():
                line = line.replace(old, new)
            saved = json.loads(line)
            print(line)
            request = from_json(request_class(saved["key"]), saved["version"], saved["body"])
            for node in cluster.nodes.values():
                port = node.broker_port if saved["listener"] == "broker" else node.controller_port
                print(f"  node {node.id}: {answer_to(port, request, saved['version'])}")
            cluster.check_alive()


def answer_to(port: int, request: Message, version: int) -> str:
    is_silent = isinstance(request, ProduceRequest) and request.acks == 0
    try:
        answer = exchange(port, request, version, _SILENCE_S if is_silent else ANSWER_S)
    except TimeoutError:
        return "no answer"
    return "closed" if answer is None else json.dumps(to_json(answer, version, records=False))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
