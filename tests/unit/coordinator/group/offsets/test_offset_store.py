"""Committing, fetching, deleting and losing offsets by Kafka's rules."""

from typing import Any

import pytest

from odradek.coordinator.group.settings import GroupSettings
from odradek.coordinator.runtime.serde import encode_key, encode_value
from odradek.coordinator.runtime.shard import CoordinatorRecord, Writer
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import EMPTY
from odradek.metadata.image.topics import TopicsDelta
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.legacy_offset_commit_key import LegacyOffsetCommitKey
from odradek.protocol.messages.legacy_offset_commit_value import LegacyOffsetCommitValue
from odradek.protocol.messages.offset_commit_value import OffsetCommitValue
from odradek.protocol.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from odradek.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from support.builders.groups import GroupWorld, error_code, subscription

PRODUCER = Writer("txn", 7, 0)
OTHER = Writer("other", 8, 0)
RETENTION_MS = 60_000
CHECK_MS = 10_000
ID, OTHER_ID = b"i" * 16, b"o" * 16


@pytest.fixture
def world() -> GroupWorld:
    return GroupWorld()


def commit_in_transaction(world: GroupWorld, offsets: dict[int, int], writer: Writer = PRODUCER, **fields: Any) -> Any:
    topic = TxnOffsetCommitRequestTopic(
        name="topic",
        partitions=[
            TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
            for index, offset in offsets.items()
        ],
    )
    request = TxnOffsetCommitRequest(group_id="g", topics=[topic], **fields)
    return world.write(lambda shard: shard.commit_transactional_offsets(request, 5), writer)


def end(world: GroupWorld, writer: Writer, is_committed: bool) -> None:
    world.runtime.complete_transaction(0, writer, 0, is_committed)


class TestCommits:
    def test_who_claims_no_generation_makes_a_simple_group(self, world: GroupWorld) -> None:
        world.commit_offsets({0: 5, 1: 6})
        assert world.fetch() == {("topic", 0): (5, 0), ("topic", 1): (6, 0)}
        assert world.group().is_simple

    def test_a_generation_of_a_group_that_is_not_there_is_refused(self, world: GroupWorld) -> None:
        codes = [error_code(world.commit_offsets({0: 5}, generation=3, version=version)) for version in (8, 9)]
        assert codes == [ErrorCode.ILLEGAL_GENERATION, ErrorCode.GROUP_ID_NOT_FOUND]
        assert world.fetch() == {}

    def test_members_commit_in_their_generation(self, world: GroupWorld) -> None:
        (member,) = world.stable()
        codes = [
            error_code(world.commit_offsets({0: 5}, member=member, generation=1)),
            error_code(world.commit_offsets({0: 6}, member=member, generation=0)),
            error_code(world.commit_offsets({0: 7}, member="stranger", generation=1)),
            error_code(world.commit_offsets({0: 8})),
            error_code(world.commit_offsets({0: 9}, member=member, generation=1, group_instance_id="other")),
        ]
        unknown = ErrorCode.UNKNOWN_MEMBER_ID
        assert codes == [0, ErrorCode.ILLEGAL_GENERATION, unknown, unknown, unknown]
        assert world.fetch() == {("topic", 0): (5, 0)}

    def test_fenced_members_are_told_so(self, world: GroupWorld) -> None:
        (former,) = world.stable(1, group_instance_id="one")
        world.join(group_instance_id="one")
        reply = world.commit_offsets({0: 5}, member=former, generation=1, group_instance_id="one")
        assert error_code(reply) == ErrorCode.FENCED_INSTANCE_ID

    def test_not_between_join_and_sync_but_before_a_join(self, world: GroupWorld) -> None:
        first, second = world.stable(2)
        world.join(first, protocols=[("range", b"\0\0new")])
        assert error_code(world.commit_offsets({0: 5}, member=second, generation=2)) == 0
        world.join(second)
        assert error_code(world.commit_offsets({0: 5}, member=second, generation=3)) == ErrorCode.REBALANCE_IN_PROGRESS

    def test_an_empty_group_takes_commits_of_anybody_without_a_generation(self, world: GroupWorld) -> None:
        (member,) = world.stable()
        world.leave(member)
        assert error_code(world.commit_offsets({0: 5})) == 0
        assert error_code(world.commit_offsets({0: 6}, member=member, generation=1)) == ErrorCode.UNKNOWN_MEMBER_ID

    def test_metadata_has_a_limit_in_characters(self, world: GroupWorld) -> None:
        world.settings = GroupSettings(offset_metadata_max_size=3)
        world.reload()
        codes = []
        for metadata in ("äöü", "abcd"):
            (topic,) = world.commit_offsets({0: 5}, metadata=metadata).answer().topics
            codes += [one.error_code for one in topic.partitions]
        assert codes == [0, ErrorCode.OFFSET_METADATA_TOO_LARGE]

    def test_the_longest_retention_ends_with_the_last_timestamp_there_is(self, world: GroupWorld) -> None:
        (topic,) = world.commit_offsets({1: 6}, version=4, retention_time_ms=2**63 - 1).answer().topics
        assert [one.error_code for one in topic.partitions] == [0]
        (record,) = world.records()
        assert isinstance(record.value, OffsetCommitValue) and record.value.expire_timestamp == 2**63 - 1

    def test_records_have_the_versions_that_kafka_chooses(self, world: GroupWorld) -> None:
        world.commit_offsets({0: 5}, topic_id=ID, metadata="m")
        world.commit_offsets({1: 6}, version=4, retention_time_ms=1_000)
        plain, expiring = world.records()
        now_ms = world.clock.wall_ms()
        assert plain == CoordinatorRecord(
            plain.key, OffsetCommitValue(offset=5, metadata="m", commit_timestamp=now_ms, topic_id=ID), 4
        )
        assert expiring == CoordinatorRecord(
            expiring.key, OffsetCommitValue(offset=6, commit_timestamp=now_ms, expire_timestamp=now_ms + 1_000), 1
        )

    def test_they_are_there_after_a_move(self, world: GroupWorld) -> None:
        world.commit_offsets({0: 5}, topic_id=ID)
        before = dict(world.shard.offsets.committed.items())
        world.reload()
        assert dict(world.shard.offsets.committed.items()) == before

    def test_very_old_records_are_read(self, world: GroupWorld) -> None:
        key = LegacyOffsetCommitKey(group="g", topic="topic", partition=3)
        world.shard.replay(0, -1, -1, CoordinatorRecord(key, LegacyOffsetCommitValue(offset=9, commit_timestamp=1)))
        assert world.fetch() == {("topic", 3): (9, 0)}

    def test_a_tombstone_is_a_key_alone(self, world: GroupWorld) -> None:
        world.commit_offsets({0: 5})
        world.write(lambda shard: shard.delete_group("g"))
        offset, group = world.records()[1:]
        assert (offset.value, group.value) == (None, None)
        assert encode_key(offset) == encode_key(world.records()[0])
        assert encode_value(offset) is None


