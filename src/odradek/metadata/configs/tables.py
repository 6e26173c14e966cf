# ruff: noqa: E501
"""Every setting of a broker, a group and a metrics subscription: data, read by `definitions`. Those of a topic are in
`odradek.common.tables.topic_settings`.

One line a setting: name | type | default | valid values | "dynamic" where a broker takes a change without a restart.
"null" is the default that is no value, "<required>" that of a setting that must be given. Facts of Apache Kafka 4.3.1.
"""

GROUP = """\
consumer.assignment.interval.ms | int | 1000 | [0,...]
consumer.heartbeat.interval.ms | int | 5000 | [1,...]
consumer.session.timeout.ms | int | 45000 | [1,...]
share.assignment.interval.ms | int | 1000 | [0,...]
share.auto.offset.reset | string | latest | [latest, earliest, by_duration:PnDTnHnMn.nS]
share.delivery.count.limit | int | 5 | [2,...]
share.heartbeat.interval.ms | int | 5000 | [1,...]
share.isolation.level | string | read_uncommitted | [read_committed, read_uncommitted]
share.partition.max.record.locks | int | 2000 | [100,...]
share.record.lock.duration.ms | int | 30000 | [1000,...]
share.renew.acknowledge.enable | boolean | true
share.session.timeout.ms | int | 45000 | [1,...]
streams.assignment.interval.ms | int | 1000 | [0,...]
streams.heartbeat.interval.ms | int | 5000 | [1,...]
streams.initial.rebalance.delay.ms | int | 3000 | [0,...]
streams.num.standby.replicas | int | 0 | [0,...]
streams.session.timeout.ms | int | 45000 | [1,...]
"""

CLIENT_METRICS = """\
interval.ms | int | 300000 | [100,...,3600000]
match | list
metrics | list
"""

BROKER_DYNAMIC_ONLY = """\
follower.replication.throttled.rate | long | null | [0,...] | dynamic
leader.replication.throttled.rate | long | null | [0,...] | dynamic
replica.alter.log.dirs.io.max.bytes.per.second | long | null | [0,...] | dynamic
"""

