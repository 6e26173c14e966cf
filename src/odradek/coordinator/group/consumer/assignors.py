"""Server-side assignors: the partitions of each member of a group (KIP-848).

An assignor is a pure function of the members, what they are subscribed to and what they were to have before, and of
the number of partitions of each topic. Everything is in a fixed order, so that the same question has the same answer.

* `range`: for each topic the members that want it get ranges of it, in the order of their ids (static members first, by
  their instance ids), so that the same members get the same partitions of topics that belong together.
* `uniform`: as even as can be, and then with as few moves as can be. Where all want the same topics each member gets
  its share, give or take one. Otherwise every partition goes to the least loaded member that wants it, and partitions
  move from the loaded to the idle as long as that makes them more even.

Racks are not looked at: members name theirs, and it is kept and shown, but Kafka's own assignors of these names (4.3)
give it no weight either. A consumer reads in its rack by asking the closest replica.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

#: Partitions by topic id.
Assignment = dict[bytes, tuple[int, ...]]
Partition = tuple[bytes, int]

NOTHING: Assignment = {}


@dataclass(frozen=True, slots=True)
class Subscriber:
    """A member, as far as assignors are concerned."""

    member_id: str
    instance_id: str | None
    #: Sorted.
    topic_ids: tuple[bytes, ...]
    #: The target before.
    assignment: Assignment


#: Members by id, partitions by topic id -> target by member id.
Assignor = Callable[[Sequence[Subscriber], Mapping[bytes, int]], dict[str, Assignment]]


def assign_ranges(members: Sequence[Subscriber], partition_counts: Mapping[bytes, int]) -> dict[str, Assignment]:
    ordered = sorted(members, key=lambda member: (member.instance_id is None, member.instance_id or member.member_id))
    targets: dict[str, Assignment] = {member.member_id: {} for member in members}
    for topic_id, count in sorted(partition_counts.items()):
        wanting = [member.member_id for member in ordered if topic_id in member.topic_ids]
        if not wanting:
            continue
        share, extra = divmod(count, len(wanting))
        start = 0
        for index, member_id in enumerate(wanting):
            end = start + share + (index < extra)
            if start < end:
                targets[member_id][topic_id] = tuple(range(start, end))
            start = end
    return targets


def assign_uniformly(members: Sequence[Subscriber], partition_counts: Mapping[bytes, int]) -> dict[str, Assignment]:
    if not members:
        return {}
    ordered = sorted(members, key=lambda member: member.member_id)
    is_same_for_all = all(member.topic_ids == ordered[0].topic_ids for member in ordered)
    assign = _assign_shares if is_same_for_all else _assign_balanced
    owned = assign(ordered, partition_counts)
    return {member_id: _by_topic(partitions) for member_id, partitions in owned.items()}


ASSIGNORS: dict[str, Assignor] = {"uniform": assign_uniformly, "range": assign_ranges}


def _assign_shares(members: Sequence[Subscriber], counts: Mapping[bytes, int]) -> dict[str, list[Partition]]:
    """All want the same."""
    subscribed = _partitions(members[0].topic_ids, counts)
    share, extra = divmod(len(subscribed), len(members))
    owned, assigned = _kept(members, counts)
    # Members that had more than their share keep one more than the others, as long as there are any to give.
    for member in members:
        retained = owned[member.member_id]
        limit = share + 1 if extra > 0 and len(retained) > share else share
        extra -= limit > share
        for partition in retained[limit:]:
            assigned.discard(partition)
        del retained[limit:]
    rest = iter([partition for partition in subscribed if partition not in assigned])
    for member in members:
        retained = owned[member.member_id]
        limit = share
        if extra > 0 and len(retained) <= share:
            limit, extra = share + 1, extra - 1
        retained.extend(partition for _, partition in zip(range(limit - len(retained)), rest, strict=False))
    return owned


def _assign_balanced(members: Sequence[Subscriber], counts: Mapping[bytes, int]) -> dict[str, list[Partition]]:
    """They want different topics."""
    owned, assigned = _kept(members, counts)
    wanting: dict[bytes, list[str]] = {}
    for member in members:
        for topic_id in member.topic_ids:
            wanting.setdefault(topic_id, []).append(member.member_id)
    for topic_id, member_ids in sorted(wanting.items(), key=lambda item: (len(item[1]), item[0])):
        for partition in _partitions((topic_id,), counts):
            if partition not in assigned:
                owned[min(member_ids, key=lambda each: len(owned[each]))].append(partition)
    _even_out(owned, wanting)
    return owned


def _even_out(owned: dict[str, list[Partition]], wanting: Mapping[bytes, list[str]]) -> None:
    """Each move makes two members more even, so there is an end to them."""
    moved = True
    while moved:
        moved = False
        for member_id in sorted(owned, key=lambda each: -len(owned[each])):
            for partition in reversed(owned[member_id]):
                other = min(wanting[partition[0]], key=lambda each: len(owned[each]))
                if len(owned[other]) + 1 < len(owned[member_id]):
                    owned[member_id].remove(partition)
                    owned[other].append(partition)
                    moved = True
                    break


def _kept(
    members: Iterable[Subscriber], counts: Mapping[bytes, int]
) -> tuple[dict[str, list[Partition]], set[Partition]]:
    """Return the partitions that each member may retain, and the set of all of them for look-ups."""
    owned: dict[str, list[Partition]] = {}
    assigned: set[Partition] = set()
    for member in members:
        retained = owned[member.member_id] = []
        for topic_id, partitions in sorted(member.assignment.items()):
            if topic_id in member.topic_ids:
                for number in partitions:
                    partition = (topic_id, number)
                    if number < counts.get(topic_id, 0) and partition not in assigned:
                        assigned.add(partition)
                        retained.append(partition)
    return owned, assigned


def _partitions(topic_ids: Iterable[bytes], counts: Mapping[bytes, int]) -> list[Partition]:
    return [(topic_id, number) for topic_id in topic_ids for number in range(counts.get(topic_id, 0))]


def _by_topic(partitions: Iterable[Partition]) -> Assignment:
    by_topic: dict[bytes, list[int]] = {}
    for topic_id, number in sorted(partitions):
        by_topic.setdefault(topic_id, []).append(number)
    return {topic_id: tuple(numbers) for topic_id, numbers in by_topic.items()}