class TestFetches:
    def test_what_is_not_there_is_minus_one(self, world: GroupWorld) -> None:
        assert world.fetch_some([0, 1]) == {("topic", 0): (-1, 0), ("topic", 1): (-1, 0)}
        assert world.fetch() == {}

    def test_an_offset_of_a_topic_of_the_same_name_is_none(self, world: GroupWorld) -> None:
        world.commit_offsets({0: 5}, topic_id=ID)
        found = [world.fetch_some([0], topic_id=asked)[("topic", 0)] for asked in (ID, OTHER_ID, bytes(16))]
        assert found == [(5, 0), (-1, 0), (5, 0)]

    def test_they_wait_for_what_is_on_its_way(self, world: GroupWorld) -> None:
        world.partition.is_held = True
        world.commit_offsets({0: 5})
        reply = world.runtime.read(0, lambda shard: dict(shard.offsets.committed.items()))
        assert not reply.is_done
        world.commit()
        assert len(reply.answer()) == 1


class TestTransactions:
    def test_offsets_count_when_the_transaction_is_committed(self, world: GroupWorld) -> None:
        world.commit_offsets({0: 5})
        commit_in_transaction(world, {0: 7, 1: 8})
        unstable = ErrorCode.UNSTABLE_OFFSET_COMMIT
        assert world.fetch_some([0, 1]) == {("topic", 0): (5, 0), ("topic", 1): (-1, 0)}
        assert world.fetch_some([0, 1], stable=True) == {("topic", 0): (-1, unstable), ("topic", 1): (-1, unstable)}
        assert world.fetch(stable=True) == {("topic", 0): (-1, unstable)}
        end(world, PRODUCER, True)
        assert world.fetch(stable=True) == {("topic", 0): (7, 0), ("topic", 1): (8, 0)}

    def test_and_never_if_it_is_aborted(self, world: GroupWorld) -> None:
        world.commit_offsets({0: 5})
        commit_in_transaction(world, {0: 7})
        end(world, PRODUCER, False)
        assert world.fetch(stable=True) == {("topic", 0): (5, 0)}

    def test_of_two_commits_the_one_further_down_the_log_counts(self, world: GroupWorld) -> None:
        commit_in_transaction(world, {0: 7})
        commit_in_transaction(world, {0: 9}, OTHER)
        world.commit_offsets({0: 5})
        end(world, PRODUCER, True)
        assert world.fetch() == {("topic", 0): (5, 0)}
        assert world.fetch(stable=True)[("topic", 0)][1] == ErrorCode.UNSTABLE_OFFSET_COMMIT
        end(world, OTHER, True)
        assert world.fetch(stable=True) == {("topic", 0): (5, 0)}

    def test_all_of_it_is_there_after_a_move(self, world: GroupWorld) -> None:
        commit_in_transaction(world, {0: 7})
        commit_in_transaction(world, {1: 8}, OTHER)
        end(world, PRODUCER, True)
        world.reload()
        assert world.fetch() == {("topic", 0): (7, 0)}
        end(world, OTHER, True)
        assert world.fetch(stable=True) == {("topic", 0): (7, 0), ("topic", 1): (8, 0)}

    def test_who_commits_is_looked_at_though_the_state_of_the_group_is_not(self, world: GroupWorld) -> None:
        (member,) = world.stable()
        good = {"member_id": member, "generation_id_or_member_epoch": 1}
        world.join(member)
        codes = [
            error_code(commit_in_transaction(world, {0: 7}, **good)),
            error_code(commit_in_transaction(world, {0: 7})),
            error_code(commit_in_transaction(world, {0: 7}, **{**good, "generation_id_or_member_epoch": 0})),
            error_code(commit_in_transaction(world, {0: 7}, **{**good, "member_id": "stranger"})),
        ]
        # Joining again the only member has begun generation 2.
        assert codes == [ErrorCode.ILLEGAL_GENERATION, 0, ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID]

    def test_a_tombstone_takes_what_is_pending_with_it(self, world: GroupWorld) -> None:
        commit_in_transaction(world, {0: 7})
        assert error_code(world.write(lambda shard: shard.delete_group("g"))) == 0
        end(world, PRODUCER, True)
        assert world.fetch() == {}


