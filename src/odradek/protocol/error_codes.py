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
    -1: "the server failed in a way it did not expect",
    0: "no error",
    1: "the offset is before the start or after the end of the log",
    2: "the batch is damaged: its size or its checksum is wrong",
    3: "this broker has no such topic or partition",
    4: "the fetch size is not a valid number",
    5: "the partition has no leader at the moment",
    6: "this broker does not lead the partition, or is not one of its replicas",
    7: "the request was not finished in time",
    8: "the broker is not available",
    9: "this broker has no replica of the partition that can be read",
    10: "the batch is larger than the topic allows",
    11: "the controller has a newer epoch",
    12: "the metadata of the committed offset is too long",
    13: "the connection broke before the answer came",
    14: "the coordinator is still loading its state",
    15: "the coordinator is not available",
    16: "this broker is not the coordinator",
    17: "the topic's name is not allowed, or the topic may not be used this way",
    18: "the records are larger together than a segment",
    19: "fewer replicas are in sync than min.insync.replicas asks for",
    20: "the records were written, but too few replicas were in sync afterwards",
    21: "acks is not 0, 1 or -1",
    22: "the generation is not the group's current one",
    23: "the member has no protocol in common with the group",
    24: "the group id is not valid",
    25: "the group has no member with this id",
    26: "the session time-out is outside the range that the broker allows",
    27: "the group is rebalancing: join again",
    28: "the committed offsets are too large together",
    29: "not authorized for the topic",
    30: "not authorized for the group",
    31: "not authorized for the cluster",
    32: "the timestamp of a record is outside what the topic allows",
    33: "the broker does not offer this SASL mechanism",
    34: "the request does not fit the state of authentication",
    35: "the version is not supported",
    36: "there is a topic of this name already",
    37: "the number of partitions is not valid",
    38: "the replication factor is not positive, or larger than the number of brokers",
    39: "the assignment of replicas is not valid",
    40: "the configuration is not valid",
    41: "this node is not the active controller",
    42: "the request contradicts itself or cannot be carried out as it stands",
    43: "the message format on this broker cannot do what was asked",
    44: "a policy of the broker forbids the request",
    45: "the sequence number does not follow the producer's last one",
    46: "these records were written before",
    47: "the producer has been replaced by one with a newer epoch",
    48: "the transaction is not in a state that allows this",
    49: "the producer id does not belong to the transactional id",
    50: "the transaction's time-out is longer than the broker allows",
    51: "another operation of the same transaction is not finished",
    52: "the transaction coordinator has been replaced",
    53: "not authorized for the transactional id",
    54: "the broker has no authorizer or no security set up",
    55: "not tried, since something else in the request failed",
    56: "the disk failed, or the log directory is offline",
    57: "there is no such log directory",
    58: "authentication failed",
    59: "the broker knows nothing of this producer id",
    60: "a reassignment of the partition is going on",
    61: "delegation tokens are switched off",
    62: "there is no such delegation token",
    63: "the delegation token belongs to someone else",
    64: "delegation tokens cannot be asked for over this connection",
    65: "not authorized for the delegation token",
    66: "the delegation token has expired",
    67: "the type of principal is not valid here",
    68: "the group still has members",
    69: "there is no such group",
    70: "there is no such fetch session",
    71: "the epoch of the fetch session is not the expected one",
    72: "the leader has no listener of the name the request came by",
    73: "deletion of topics is switched off",
    74: "the leader epoch of the request is older than the broker's",
    75: "the leader epoch of the request is newer than the broker's",
    76: "the topic cannot take this kind of compression",
    77: "the broker's epoch has changed",
    78: "the new leader does not know yet how far the log is committed",
    79: "join again with the member id that was just given",
    80: "the preferred leader cannot lead now",
    81: "the group has as many members as it may",
    82: "another member has joined with the same instance id",
    83: "no replica that may lead is available",
    84: "the leader is the one that was asked for already",
    85: "there is no reassignment to cancel or change",
    86: "a group that uses the topic is still active",
    87: "a record is not valid, and its batch is refused",
    88: "some offsets of the group belong to a transaction that is not finished",
    89: "the quota is used up for now",
    90: "a newer producer has the same transactional id",
    91: "there is no such resource",
    92: "the request names the same thing twice",
    93: "the credential does not meet what is required of it",
    94: "the request's sender and receiver disagree on who may vote",
    95: "the version of the feature to change is not the current one",
    96: "the change of features could not be made",
    97: "the principal in a forwarded request cannot be read",
    98: "there is no such snapshot",
    99: "the position is outside the snapshot",
    100: "this broker knows no topic with this id",
    101: "a broker with this id is alive already",
    102: "no broker has registered with this id",
    103: "the topic's id is not the one in the log",
    104: "the request is meant for another cluster",
    105: "there is no such transactional id",
    106: "the fetch session mixes topics with ids and topics without",
    107: "the replica may not join the in-sync replicas",
    108: "the change made a new leader",
    109: "the offset has moved to tiered storage",
    110: "the group has a newer epoch for this member: rejoin",
    111: "the instance id is still held by another member",
    112: "the group cannot use this assignor",
    113: "the member must catch up with its own epoch first",
    114: "the endpoint is of another type than the request was made for",
    115: "there is no such type of endpoint here",
    116: "this controller id is not known",
    117: "the telemetry subscription has changed",
    118: "the telemetry is larger than the broker takes",
    119: "the registration of the broker is not valid",
    120: "the transaction must be aborted; then the producer may go on",
    121: "the record is not in a state that allows this acknowledgement",
    122: "there is no such share session",
    123: "the epoch of the share session is not the expected one",
    124: "the state of the share partition has a newer epoch",
    125: "the voter's key is not the receiver's",
    126: "there is such a voter already",
    127: "there is no such voter",
    128: "the regular expression is not valid",
    129: "the client's metadata is too old: start again from the bootstrap servers",
    130: "the streams topology is not valid",
    131: "the epoch of the streams topology is not valid",
    132: "the streams topology has been replaced by a newer one",
    133: "there are as many share sessions as there may be",
    134: "the group could not be deleted",
    135: "the description of the streams topology could not be changed",
    136: "no controller has registered with this id",
}
