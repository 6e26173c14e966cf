"""Every API and version with random and extreme values, against three nodes, with good clients beside it.

No node stops, no good client notices, every request is answered or its connection closed, and no node logs a Fault or
a traceback. What is never asked for, because a cluster rightly obeys, is in `support.fuzzing.typed_limits`.

20,000 requests, times ODRADEK_SOAK_FACTOR; ODRADEK_TYPED_REQUESTS and ODRADEK_TYPED_SEED set count and seed. A failure
writes the requests that were under way to `requests.jsonl`, and names the command that sends them again, to a cluster
of its own (`tests/fuzz/replay_requests.py`).
"""

import asyncio
import json
import os
import re
from pathlib import Path
from random import Random

import pytest

from odradek.common.ids import uuid_to_text
from support.figures import report
from support.fuzzing.typed_cluster import fuzzed_cluster, register_own_broker
from support.fuzzing.typed_limits import Limits
from support.fuzzing.typed_requests import TypedRequests, Vocabulary
from support.fuzzing.typed_sender import Sender
from support.loads.good_clients import GoodClients
from support.processes.nodes import Cluster

SEED = int(os.environ.get("ODRADEK_TYPED_SEED", "20261118"))
COUNT = int(os.environ.get("ODRADEK_TYPED_REQUESTS", 20_000 * int(os.environ.get("ODRADEK_SOAK_FACTOR", "1"))))
#: How often all good clients must have made progress.
CHECKS = max(10, COUNT // 20_000)
#: What a node must not log: that it stops, or an exception that nobody expected.
_ALARMS = re.compile(r" CRITICAL |\bFault\b|^Traceback ")
_EXCERPT_LINES = 25

pytestmark = [pytest.mark.slow, pytest.mark.timeout(36_000)]


def test_requests_with_any_values(tmp_path: Path) -> None:
    with fuzzed_cluster(tmp_path) as (cluster, vocabulary):
        requests = TypedRequests(SEED, vocabulary, Limits(vocabulary))
        sender = Sender(cluster, vocabulary, Random(SEED))
        try:
            with GoodClients(cluster) as clients:
                clients.more()
                register_own_broker(cluster, vocabulary)
                asyncio.run(sender.send(requests, COUNT, CHECKS, clients.more))
            cluster.check_alive()
            verdict = clients.check()
            check_logs(cluster)
        except BaseException as error:
            error.add_note(saved(tmp_path / "requests.jsonl", sender, vocabulary))
            raise
        outcome = sender.outcome
        report(
            "typed requests",
            requests=COUNT,
            seed=SEED,
            apis=len({key for _, key, _ in outcome.kinds}),
            listeners_apis_versions=len(outcome.kinds),
            answered=outcome.answered.total(),
            closed=outcome.closed.total(),
            produced_without_answer=outcome.without_answer,
            good_records=verdict.acknowledged,
            good_transactions_records=len(clients.committed),
            lost=verdict.lost,
            duplicate=verdict.duplicate,
        )
        assert len(outcome.kinds) == requests.kinds, "every version of every API was asked"


def check_logs(cluster: Cluster) -> None:
    for node in cluster.nodes.values():
        lines = node.log_text().splitlines()
        for number, line in enumerate(lines):
            if _ALARMS.search(line):
                excerpt = "\n".join(lines[max(0, number - 2) : number + _EXCERPT_LINES])
                raise AssertionError(f"node {node.id} logged:\n{excerpt}")


def saved(path: Path, sender: Sender, vocabulary: Vocabulary) -> str:
    """The last requests of each connection, with the names that they depend on."""
    names = {"clusterId": vocabulary.cluster_id, "topicIds": [uuid_to_text(one) for one in vocabulary.topic_ids]}
    recent = sender.under_way()
    lines = [names, *(request.json() for request in recent)]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return (
        f"seed {SEED}, at request {recent[-1].number if recent else 0} of {COUNT}\n"
        f"the last {len(recent)} requests are in {path}\n"
        f"all of them again: ODRADEK_TYPED_SEED={SEED} ODRADEK_TYPED_REQUESTS={COUNT} pytest {__file__}\n"
        f"the last ones again: python tests/fuzz/replay_requests.py {path}"
    )