class TestDeletion:
    def delete(self, world: GroupWorld, topic: str = "topic") -> list[int]:
        partitions = [OffsetDeleteRequestPartition(partition_index=index) for index in (0, 9)]
        topics = [OffsetDeleteRequestTopic(name=topic, partitions=partitions)]
        reply = world.write(lambda shard: shard.delete_offsets(OffsetDeleteRequest(group_id="g", topics=topics)))
        if reply.error is not None:
            return [reply.error.code]
        return [one.error_code for one in reply.answer().topics[0].partitions]

    def test_offsets_go_but_for_those_that_members_are_subscribed_to(self, world: GroupWorld) -> None:
        (member,) = world.stable(1, protocols=[("range", subscription("topic"))])
        world.commit_offsets({0: 5}, member=member, generation=1)
        world.commit_offsets({0: 5}, member=member, generation=1, topic="other")
        assert self.delete(world) == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC] * 2
        assert self.delete(world, "other") == [0, 0]
        assert world.fetch() == {("topic", 0): (5, 0)}

    def test_groups_that_are_no_consumers_keep_theirs_while_they_live(self, world: GroupWorld) -> None:
        world.stable(1, protocol_type="connect")
        assert self.delete(world) == [ErrorCode.NON_EMPTY_GROUP]

    def test_a_group_must_be_there(self, world: GroupWorld) -> None:
        assert self.delete(world) == [ErrorCode.GROUP_ID_NOT_FOUND]
        assert error_code(world.write(lambda shard: shard.delete_group("g"))) == ErrorCode.GROUP_ID_NOT_FOUND

    def test_a_group_with_members_is_not_deleted(self, world: GroupWorld) -> None:
        (member,) = world.stable()
        world.commit_offsets({0: 5}, member=member, generation=1)
        assert error_code(world.write(lambda shard: shard.delete_group("g"))) == ErrorCode.NON_EMPTY_GROUP
        world.leave(member)
        assert error_code(world.write(lambda shard: shard.delete_group("g"))) == 0
        assert (world.fetch(), list(world.shard.store.groups)) == ({}, [])
        world.reload()
        assert (world.fetch(), list(world.shard.store.groups)) == ({}, [])

    def test_offsets_go_with_their_topic_but_not_with_one_of_the_same_name(self, world: GroupWorld) -> None:
        world.commit_offsets({0: 5}, topic_id=ID)
        world.commit_offsets({1: 6}, topic_id=OTHER_ID)
        world.commit_offsets({2: 7})
        delta = MetadataDelta(EMPTY)
        delta.topics = TopicsDelta(EMPTY.topics)
        delta.topics.deleted[ID] = "topic"
        world.runtime.metadata_changed(delta, EMPTY)
        world.advance(0)
        assert world.fetch() == {("topic", 1): (6, 0)}

    def test_a_great_many_offsets_go_in_several_batches(self, world: GroupWorld) -> None:
        world.commit_offsets({index: index for index in range(2_500)}, topic_id=ID)
        delta = MetadataDelta(EMPTY)
        delta.topics = TopicsDelta(EMPTY.topics)
        delta.topics.deleted[ID] = "topic"
        world.runtime.metadata_changed(delta, EMPTY)
        world.advance(0)
        assert world.fetch() == {}
        assert len(world.partition.batches) == 4


