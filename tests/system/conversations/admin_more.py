"""What administrators ask a broker of a cluster of one: settings, offsets, producers, directories, features, quotas."""

from collections.abc import Iterator
from typing import Any

from odradek.protocol.message import Message
from odradek.protocol.messages import alter_client_quotas_request as quotas
from odradek.protocol.messages import alter_configs_request as legacy
from odradek.protocol.messages import alter_partition_reassignments_request as reassign
from odradek.protocol.messages import alter_replica_log_dirs_request as moves
from odradek.protocol.messages import describe_client_quotas_request as quota_filters
from odradek.protocol.messages import describe_configs_request as described
from odradek.protocol.messages import describe_log_dirs_request as directories
from odradek.protocol.messages import describe_producers_request as producers
from odradek.protocol.messages import describe_quorum_request as quorums
from odradek.protocol.messages import incremental_alter_configs_request as incremental
from odradek.protocol.messages import list_offsets_request as offsets
from odradek.protocol.messages import offset_for_leader_epoch_request as epochs
from odradek.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from odradek.protocol.messages.describe_topic_partitions_request import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from odradek.protocol.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from odradek.protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from odradek.protocol.messages.list_config_resources_request import ListConfigResourcesRequest
from odradek.protocol.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from odradek.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from odradek.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from system.conversations.compare import UNKNOWN_ID, Learned, Line

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


def more_questions() -> Iterator[Line]:
    yield from _settings()
    yield from _offsets()
    yield from _epochs_and_producers()
    yield from _descriptions()
    yield from _replicas()
    yield from _features_and_quotas()
    yield from _deletions()


