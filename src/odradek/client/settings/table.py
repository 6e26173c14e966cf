# ruff: noqa: E501
"""Every setting of a producer, a consumer and an admin client. Made by tools/make_settings.py.

One line a setting: name | type | default | valid values. "null" is the default that is no value, "<required>" that of a
setting that must be given. Facts of Apache Kafka 4.3.1.
"""

PRODUCER = """\
acks | string | all | [all, -1, 0, 1]
batch.size | int | 16384 | [0,...]
bootstrap.servers | list | <required>
buffer.memory | long | 33554432 | [0,...]
client.dns.lookup | string | use_all_dns_ips | [use_all_dns_ips, resolve_canonical_bootstrap_servers_only]
client.id | string |
compression.gzip.level | int | -1 | [1,...,9] or -1
compression.lz4.level | int | 9 | [1,...,17]
compression.type | string | none | [none, gzip, snappy, lz4, zstd]
compression.zstd.level | int | 3 | [-131072,...,22]
config.providers | list |
connections.max.idle.ms | long | 540000
delivery.timeout.ms | int | 120000 | [0,...]
enable.idempotence | boolean | true
enable.metrics.push | boolean | true
interceptor.classes | list |
key.serializer | class | <required>
linger.ms | long | 5 | [0,...]
max.block.ms | long | 60000 | [0,...]
max.in.flight.requests.per.connection | int | 5 | [1,...]
max.request.size | int | 1048576 | [0,...]
metadata.max.age.ms | long | 300000 | [0,...]
metadata.max.idle.ms | long | 300000 | [5000,...]
metadata.recovery.rebootstrap.trigger.ms | long | 300000 | [0,...]
metadata.recovery.strategy | string | rebootstrap | (case insensitive) [REBOOTSTRAP, NONE]
metric.reporters | list | org.apache.kafka.common.metrics.JmxReporter
metrics.num.samples | int | 2 | [1,...]
metrics.recording.level | string | INFO | [INFO, DEBUG, TRACE]
metrics.sample.window.ms | long | 30000 | [0,...]
partitioner.adaptive.partitioning.enable | boolean | true
partitioner.availability.timeout.ms | long | 0 | [0,...]
partitioner.class | class | null
partitioner.ignore.keys | boolean | false
receive.buffer.bytes | int | 32768 | [-1,...]
reconnect.backoff.max.ms | long | 1000 | [0,...]
reconnect.backoff.ms | long | 50 | [0,...]
request.timeout.ms | int | 30000 | [0,...]
retries | int | 2147483647 | [0,...,2147483647]
retry.backoff.max.ms | long | 1000 | [0,...]
retry.backoff.ms | long | 100 | [0,...]
sasl.client.callback.handler.class | class | null
sasl.jaas.config | password | null
sasl.kerberos.kinit.cmd | string | /usr/bin/kinit
sasl.kerberos.min.time.before.relogin | long | 60000
sasl.kerberos.service.name | string | null
sasl.kerberos.ticket.renew.jitter | double | 0.05
sasl.kerberos.ticket.renew.window.factor | double | 0.8
sasl.login.callback.handler.class | class | null
sasl.login.class | class | null
sasl.login.connect.timeout.ms | int | null
sasl.login.read.timeout.ms | int | null
sasl.login.refresh.buffer.seconds | short | 300 | [0,...,3600]
sasl.login.refresh.min.period.seconds | short | 60 | [0,...,900]
sasl.login.refresh.window.factor | double | 0.8 | [0.5,...,1.0]
sasl.login.refresh.window.jitter | double | 0.05 | [0.0,...,0.25]
sasl.login.retry.backoff.max.ms | long | 10000
sasl.login.retry.backoff.ms | long | 100
sasl.mechanism | string | GSSAPI
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
sasl.oauthbearer.expected.audience | list |
sasl.oauthbearer.expected.issuer | string | null
sasl.oauthbearer.header.urlencode | boolean | false
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
security.protocol | string | PLAINTEXT | (case insensitive) [SASL_SSL, PLAINTEXT, SSL, SASL_PLAINTEXT]
security.providers | string | null
send.buffer.bytes | int | 131072 | [-1,...]
socket.connection.setup.timeout.max.ms | long | 30000
socket.connection.setup.timeout.ms | long | 10000
ssl.cipher.suites | list |
ssl.enabled.protocols | list | TLSv1.2,TLSv1.3
ssl.endpoint.identification.algorithm | string | https
ssl.engine.factory.class | class | null
ssl.key.password | password | null
ssl.keymanager.algorithm | string | SunX509
ssl.keystore.certificate.chain | password | null
ssl.keystore.key | password | null
ssl.keystore.location | string | null
ssl.keystore.password | password | null
ssl.keystore.type | string | JKS
ssl.protocol | string | TLSv1.3
ssl.provider | string | null
ssl.secure.random.implementation | string | null
ssl.trustmanager.algorithm | string | PKIX
ssl.truststore.certificates | password | null
ssl.truststore.location | string | null
ssl.truststore.password | password | null
ssl.truststore.type | string | JKS
transaction.timeout.ms | int | 60000
transaction.two.phase.commit.enable | boolean | false
transactional.id | string | null | non-empty string
value.serializer | class | <required>
"""

