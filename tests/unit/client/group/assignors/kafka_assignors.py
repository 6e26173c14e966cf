"""Groups by chance, and what Apache Kafka's assignors make of them (`KafkaAssignors.java`)."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from odradek.client.group.assignors.assignor import Assignor, make_assignors
from odradek.client.group.subscription import (
    Assignment,
    MemberSubscription,
    Topics,
    encode_subscription,
    subscribed_only,
)
from support.peers import downloads as peers
from support.peers import jvm

_SOURCE = Path(__file__).with_name("KafkaAssignors.java")
_TIMEOUT_S = 300

CLASSES = ("RangeAssignor", "RoundRobinAssignor", "StickyAssignor", "CooperativeStickyAssignor")

#: Kafka goes through members in the order of a hash map. With one letter as their name that is the alphabet.
_MEMBER_NAMES = "abcdefghijkl"


@dataclass(frozen=True, slots=True)
class Group:
    class_name: str
    topics: Topics
    members: dict[str, MemberSubscription]

    def assign(self) -> Assignment:
        return assignor(self.class_name).assign(subscribed_only(self.topics, self.members), self.members)


def assignor(class_name: str) -> Assignor:
    return make_assignors(["org.apache.kafka.clients.consumer." + class_name])[0]


def random_groups(random: Random, class_name: str, rounds: int) -> list[Group]:
    """A group through several rebalances: members come, go and change their subscription, topics and partitions too."""
    topics: Topics = _topics(random)
    racks = random.choice([(), (), ("r1", "r2", "r3")])
    members = {name: _member(random, topics, racks) for name in _MEMBER_NAMES[: random.randint(1, 6)]}
    uniform = random.random() < 0.5
    found = []
    for generation in range(1, rounds + 1):
        if uniform:
            members = {name: replace(each, topics=tuple(topics)) for name, each in members.items()}
        group = Group(class_name, topics, dict(members))
        found.append(group)
        members = _after(random, group, generation)
        topics = _changed(random, topics)
        for name in _MEMBER_NAMES[: random.randint(1, 8)]:
            if name not in members or random.random() < 0.2:
                members[name] = _member(random, topics, racks)
            if random.random() < 0.2 and len(members) > 1:
                del members[name]
        members = dict(sorted(members.items()))
    return found


def _after(random: Random, group: Group, generation: int) -> dict[str, MemberSubscription]:
    """What members say next; now and then one that has missed this generation."""
    members = {}
    for name, partitions in group.assign().items():
        before = group.members[name]
        if random.random() < 0.1:
            members[name] = before
            continue
        mine = assignor(group.class_name)
        mine.on_assignment(partitions, generation)
        owned = tuple(partitions) if mine.is_cooperative else ()
        members[name] = replace(before, user_data=mine.user_data(), owned_partitions=owned, generation_id=generation)
    return members


def _topics(random: Random) -> dict[str, list[tuple[str, ...]]]:
    return {name: [_racks(random) for _ in range(random.randint(1, 7))] for name in "tuvwx"[: random.randint(1, 4)]}


def _changed(random: Random, topics: Topics) -> Topics:
    changed = {name: list(racks) for name, racks in topics.items()}
    if random.random() < 0.3:
        changed[random.choice(list(changed))].append(_racks(random))
    if random.random() < 0.1 and len(changed) > 1:
        del changed[random.choice(list(changed))]
    return changed


def _racks(random: Random) -> tuple[str, ...]:
    return tuple(random.sample(("r1", "r2", "r3"), random.randint(1, 2)))


def _member(random: Random, topics: Topics, racks: Sequence[str]) -> MemberSubscription:
    chosen = random.sample(sorted(topics), random.randint(1, len(topics)))
    rack = random.choice(racks) if racks else None
    return MemberSubscription(
        tuple(chosen), rack_id=rack, group_instance_id=random.choice([None, None, f"i{random.random()}"])
    )


def ask_kafka(groups: Sequence[Group], directory: Path) -> list[dict[str, Any]]:
    questions = directory / "groups.json"
    questions.write_text(json.dumps([_question(group) for group in groups]))
    command = peers.java_command(_SOURCE.stem, [str(questions)], flags=jvm.quick_flags(), classes=jvm.compiled(_SOURCE))
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=True)
    answers: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return answers


def _question(group: Group) -> dict[str, Any]:
    members = [
        {"id": name, "instance": each.group_instance_id, "subscription": encode_subscription(each).hex()}
        for name, each in group.members.items()
    ]
    return {"assignor": group.class_name, "topics": group.topics, "members": members}
