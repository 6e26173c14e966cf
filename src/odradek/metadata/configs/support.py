"""Support of every setting of nodes, topics, groups and metrics subscriptions; see `odradek.common.config_support`.

`docs/settings.md` is made of these tables. A test fails for a setting of `tables` that is missing here, and for
one that is listed as effective and never read.
"""

from collections.abc import Mapping

from odradek.common.config_support import EFFECTIVE, Support, SupportTable, no_effect, rejected
from odradek.protocol.config_types import ConfigResourceType

_PLAINTEXT_ONLY = "Listeners speak PLAINTEXT; protect them by the network."

_TLS = rejected("TLS is not supported", _PLAINTEXT_ONLY)
_SASL = rejected("SASL is not supported", _PLAINTEXT_ONLY)
_TIERED = no_effect("tiered storage is not supported")
_SHARE = no_effect("share groups are not supported")
_STREAMS = no_effect("streams groups are not supported")
_TOKENS = no_effect("delegation tokens are not supported")
_ONE_LOOP = no_effect("a node serves all connections in one event loop")
_PURGATORY = no_effect("purgatories drop completed operations at once")
_CLIENT_QUOTAS = no_effect("client quotas are stored, and not enforced")
_LOADING = no_effect("coordinators read their partitions in chunks of a fixed size")
_METRICS_SAMPLES = no_effect("metrics are counters and gauges without samples")
_REPORTERS = no_effect(
    "Java classes cannot be loaded", "Set odradek.admin.listener=host:port and scrape /metrics instead."
)
_POLICY = rejected("Java classes cannot be loaded, so no policy would be applied", "Leave it out.")

