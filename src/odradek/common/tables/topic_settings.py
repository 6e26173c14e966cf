"""Every setting of a topic, in the notation of `common.config_definition`: the one table that the log and the metadata
read. Values are those of Apache Kafka 4.3.1.

One line a setting: name | type | default | valid values.
"""

from collections.abc import Mapping
from types import MappingProxyType

from odradek.common.config_definition import ConfigDefinition, read_table

_TABLE = """\
cleanup.policy | list | delete | [compact, delete]
compression.gzip.level | int | -1 | [1,...,9] or -1
compression.lz4.level | int | 9 | [1,...,17]
compression.type | string | producer | [uncompressed, zstd, lz4, snappy, gzip, producer]
compression.zstd.level | int | 3 | [-131072,...,22]
delete.retention.ms | long | 86400000 | [0,...]
file.delete.delay.ms | long | 60000 | [0,...]
flush.messages | long | 9223372036854775807 | [1,...]
flush.ms | long | 9223372036854775807 | [0,...]
follower.replication.throttled.replicas | list |  | [partitionId]:[brokerId],[partitionId]:[brokerId],...
index.interval.bytes | int | 4096 | [0,...]
leader.replication.throttled.replicas | list |  | [partitionId]:[brokerId],[partitionId]:[brokerId],...
local.retention.bytes | long | -2 | [-2,...]
local.retention.ms | long | -2 | [-2,...]
max.compaction.lag.ms | long | 9223372036854775807 | [1,...]
max.message.bytes | int | 1048588 | [0,...]
message.timestamp.after.max.ms | long | 3600000 | [0,...]
message.timestamp.before.max.ms | long | 9223372036854775807 | [0,...]
message.timestamp.type | string | CreateTime | [CreateTime, LogAppendTime]
min.cleanable.dirty.ratio | double | 0.5 | [0,...,1]
min.compaction.lag.ms | long | 0 | [0,...]
min.insync.replicas | int | 1 | [1,...]
preallocate | boolean | false
remote.log.copy.disable | boolean | false
remote.log.delete.on.disable | boolean | false
remote.storage.enable | boolean | false
retention.bytes | long | -1
retention.ms | long | 604800000 | [-1,...]
segment.bytes | int | 1073741824 | [1048576,...]
segment.index.bytes | int | 10485760 | [4,...]
segment.jitter.ms | long | 0 | [0,...]
segment.ms | long | 604800000 | [1,...]
unclean.leader.election.enable | boolean | false
"""

#: By Kafka's name, in alphabetical order.
TOPIC_SETTINGS: Mapping[str, ConfigDefinition] = MappingProxyType(read_table(_TABLE))
