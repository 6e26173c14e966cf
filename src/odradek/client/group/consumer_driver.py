"""Drives a member of a consumer group (KIP-848): names for the ids it is assigned, beside its requests and steps."""

import uuid

from odradek.client.consumer.subscriptions import Subscriptions
from odradek.client.group.classic_driver import member_config
from odradek.client.group.consumer_member import ConsumerMember
from odradek.client.group.core import Identity
from odradek.client.group.driver import GroupDriver, Listener
from odradek.client.net.network_client import NetworkClient
from odradek.client.settings.settings import ConsumerConfig
from odradek.common.failures import ApiError
from odradek.common.ids import uuid_to_text
from odradek.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.metadata_response import MetadataResponse


class ConsumerDriver(GroupDriver):
    def __init__(
        self, settings: ConsumerConfig, network: NetworkClient, subscriptions: Subscriptions, listener: Listener
    ) -> None:
        #: Of topics that a pattern of the coordinator's has found: metadata has them when they are assigned.
        self._names: dict[bytes, str] = {}
        self._asked_at_ms = 0.0
        self._member = ConsumerMember(
            member_config(settings),
            uuid_to_text(uuid.uuid4().bytes),
            self._resolve,
            network.random,
            self._forget_coordinator,
        )
        super().__init__(settings, network, subscriptions, listener, self._member)

    def _resolve(self, topic_id: bytes) -> str | None:
        return self._network.metadata.topic_name(topic_id) or self._names.get(topic_id)

    def _fetch_identity(self) -> Identity | None:
        try:
            return self._commit_identity() if self._subscriptions.has_group_assignment else None
        except ApiError:
            return None

    def _look(self, now_ms: float) -> None:
        super()._look(now_ms)
        unresolved = self._member.unresolved()
        if unresolved and now_ms >= self._asked_at_ms + self._settings.retry_backoff_ms:
            self._asked_at_ms = now_ms
            self._start(self._ask_for_names(unresolved))

    async def _ask_for_names(self, topic_ids: tuple[bytes, ...]) -> None:
        """A topic that nobody knows (yet) is asked for again at the next turn, which a tick brings at the latest."""
        topics = [MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in topic_ids]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        try:
            response: MetadataResponse = await self._network.send_to_any(request)
        except ApiError:
            return
        self._names.update(
            {topic.topic_id: topic.name for topic in response.topics if not topic.error_code and topic.name}
        )
        self.nudge()
