"""How far a stream has come, told to a consumer group, so that everything that shows lag shows it.

Spark keeps the offsets of a stream itself; the group has no members, and nobody reads from it. So nothing that goes
wrong here stops the stream: it is said once, and tried again with the next batch.
"""

from collections.abc import Mapping

from odradek.spark.limits import Offsets


class LagGroup:
    def __init__(self, group_id: str, settings: Mapping[str, str]) -> None:
        self._group_id = group_id
        self._settings = settings

    def commit(self, offsets: Offsets) -> None:
        """Raises nothing that the cluster could cause."""