CONSUMER = """\
allow.auto.create.topics | boolean | true
auto.commit.interval.ms | int | 5000 | [0,...]
auto.offset.reset | string | latest | [latest, earliest, none, by_duration:PnDTnHnMn.nS]
bootstrap.servers | list | <required>
check.crcs | boolean | true
client.dns.lookup | string | use_all_dns_ips | [use_all_dns_ips, resolve_canonical_bootstrap_servers_only]
client.id | string |
client.rack | string |
config.providers | list |
connections.max.idle.ms | long | 540000
default.api.timeout.ms | int | 60000 | [0,...]
enable.auto.commit | boolean | true
enable.metrics.push | boolean | true
exclude.internal.topics | boolean | true
fetch.max.bytes | int | 52428800 | [0,...]
fetch.max.wait.ms | int | 500 | [0,...]
fetch.min.bytes | int | 1 | [0,...]
group.id | string | null
group.instance.id | string | null | non-empty string
group.protocol | string | classic | (case insensitive) [CONSUMER, CLASSIC]
group.remote.assignor | string | null
heartbeat.interval.ms | int | 3000
interceptor.classes | list |
isolation.level | string | read_uncommitted | [read_committed, read_uncommitted]
key.deserializer | class | <required>
max.partition.fetch.bytes | int | 1048576 | [0,...]
max.poll.interval.ms | int | 300000 | [1,...]
max.poll.records | int | 500 | [1,...]
metadata.max.age.ms | long | 300000 | [0,...]
metadata.recovery.rebootstrap.trigger.ms | long | 300000 | [0,...]
metadata.recovery.strategy | string | rebootstrap | (case insensitive) [REBOOTSTRAP, NONE]
metric.reporters | list | org.apache.kafka.common.metrics.JmxReporter
metrics.num.samples | int | 2 | [1,...]
metrics.recording.level | string | INFO | [INFO, DEBUG, TRACE]
metrics.sample.window.ms | long | 30000 | [0,...]
partition.assignment.strategy | list | org.apache.kafka.clients.consumer.RangeAssignor,org.apache.kafka.clients.consumer.CooperativeStickyAssignor
receive.buffer.bytes | int | 65536 | [-1,...]
reconnect.backoff.max.ms | long | 1000 | [0,...]
reconnect.backoff.ms | long | 50 | [0,...]
request.timeout.ms | int | 30000 | [0,...]
retry.backoff.max.ms | long | 1000 | [0,...]
retry.backoff.ms | long | 100 | [0,...]
sasl.client.callback.handler.class | class | null
sasl.jaas.config | password | null
sasl.kerberos.kinit.cmd | string | /usr/bin/kinit
sasl.kerberos.min.time.before.relogin | long | 60000
sasl.kerberos.service.name | string | null
sasl.kerberos.ticket.renew.jitter | double | 0.05
sasl.kerberos.ticket.renew.window.factor | double | 0.8
sasl.login.callback.handler.class | class | null
sasl.login.class | class | null
sasl.login.connect.timeout.ms | int | null
sasl.login.read.timeout.ms | int | null
sasl.login.refresh.buffer.seconds | short | 300 | [0,...,3600]
sasl.login.refresh.min.period.seconds | short | 60 | [0,...,900]
sasl.login.refresh.window.factor | double | 0.8 | [0.5,...,1.0]
sasl.login.refresh.window.jitter | double | 0.05 | [0.0,...,0.25]
sasl.login.retry.backoff.max.ms | long | 10000
sasl.login.retry.backoff.ms | long | 100
sasl.mechanism | string | GSSAPI
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
sasl.oauthbearer.expected.audience | list |
sasl.oauthbearer.expected.issuer | string | null
sasl.oauthbearer.header.urlencode | boolean | false
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
security.protocol | string | PLAINTEXT | (case insensitive) [SASL_SSL, PLAINTEXT, SSL, SASL_PLAINTEXT]
security.providers | string | null
send.buffer.bytes | int | 131072 | [-1,...]
session.timeout.ms | int | 45000
share.acknowledgement.mode | string | implicit | [implicit, explicit]
share.acquire.mode | string | BATCH_OPTIMIZED | [batch_optimized, record_limit]
socket.connection.setup.timeout.max.ms | long | 30000
socket.connection.setup.timeout.ms | long | 10000
ssl.cipher.suites | list |
ssl.enabled.protocols | list | TLSv1.2,TLSv1.3
ssl.endpoint.identification.algorithm | string | https
ssl.engine.factory.class | class | null
ssl.key.password | password | null
ssl.keymanager.algorithm | string | SunX509
ssl.keystore.certificate.chain | password | null
ssl.keystore.key | password | null
ssl.keystore.location | string | null
ssl.keystore.password | password | null
ssl.keystore.type | string | JKS
ssl.protocol | string | TLSv1.3
ssl.provider | string | null
ssl.secure.random.implementation | string | null
ssl.trustmanager.algorithm | string | PKIX
ssl.truststore.certificates | password | null
ssl.truststore.location | string | null
ssl.truststore.password | password | null
ssl.truststore.type | string | JKS
value.deserializer | class | <required>
"""