def _settings() -> Iterator[Line]:
    def change(kind: int, name: str, *changes: tuple[str, int, str | None], **fields: Any) -> Message:
        configs = [incremental.AlterableConfig(name=n, config_operation=op, value=v) for n, op, v in changes]
        resource = incremental.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
        return incremental.IncrementalAlterConfigsRequest(resources=[resource], **fields)

    asked = {
        "of a topic": change(TOPIC, "full", ("segment.ms", SET, "7000"), ("cleanup.policy", APPEND, "compact")),
        "by taking away": change(TOPIC, "full", ("cleanup.policy", SUBTRACT, "compact")),
        "by taking away what is not there": change(TOPIC, "full", ("cleanup.policy", SUBTRACT, "compact")),
        "by adding what is there": change(TOPIC, "full", ("cleanup.policy", APPEND, "delete")),
        "by adding to a number": change(TOPIC, "full", ("segment.ms", APPEND, "1")),
        "by deleting": change(TOPIC, "full", ("segment.ms", DELETE, None)),
        "by deleting what is not set": change(TOPIC, "full", ("segment.ms", DELETE, None)),
        "by deleting an unknown one": change(TOPIC, "full", ("no.such", DELETE, None)),
        "to nothing": change(TOPIC, "full", ("segment.ms", SET, None)),
        "to nothing at all": change(TOPIC, "full", ("segment.ms", SET, ""), ("retention.ms", SET, None)),
        "twice": change(TOPIC, "full", ("segment.ms", SET, "8000"), ("segment.ms", SET, "9000")),
        "of none": change(TOPIC, "full"),
        "of an unknown name": change(TOPIC, "full", ("no.such", SET, "1")),
        "to a bad value": change(TOPIC, "full", ("segment.ms", SET, "soon")),
        "to a value too small": change(TOPIC, "full", ("segment.ms", SET, "0")),
        "of no topic": change(TOPIC, "missing", ("segment.ms", SET, "7000")),
        "of a topic without name": change(TOPIC, "", ("segment.ms", SET, "7000")),
        "of a bad topic": change(TOPIC, "a b", ("segment.ms", SET, "7000")),
        "of this broker": change(BROKER, "1", ("log.cleaner.threads", SET, "2")),
        "of all brokers": change(BROKER, "", ("log.cleaner.backoff.ms", SET, "14000")),
        "of another broker": change(BROKER, "9", ("log.cleaner.threads", SET, "3")),
        "of a broker that is no number": change(BROKER, "nine", ("log.cleaner.threads", SET, "3")),
        "of a broker, unknown": change(BROKER, "1", ("no.such", SET, "3")),
        "of a broker, bad": change(BROKER, "1", ("log.cleaner.threads", SET, "some")),
        "of a broker, not dynamic": change(BROKER, "1", ("node.id", SET, "3")),
        "of all brokers, for one only": change(BROKER, "", ("listeners", SET, "PLAINTEXT://:1")),
        "of a group": change(GROUP, "g", ("consumer.session.timeout.ms", SET, "50000")),
        "of a group, too small": change(GROUP, "g", ("consumer.session.timeout.ms", SET, "1")),
        "of a group, unknown": change(GROUP, "g", ("no.such", SET, "1")),
        "of no group": change(GROUP, "", ("consumer.session.timeout.ms", SET, "50000")),
        "of a subscription": change(CLIENT_METRICS, "m", ("interval.ms", SET, "1000")),
        "of a subscription, bad": change(CLIENT_METRICS, "m", ("interval.ms", SET, "1")),
        "of a subscription, unknown": change(CLIENT_METRICS, "m", ("no.such", SET, "1")),
        "of no subscription": change(CLIENT_METRICS, "", ("interval.ms", SET, "1000")),
        "of a logger of another broker": change(BROKER_LOGGER, "9", ("kafka", SET, "INFO")),
        "of no logger's broker": change(BROKER_LOGGER, "", ("kafka", SET, "INFO")),
        "of an unknown kind": change(77, "x", ("a", SET, "b")),
        "for a try": change(TOPIC, "full", ("segment.ms", SET, "6000"), validate_only=True),
    }
    for what, request in asked.items():
        yield Line(f"change settings {what}", lambda known, r=request: r)

    def replace(kind: int, name: str, *settings: tuple[str, str | None]) -> Message:
        configs = [legacy.AlterableConfig(name=n, value=v) for n, v in settings]
        resource = legacy.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
        return legacy.AlterConfigsRequest(resources=[resource])

    replaced = {
        "of a topic": replace(TOPIC, "full", ("retention.ms", "-1")),
        "to nothing": replace(TOPIC, "full", ("retention.ms", None)),
        "twice": replace(TOPIC, "full", ("retention.ms", "-1"), ("retention.ms", "-1")),
        "of an unknown name": replace(TOPIC, "full", ("no.such", "1")),
        "of no topic": replace(TOPIC, "missing", ("retention.ms", "1")),
        "of another broker": replace(BROKER, "9", ("log.cleaner.threads", "3")),
        "of a broker, not dynamic": replace(BROKER, "1", ("node.id", "3")),
        "of a logger": replace(BROKER_LOGGER, "1", ("kafka", "INFO")),
        "of an unknown kind": replace(77, "x"),
    }
    for what, request in replaced.items():
        yield Line(f"replace settings {what}", lambda known, r=request: r)

    other = incremental.AlterConfigsResource(
        resource_type=TOPIC,
        resource_name="full",
        configs=[incremental.AlterableConfig(name="retention.ms", config_operation=SET, value="-1")],
    )
    yield Line(
        "change settings of a topic twice",
        lambda known: incremental.IncrementalAlterConfigsRequest(resources=[other, other]),
    )
    keys = ["retention.ms", "segment.ms", "cleanup.policy"]
    asked_for = described.DescribeConfigsResource(resource_type=TOPIC, resource_name="full", configuration_keys=keys)
    yield Line(
        "settings after all that",
        lambda known: described.DescribeConfigsRequest(resources=[asked_for], include_synonyms=True),
        until=lambda said: {each.name: each.config_source for each in said.results[0].configs}["cleanup.policy"] != 1,
    )
    yield Line("what has settings", lambda known: ListConfigResourcesRequest())
    yield Line("what subscriptions there are", lambda known: ListConfigResourcesRequest(), 0)
    yield Line("what of an unknown kind has settings", lambda known: ListConfigResourcesRequest(resource_types=[77]))
    yield Line("what groups have settings", lambda known: ListConfigResourcesRequest(resource_types=[GROUP, TOPIC]))


