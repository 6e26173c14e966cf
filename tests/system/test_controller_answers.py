"""Our controller and Apache Kafka's, asked the same: the same codes, words, values and structure come back.

What is not asked, since Apache Kafka 4.3's controller breaks on it: an unknown operation on a setting (it gives up its
leadership) and more than 10,000 new partitions for a topic (some are made, and the answer is UNKNOWN_SERVER_ERROR).
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.figures import report
from support.processes.nodes import Cluster, Kind, controllers
from support.processes.nodes_quorum import Quorum
from system.conversations.compare import OF_ONE_CLUSTER, hold
from system.conversations.controller import conversation

pytestmark = [pytest.mark.peer, pytest.mark.slow]

#: The brokers of the conversation heartbeat once.
SETTINGS = {"broker.session.timeout.ms": "600000"}

#: Answers in which our words say more.
IN_OUR_WORDS = (
    "describe settings of nothing known",
    *(f"{change} {cluster}" for change in ("add a voter to", "remove a voter of") for cluster in ("another", None)),
)


async def answers(root: Path, kind: Kind) -> dict[str, Any]:
    with Cluster(root, controllers(1, kind), settings=SETTINGS) as cluster:
        cluster.start()
        async with Quorum(cluster) as quorum:
            await quorum.controller()
            channel = quorum.open(cluster[1])
            return await hold(channel, cluster.cluster_id, conversation(), OF_ONE_CLUSTER)


def without_words(answer: Any) -> Any:
    if isinstance(answer, list):
        return [without_words(one) for one in answer]
    if isinstance(answer, dict):
        return {name: without_words(one) for name, one in answer.items() if name != "error_message"}
    return answer


def test_the_same_questions_have_the_same_answers(tmp_path: Path) -> None:
    ours = asyncio.run(answers(tmp_path / "ours", Kind.ODRADEK))
    kafkas = asyncio.run(answers(tmp_path / "kafkas", Kind.KAFKA))
    for said in (ours, kafkas):
        said |= {name: without_words(said[name]) for name in IN_OUR_WORDS}
    differing = {name: (ours[name], kafkas[name]) for name in ours if ours[name] != kafkas[name]}
    assert differing == {}
    report("controller: answers like Apache Kafka's", questions=len(ours))
