"""One conversation with a node, held alike with ours and with Apache Kafka's.

Each `Line` is a name and what to ask; it may need what was learned before (topic ids, broker epochs). `hold` returns
what was answered, with words in place of what no two clusters share, so that two conversations can be compared.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from odradek.client.net.channel import Channel
from odradek.protocol.message import Message

ANSWER_TIMEOUT_MS = 30_000
SETTLE_TIMEOUT_S = 120

NO_ID = bytes(16)
UNKNOWN_ID = b"unknown topic id"

#: Epochs and ports differ from run to run.
OF_ONE_CLUSTER = {"broker_epoch": "epoch", "port": "port"}


@dataclass
class Learned:
    cluster_id: str
    #: Fields that no two clusters share, and the word in place of each.
    hidden: Mapping[str, str]
    topic_ids: dict[str, bytes] = field(default_factory=dict)
    epochs: dict[int, int] = field(default_factory=dict)


class Line(NamedTuple):
    name: str
    ask: Callable[..., Message]
    version: int | None = None
    #: Asked again until the answer is so: what was changed takes a moment to be seen everywhere.
    until: Callable[[Any], bool] = lambda response: True


async def hold(
    channel: Channel, cluster_id: str, conversation: Iterable[Line], hidden: Mapping[str, str]
) -> dict[str, Any]:
    learned = Learned(cluster_id, hidden)
    answers = {}
    for line in conversation:
        assert line.name not in answers, line.name
        async with asyncio.timeout(SETTLE_TIMEOUT_S):
            response = await _answer(channel, learned, line)
        learn(learned, response, line)
        answers[line.name] = plain(learned, response)
    return answers


async def _answer(channel: Channel, learned: Learned, line: Line) -> Any:
    while True:
        response = await channel.send(line.ask(learned), ANSWER_TIMEOUT_MS, version=line.version)
        if line.until(response):
            return response
        await asyncio.sleep(0.02)


def learn(learned: Learned, response: Any, line: Line) -> None:
    for result in getattr(response, "topics", None) or ():
        if getattr(result, "topic_id", NO_ID) != NO_ID and getattr(result, "name", ""):
            learned.topic_ids[result.name] = result.topic_id
    if hasattr(response, "broker_epoch") and response.error_code == 0:
        learned.epochs[int(line.name.split()[-1])] = response.broker_epoch


def plain(learned: Learned, value: Any) -> Any:
    """Messages as dictionaries, ids by name; lists in an order of their own, since Kafka's come in any."""
    if isinstance(value, Message):
        names = value.field_names()[:-1]
        return {name: _shared(learned, name, getattr(value, name)) for name in names}
    if isinstance(value, list):
        return sorted((plain(learned, one) for one in value), key=repr)
    if isinstance(value, memoryview):
        value = bytes(value)
    if isinstance(value, bytes) and len(value) == len(NO_ID):
        found = {topic_id: f"id of {name}" for name, topic_id in learned.topic_ids.items()}
        return found.get(value, "some id" if value != NO_ID else "no id")
    return value


def _shared(learned: Learned, name: str, value: Any) -> Any:
    if name in learned.hidden:
        return learned.hidden[name]
    return plain(learned, value)