BROKER = SupportTable(
    (
        (
            EFFECTIVE,
            """
            alter.log.dirs.replication.quota.window.num alter.log.dirs.replication.quota.window.size.seconds
            replication.quota.window.num replication.quota.window.size.seconds
            advertised.listeners auto.create.topics.enable auto.leader.rebalance.enable broker.heartbeat.interval.ms
            broker.id broker.rack broker.session.timeout.ms compression.gzip.level compression.lz4.level
            compression.type compression.zstd.level connections.max.idle.ms controlled.shutdown.enable
            controller.listener.names controller.quorum.append.linger.ms controller.quorum.auto.join.enable
            controller.quorum.bootstrap.servers controller.quorum.election.backoff.max.ms
            controller.quorum.election.timeout.ms controller.quorum.fetch.max.bytes
            controller.quorum.fetch.snapshot.max.bytes controller.quorum.fetch.timeout.ms
            controller.quorum.request.timeout.ms controller.quorum.retry.backoff.ms controller.quorum.voters
            controller.socket.timeout.ms cordoned.log.dirs default.replication.factor delete.topic.enable
            fetch.max.bytes
            group.consumer.assignment.interval.ms group.consumer.assignors group.consumer.heartbeat.interval.ms
            group.consumer.max.assignment.interval.ms group.consumer.max.heartbeat.interval.ms
            group.consumer.max.session.timeout.ms group.consumer.max.size group.consumer.migration.policy
            group.consumer.min.assignment.interval.ms group.consumer.min.heartbeat.interval.ms
            group.consumer.min.session.timeout.ms group.consumer.session.timeout.ms
            group.initial.rebalance.delay.ms group.max.session.timeout.ms group.max.size group.min.session.timeout.ms
            initial.broker.registration.timeout.ms inter.broker.listener.name leader.imbalance.check.interval.seconds
            listener.security.protocol.map listeners
            log.cleaner.backoff.ms log.cleaner.dedupe.buffer.size log.cleaner.delete.retention.ms log.cleaner.enable
            log.cleaner.io.buffer.load.factor log.cleaner.io.buffer.size log.cleaner.io.max.bytes.per.second
            log.cleaner.max.compaction.lag.ms log.cleaner.min.cleanable.ratio log.cleaner.min.compaction.lag.ms
            log.cleaner.threads log.cleanup.policy log.dir log.dir.failure.timeout.ms log.dirs
            log.flush.interval.messages log.flush.interval.ms log.flush.offset.checkpoint.interval.ms
            log.flush.scheduler.interval.ms log.flush.start.offset.checkpoint.interval.ms log.index.interval.bytes
            log.index.size.max.bytes log.message.timestamp.after.max.ms log.message.timestamp.before.max.ms
            log.message.timestamp.type log.retention.bytes log.retention.check.interval.ms log.retention.hours
            log.retention.minutes log.retention.ms log.roll.hours log.roll.jitter.hours log.roll.jitter.ms log.roll.ms
            log.segment.bytes log.segment.delete.delay.ms
            max.connection.creation.rate max.connections max.connections.per.ip max.connections.per.ip.overrides
            max.incremental.fetch.session.cache.slots max.request.partition.size.limit message.max.bytes
            metadata.log.dir metadata.log.max.record.bytes.between.snapshots metadata.log.max.snapshot.interval.ms
            metadata.log.segment.bytes metadata.log.segment.ms metadata.max.idle.interval.ms
            metadata.max.retention.bytes metadata.max.retention.ms min.insync.replicas node.id num.partitions
            num.recovery.threads.per.data.dir offset.metadata.max.bytes offsets.commit.timeout.ms
            offsets.retention.check.interval.ms offsets.retention.minutes offsets.topic.compression.codec
            offsets.topic.num.partitions offsets.topic.replication.factor offsets.topic.segment.bytes process.roles
            producer.id.expiration.ms queued.max.request.bytes queued.max.requests replica.fetch.backoff.ms
            replica.fetch.max.bytes replica.fetch.min.bytes replica.fetch.response.max.bytes replica.fetch.wait.max.ms
            replica.high.watermark.checkpoint.interval.ms replica.lag.time.max.ms replica.selector.class
            replica.socket.timeout.ms request.timeout.ms security.inter.broker.protocol
            share.coordinator.state.topic.num.partitions share.coordinator.state.topic.replication.factor
            share.coordinator.state.topic.segment.bytes
            socket.listen.backlog.size socket.receive.buffer.bytes
            socket.request.max.bytes socket.send.buffer.bytes
            transaction.abort.timed.out.transaction.cleanup.interval.ms transaction.max.timeout.ms
            transaction.partition.verification.enable transaction.remove.expired.transaction.cleanup.interval.ms
            transaction.state.log.min.isr transaction.state.log.num.partitions
            transaction.state.log.replication.factor transaction.state.log.segment.bytes
            transaction.two.phase.commit.enable transactional.id.expiration.ms unclean.leader.election.enable
            """,
        ),
        # Rejected: somebody would rely on them.
        (_POLICY, "alter.config.policy.class.name create.topic.policy.class.name"),
        (
            rejected("authorizers are not supported, so every client would be allowed everything", _PLAINTEXT_ONLY),
            "authorizer.class.name",
        ),
        (
            rejected("Java classes cannot be loaded, so no quota would be enforced", "Leave it out."),
            "client.quota.callback.class",
        ),
        (
            rejected(
                "values of configuration providers are not looked up", "Write the values themselves into the file."
            ),
            "config.providers",
        ),
        (
            rejected("SASL is not supported, so no session would ever be authenticated again", _PLAINTEXT_ONLY),
            "connections.max.reauth.ms",
        ),
        (rejected("delegation tokens are not supported", _PLAINTEXT_ONLY), "delegation.token.secret.key"),
        (
            rejected("Java classes cannot be loaded; every client is User:ANONYMOUS", "Leave it out."),
            "principal.builder.class",
        ),
        (
            rejected(
                "tiered storage is not supported", "Give log.dirs the space, and limit it by log.retention.bytes."
            ),
            "remote.log.storage.system.enable",
        ),
        (rejected("security providers of Java cannot be loaded", "Leave it out."), "security.providers"),
        # Accepted without an effect.
        (
            no_effect("a request that finds its transaction busy is answered at once, and the client retries"),
            "add.partitions.to.txn.retry.backoff.max.ms add.partitions.to.txn.retry.backoff.ms",
        ),
        (_CLIENT_QUOTAS, "quota.window.num quota.window.size.seconds"),
        (
            no_effect("changes are not limited by a quota"),
            "controller.quota.window.num controller.quota.window.size.seconds",
        ),
        (_ONE_LOOP, "background.threads num.io.threads num.network.threads"),
        (
            no_effect("coordinators run in the node's event loop"),
            "group.coordinator.background.threads group.coordinator.threads",
        ),
        (
            no_effect("every decision of a coordinator is a batch of its own"),
            "group.coordinator.append.linger.ms",
        ),
        (no_effect("coordinators keep no buffers"), "group.coordinator.cached.buffer.max.bytes"),
        (
            no_effect(
                "the protocols classic and consumer are always served, share and streams never",
                harmless=("classic,consumer", "consumer,classic"),
            ),
            "group.coordinator.rebalance.protocols",
        ),
        (no_effect("one fetcher serves each leader"), "num.replica.fetchers"),
        (no_effect("a move between directories runs in the node's event loop"), "num.replica.alter.log.dirs.threads"),
        (
            no_effect("without authentication no connection fails it"),
            "connection.failed.authentication.delay.ms",
        ),
        (
            _TOKENS,
            """
            delegation.token.expiry.check.interval.ms delegation.token.expiry.time.ms delegation.token.max.lifetime.ms
            """,
        ),
        (
            _PURGATORY,
            """
            delete.records.purgatory.purge.interval.requests fetch.purgatory.purge.interval.requests
            producer.purgatory.purge.interval.requests
            """,
        ),
        (no_effect("no listener waits for an authorizer"), "early.start.listeners"),
        (_REPORTERS, "kafka.metrics.reporters metric.reporters"),
        (
            _METRICS_SAMPLES,
            """
            kafka.metrics.polling.interval.secs metrics.num.samples metrics.recording.level metrics.sample.window.ms
            """,
        ),
        (no_effect("files grow as records are appended"), "log.preallocate"),
        (_LOADING, "offsets.load.buffer.size transaction.state.log.load.buffer.size"),
        (
            no_effect("the system chooses the buffers of connections between brokers"),
            "replica.socket.receive.buffer.bytes",
        ),
        (
            no_effect("nodes connect to each other with a fixed time-out"),
            "socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms",
        ),
        (no_effect("metrics of clients are not collected"), "telemetry.max.bytes"),
        (
            _TIERED,
            """
            follower.fetch.last.tiered.offset.enable log.local.retention.bytes log.local.retention.ms
            remote.fetch.max.wait.ms remote.list.offsets.request.timeout.ms
            """,
        ),
    ),
    (
        ("ssl.", _TLS),
        ("sasl.", _SASL),
        ("remote.log.", _TIERED),
        ("group.share.", _SHARE),
        ("share.", _SHARE),
        ("group.streams.", _STREAMS),
    ),
)