ADMIN = """\
bootstrap.controllers | list |
bootstrap.servers | list |
client.dns.lookup | string | use_all_dns_ips | [use_all_dns_ips, resolve_canonical_bootstrap_servers_only]
client.id | string |
config.providers | list |
connections.max.idle.ms | long | 300000
default.api.timeout.ms | int | 60000 | [0,...]
enable.metrics.push | boolean | false
metadata.max.age.ms | long | 300000 | [0,...]
metadata.recovery.rebootstrap.trigger.ms | long | 300000 | [0,...]
metadata.recovery.strategy | string | rebootstrap | (case insensitive) [REBOOTSTRAP, NONE]
metric.reporters | list | org.apache.kafka.common.metrics.JmxReporter
metrics.num.samples | int | 2 | [1,...]
metrics.recording.level | string | INFO | [INFO, DEBUG, TRACE]
metrics.sample.window.ms | long | 30000 | [0,...]
receive.buffer.bytes | int | 65536 | [-1,...]
reconnect.backoff.max.ms | long | 1000 | [0,...]
reconnect.backoff.ms | long | 50 | [0,...]
request.timeout.ms | int | 30000 | [0,...]
retries | int | 2147483647 | [0,...,2147483647]
retry.backoff.max.ms | long | 1000 | [0,...]
retry.backoff.ms | long | 100 | [0,...]
sasl.client.callback.handler.class | class | null
sasl.jaas.config | password | null
sasl.kerberos.kinit.cmd | string | /usr/bin/kinit
sasl.kerberos.min.time.before.relogin | long | 60000
sasl.kerberos.service.name | string | null
sasl.kerberos.ticket.renew.jitter | double | 0.05
sasl.kerberos.ticket.renew.window.factor | double | 0.8
sasl.login.callback.handler.class | class | null
sasl.login.class | class | null
sasl.login.connect.timeout.ms | int | null
sasl.login.read.timeout.ms | int | null
sasl.login.refresh.buffer.seconds | short | 300 | [0,...,3600]
sasl.login.refresh.min.period.seconds | short | 60 | [0,...,900]
sasl.login.refresh.window.factor | double | 0.8 | [0.5,...,1.0]
sasl.login.refresh.window.jitter | double | 0.05 | [0.0,...,0.25]
sasl.login.retry.backoff.max.ms | long | 10000
sasl.login.retry.backoff.ms | long | 100
sasl.mechanism | string | GSSAPI
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
sasl.oauthbearer.expected.audience | list |
sasl.oauthbearer.expected.issuer | string | null
sasl.oauthbearer.header.urlencode | boolean | false
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
security.protocol | string | PLAINTEXT | (case insensitive) [SASL_SSL, PLAINTEXT, SSL, SASL_PLAINTEXT]
security.providers | string | null
send.buffer.bytes | int | 131072 | [-1,...]
socket.connection.setup.timeout.max.ms | long | 30000
socket.connection.setup.timeout.ms | long | 10000
ssl.cipher.suites | list |
ssl.enabled.protocols | list | TLSv1.2,TLSv1.3
ssl.endpoint.identification.algorithm | string | https
ssl.engine.factory.class | class | null
ssl.key.password | password | null
ssl.keymanager.algorithm | string | SunX509
ssl.keystore.certificate.chain | password | null
ssl.keystore.key | password | null
ssl.keystore.location | string | null
ssl.keystore.password | password | null
ssl.keystore.type | string | JKS
ssl.protocol | string | TLSv1.3
ssl.provider | string | null
ssl.secure.random.implementation | string | null
ssl.trustmanager.algorithm | string | PKIX
ssl.truststore.certificates | password | null
ssl.truststore.location | string | null
ssl.truststore.password | password | null
ssl.truststore.type | string | JKS
"""
