"""API keys and the versions advertised. Made by tools/make_messages.py from tables/apis.txt."""

from enum import IntEnum


class ApiKey(IntEnum):
    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    VOTE = 52
    BEGIN_QUORUM_EPOCH = 53
    END_QUORUM_EPOCH = 54
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    CONTROLLER_REGISTRATION = 70
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    ASSIGN_REPLICAS_TO_DIRS = 73
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    UPDATE_RAFT_VOTER = 82
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87
    STREAMS_GROUP_HEARTBEAT = 88
    STREAMS_GROUP_DESCRIBE = 89
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92
    STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE = 93
    UNREGISTER_CONTROLLER = 94


#: key: (name, what a broker's listener advertises, what a controller's does)
ADVERTISED: dict[int, tuple[str, tuple[int, int] | None, tuple[int, int] | None]] = {
    0: ("Produce", (0, 13), None),
    1: ("Fetch", (4, 18), (4, 18)),
    2: ("ListOffsets", (1, 11), None),
    3: ("Metadata", (0, 13), None),
    8: ("OffsetCommit", (2, 10), None),
    9: ("OffsetFetch", (1, 10), None),
    10: ("FindCoordinator", (0, 6), None),
    11: ("JoinGroup", (0, 9), None),
    12: ("Heartbeat", (0, 4), None),
    13: ("LeaveGroup", (0, 5), None),
    14: ("SyncGroup", (0, 5), None),
    15: ("DescribeGroups", (0, 6), None),
    16: ("ListGroups", (0, 5), None),
    17: ("SaslHandshake", (0, 1), (0, 1)),
    18: ("ApiVersions", (0, 4), (0, 4)),
    19: ("CreateTopics", (2, 7), (2, 7)),
    20: ("DeleteTopics", (1, 6), (1, 6)),
    21: ("DeleteRecords", (0, 2), None),
    22: ("InitProducerId", (0, 5), None),
    23: ("OffsetForLeaderEpoch", (2, 4), None),
    24: ("AddPartitionsToTxn", (0, 5), None),
    25: ("AddOffsetsToTxn", (0, 4), None),
    26: ("EndTxn", (0, 5), None),
    27: ("WriteTxnMarkers", (1, 2), None),
    28: ("TxnOffsetCommit", (0, 5), None),
    29: ("DescribeAcls", (1, 3), (1, 3)),
    30: ("CreateAcls", (1, 3), (1, 3)),
    31: ("DeleteAcls", (1, 3), (1, 3)),
    32: ("DescribeConfigs", (1, 4), (1, 4)),
    33: ("AlterConfigs", (0, 2), (0, 2)),
    34: ("AlterReplicaLogDirs", (1, 2), None),
    35: ("DescribeLogDirs", (1, 5), None),
    36: ("SaslAuthenticate", (0, 2), (0, 2)),
    37: ("CreatePartitions", (0, 3), (0, 3)),
    38: ("CreateDelegationToken", (1, 3), (1, 3)),
    39: ("RenewDelegationToken", (1, 2), (1, 2)),
    40: ("ExpireDelegationToken", (1, 2), (1, 2)),
    41: ("DescribeDelegationToken", (1, 3), (1, 3)),
    42: ("DeleteGroups", (0, 2), None),
    43: ("ElectLeaders", (0, 2), (0, 2)),
    44: ("IncrementalAlterConfigs", (0, 1), (0, 1)),
    45: ("AlterPartitionReassignments", (0, 1), (0, 1)),
    46: ("ListPartitionReassignments", (0, 0), (0, 0)),
    47: ("OffsetDelete", (0, 0), None),
    48: ("DescribeClientQuotas", (0, 1), None),
    49: ("AlterClientQuotas", (0, 1), (0, 1)),
    50: ("DescribeUserScramCredentials", (0, 0), (0, 0)),
    51: ("AlterUserScramCredentials", (0, 0), (0, 0)),
    52: ("Vote", None, (0, 2)),
    53: ("BeginQuorumEpoch", None, (0, 1)),
    54: ("EndQuorumEpoch", None, (0, 1)),
    55: ("DescribeQuorum", (0, 2), (0, 2)),
    56: ("AlterPartition", None, (2, 3)),
    57: ("UpdateFeatures", (0, 2), (0, 2)),
    58: ("Envelope", None, (0, 0)),
    59: ("FetchSnapshot", None, (0, 1)),
    60: ("DescribeCluster", (0, 2), (0, 2)),
    61: ("DescribeProducers", (0, 0), None),
    62: ("BrokerRegistration", None, (0, 4)),
    63: ("BrokerHeartbeat", None, (0, 2)),
    64: ("UnregisterBroker", (0, 0), (0, 0)),
    65: ("DescribeTransactions", (0, 0), None),
    66: ("ListTransactions", (0, 2), None),
    67: ("AllocateProducerIds", None, (0, 0)),
    68: ("ConsumerGroupHeartbeat", (0, 1), None),
    69: ("ConsumerGroupDescribe", (0, 1), None),
    70: ("ControllerRegistration", None, (0, 0)),
    71: ("GetTelemetrySubscriptions", None, None),
    72: ("PushTelemetry", None, None),
    73: ("AssignReplicasToDirs", None, (0, 0)),
    74: ("ListConfigResources", (0, 1), None),
    75: ("DescribeTopicPartitions", (0, 0), None),
    76: ("ShareGroupHeartbeat", (1, 1), None),
    77: ("ShareGroupDescribe", (1, 1), None),
    78: ("ShareFetch", (1, 2), None),
    79: ("ShareAcknowledge", (1, 2), None),
    80: ("AddRaftVoter", (0, 1), (0, 1)),
    81: ("RemoveRaftVoter", (0, 0), (0, 0)),
    82: ("UpdateRaftVoter", None, (0, 0)),
    83: ("InitializeShareGroupState", (0, 0), None),
    84: ("ReadShareGroupState", (0, 0), None),
    85: ("WriteShareGroupState", (0, 1), None),
    86: ("DeleteShareGroupState", (0, 0), None),
    87: ("ReadShareGroupStateSummary", (0, 1), None),
    88: ("StreamsGroupHeartbeat", (0, 0), None),
    89: ("StreamsGroupDescribe", (0, 0), None),
    90: ("DescribeShareGroupOffsets", (0, 1), None),
    91: ("AlterShareGroupOffsets", (0, 0), None),
    92: ("DeleteShareGroupOffsets", (0, 0), None),
    93: ("StreamsGroupTopologyDescriptionUpdate", None, None),
    94: ("UnregisterController", None, None),
}