class TestExpiry:
    @pytest.fixture
    def world(self) -> GroupWorld:
        return GroupWorld(
            GroupSettings(
                initial_rebalance_delay_ms=0,
                offsets_retention_ms=RETENTION_MS,
                offsets_retention_check_interval_ms=CHECK_MS,
            )
        )

    def test_a_simple_groups_offsets_go_by_their_own_age_and_the_group_with_the_last(self, world: GroupWorld) -> None:
        world.commit_offsets({0: 5})
        world.advance(RETENTION_MS // 2)
        world.commit_offsets({1: 6})
        world.advance(RETENTION_MS // 2)
        assert world.fetch() == {("topic", 1): (6, 0)}
        world.advance(RETENTION_MS)
        assert list(world.shard.store.groups) == []

    def test_a_group_without_members_keeps_its_offsets_from_the_day_it_was_left(self, world: GroupWorld) -> None:
        """KIP-211: "expire all offsets ... after the group becomes Empty"."""
        (member,) = world.stable()
        world.commit_offsets({0: 5}, member=member, generation=1)
        for _ in range(20):
            world.advance(CHECK_MS - 1)
            world.heartbeat(member, 1)
        world.leave(member)
        world.advance(RETENTION_MS - CHECK_MS)
        assert world.fetch() == {("topic", 0): (5, 0)}
        world.advance(2 * CHECK_MS)
        assert (world.fetch(), list(world.shard.store.groups)) == ({}, [])

    def test_members_keep_what_they_are_subscribed_to(self, world: GroupWorld) -> None:
        (member,) = world.stable(1, protocols=[("range", subscription("topic"))])
        world.commit_offsets({0: 5}, member=member, generation=1)
        world.commit_offsets({0: 5}, member=member, generation=1, topic="other")
        for _ in range(20):
            world.advance(CHECK_MS - 1)
            world.heartbeat(member, 1)
        assert world.fetch() == {("topic", 0): (5, 0)}

    def test_what_cannot_be_read_may_be_a_subscription_to_anything(self, world: GroupWorld) -> None:
        (member,) = world.stable(1, protocols=[("range", b"\0\1junk")])
        world.commit_offsets({0: 5}, member=member, generation=1)
        for _ in range(20):
            world.advance(CHECK_MS - 1)
            world.heartbeat(member, 1)
        assert world.fetch() == {("topic", 0): (5, 0)}

    def test_old_clients_say_when(self, world: GroupWorld) -> None:
        world.commit_offsets({0: 5}, version=4, retention_time_ms=3 * RETENTION_MS)
        world.advance(2 * RETENTION_MS)
        assert world.fetch() == {("topic", 0): (5, 0)}
        world.advance(RETENTION_MS + CHECK_MS)
        assert world.fetch() == {}

    def test_nothing_goes_while_a_transaction_is_open_for_it(self, world: GroupWorld) -> None:
        world.commit_offsets({0: 5})
        commit_in_transaction(world, {0: 7})
        world.advance(2 * RETENTION_MS)
        assert world.fetch() == {("topic", 0): (5, 0)}

    def test_an_empty_group_without_offsets_goes_at_the_next_look(self, world: GroupWorld) -> None:
        (member,) = world.stable()
        world.leave(member)
        world.advance(CHECK_MS)
        assert list(world.shard.store.groups) == []
