"""Driver of a member of a classic group: in addition to requests and steps, the metadata that a leader needs.

A leader also divides partitions of topics that it does not read itself. Their metadata is fetched and kept up to date,
since it is the leader that notices changes of topics.
"""

from odradek.client.consumer.subscriptions import Subscriptions
from odradek.client.group.assignors.assignor import make_assignors
from odradek.client.group.classic_member import ClassicMember
from odradek.client.group.core import MemberConfig
from odradek.client.group.driver import GroupDriver, Listener
from odradek.client.group.subscription import Topics
from odradek.client.net.backoff import Backoff
from odradek.client.net.network_client import NetworkClient
from odradek.client.settings.settings import ConsumerConfig
from odradek.common.failures import ApiError
from odradek.errors import Refused
from odradek.protocol.error_codes import ErrorCode


class ClassicDriver(GroupDriver):
    def __init__(
        self, settings: ConsumerConfig, network: NetworkClient, subscriptions: Subscriptions, listener: Listener
    ) -> None:
        """Raises InputError for assignors that do not exist."""
        self._member = ClassicMember(
            member_config(settings),
            make_assignors(settings.partition_assignment_strategy),
            network.random,
            self._forget_coordinator,
            self._is_subscribed,
        )
        self._is_fetching_metadata = False
        super().__init__(settings, network, subscriptions, listener, self._member)

    def enforce_rebalance(self, reason: str | None = None) -> None:
        self._member.enforce_rebalance(reason)
        self.nudge()

    def _is_subscribed(self, topic: str) -> bool:
        pattern = self._subscriptions.pattern
        return topic in self._subscriptions.topics if pattern is None else pattern.fullmatch(topic) is not None

    def _look(self, now_ms: float) -> None:
        super()._look(now_ms)
        leading = self._member.leading
        if leading is None:
            return
        if not self._member.awaits_topics:
            self._member.topics_changed(self._topic_racks(leading.topics))
        elif not self._is_fetching_metadata:
            self._is_fetching_metadata = True
            self._start(self._fetch_metadata(leading.topics))

    async def _fetch_metadata(self, topics: tuple[str, ...]) -> None:
        """Fetch the metadata of the group's topics, so that the leader can divide their partitions."""
        try:
            self._subscriptions.group_subscribe(topics)
            self._want_topics()
            if any(self._network.metadata.topic(name) is None for name in topics):
                await self._network.refresh_metadata()
            self._member.lead(self._topic_racks(topics))
        except ApiError as error:
            self._member.fail_leading(error, self._now_ms())
        except Exception as error:  # noqa: BLE001 - an exception of the application's assignor is reported to it
            reason = f"an assignor raised {type(error).__name__}: {error}"
            self._member.fail_leading(Refused(reason, ErrorCode.UNKNOWN_SERVER_ERROR), self._now_ms())
        finally:
            self._is_fetching_metadata = False
        self.nudge()

    def _topic_racks(self, topics: tuple[str, ...]) -> Topics:
        """Return the racks of all replicas by topic; none without client.rack, since they make no difference then."""
        metadata = self._network.metadata
        racks = {node.id: (node.rack,) for node in metadata.nodes.values() if self._settings.client_rack and node.rack}
        return {
            name: [
                tuple(rack for replica in partition.replicas for rack in racks.get(replica, ()))
                for partition in metadata.partitions(name)
            ]
            for name in topics
            if metadata.topic(name) is not None
        }


def member_config(settings: ConsumerConfig) -> MemberConfig:
    return MemberConfig(
        group_id=settings.group_id or "",
        group_instance_id=settings.group_instance_id,
        rack_id=settings.client_rack or None,
        session_timeout_ms=settings.session_timeout_ms,
        heartbeat_interval_ms=settings.heartbeat_interval_ms,
        max_poll_interval_ms=settings.max_poll_interval_ms,
        request_timeout_ms=settings.request_timeout_ms,
        backoff=Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms),
        server_assignor=settings.group_remote_assignor,
    )