BROKER = """\
add.partitions.to.txn.retry.backoff.max.ms | int | 100 | [0,...]
add.partitions.to.txn.retry.backoff.ms | int | 20 | [1,...]
advertised.listeners | list | null
alter.config.policy.class.name | class | null
alter.log.dirs.replication.quota.window.num | int | 11 | [1,...]
alter.log.dirs.replication.quota.window.size.seconds | int | 1 | [1,...]
authorizer.class.name | string |  | non-null string
auto.create.topics.enable | boolean | true
auto.leader.rebalance.enable | boolean | true
background.threads | int | 10 | [1,...] | dynamic
broker.heartbeat.interval.ms | int | 2000
broker.id | int | -1
broker.rack | string | null
broker.session.timeout.ms | int | 9000
client.quota.callback.class | class | null
compression.gzip.level | int | -1 | [1,...,9] or -1 | dynamic
compression.lz4.level | int | 9 | [1,...,17] | dynamic
compression.type | string | producer | [uncompressed, zstd, lz4, snappy, gzip, producer] | dynamic
compression.zstd.level | int | 3 | [-131072,...,22] | dynamic
config.providers | list |  |  | dynamic
connection.failed.authentication.delay.ms | int | 100 | [0,...]
connections.max.idle.ms | long | 600000
connections.max.reauth.ms | long | 0
controlled.shutdown.enable | boolean | true
controller.listener.names | list | <required>
controller.quorum.append.linger.ms | int | 25 | [0,...]
controller.quorum.auto.join.enable | boolean | false
controller.quorum.bootstrap.servers | list |  | non-empty list
controller.quorum.election.backoff.max.ms | int | 1000 | [0,...]
controller.quorum.election.timeout.ms | int | 1000 | [0,...]
controller.quorum.fetch.max.bytes | int | 1048576 | [1,...]
controller.quorum.fetch.snapshot.max.bytes | int | 1048576 | [1,...]
controller.quorum.fetch.timeout.ms | int | 2000 | [0,...]
controller.quorum.request.timeout.ms | int | 2000 | [0,...]
controller.quorum.retry.backoff.ms | int | 20 | [0,...]
controller.quorum.voters | list |  | non-empty list
controller.quota.window.num | int | 11 | [1,...]
controller.quota.window.size.seconds | int | 1 | [1,...]
controller.socket.timeout.ms | int | 30000
cordoned.log.dirs | list |  |  | dynamic
create.topic.policy.class.name | class | null
default.replication.factor | int | 1
delegation.token.expiry.check.interval.ms | long | 3600000 | [1,...]
delegation.token.expiry.time.ms | long | 86400000 | [1,...]
delegation.token.max.lifetime.ms | long | 604800000 | [1,...]
delegation.token.secret.key | password | null
delete.records.purgatory.purge.interval.requests | int | 1
delete.topic.enable | boolean | true
early.start.listeners | list | null
fetch.max.bytes | int | 57671680 | [1024,...]
fetch.purgatory.purge.interval.requests | int | 1000
follower.fetch.last.tiered.offset.enable | boolean | false |  | dynamic
group.consumer.assignment.interval.ms | int | 1000 | [0,...] | dynamic
group.consumer.assignors | list | uniform,range
group.consumer.heartbeat.interval.ms | int | 5000 | [1,...]
group.consumer.max.assignment.interval.ms | int | 15000 | [0,...]
group.consumer.max.heartbeat.interval.ms | int | 15000 | [1,...]
group.consumer.max.session.timeout.ms | int | 60000 | [1,...]
group.consumer.max.size | int | 2147483647 | [1,...]
group.consumer.migration.policy | string | bidirectional | (case insensitive) [DISABLED, DOWNGRADE, UPGRADE, BIDIRECTIONAL]
group.consumer.min.assignment.interval.ms | int | 0 | [0,...]
group.consumer.min.heartbeat.interval.ms | int | 5000 | [1,...]
group.consumer.min.session.timeout.ms | int | 45000 | [1,...]
group.consumer.session.timeout.ms | int | 45000 | [1,...]
group.coordinator.append.linger.ms | int | -1 | [-1,...]
group.coordinator.background.threads | int | 2 | [1,...]
group.coordinator.cached.buffer.max.bytes | int | 1048588 | [524288,...] | dynamic
group.coordinator.rebalance.protocols | list | classic,consumer,streams | [consumer, classic, share, streams]
group.coordinator.threads | int | 4 | [1,...]
group.initial.rebalance.delay.ms | int | 3000
group.max.session.timeout.ms | int | 1800000
group.max.size | int | 2147483647 | [1,...]
group.min.session.timeout.ms | int | 6000
group.share.assignment.interval.ms | int | 1000 | [0,...] | dynamic
group.share.assignors | list | simple
group.share.delivery.count.limit | int | 5 | [2,...,10]
group.share.heartbeat.interval.ms | int | 5000 | [1,...]
group.share.max.assignment.interval.ms | int | 15000 | [0,...]
group.share.max.delivery.count.limit | int | 10 | [5,...,25]
group.share.max.heartbeat.interval.ms | int | 15000 | [1,...]
group.share.max.partition.max.record.locks | int | 4000 | [2000,...,10000]
group.share.max.record.lock.duration.ms | int | 60000 | [30000,...,3600000]
group.share.max.session.timeout.ms | int | 60000 | [1,...]
group.share.max.share.sessions | int | 2000 | [1,...]
group.share.max.size | int | 200 | [1,...,1000]
group.share.min.assignment.interval.ms | int | 0 | [0,...]
group.share.min.delivery.count.limit | int | 2 | [2,...,5]
group.share.min.heartbeat.interval.ms | int | 5000 | [1,...]
group.share.min.partition.max.record.locks | int | 100 | [100,...,2000]
group.share.min.record.lock.duration.ms | int | 15000 | [1000,...,30000]
group.share.min.session.timeout.ms | int | 45000 | [1,...]
group.share.partition.max.record.locks | int | 2000 | [100,...,10000]
group.share.record.lock.duration.ms | int | 30000 | [1000,...,3600000]
group.share.session.timeout.ms | int | 45000 | [1,...]
group.streams.assignment.interval.ms | int | 1000 | [0,...] | dynamic
group.streams.heartbeat.interval.ms | int | 5000 | [1,...]
group.streams.initial.rebalance.delay.ms | int | 3000 | [0,...]
group.streams.max.assignment.interval.ms | int | 15000 | [0,...]
group.streams.max.heartbeat.interval.ms | int | 15000 | [1,...]
group.streams.max.session.timeout.ms | int | 60000 | [1,...]
group.streams.max.size | int | 2147483647 | [1,...]
group.streams.max.standby.replicas | int | 2 | [0,...]
group.streams.min.assignment.interval.ms | int | 0 | [0,...]
group.streams.min.heartbeat.interval.ms | int | 5000 | [1,...]
group.streams.min.session.timeout.ms | int | 45000 | [1,...]
group.streams.num.standby.replicas | int | 0 | [0,...]
group.streams.session.timeout.ms | int | 45000 | [1,...]
initial.broker.registration.timeout.ms | int | 60000
inter.broker.listener.name | string | null
kafka.metrics.polling.interval.secs | int | 10 | [1,...]
kafka.metrics.reporters | list
leader.imbalance.check.interval.seconds | long | 300 | [1,...]
listener.security.protocol.map | string | SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT |  | dynamic
listeners | list | PLAINTEXT://:9092 |  | dynamic
log.cleaner.backoff.ms | long | 15000 | [0,...] | dynamic
log.cleaner.dedupe.buffer.size | long | 134217728 |  | dynamic
log.cleaner.delete.retention.ms | long | 86400000 | [0,...] | dynamic
log.cleaner.enable | boolean | true
log.cleaner.io.buffer.load.factor | double | 0.9 |  | dynamic
log.cleaner.io.buffer.size | int | 524288 | [0,...] | dynamic
log.cleaner.io.max.bytes.per.second | double | 1.7976931348623157e+308 |  | dynamic
log.cleaner.max.compaction.lag.ms | long | 9223372036854775807 | [1,...] | dynamic
log.cleaner.min.cleanable.ratio | double | 0.5 | [0,...,1] | dynamic
log.cleaner.min.compaction.lag.ms | long | 0 | [0,...] | dynamic
log.cleaner.threads | int | 1 | [0,...] | dynamic
log.cleanup.policy | list | delete | [compact, delete] | dynamic
log.dir | list | /tmp/kafka-logs
log.dir.failure.timeout.ms | long | 30000 | [1,...]
log.dirs | list | null
log.flush.interval.messages | long | 9223372036854775807 | [1,...] | dynamic
log.flush.interval.ms | long | null |  | dynamic
log.flush.offset.checkpoint.interval.ms | int | 60000 | [0,...]
log.flush.scheduler.interval.ms | long | 9223372036854775807
log.flush.start.offset.checkpoint.interval.ms | int | 60000 | [0,...]
log.index.interval.bytes | int | 4096 | [0,...] | dynamic
log.index.size.max.bytes | int | 10485760 | [4,...] | dynamic
log.local.retention.bytes | long | -2 | [-2,...] | dynamic
log.local.retention.ms | long | -2 | [-2,...] | dynamic
log.message.timestamp.after.max.ms | long | 3600000 | [0,...] | dynamic
log.message.timestamp.before.max.ms | long | 9223372036854775807 | [0,...] | dynamic
log.message.timestamp.type | string | CreateTime | [CreateTime, LogAppendTime] | dynamic
log.preallocate | boolean | false |  | dynamic
log.retention.bytes | long | -1 |  | dynamic
log.retention.check.interval.ms | long | 300000 | [1,...]
log.retention.hours | int | 168
log.retention.minutes | int | null
log.retention.ms | long | null |  | dynamic
log.roll.hours | int | 168 | [1,...]
log.roll.jitter.hours | int | 0 | [0,...]
log.roll.jitter.ms | long | null |  | dynamic
log.roll.ms | long | null |  | dynamic
log.segment.bytes | int | 1073741824 | [1048576,...] | dynamic
log.segment.delete.delay.ms | long | 60000 | [0,...] | dynamic
max.connection.creation.rate | int | 2147483647 | [0,...] | dynamic
max.connections | int | 2147483647 | [0,...] | dynamic
max.connections.per.ip | int | 2147483647 | [0,...] | dynamic
max.connections.per.ip.overrides | string |  |  | dynamic
max.incremental.fetch.session.cache.slots | int | 1000 | [0,...]
max.request.partition.size.limit | int | 2000 | [1,...]
message.max.bytes | int | 1048588 | [0,...] | dynamic
metadata.log.dir | string | null
metadata.log.max.record.bytes.between.snapshots | long | 20971520 | [1,...]
metadata.log.max.snapshot.interval.ms | long | 3600000 | [0,...]
metadata.log.segment.bytes | int | 1073741824 | [8388608,...]
metadata.log.segment.ms | long | 604800000
metadata.max.idle.interval.ms | int | 500 | [0,...]
metadata.max.retention.bytes | long | 104857600
metadata.max.retention.ms | long | 604800000
metric.reporters | list | org.apache.kafka.common.metrics.JmxReporter |  | dynamic
metrics.num.samples | int | 2 | [1,...]
metrics.recording.level | string | INFO
metrics.sample.window.ms | long | 30000 | [1,...]
min.insync.replicas | int | 1 | [1,...] | dynamic
node.id | int | <required> | [0,...]
num.io.threads | int | 8 | [1,...] | dynamic
num.network.threads | int | 3 | [1,...] | dynamic
num.partitions | int | 1 | [1,...]
num.recovery.threads.per.data.dir | int | 2 | [1,...] | dynamic
num.replica.alter.log.dirs.threads | int | null
num.replica.fetchers | int | 1 | [1,...] | dynamic
offset.metadata.max.bytes | int | 4096
offsets.commit.timeout.ms | int | 5000 | [1,...]
offsets.load.buffer.size | int | 5242880 | [1,...]
offsets.retention.check.interval.ms | long | 600000 | [1,...]
offsets.retention.minutes | int | 10080 | [1,...]
offsets.topic.compression.codec | int | 0
offsets.topic.num.partitions | int | 50 | [1,...]
offsets.topic.replication.factor | short | 3 | [1,...]
offsets.topic.segment.bytes | int | 104857600 | [1,...]
principal.builder.class | class | org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder |  | dynamic
process.roles | list | <required> | [broker, controller]
producer.id.expiration.ms | int | 86400000 | [1,...] | dynamic
producer.purgatory.purge.interval.requests | int | 1000
queued.max.request.bytes | long | -1
queued.max.requests | int | 500 | [1,...]
quota.window.num | int | 11 | [1,...]
quota.window.size.seconds | int | 1 | [1,...]
remote.fetch.max.wait.ms | int | 500 | [1,...] | dynamic
remote.list.offsets.request.timeout.ms | long | 30000 | [1,...] | dynamic
remote.log.index.file.cache.total.size.bytes | long | 1073741824 | [1,...] | dynamic
remote.log.manager.copier.thread.pool.size | int | 10 | [1,...] | dynamic
remote.log.manager.copy.max.bytes.per.second | long | 9223372036854775807 | [1,...] | dynamic
remote.log.manager.copy.quota.window.num | int | 11 | [1,...]
remote.log.manager.copy.quota.window.size.seconds | int | 1 | [1,...]
remote.log.manager.expiration.thread.pool.size | int | 10 | [1,...] | dynamic
remote.log.manager.fetch.max.bytes.per.second | long | 9223372036854775807 | [1,...] | dynamic
remote.log.manager.fetch.quota.window.num | int | 11 | [1,...]
remote.log.manager.fetch.quota.window.size.seconds | int | 1 | [1,...]
remote.log.manager.follower.thread.pool.size | int | 2 | [1,...] | dynamic
remote.log.manager.task.interval.ms | long | 30000 | [1,...]
remote.log.manager.thread.pool.size | int | 2 | [1,...]
remote.log.metadata.custom.metadata.max.bytes | int | 128 | [0,...]
remote.log.metadata.manager.class.name | string | org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager | non-empty string
remote.log.metadata.manager.class.path | string | null
remote.log.metadata.manager.impl.prefix | string | rlmm.config. | non-empty string
remote.log.metadata.manager.listener.name | string | null | non-empty string
remote.log.reader.max.pending.tasks | int | 100 | [1,...]
remote.log.reader.threads | int | 10 | [1,...] | dynamic
remote.log.storage.manager.class.name | string | null | non-empty string
remote.log.storage.manager.class.path | string | null
remote.log.storage.manager.impl.prefix | string | rsm.config. | non-empty string
remote.log.storage.system.enable | boolean | false
replica.fetch.backoff.ms | int | 1000 | [0,...]
replica.fetch.max.bytes | int | 1048576 | [0,...]
replica.fetch.min.bytes | int | 1
replica.fetch.response.max.bytes | int | 10485760 | [0,...]
replica.fetch.wait.max.ms | int | 500
replica.high.watermark.checkpoint.interval.ms | long | 5000
replica.lag.time.max.ms | long | 30000
replica.selector.class | string | null
replica.socket.receive.buffer.bytes | int | 65536
replica.socket.timeout.ms | int | 30000
replication.quota.window.num | int | 11 | [1,...]
replication.quota.window.size.seconds | int | 1 | [1,...]
request.timeout.ms | int | 30000
sasl.client.callback.handler.class | class | null
sasl.enabled.mechanisms | list | GSSAPI |  | dynamic
sasl.jaas.config | password | null |  | dynamic
sasl.kerberos.kinit.cmd | string | /usr/bin/kinit |  | dynamic
sasl.kerberos.min.time.before.relogin | long | 60000 |  | dynamic
sasl.kerberos.principal.to.local.rules | list | DEFAULT |  | dynamic
sasl.kerberos.service.name | string | null |  | dynamic
sasl.kerberos.ticket.renew.jitter | double | 0.05 |  | dynamic
sasl.kerberos.ticket.renew.window.factor | double | 0.8 |  | dynamic
sasl.login.callback.handler.class | class | null
sasl.login.class | class | null
sasl.login.connect.timeout.ms | int | null
sasl.login.read.timeout.ms | int | null
sasl.login.refresh.buffer.seconds | short | 300 |  | dynamic
sasl.login.refresh.min.period.seconds | short | 60 |  | dynamic
sasl.login.refresh.window.factor | double | 0.8 |  | dynamic
sasl.login.refresh.window.jitter | double | 0.05 |  | dynamic
sasl.login.retry.backoff.max.ms | long | 10000
sasl.login.retry.backoff.ms | long | 100
sasl.mechanism.controller.protocol | string | GSSAPI
sasl.mechanism.inter.broker.protocol | string | GSSAPI |  | dynamic
sasl.oauthbearer.assertion.algorithm | string | RS256 | (case insensitive) [ES256, RS256]
sasl.oauthbearer.assertion.claim.aud | string | null
sasl.oauthbearer.assertion.claim.exp.seconds | int | 300 | [0,...,86400]
sasl.oauthbearer.assertion.claim.iss | string | null
sasl.oauthbearer.assertion.claim.jti.include | boolean | false
sasl.oauthbearer.assertion.claim.nbf.seconds | int | 60 | [0,...,3600]
sasl.oauthbearer.assertion.claim.sub | string | null
sasl.oauthbearer.assertion.file | string | null
sasl.oauthbearer.assertion.private.key.file | string | null
sasl.oauthbearer.assertion.private.key.passphrase | password | null
sasl.oauthbearer.assertion.template.file | string | null
sasl.oauthbearer.client.credentials.client.id | string | null
sasl.oauthbearer.client.credentials.client.secret | password | null
sasl.oauthbearer.clock.skew.seconds | int | 30
sasl.oauthbearer.expected.audience | list
sasl.oauthbearer.expected.issuer | string | null
sasl.oauthbearer.jwks.endpoint.refresh.ms | long | 3600000
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms | long | 10000
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms | long | 100
sasl.oauthbearer.jwks.endpoint.url | string | null
sasl.oauthbearer.jwt.retriever.class | class | org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever
sasl.oauthbearer.jwt.validator.class | class | org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator
sasl.oauthbearer.scope | string | null
sasl.oauthbearer.scope.claim.name | string | scope
sasl.oauthbearer.sub.claim.name | string | sub
sasl.oauthbearer.token.endpoint.url | string | null
sasl.server.callback.handler.class | class | null
sasl.server.max.receive.size | int | 524288
security.inter.broker.protocol | string | PLAINTEXT | [PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL]
security.providers | string | null
share.coordinator.append.linger.ms | int | -1 | [-1,...]
share.coordinator.cached.buffer.max.bytes | int | 1048588 | [524288,...] | dynamic
share.coordinator.load.buffer.size | int | 5242880 | [1,...]
share.coordinator.snapshot.update.records.per.snapshot | int | 500 | [0,...,500]
share.coordinator.state.topic.compression.codec | int | 0
share.coordinator.state.topic.min.isr | short | 2 | [1,...]
share.coordinator.state.topic.num.partitions | int | 50 | [1,...]
share.coordinator.state.topic.replication.factor | short | 3 | [1,...]
share.coordinator.state.topic.segment.bytes | int | 104857600 | [1,...]
share.coordinator.threads | int | 1 | [1,...]
share.coordinator.write.timeout.ms | int | 5000 | [1,...]
share.fetch.purgatory.purge.interval.requests | int | 1000
socket.connection.setup.timeout.max.ms | long | 30000
socket.connection.setup.timeout.ms | long | 10000
socket.listen.backlog.size | int | 50 | [1,...]
socket.receive.buffer.bytes | int | 102400
socket.request.max.bytes | int | 104857600 | [1,...]
socket.send.buffer.bytes | int | 102400
ssl.allow.dn.changes | boolean | false
ssl.allow.san.changes | boolean | false
ssl.cipher.suites | list |  |  | dynamic
ssl.client.auth | string | none | [required, requested, none] | dynamic
ssl.enabled.protocols | list | TLSv1.2,TLSv1.3 |  | dynamic
ssl.endpoint.identification.algorithm | string | https |  | dynamic
ssl.engine.factory.class | class | null |  | dynamic
ssl.key.password | password | null |  | dynamic
ssl.keymanager.algorithm | string | SunX509 |  | dynamic
ssl.keystore.certificate.chain | password | null |  | dynamic
ssl.keystore.key | password | null |  | dynamic
ssl.keystore.location | string | null |  | dynamic
ssl.keystore.password | password | null |  | dynamic
ssl.keystore.type | string | JKS |  | dynamic
ssl.principal.mapping.rules | string | DEFAULT
ssl.protocol | string | TLSv1.3 |  | dynamic
ssl.provider | string | null |  | dynamic
ssl.secure.random.implementation | string | null |  | dynamic
ssl.trustmanager.algorithm | string | PKIX |  | dynamic
ssl.truststore.certificates | password | null |  | dynamic
ssl.truststore.location | string | null |  | dynamic
ssl.truststore.password | password | null |  | dynamic
ssl.truststore.type | string | JKS |  | dynamic
telemetry.max.bytes | int | 1048576 | [1,...]
transaction.abort.timed.out.transaction.cleanup.interval.ms | int | 10000 | [1,...]
transaction.max.timeout.ms | int | 900000 | [1,...]
transaction.partition.verification.enable | boolean | true |  | dynamic
transaction.remove.expired.transaction.cleanup.interval.ms | int | 3600000 | [1,...]
transaction.state.log.load.buffer.size | int | 5242880 | [1,...]
transaction.state.log.min.isr | int | 2 | [1,...]
transaction.state.log.num.partitions | int | 50 | [1,...]
transaction.state.log.replication.factor | short | 3 | [1,...]
transaction.state.log.segment.bytes | int | 104857600 | [1,...]
transaction.two.phase.commit.enable | boolean | false
transactional.id.expiration.ms | int | 604800000 | [1,...]
unclean.leader.election.enable | boolean | false |  | dynamic
"""