def _offsets() -> Iterator[Line]:
    def at(*asked: tuple[str, int, int, int], **fields: Any) -> Message:
        topics = [
            offsets.ListOffsetsTopic(
                name=name,
                partitions=[
                    offsets.ListOffsetsPartition(partition_index=number, timestamp=when, current_leader_epoch=epoch)
                ],
            )
            for name, number, when, epoch in asked
        ]
        return offsets.ListOffsetsRequest(topics=topics, **{"replica_id": -1, "timeout_ms": 1000, **fields})

    noon = 1_700_000_000_000
    for when in (-1, -2, -3, -4, -5, -6, -7, -100, 0, noon, 2**62):
        for version in range(1, 12):
            epoch = -1
            yield Line(
                f"offsets at {when} v{version}",
                lambda known, w=when, e=epoch: at(("full", 0, w, e), ("empty", 0, w, e)),
                version,
            )
    asked = {
        "of no topic": at(("missing", 0, -1, -1)),
        "of a bad topic": at(("a b", 0, -1, -1)),
        "of no partition": at(("full", 9, -1, -1)),
        "in the leader's epoch": at(("full", 0, -1, 0)),
        "in a later epoch": at(("full", 0, -1, 9)),
        "committed": at(("full", 0, -1, -1), isolation_level=1),
        "of a bad isolation": at(("full", 0, -1, -1), isolation_level=7),
        "for a debugger": at(("full", 0, -1, -1), replica_id=-2),
        "for a follower": at(("full", 0, -1, -1), replica_id=9),
        "of nothing": at(),
    }
    for what, request in asked.items():
        yield Line(f"offsets {what}", lambda known, r=request: r)
    twice = at(("full", 0, -1, -1))
    twice.topics[0].partitions *= 2  # type: ignore[attr-defined]
    yield Line("offsets of a partition twice", lambda known: twice)


def _epochs_and_producers() -> Iterator[Line]:
    def ends(name: str, partition: int, epoch: int, current: int = -1) -> Message:
        one = epochs.OffsetForLeaderPartition(partition=partition, leader_epoch=epoch, current_leader_epoch=current)
        return epochs.OffsetForLeaderEpochRequest(
            replica_id=-1, topics=[epochs.OffsetForLeaderTopic(topic=name, partitions=[one])]
        )

    asked = {
        "the first": ends("full", 0, 0),
        "a later one": ends("full", 0, 9),
        "none": ends("full", 0, -1),
        "the first, by who knows it": ends("full", 0, 0, 0),
        "the first, by who knows better": ends("full", 0, 0, 9),
        "one of an empty log": ends("empty", 0, 0),
        "one of no partition": ends("full", 9, 0),
        "one of no topic": ends("missing", 0, 0),
    }
    for what, request in asked.items():
        yield Line(f"the end of an epoch: {what}", lambda known, r=request: r)

    def of(name: str, *partitions: int) -> Message:
        return producers.DescribeProducersRequest(
            topics=[producers.TopicRequest(name=name, partition_indexes=list(partitions))]
        )

    for name, numbers in (("full", (0, 1, 9)), ("missing", (0,)), ("a b", (0,)), ("", (0,))):
        yield Line(f"producers of '{name}'", lambda known, n=name, p=numbers: of(n, *p))
    yield Line("producers of nothing", lambda known: producers.DescribeProducersRequest())


def _descriptions() -> Iterator[Line]:
    def page(*names: str, cursor: tuple[str, int] | None = None, limit: int = 100) -> Message:
        return DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name=name) for name in names],
            cursor=None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1]),
            response_partition_limit=limit,
        )

    pages = {
        "all": page(),
        "all, one at a time": page(limit=1),
        "all, none at a time": page(limit=0),
        "all, fewer than none": page(limit=-1),
        "from within": page(cursor=("empty", 2)),
        "from the end": page(cursor=("empty", 4)),
        "from beyond the end": page(cursor=("empty", 99)),
        "from a topic that is not there": page(cursor=("f", 3)),
        "from behind them all": page(cursor=("zzz", 0)),
        "from a negative partition": page(cursor=("empty", -1)),
        "some twice": page("full", "full", "empty", "missing", "a b", limit=5),
        "some, from one that is not asked for": page("full", cursor=("empty", 0)),
        "some, from one that is missing": page("full", "g", cursor=("g", 0)),
    }
    for what, request in pages.items():
        yield Line(f"partitions: {what}", lambda known, r=request: r)

    def dirs(*wanted: tuple[str, list[int]]) -> Message:
        topics = [directories.DescribableLogDirTopic(topic=name, partitions=numbers) for name, numbers in wanted]
        return directories.DescribeLogDirsRequest(topics=topics)

    for version in range(1, 5):
        yield Line(
            f"directories with some v{version}",
            lambda known: dirs(("full", [0, 9]), ("missing", [0])),
            version,
        )
    yield Line("directories with nothing", lambda known: directories.DescribeLogDirsRequest(topics=[]))

    def quorum(name: str, partition: int = 0) -> Message:
        one = quorums.PartitionData(partition_index=partition)
        return quorums.DescribeQuorumRequest(topics=[quorums.TopicData(topic_name=name, partitions=[one])])

    yield Line("the quorum", lambda known: quorum("__cluster_metadata"))
    yield Line("the quorum of a topic", lambda known: quorum("full"))
    yield Line("the quorum of another partition", lambda known: quorum("__cluster_metadata", 1))
    yield Line("the quorum of nothing", lambda known: quorums.DescribeQuorumRequest())
    for users in (["nobody"], ["nobody", "nobody"], []):
        named = [UserName(name=name) for name in users]
        yield Line(f"credentials of {users}", lambda known, n=named: DescribeUserScramCredentialsRequest(users=n))


