"""Numbers of operations and resources are those of Kafka's protocol; what may be done is a bit field of them."""

from odradek.security.authorizer import ALLOW_ALL, EVERYTHING, Action
from odradek.security.resources import CLUSTER, OPERATIONS, REFUSALS, Operation, ResourceType, bit_field


def test_bit_fields_are_those_that_apache_kafka_shows_without_an_authoriser() -> None:
    """As its brokers answer Metadata, DescribeCluster and DescribeGroups."""
    shown = {
        kind: bit_field(OPERATIONS[kind]) for kind in (ResourceType.TOPIC, ResourceType.CLUSTER, ResourceType.GROUP)
    }
    assert shown == {ResourceType.TOPIC: 3576, ResourceType.CLUSTER: 8096, ResourceType.GROUP: 3400}


def test_every_kind_of_resource_can_be_refused() -> None:
    kinds = [kind for kind in ResourceType if kind not in (ResourceType.UNKNOWN, ResourceType.ANY)]
    assert list(OPERATIONS) == list(REFUSALS) == kinds


def test_nobody_is_refused_anything_by_default() -> None:
    actions = [Action(operation, CLUSTER) for operation in Operation]
    assert ALLOW_ALL.authorize("User:x", "localhost", actions) == [True] * len(actions)
    assert ALLOW_ALL.authorize_by_resource_type("User:x", "localhost", Operation.WRITE, ResourceType.TOPIC)
    assert "anything" in EVERYTHING
