"""One table of what the admin client may be asked, put to a node of ours and to one of Apache Kafka's: every operation,
rightly and wrongly, with the same values, error codes and words.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import pytest

from odradek.client import (
    HIGH_WATERMARK,
    Admin,
    ConfigChange,
    ConfigOp,
    ConfigResource,
    ConfigResourceType,
    Consumer,
    ElectionType,
    FeatureUpdate,
    KafkaError,
    MemberToRemove,
    NewTopic,
    OffsetAndMetadata,
    OffsetSpec,
    Producer,
    QuotaFilter,
    Replica,
    TopicPartition,
    UpgradeType,
    VoterEndpoint,
)
from odradek.common.failures import InputError
from odradek.metadata.features.feature_versions import UNSERVED_FEATURES
from odradek.protocol.error_codes import ErrorCode
from support.figures import report
from support.loads.data_load import bootstrap_of
from support.peers.librdkafka_reader import run
from support.processes.nodes import OURS, Cluster, Kind, NodeSpec
from support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.peer]

SETTINGS = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "false",
}

#: Ids, places and moments.
HIDDEN = {
    *("topic_id", "cluster_id", "port", "path", "total_bytes", "usable_bytes", "directory_id", "member_id", "epoch"),
    *("last_fetch_ms", "last_caught_up_ms", "log_end_offset", "high_watermark", "leader_epoch", "coordinator"),
    *("producer_id", "started_ms", "last_timestamp_ms", "timestamp_ms", "size_bytes", "supported_max", "replicas"),
}

#: Where our nodes refuse for the same reason in other words: changes of voters.
OWN_WORDS = ("add a voter", "add a voter elsewhere", "remove a voter")

ZERO, ONE = TopicPartition("orders", 0), TopicPartition("orders", 1)
ORDERS = ConfigResource(ConfigResourceType.TOPIC, "orders")
NOBODY = ConfigResource(ConfigResourceType.TOPIC, "nobody")
LIMIT_S = 120


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Cluster]]:
    """Ours, and Apache Kafka's."""
    root = tmp_path_factory.mktemp("admin-client")
    ours, theirs = (
        Cluster(root / name, [NodeSpec(1, kind, roles="broker,controller")], settings=SETTINGS)
        for name, kind in (("ours", OURS), ("theirs", Kind.KAFKA))
    )
    with ours, theirs:
        theirs.start()
        ours.start()
        for cluster in (ours, theirs):
            wait_until(lambda cluster=cluster: run(knows_itself(cluster)), "the broker is unfenced", LIMIT_S)
        yield [ours, theirs]


async def knows_itself(cluster: Cluster) -> bool:
    cluster.check_alive()
    async with Admin(bootstrap_servers=bootstrap_of(cluster)) as admin:
        return bool((await admin.describe_cluster()).nodes)


