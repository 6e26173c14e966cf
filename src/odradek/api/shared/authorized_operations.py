"""Authorized operations as the bit fields of Metadata and DescribeCluster."""

from odradek.api.dispatch.context import Context
from odradek.security.resources import CLUSTER, Operation, Resource, ResourceType


def cluster_operations(ctx: Context) -> int:
    """None at all for those who may not even see it."""
    return ctx.authorized_operations(CLUSTER) if ctx.may(Operation.DESCRIBE, CLUSTER) else 0


def topic_operations(ctx: Context, name: str) -> int:
    return ctx.authorized_operations(Resource(ResourceType.TOPIC, name))
