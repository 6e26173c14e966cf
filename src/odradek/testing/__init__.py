"""Clusters for tests: inside the test's own process, or as processes, with faults on demand.

    from odradek.testing import Cluster

    async with Cluster(nodes=3) as cluster:          # or: with Cluster() as cluster:
        producer = Producer({"bootstrap.servers": cluster.bootstrap})
        await cluster.kill(2)

For pytest there are fixtures, which come with the package; see `odradek.testing.plugin`. Nothing of a node is imported
before the first cluster is made.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from odradek.testing.cluster import Cluster
    from odradek.testing.hosted_node import HostedNode

__all__ = ["Cluster", "HostedNode"]

_MODULES = {"Cluster": "cluster", "HostedNode": "hosted_node"}

if not TYPE_CHECKING:  # or a misspelt name would be accepted as Any

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib

        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