def _replicas() -> Iterator[Line]:
    def elect(kind: int, *wanted: tuple[str, list[int]]) -> Message:
        asked = [TopicPartitions(topic=name, partitions=numbers) for name, numbers in wanted]
        return ElectLeadersRequest(election_type=kind, topic_partitions=asked, timeout_ms=1000)

    yield Line("elect", lambda known: elect(0, ("full", [0, 9]), ("missing", [0])))
    yield Line("elect uncleanly", lambda known: elect(1, ("full", [0])))
    yield Line("elect by no rule", lambda known: elect(7, ("full", [0])))
    yield Line("elect everywhere", lambda known: ElectLeadersRequest(topic_partitions=None, timeout_ms=1000))
    yield Line("elect nowhere", lambda known: elect(0))

    def move(name: str, partition: int, replicas: list[int] | None) -> Message:
        one = reassign.ReassignablePartition(partition_index=partition, replicas=replicas)
        topics = [reassign.ReassignableTopic(name=name, partitions=[one])]
        return reassign.AlterPartitionReassignmentsRequest(topics=topics, timeout_ms=1000)

    asked = {
        "to where it is": move("full", 0, [1]),
        "to an unknown broker": move("full", 0, [9]),
        "to two brokers of which one is unknown": move("full", 0, [1, 9]),
        "to a broker twice": move("full", 0, [1, 1]),
        "to a negative broker": move("full", 0, [-1]),
        "to no broker": move("full", 0, []),
        "back": move("full", 0, None),
        "of no partition": move("full", 9, [1]),
        "of no topic": move("missing", 0, [1]),
        "of no topic back": move("missing", 0, None),
        "of nothing": reassign.AlterPartitionReassignmentsRequest(timeout_ms=1000),
    }
    for what, request in asked.items():
        yield Line(f"a move {what}", lambda known, r=request: r)
    some = [ListPartitionReassignmentsTopics(name=name, partition_indexes=[0, 9]) for name in ("full", "missing")]
    yield Line("moves", lambda known: ListPartitionReassignmentsRequest(topics=None))
    yield Line("moves of some", lambda known: ListPartitionReassignmentsRequest(topics=some))

    def to(path: str, name: str, *partitions: int) -> Message:
        topic = moves.AlterReplicaLogDirTopic(name=name, partitions=list(partitions))
        return moves.AlterReplicaLogDirsRequest(dirs=[moves.AlterReplicaLogDir(path=path, topics=[topic])])

    yield Line("a directory that is not there", lambda known: to("/no/such", "full", 0))
    yield Line("a directory with a short path", lambda known: to("data", "full", 0))
    yield Line("a directory for no partition", lambda known: to("/no/such", "missing", 0))
    yield Line("unregister nobody", lambda known: UnregisterBrokerRequest(broker_id=77))
    yield Line("unregister less than nobody", lambda known: UnregisterBrokerRequest(broker_id=-1))