BROKER_DYNAMIC_ONLY = SupportTable(
    (
        (
            EFFECTIVE,
            """
            follower.replication.throttled.rate leader.replication.throttled.rate
            replica.alter.log.dirs.io.max.bytes.per.second
            """,
        ),
    )
)

TOPIC = SupportTable(
    (
        (
            EFFECTIVE,
            """
            cleanup.policy compression.gzip.level compression.lz4.level compression.type compression.zstd.level
            delete.retention.ms file.delete.delay.ms flush.messages flush.ms follower.replication.throttled.replicas
            index.interval.bytes leader.replication.throttled.replicas max.compaction.lag.ms max.message.bytes
            message.timestamp.after.max.ms message.timestamp.before.max.ms message.timestamp.type
            min.cleanable.dirty.ratio min.compaction.lag.ms min.insync.replicas retention.bytes retention.ms
            segment.bytes segment.index.bytes segment.jitter.ms segment.ms unclean.leader.election.enable
            """,
        ),
        # Apache Kafka refuses it too where tiered storage is disabled.
        (rejected("tiered storage is not supported"), "remote.storage.enable"),
        (
            _TIERED,
            "local.retention.bytes local.retention.ms remote.log.copy.disable remote.log.delete.on.disable",
        ),
        (no_effect("files grow as records are appended"), "preallocate"),
    )
)

GROUP = SupportTable(
    ((EFFECTIVE, "consumer.assignment.interval.ms consumer.heartbeat.interval.ms consumer.session.timeout.ms"),),
    (("share.", _SHARE), ("streams.", _STREAMS)),
)

CLIENT_METRICS = SupportTable(((no_effect("metrics of clients are not collected"), "interval.ms match metrics"),))

TABLES: Mapping[int, SupportTable] = {
    ConfigResourceType.BROKER: BROKER,
    ConfigResourceType.TOPIC: TOPIC,
    ConfigResourceType.GROUP: GROUP,
    ConfigResourceType.CLIENT_METRICS: CLIENT_METRICS,
}

