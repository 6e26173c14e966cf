"""Error codes, their flags and texts. Made by tools/make_messages.py from tables/errors.txt."""

from enum import IntEnum


class ErrorCode(IntEnum):
    """Kafka's error codes. `retriable`: asking again may help. `refresh_metadata`: after learning anew who leads.
    `abortable`: the transaction must be aborted, and then the producer may go on."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    INVALID_FETCH_SIZE = 4
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    BROKER_NOT_AVAILABLE = 8
    REPLICA_NOT_AVAILABLE = 9
    MESSAGE_TOO_LARGE = 10
    STALE_CONTROLLER_EPOCH = 11
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    SECURITY_DISABLED = 54
    OPERATION_NOT_ATTEMPTED = 55
    KAFKA_STORAGE_ERROR = 56
    LOG_DIR_NOT_FOUND = 57
    SASL_AUTHENTICATION_FAILED = 58
    UNKNOWN_PRODUCER_ID = 59
    REASSIGNMENT_IN_PROGRESS = 60
    DELEGATION_TOKEN_AUTH_DISABLED = 61
    DELEGATION_TOKEN_NOT_FOUND = 62
    DELEGATION_TOKEN_OWNER_MISMATCH = 63
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65
    DELEGATION_TOKEN_EXPIRED = 66
    INVALID_PRINCIPAL_TYPE = 67
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FETCH_SESSION_ID_NOT_FOUND = 70
    INVALID_FETCH_SESSION_EPOCH = 71
    LISTENER_NOT_FOUND = 72
    TOPIC_DELETION_DISABLED = 73
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    STALE_BROKER_EPOCH = 77
    OFFSET_NOT_AVAILABLE = 78
    MEMBER_ID_REQUIRED = 79
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    NO_REASSIGNMENT_IN_PROGRESS = 85
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88
    THROTTLING_QUOTA_EXCEEDED = 89
    PRODUCER_FENCED = 90
    RESOURCE_NOT_FOUND = 91
    DUPLICATE_RESOURCE = 92
    UNACCEPTABLE_CREDENTIAL = 93
    INCONSISTENT_VOTER_SET = 94
    INVALID_UPDATE_VERSION = 95
    FEATURE_UPDATE_FAILED = 96
    PRINCIPAL_DESERIALIZATION_FAILURE = 97
    SNAPSHOT_NOT_FOUND = 98
    POSITION_OUT_OF_RANGE = 99
    UNKNOWN_TOPIC_ID = 100
    DUPLICATE_BROKER_REGISTRATION = 101
    BROKER_ID_NOT_REGISTERED = 102
    INCONSISTENT_TOPIC_ID = 103
    INCONSISTENT_CLUSTER_ID = 104
    TRANSACTIONAL_ID_NOT_FOUND = 105
    FETCH_SESSION_TOPIC_ID_ERROR = 106
    INELIGIBLE_REPLICA = 107
    NEW_LEADER_ELECTED = 108
    OFFSET_MOVED_TO_TIERED_STORAGE = 109
    FENCED_MEMBER_EPOCH = 110
    UNRELEASED_INSTANCE_ID = 111
    UNSUPPORTED_ASSIGNOR = 112
    STALE_MEMBER_EPOCH = 113
    MISMATCHED_ENDPOINT_TYPE = 114
    UNSUPPORTED_ENDPOINT_TYPE = 115
    UNKNOWN_CONTROLLER_ID = 116
    UNKNOWN_SUBSCRIPTION_ID = 117
    TELEMETRY_TOO_LARGE = 118
    INVALID_REGISTRATION = 119
    TRANSACTION_ABORTABLE = 120
    INVALID_RECORD_STATE = 121
    SHARE_SESSION_NOT_FOUND = 122
    INVALID_SHARE_SESSION_EPOCH = 123
    FENCED_STATE_EPOCH = 124
    INVALID_VOTER_KEY = 125
    DUPLICATE_VOTER = 126
    VOTER_NOT_FOUND = 127
    INVALID_REGULAR_EXPRESSION = 128
    REBOOTSTRAP_REQUIRED = 129
    STREAMS_INVALID_TOPOLOGY = 130
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131
    STREAMS_TOPOLOGY_FENCED = 132
    SHARE_SESSION_LIMIT_REACHED = 133
    GROUP_DELETION_FAILED = 134
    STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED = 135
    CONTROLLER_ID_NOT_REGISTERED = 136

    @property
    def retriable(self) -> bool:
        return self in _RETRIABLE

    @property
    def refresh_metadata(self) -> bool:
        return self in _REFRESH_METADATA

    @property
    def abortable(self) -> bool:
        return self in _ABORTABLE

    @property
    def message(self) -> str:
        """A sentence for people."""
        return _MESSAGES[self]


_RETRIABLE = {
    2,
    3,
    5,
    6,
    7,
    9,
    13,
    14,
    15,
    16,
    19,
    20,
    41,
    51,
    56,
    70,
    71,
    72,
    74,
    75,
    78,
    80,
    83,
    84,
    88,
    89,
    100,
    103,
    106,
    122,
    123,
    133,
}

_REFRESH_METADATA = {
    3,
    5,
    6,
    9,
    13,
    56,
    72,
    74,
    80,
    83,
    84,
    100,
    103,
}

_ABORTABLE = {
    120,
}

_MESSAGES: dict[int, str] = {
    -1: "unknown server error",
    0: "none",
    1: "offset out of range",
    2: "corrupt message",
    3: "unknown topic or partition",
    4: "invalid fetch size",
    5: "leader not available",
    6: "not leader or follower",
    7: "request timed out",
    8: "broker not available",
    9: "replica not available",
    10: "message too large",
    11: "stale controller epoch",
    12: "offset metadata too large",
    13: "network exception",
    14: "coordinator load in progress",
    15: "coordinator not available",
    16: "not coordinator",
    17: "invalid topic exception",
    18: "record list too large",
    19: "not enough replicas",
    20: "not enough replicas after append",
    21: "invalid required acks",
    22: "illegal generation",
    23: "inconsistent group protocol",
    24: "invalid group id",
    25: "unknown member id",
    26: "invalid session timeout",
    27: "rebalance in progress",
    28: "invalid commit offset size",
    29: "topic authorization failed",
    30: "group authorization failed",
    31: "cluster authorization failed",
    32: "invalid timestamp",
    33: "unsupported sasl mechanism",
    34: "illegal sasl state",
    35: "unsupported version",
    36: "topic already exists",
    37: "invalid partitions",
    38: "invalid replication factor",
    39: "invalid replica assignment",
    40: "invalid config",
    41: "not controller",
    42: "invalid request",
    43: "unsupported for message format",
    44: "policy violation",
    45: "out of order sequence number",
    46: "duplicate sequence number",
    47: "invalid producer epoch",
    48: "invalid txn state",
    49: "invalid producer id mapping",
    50: "invalid transaction timeout",
    51: "concurrent transactions",
    52: "transaction coordinator fenced",
    53: "transactional id authorization failed",
    54: "security disabled",
    55: "operation not attempted",
    56: "kafka storage error",
    57: "log dir not found",
    58: "sasl authentication failed",
    59: "unknown producer id",
    60: "reassignment in progress",
    61: "delegation token auth disabled",
    62: "delegation token not found",
    63: "delegation token owner mismatch",
    64: "delegation token request not allowed",
    65: "delegation token authorization failed",
    66: "delegation token expired",
    67: "invalid principal type",
    68: "non empty group",
    69: "group id not found",
    70: "fetch session id not found",
    71: "invalid fetch session epoch",
    72: "listener not found",
    73: "topic deletion disabled",
    74: "fenced leader epoch",
    75: "unknown leader epoch",
    76: "unsupported compression type",
    77: "stale broker epoch",
    78: "offset not available",
    79: "member id required",
    80: "preferred leader not available",
    81: "group max size reached",
    82: "fenced instance id",
    83: "eligible leaders not available",
    84: "election not needed",
    85: "no reassignment in progress",
    86: "group subscribed to topic",
    87: "invalid record",
    88: "unstable offset commit",
    89: "throttling quota exceeded",
    90: "producer fenced",
    91: "resource not found",
    92: "duplicate resource",
    93: "unacceptable credential",
    94: "inconsistent voter set",
    95: "invalid update version",
    96: "feature update failed",
    97: "principal deserialization failure",
    98: "snapshot not found",
    99: "position out of range",
    100: "unknown topic id",
    101: "duplicate broker registration",
    102: "broker id not registered",
    103: "inconsistent topic id",
    104: "inconsistent cluster id",
    105: "transactional id not found",
    106: "fetch session topic id error",
    107: "ineligible replica",
    108: "new leader elected",
    109: "offset moved to tiered storage",
    110: "fenced member epoch",
    111: "unreleased instance id",
    112: "unsupported assignor",
    113: "stale member epoch",
    114: "mismatched endpoint type",
    115: "unsupported endpoint type",
    116: "unknown controller id",
    117: "unknown subscription id",
    118: "telemetry too large",
    119: "invalid registration",
    120: "transaction abortable",
    121: "invalid record state",
    122: "share session not found",
    123: "invalid share session epoch",
    124: "fenced state epoch",
    125: "invalid voter key",
    126: "duplicate voter",
    127: "voter not found",
    128: "invalid regular expression",
    129: "rebootstrap required",
    130: "streams invalid topology",
    131: "streams invalid topology epoch",
    132: "streams topology fenced",
    133: "share session limit reached",
    134: "group deletion failed",
    135: "streams topology description update failed",
    136: "controller id not registered",
}