def _features_and_quotas() -> Iterator[Line]:
    def feature(*wanted: tuple[str, int, int], **fields: Any) -> Message:
        updates = [FeatureUpdateKey(feature=n, max_version_level=level, upgrade_type=k) for n, level, k in wanted]
        return UpdateFeaturesRequest(feature_updates=updates, timeout_ms=1000, **fields)

    asked = {
        "unknown": feature(("no.such", 1, 1)),
        "unknown, removed": feature(("no.such", 0, 2)),
        "too high": feature(("metadata.version", 999, 1)),
        "lower": feature(("group.version", 0, 1)),
        "lower for a try": feature(("group.version", 0, 2), validate_only=True),
        "by no rule": feature(("group.version", 0, 7)),
        "negative": feature(("group.version", -1, 2)),
        "as it is": feature(("group.version", 1, 1)),
        "two, one bad": feature(("group.version", 1, 1), ("no.such", 1, 1)),
        "none": feature(),
        "the log's own, lower": feature(("metadata.version", 7, 2)),
        "the quorum's": feature(("kraft.version", 9, 1)),
    }
    for what, request in asked.items():
        for version in (1, 2):
            yield Line(f"a feature: {what} v{version}", lambda known, r=request: r, version)
    yield Line(
        "a feature: unknown v0",
        lambda known: UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey(feature="no.such", max_version_level=1)]),
        0,
    )

    def quota(entity: dict[str, str | None], key: str, value: float, remove: bool = False) -> Message:
        parts = [quotas.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()]
        entry = quotas.EntryData(entity=parts, ops=[quotas.OpData(key=key, value=value, remove=remove)])
        return quotas.AlterClientQuotasRequest(entries=[entry])

    limits = {
        "of a user": quota({"user": "alice"}, "producer_byte_rate", 1000.0),
        "of every client": quota({"client-id": None}, "request_percentage", 12.5),
        "of an address": quota({"ip": "10.0.0.1"}, "connection_creation_rate", 5.0),
        "of an address, of another kind": quota({"ip": "10.0.0.2"}, "producer_byte_rate", 5.0),
        "of a bad address": quota({"ip": "no address"}, "connection_creation_rate", 5.0),
        "of an address and a user": quota({"ip": "10.0.0.3", "user": "x"}, "connection_creation_rate", 5.0),
        "unknown": quota({"user": "c"}, "no_such", 5.0),
        "negative": quota({"user": "d"}, "producer_byte_rate", -5.0),
        "broken": quota({"user": "e"}, "producer_byte_rate", 5.5),
        "of no user": quota({"user": ""}, "producer_byte_rate", 5.0),
        "of a planet": quota({"planet": "mars"}, "producer_byte_rate", 5.0),
        "of nothing": quota({}, "producer_byte_rate", 5.0),
        "removed that is not there": quota({"user": "f"}, "producer_byte_rate", 0.0, remove=True),
    }
    for what, request in limits.items():
        yield Line(f"a quota {what}", lambda known, r=request: r)

    def matching(*parts: tuple[str, int, str | None], strict: bool = False) -> Message:
        components = [quota_filters.ComponentData(entity_type=e, match_type=t, match=m) for e, t, m in parts]
        return quota_filters.DescribeClientQuotasRequest(components=components, strict=strict)

    def is_settled(said: Any) -> bool:
        return said.entries is not None and len(said.entries) == 3

    yield Line("quotas: all", lambda known: matching(), until=is_settled)
    filters = {
        "of a user": matching(("user", 0, "alice")),
        "of a user alone": matching(("user", 0, "alice"), strict=True),
        "of the default user": matching(("user", 1, None)),
        "of any user": matching(("user", 2, None)),
        "of any client, and of any user": matching(("client-id", 2, None), ("user", 2, None)),
        "of nobody alone": matching(strict=True),
        "of a user twice": matching(("user", 0, "a"), ("user", 0, "b")),
        "of a planet": matching(("planet", 2, None)),
        "of no kind": matching(("", 2, None)),
        "by no rule": matching(("user", 7, None)),
        "of a user without name": matching(("user", 0, None)),
        "of any user of a name": matching(("user", 2, "alice")),
        "of the default user of a name": matching(("user", 1, "alice")),
        "of an address and a user": matching(("ip", 2, None), ("user", 2, None)),
    }
    for what, request in filters.items():
        yield Line(f"quotas: {what}", lambda known, r=request: r)


def _deletions() -> Iterator[Line]:
    def states(known: Learned) -> Message:
        asked = [
            DeleteTopicState(name="missing"),
            DeleteTopicState(name="a b"),
            DeleteTopicState(topic_id=UNKNOWN_ID),
            DeleteTopicState(),
            DeleteTopicState(name="full", topic_id=known.topic_ids["full"]),
            DeleteTopicState(name="empty"),
            DeleteTopicState(name="empty"),
            DeleteTopicState(topic_id=known.topic_ids["compacted"]),
            DeleteTopicState(topic_id=known.topic_ids["compacted"]),
            DeleteTopicState(name="col.lide"),
            DeleteTopicState(topic_id=known.topic_ids["col.lide"]),
        ]
        return DeleteTopicsRequest(topics=asked, timeout_ms=60_000)

    yield Line("delete what cannot be", states)
    yield Line("delete nothing", lambda known: DeleteTopicsRequest(timeout_ms=60_000))
    yield Line(
        "delete by id",
        lambda known: DeleteTopicsRequest(
            topics=[DeleteTopicState(topic_id=known.topic_ids["compacted"])], timeout_ms=60_000
        ),
    )
    names = ["full", "empty", "missing", "missing"]
    yield Line("delete by name", lambda known: DeleteTopicsRequest(topic_names=names, timeout_ms=60_000), 5)