_ZOOKEEPER = "this node has no ZooKeeper mode, it is part of a KRaft quorum"
_ZOOKEEPER_INSTEAD = "Set process.roles and controller.quorum.bootstrap.servers instead."
_BY_FEATURE = "Set the feature metadata.version instead: odradek storage format --release-version."

#: Settings that Apache Kafka 4.3 does not have any more, as they are found in older files.
REMOVED: Mapping[str, Support] = {
    **dict.fromkeys(
        (
            *("zookeeper.connect", "zookeeper.connection.timeout.ms", "zookeeper.session.timeout.ms"),
            *("zookeeper.set.acl", "zookeeper.max.in.flight.requests", "broker.id.generation.enable"),
            *("reserved.broker.max.id", "zookeeper.clientCnxnSocket", "zookeeper.ssl.client.enable"),
        ),
        no_effect(_ZOOKEEPER, _ZOOKEEPER_INSTEAD),
    ),
    "zookeeper.metadata.migration.enable": rejected(
        "this node cannot migrate a cluster from ZooKeeper", "Migrate it with Apache Kafka 3.9, and join it then."
    ),
    "inter.broker.protocol.version": no_effect("removed in Apache Kafka 4.0", _BY_FEATURE),
    "log.message.format.version": no_effect("removed in Apache Kafka 4.0: records have format 2"),
    "log.message.downconversion.enable": no_effect("removed in Apache Kafka 4.0: records have format 2"),
    "log.message.timestamp.difference.max.ms": no_effect(
        "removed in Apache Kafka 4.0",
        "Set log.message.timestamp.before.max.ms and log.message.timestamp.after.max.ms instead.",
    ),
    "delegation.token.master.key": rejected("delegation tokens are not supported", _PLAINTEXT_ONLY),
    "control.plane.listener.name": no_effect("removed in Apache Kafka 4.0", "Set controller.listener.names instead."),
    "controlled.shutdown.max.retries": no_effect("removed in Apache Kafka 4.0"),
    "controlled.shutdown.retry.backoff.ms": no_effect("removed in Apache Kafka 4.0"),
    "leader.imbalance.per.broker.percentage": no_effect("removed in Apache Kafka 4.0"),
    "auto.include.jmx.reporter": no_effect("removed in Apache Kafka 4.0", _REPORTERS.instead),
    "offsets.commit.required.acks": no_effect("removed in Apache Kafka 4.0: offsets are committed with acks=all"),
    "group.coordinator.new.enable": no_effect("removed in Apache Kafka 4.0: there is one group coordinator"),
    "eligible.leader.replicas.enable": no_effect(
        "removed in Apache Kafka 4.0", "Set the feature eligible.leader.replicas.version instead."
    ),
}

#: Settings that Apache Kafka lets change while brokers run, and that are read only from the file here.
FILE_ONLY: Mapping[str, Support] = dict.fromkeys(
    (
        *("group.consumer.assignment.interval.ms", "listener.security.protocol.map", "listeners"),
        *("log.cleaner.backoff.ms", "num.recovery.threads.per.data.dir"),
    ),
    no_effect("it is read when a node starts", "Set it in the file of each node."),
)

#: Settings of one listener. Those that reject for all listeners reject for one; no other has an effect for one.
LISTENER_PREFIX = "listener.name."
LISTENER = no_effect("settings of a single listener are not supported", "Set it without listener.name.….")

#: Settings of plug-ins: there are none to hand them to.
PLUGIN_PREFIXES: Mapping[str, Support] = {
    "config.providers.": no_effect("configuration providers are not supported"),
    "rsm.config.": _TIERED,
    "rlmm.config.": _TIERED,
}


def listener_setting(name: str) -> str | None:
    """`ssl.keystore.location` of `listener.name.internal.ssl.keystore.location`; None for any other name."""
    if not name.startswith(LISTENER_PREFIX):
        return None
    return name.removeprefix(LISTENER_PREFIX).partition(".")[2]


def broker_support(name: str) -> Support | None:
    """Support of a setting that may stand in a node's file or be set for a broker; None for an unknown name."""
    own = listener_setting(name)
    if own is not None:
        support = BROKER.find(own)
        return support if support is not None and support.level is _TLS.level else LISTENER
    plugin = next((support for prefix, support in PLUGIN_PREFIXES.items() if name.startswith(prefix)), None)
    return plugin or BROKER.find(name) or BROKER_DYNAMIC_ONLY.find(name) or REMOVED.get(name)
