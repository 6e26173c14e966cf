"""A controller makes itself known to the active controller (KIP-919): where it listens, and what it can do.

As a publisher it sees whether the metadata has a registration of this incarnation. Where it has none, and
`metadata.version` has a word for it, a request goes to the active controller, which may be this node; failures are
tried again with growing pauses. What counts is the record in the log, not the answer: a registration that was
replaced, or removed, is made anew, after a pause that grows each time: two processes of one id, which only a mistake of
an operator can make, must not fill the log with their quarrel.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence

from odradek.api.dispatch.services import Forwarder
from odradek.common.failures import ApiError
from odradek.metadata.features.feature_versions import VersionRange, supported_features
from odradek.metadata.image.broker_registration import Endpoint
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import MetadataImage
from odradek.metadata.publishing.publisher import LeaderAndEpoch, LoaderManifest
from odradek.protocol.error_names import error_name
from odradek.protocol.messages.controller_registration_request import (
    ControllerRegistrationRequest,
    Feature,
    Listener,
)

logger = logging.getLogger("odradek.controller_registration")

#: Kafka's pauses between attempts: doubled from the first to the last.
_FIRST_BACKOFF_MS = 100
_BACKOFF_MAX_MS = 120_000
#: Kafka gives a request of its own this long; while nobody leads, it waits within.
_REQUEST_TIMEOUT_MS = 60_000


class ControllerRegistrar:
    """A `MetadataPublisher`."""

    name = "ControllerRegistrar"

    def __init__(
        self,
        node_id: int,
        incarnation_id: bytes,
        listeners: Sequence[Endpoint],
        channel: Forwarder,
        *,
        features: Mapping[str, VersionRange] | None = None,
        first_backoff_ms: int = _FIRST_BACKOFF_MS,
    ) -> None:
        """`listeners` of the controller role, as they are advertised. The channel stays the caller's to close."""
        self._node_id = node_id
        self._channel = channel
        self._first_backoff_ms = first_backoff_ms
        self._incarnation_id = incarnation_id
        self._listeners = tuple(listeners)
        self._features = supported_features() if features is None else features
        self._is_registered = False
        self._is_supported = False
        self._losses = 0
        self._task: asyncio.Task[None] | None = None

    @property
    def is_registered(self) -> bool:
        """In the log, as this incarnation."""
        return self._is_registered

    def on_metadata_update(self, delta: MetadataDelta, image: MetadataImage, manifest: LoaderManifest) -> None:
        version = image.features.metadata_version
        self._is_supported = version is not None and version.is_controller_registration_supported
        registration = image.cluster.controllers.get(self._node_id)
        is_registered = registration is not None and registration.incarnation_id == self._incarnation_id
        if is_registered is not self._is_registered:
            self._is_registered = is_registered
            self._losses += not is_registered
            description = (
                "is registered" if is_registered else "is no longer registered, or another process is under its id"
            )
            logger.info("controller %d %s, as of offset %d", self._node_id, description, image.offset)
        self._register_if_needed()

    def on_controller_change(self, leader_and_epoch: LeaderAndEpoch) -> None:
        """The channel finds the new one by itself."""

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    @property
    def _is_needed(self) -> bool:
        return self._is_supported and not self._is_registered

    def _register_if_needed(self) -> None:
        if self._is_needed and self._task is None:
            self._task = asyncio.create_task(self._register())
            self._task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._task = None

    async def _register(self) -> None:
        """Until it was taken, or is needed no more."""
        failures = 0
        await asyncio.sleep(self._backoff_s(self._losses))
        while self._is_needed:
            failure = await self._try_once()
            if not failure:
                return
            failures += 1
            logger.warning("controller %d is not registered: %s; trying again", self._node_id, failure)
            await asyncio.sleep(self._backoff_s(failures))

    def _backoff_s(self, times: int) -> float:
        return min(self._first_backoff_ms * (1 << times - 1), _BACKOFF_MAX_MS) / 1000 if times else 0

    async def _try_once(self) -> str:
        """Why it failed; empty if it did not."""
        try:
            response = await self._channel.send(self._request(), _REQUEST_TIMEOUT_MS)
        except ApiError as error:
            return str(error) or type(error).__name__
        if response.error_code:
            return f"{error_name(response.error_code)} {response.error_message or ''}".rstrip()
        return ""

    def _request(self) -> ControllerRegistrationRequest:
        return ControllerRegistrationRequest(
            controller_id=self._node_id,
            incarnation_id=self._incarnation_id,
            zk_migration_ready=False,
            listeners=[
                Listener(name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol)
                for e in self._listeners
            ],
            features=[
                Feature(name=name, min_supported_version=levels.min, max_supported_version=levels.max)
                for name, levels in self._features.items()
            ],
        )
