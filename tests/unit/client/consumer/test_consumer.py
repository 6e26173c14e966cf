"""The consumer's face without a cluster: what it refuses, and in which words."""

import asyncio
import re
import subprocess
import sys

import pytest

from odradek.client.consumer.consumer import Consumer
from odradek.client.types import TopicPartition
from odradek.common.failures import InputError
from odradek.errors import Unreachable

A0 = TopicPartition("a", 0)


def consumer(*topics: str, **settings: object) -> Consumer:
    return Consumer(*topics, **{"bootstrap_servers": "localhost:1", "group_id": "g"} | settings)


def test_topics_and_settings_come_in_any_form() -> None:
    made = Consumer("b", "a", {"bootstrap.servers": "localhost:1", "group.id": "g"}, max_poll_records=7)
    assert made.subscription() == {"a", "b"} and made.settings.max_poll_records == 7
    with pytest.raises(InputError, match="one dict with settings"):
        Consumer({"bootstrap.servers": "localhost:1"}, {"group.id": "g"})


def test_what_can_be_said_only_while_it_runs() -> None:
    async def use() -> None:
        with pytest.raises(InputError, match='not running: use it in a "with"'):
            await consumer("a").poll()

    asyncio.run(use())


def test_what_is_wrong_with_a_subscription() -> None:
    with pytest.raises(InputError, match=r"subscribe\(\) needs a group.id"):
        consumer("a", group_id=None)
    for topics, pattern in (((), None), (("a",), "b")):
        with pytest.raises(InputError, match="needs either topics or a pattern"):
            consumer().subscribe(topics, pattern=pattern)
    with pytest.raises(InputError, match="is not valid"):
        consumer().subscribe(pattern="(")


def test_a_name_is_not_taken_for_its_letters() -> None:
    made = consumer()
    made.subscribe("abc")
    assert made.subscription() == {"abc"}


def test_who_matches_a_pattern() -> None:
    for protocol, pattern, is_servers in (
        ("consumer", "a.*", True),
        ("consumer", re.compile("a.*"), False),
        ("classic", "a.*", False),
    ):
        made = consumer(group_protocol=protocol)
        made.subscribe(pattern=pattern)  # type: ignore[arg-type]
        assert (made._subscriptions.server_pattern is not None) == is_servers


def test_places_that_cannot_be() -> None:
    made = consumer()
    made.assign([A0])
    assert made.assignment() == {A0}
    with pytest.raises(InputError, match="offsets begin with 0"):
        made.seek(A0, -1)
    with pytest.raises(InputError, match="b-0 is not assigned"):
        made.pause(TopicPartition("b", 0))


def test_nobody_answers() -> None:
    async def use() -> None:
        made = consumer()
        with pytest.raises(Unreachable, match="localhost:1"):
            await made.start()
        await made.close()

    asyncio.run(use())


def test_who_reads_records_loads_no_numpy() -> None:
    script = (
        "import sys, odradek.client.consumer.consumer as c; print('numpy' in sys.modules, 'pyarrow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
