"""Names of the headers that a record is given when it moves: to a retry topic, or among the dead letters. Pure.

Services and pipelines write them, so that one reader understands the dead letters of both. All values are text.

| header | value |
| --- | --- |
| odradek-topic, -partition, -offset, -timestamp-ms | the record as it was first |
| odradek-group | the group of the service that could not handle it; others pass over it in retry topics |
| odradek-step | the step of the pipeline that rejected it |
| odradek-attempts | how often a service tried it |
| odradek-due-ms | in retry topics: when it may be tried again, milliseconds since 1970 |
| odradek-reason | among the dead letters: failed, time-limit, undecodable, rejected |
| odradek-exception | the class of the last exception, with its module |
| odradek-message | what it said |
| odradek-trace | the end of its traceback |
| odradek-replay-error | among the dead letters: why the last replay did not send it |
"""

from enum import Enum

PREFIX = "odradek-"
TOPIC, PARTITION, OFFSET = f"{PREFIX}topic", f"{PREFIX}partition", f"{PREFIX}offset"
TIMESTAMP_MS = f"{PREFIX}timestamp-ms"
GROUP, STEP = f"{PREFIX}group", f"{PREFIX}step"
ATTEMPTS = f"{PREFIX}attempts"
DUE_MS = f"{PREFIX}due-ms"
REASON, EXCEPTION = f"{PREFIX}reason", f"{PREFIX}exception"
MESSAGE, TRACE = f"{PREFIX}message", f"{PREFIX}trace"
REPLAY_ERROR = f"{PREFIX}replay-error"

#: Of message and trace each. A record with its headers must stay far below max.message.bytes.
TEXT_BYTES_MAX = 4_096


class Reason(Enum):
    FAILED = "failed"
    TIME_LIMIT = "time-limit"
    UNDECODABLE = "undecodable"
    REJECTED = "rejected"