def plain(value: Any, name: str = "") -> Any:
    """What can be compared: values with names, without what differs from run to run."""
    if name in HIDDEN and value not in (None, ()):
        return f"a {name}"
    if isinstance(value, Enum):
        return value.name
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name), each.name) for each in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {each: plain(getattr(value, each), each) for each in value._fields}
    if isinstance(value, Mapping):
        return {str(key): plain(each, str(key)) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


class Asking:
    """Puts questions to one admin client, and keeps what became of each."""

    def __init__(self, admin: Admin) -> None:
        self.admin = admin
        self.told: dict[str, Any] = {}

    async def __call__(self, what: str, operation: Awaitable[Any], keep: Callable[[Any], Any] = plain) -> Any:
        assert what not in self.told
        try:
            value = await operation
        except KafkaError as error:
            words = "" if what in OWN_WORDS else f": {error.message}"
            self.told[what] = f"{type(error).__name__} {ErrorCode(error.code).name}{words}"
            return error
        self.told[what] = keep(value)
        return value

    async def until(self, what: str, ask: Callable[[], Awaitable[bool]]) -> None:
        """Nodes learn of changes in their own time."""
        async with asyncio.timeout(LIMIT_S):
            while True:
                try:
                    if await ask():
                        return
                except KafkaError:
                    pass
                await asyncio.sleep(0.02)


async def topics(ask: Asking) -> None:
    """Records here are of 1970, which no `retention.ms` of less than a century keeps for the whole test."""
    admin = ask.admin
    new = [
        NewTopic("orders", partitions=2, configs={"retention.ms": "5000000000000"}),
        NewTopic("placed", assignment=[[1]]),
    ]
    await ask("try to create", admin.create_topics(new, validate_only=True))
    await ask("create", admin.create_topics([*new, "default"]))
    await ask("create what is there", admin.create_topics(["orders"]))
    await ask("create some that cannot be", admin.create_topics(["orders", "a b", NewTopic("x", 1, 9)]))
    await ask("add partitions", admin.create_partitions({"default": 3, "placed": 2}, {"placed": [[1]]}))
    await ask("take partitions away", admin.create_partitions({"default": 1}))

    async def is_led() -> bool:
        found = await admin.describe_topics(["orders", "placed", "default"])
        counts = [sum(each.leader_id == 1 for each in topic.partitions) for topic in found.values()]
        return counts == [2, 2, 3]

    await ask.until("every partition is led", is_led)
    await ask("describe", admin.describe_topics(["orders", "placed"]))
    await ask("describe some that are not there", admin.describe_topics(["orders", "nobody"]))
    await ask("list", admin.list_topics(), lambda found: [each.name for each in found if not each.is_internal])
    await ask("delete", admin.delete_topics(["default"]))
    await ask("delete again", admin.delete_topics(["default"]))


async def partitions(ask: Asking, bootstrap: str) -> None:
    admin = ask.admin
    async with Producer(bootstrap_servers=bootstrap, linger_ms=0) as producer:
        for number in range(5):
            await producer.send_and_wait("orders", b"%d" % number, partition=0, timestamp_ms=1_000 * (number + 1))
    for spec in (OffsetSpec.EARLIEST, OffsetSpec.LATEST, OffsetSpec.MAX_TIMESTAMP, 2_500, 99_000):
        await ask(f"offset {spec!r}", admin.list_offsets({ZERO: spec}))
    await ask("offsets of nothing", admin.list_offsets({ZERO: OffsetSpec.LATEST, TopicPartition("nobody", 0): 1}))
    await ask("delete records", admin.delete_records({ZERO: 2}))
    await ask("delete all records", admin.delete_records({ZERO: HIGH_WATERMARK}))
    await ask("delete too many records", admin.delete_records({ZERO: 9}))
    await ask("elect", admin.elect_leaders(ElectionType.PREFERRED, [ZERO]))
    await ask("elect of nothing", admin.elect_leaders(ElectionType.UNCLEAN, [TopicPartition("nobody", 0)]))
    await ask("reassign to nobody", admin.alter_partition_reassignments({ZERO: [9]}))
    await ask("cancel nothing", admin.alter_partition_reassignments({ZERO: None}))
    await ask("reassignments", admin.list_partition_reassignments())
    await ask("producers", admin.describe_producers([ZERO, ONE]))
    await ask("log directories", admin.describe_log_dirs(partitions=[ZERO]))
    await ask("log directories of nobody", admin.describe_log_dirs([9]))
    await ask("replicas", admin.describe_replica_log_dirs([Replica("orders", 0, 1), Replica("nobody", 0, 1)]))
    await ask("move a replica nowhere", admin.alter_replica_log_dirs({Replica("orders", 0, 1): "/nowhere"}))


async def settings(ask: Asking) -> None:
    admin = ask.admin
    retention = [ConfigChange("retention.ms", ConfigOp.SET, "7000000000000")]

    def some(found: Mapping[ConfigResource, Any]) -> Any:
        return {str(resource): plain(entries["retention.ms"]) for resource, entries in found.items()}

    await ask("describe settings", admin.describe_configs([ORDERS]), some)
    await ask("settings of nothing", admin.describe_configs([NOBODY]))
    await ask("try to change", admin.incremental_alter_configs({ORDERS: retention}, validate_only=True))
    await ask("change", admin.incremental_alter_configs({ORDERS: retention}))
    wrong = [ConfigChange("retention.ms", ConfigOp.SET, "long")]
    await ask("change wrongly", admin.incremental_alter_configs({ORDERS: wrong, NOBODY: retention}))

    async def is_changed() -> bool:
        return (await admin.describe_configs([ORDERS]))[ORDERS]["retention.ms"].value == "7000000000000"

    await ask.until("the setting is changed", is_changed)
    await ask("what has settings", admin.list_config_resources([ConfigResourceType.TOPIC, ConfigResourceType.BROKER]))
    await ask("metrics subscriptions", admin.list_client_metrics_resources())
    alice = (("user", "alice"),)
    await ask("set a quota", admin.alter_client_quotas({alice: {"producer_byte_rate": 1e6}}))
    await ask("set no quota", admin.alter_client_quotas({alice: {"speed": 1.0}, (("group", "g"),): {}}))

    async def has_quota() -> bool:
        return bool(await admin.describe_client_quotas())

    await ask.until("the quota is there", has_quota)
    await ask("quotas", admin.describe_client_quotas(QuotaFilter({"user": "alice"}, strict=True)))
    await ask("any quotas", admin.describe_client_quotas(QuotaFilter({}, ["user"])))
    await ask("quotas of others", admin.describe_client_quotas(QuotaFilter({"user": None})))
    await ask("take a quota away", admin.alter_client_quotas({alice: {"producer_byte_rate": None}}))
    await ask("credentials", admin.describe_user_scram_credentials())
    await ask("credentials of nobody", admin.describe_user_scram_credentials(["alice"]))


async def groups(ask: Asking, bootstrap: str) -> None:
    admin = ask.admin
    await ask("offsets of no group", admin.list_consumer_group_offsets(["billing"]))
    await ask("describe no group", admin.describe_consumer_groups(["billing"]))
    await ask("describe no classic group", admin.describe_classic_groups(["billing"]))
    await ask("delete no group", admin.delete_consumer_groups(["billing"]))
    offsets = {ZERO: 3, ONE: OffsetAndMetadata(0, 0, "why")}
    await ask("set offsets", admin.alter_consumer_group_offsets("billing", offsets))
    await ask("offsets", admin.list_consumer_group_offsets(["billing", "others"]))
    await ask("stable offsets", admin.list_consumer_group_offsets(["billing"], require_stable=True))
    for number, protocol in enumerate(("classic", "consumer")):
        group = f"{protocol} group"
        consumer = Consumer(
            *("orders", {"bootstrap.servers": bootstrap, "group.id": group, "group.protocol": protocol}),
            group_instance_id=f"instance-{number}",
            client_id="member",
        )
        async with consumer:
            async with asyncio.timeout(LIMIT_S):
                while not consumer.assignment():
                    await consumer.poll(50)
            await ask(f"describe a {group}", admin.describe_consumer_groups([group]))
            await ask(f"describe a {group} as classic", admin.describe_classic_groups([group]))
            await ask(f"delete a {group} in use", admin.delete_consumer_groups([group]))
            await ask(f"set offsets of a {group} in use", admin.alter_consumer_group_offsets(group, {ZERO: 0}))
            await ask(f"delete offsets of a {group} in use", admin.delete_consumer_group_offsets(group, [ZERO]))
    await ask("list groups", admin.list_groups())
    await ask("list consumer groups", admin.list_groups(types=["consumer"]))
    gone = [MemberToRemove("nobody")]
    await ask("remove nobody", admin.remove_members_from_consumer_group("classic group", gone))
    await ask("remove all", admin.remove_members_from_consumer_group("classic group", reason="it is over"))
    await ask("the group is empty", admin.describe_consumer_groups(["classic group"]))
    await ask("delete offsets", admin.delete_consumer_group_offsets("billing", [ZERO]))
    await ask("offsets that are left", admin.list_consumer_group_offsets(["billing"]))
    await ask("delete a group", admin.delete_consumer_groups(["billing"]))


async def transactions(ask: Asking, bootstrap: str) -> None:
    admin = ask.admin
    await ask("no transactions", admin.list_transactions())
    await ask("describe no transaction", admin.describe_transactions(["tx"]))
    producer = Producer(bootstrap_servers=bootstrap, transactional_id="tx", linger_ms=0)
    async with producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        await producer.send_and_wait("orders", b"open", partition=1)
        await ask("transactions", admin.list_transactions(states=["Ongoing"]))
        await ask("describe a transaction", admin.describe_transactions(["tx"]))
        (states,) = (await admin.describe_producers([ONE])).values()
        await ask("producers with a transaction", admin.describe_producers([ONE]))
        open_ = states[0]
        stale = (open_.producer_id, -1, 0)
        await ask("abort wrongly", admin.abort_transaction(TopicPartition("nobody", 0), *stale))
        epochs = (open_.producer_id, open_.producer_epoch, max(open_.coordinator_epoch, 0))
        await ask("abort in a partition", admin.abort_transaction(ONE, *epochs))
        fenced = await ask("fence", admin.fence_producers(["tx"]), lambda found: sorted(found))
        assert fenced["tx"].producer_id >= 0
        with pytest.raises(KafkaError):
            await producer.commit_transaction()
    await ask("end one that is not there", admin.force_terminate_transaction("another"))


async def cluster_itself(ask: Asking) -> None:
    admin = ask.admin
    await ask("cluster", admin.describe_cluster(include_fenced_brokers=True))
    finalized = lambda found: {each.name: each.finalized for each in found.features}  # noqa: E731
    await ask("features", admin.describe_features(), finalized)
    await ask("raise a feature too far", admin.update_features({"group.version": FeatureUpdate(99)}))
    down = FeatureUpdate(0, UpgradeType.SAFE_DOWNGRADE)
    await ask("try to lower a feature", admin.update_features({"transaction.version": down}, validate_only=True))
    await ask("no such feature", admin.update_features({"nothing": FeatureUpdate(1)}))
    await ask("unregister nobody", admin.unregister_broker(9))
    await ask("quorum", admin.describe_metadata_quorum())
    endpoints = [VoterEndpoint("CONTROLLER", "localhost", 1)]
    await ask("add a voter", admin.add_raft_voter(1, bytes(16), endpoints))
    await ask("add a voter elsewhere", admin.add_raft_voter(9, b"x" * 16, endpoints, cluster_id="elsewhere"))
    await ask("remove a voter", admin.remove_raft_voter(9, b"x" * 16))


async def everything(bootstrap: str) -> dict[str, Any]:
    async with Admin(bootstrap_servers=bootstrap) as admin:
        ask = Asking(admin)
        await topics(ask)
        await partitions(ask, bootstrap)
        await settings(ask)
        await groups(ask, bootstrap)
        await transactions(ask, bootstrap)
        await cluster_itself(ask)
        return ask.told


def test_both_give_the_same_answers(both: list[Cluster]) -> None:
    ours, theirs = (run(everything(bootstrap_of(cluster))) for cluster in both)
    assert list(ours) == list(theirs)
    for feature in UNSERVED_FEATURES:  # Kafka finalizes them when it formats
        assert (ours["features"].pop(feature), theirs["features"].pop(feature)) == (0, 1)
    differing = [what for what in theirs if ours[what] != theirs[what]]
    assert not differing, "\n".join(f"{what}:\n  {ours[what]}\n  {theirs[what]}" for what in differing)
    refused = sum(isinstance(answer, str) and not answer.startswith("a ") for answer in theirs.values())
    assert len(theirs) > 80 and refused > 20
    report("admin client on both brokers", questions=len(theirs), refused=refused)


def test_it_says_what_keeps_it_from_asking(both: list[Cluster]) -> None:
    async def test() -> None:
        admin = Admin(bootstrap_servers=bootstrap_of(both[0]))
        with pytest.raises(InputError, match="the admin client is not running"):
            await admin.list_topics()
        async with admin:
            with pytest.raises(
                KafkaError, match="no response within 0 ms; it is unknown whether the operation was carried out"
            ):
                await admin.create_topics(["late"], timeout_ms=0)

    run(test())


def test_controllers_are_asked_themselves(both: list[Cluster]) -> None:
    async def ask(cluster: Cluster) -> list[Any]:
        async with Admin(bootstrap_controllers=f"127.0.0.1:{cluster[1].controller_port}") as admin:
            described = await admin.describe_cluster()
            quorum = await admin.describe_metadata_quorum()
            return [plain(described.nodes), described.controller_id, [each.id for each in quorum.voters]]

    ours, theirs = (run(ask(cluster)) for cluster in both)
    assert ours == theirs
