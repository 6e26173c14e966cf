"""Life cycle of a broker towards the controllers: registration, heartbeats, unfencing, controlled shutdown.

A pure core: `poll` returns the next request when one is due, `answered` or `failed` reports its result, and one request
at a time is in flight. A driver passes in the time and the events of the node.

    NOT_RUNNING -> STARTING                     `start`: register, then heartbeat until the metadata is caught up
    STARTING -> RECOVERY                        caught up: the node opens its logs and applies the metadata
    RECOVERY -> RUNNING                         `ready_to_unfence`, and the controller has unfenced the broker
    RUNNING -> PENDING_CONTROLLED_SHUTDOWN      `begin_controlled_shutdown`: its leaderships are being moved
    any -> SHUTTING_DOWN                        allowed by the controller, or given up

The states are those of Kafka's broker. Its `Standing` is the state that the controllers have of it: Offline until it
is registered, then Fenced, Online, Stopping. The two are independent: a running broker that was silent for too long is
fenced, and unfenced with its next heartbeats, without having stopped.

A broker that the controllers do not know any more, or know under another epoch, registers again with the same
incarnation id. If another process has its id, that is rejected for as long as the other one lives.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum

from odradek.common.failures import ApiError, check
from odradek.metadata.features.feature_versions import VersionRange
from odradek.metadata.image.broker_registration import Endpoint
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from odradek.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from odradek.protocol.messages.broker_registration_request import BrokerRegistrationRequest, Feature, Listener
from odradek.protocol.messages.broker_registration_response import BrokerRegistrationResponse

NO_EPOCH = -1

#: Heartbeat interval of a starting broker, which may have caught up already.
_STARTING_INTERVAL_MS = 10
#: First interval while it stops, and after a failure; doubled each time, up to the heartbeat interval.
_FIRST_BACKOFF_MS = 50

#: The controllers have another epoch of this broker, or none.
_UNKNOWN_TO_CONTROLLER = (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED)


class BrokerState(IntEnum):
    """Kafka's values, which are those of its metrics."""

    NOT_RUNNING = 0
    STARTING = 1
    RECOVERY = 2
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    SHUTTING_DOWN = 7


TRANSITIONS: Mapping[BrokerState, tuple[BrokerState, ...]] = {
    BrokerState.NOT_RUNNING: (BrokerState.STARTING, BrokerState.SHUTTING_DOWN),
    BrokerState.STARTING: (BrokerState.RECOVERY, BrokerState.SHUTTING_DOWN),
    BrokerState.RECOVERY: (BrokerState.RUNNING, BrokerState.SHUTTING_DOWN),
    BrokerState.RUNNING: (BrokerState.PENDING_CONTROLLED_SHUTDOWN, BrokerState.SHUTTING_DOWN),
    BrokerState.PENDING_CONTROLLED_SHUTDOWN: (BrokerState.SHUTTING_DOWN,),
    BrokerState.SHUTTING_DOWN: (),
}


class Standing(Enum):
    """State of the broker in the last response of the controller."""

    OFFLINE = "Offline"
    FENCED = "Fenced"
    ONLINE = "Online"
    STOPPING = "Stopping"


_STANDING_REASONS = {
    Standing.FENCED: "the controller fenced it",
    Standing.ONLINE: "the controller unfenced it",
    Standing.STOPPING: "its leaderships are being moved",
}


@dataclass(frozen=True, slots=True)
class BrokerIdentity:
    """Values with which a broker registers. `incarnation_id` is drawn by each run of the process."""

    node_id: int
    cluster_id: str
    incarnation_id: bytes
    listeners: tuple[Endpoint, ...]
    supported_features: Mapping[str, VersionRange]
    directories: tuple[bytes, ...]
    rack: str | None = None
    #: Epoch of the previous run, if that one stopped cleanly.
    previous_broker_epoch: int = NO_EPOCH


@dataclass(frozen=True, slots=True)
class LifecycleTimings:
    #: `broker.heartbeat.interval.ms`
    heartbeat_interval_ms: int = 2_000
    #: `initial.broker.registration.timeout.ms`
    registration_timeout_ms: int = 60_000
    #: `log.dir.failure.timeout.ms`: time after which a broker stops that cannot report a failed directory.
    directory_failure_timeout_ms: int = 30_000


@dataclass(frozen=True, slots=True)
class Change:
    """New state or standing, and its reason."""

    state: BrokerState
    standing: Standing
    epoch: int
    reason: str


class BrokerLifecycle:
    def __init__(self, identity: BrokerIdentity, timings: LifecycleTimings) -> None:
        self.identity = identity
        self.state = BrokerState.NOT_RUNNING
        self.standing = Standing.OFFLINE
        self.epoch = NO_EPOCH
        #: Reason of the failure of the last request; empty after a success.
        self.last_failure = ""
        self.over_reason = ""
        #: Directories that take no new replicas; None if the metadata.version does not support cordoned directories.
        self.cordoned_directories: tuple[bytes, ...] | None = None
        #: Time at which the last heartbeat with a response was sent; None until the broker serves.
        self.heard_ms: int | None = None
        self._sent_ms = 0
        self._timings = timings
        self._registered = False
        self._ready_to_unfence = False
        #: Deadline for reporting each failed directory; None once it was reported.
        self._offline_directories: dict[bytes, int | None] = {}
        self._in_flight: BrokerRegistrationRequest | BrokerHeartbeatRequest | None = None
        self._next_ms = 0
        self._is_urgent = False
        self._registration_deadline_ms: int | None = None
        self._failures = 0
        self._shutdown_heartbeats = 0
        self._changes: list[Change] = []

    # Queries of the driver

    @property
    def is_fenced(self) -> bool:
        """Fencing state, as far as the broker knows it."""
        return self.standing in (Standing.OFFLINE, Standing.FENCED)

    @property
    def is_over(self) -> bool:
        return self.state is BrokerState.SHUTTING_DOWN

    @property
    def deadline_ms(self) -> int | None:
        """Time of the next `poll` at the latest, unless an event comes first."""
        if self.state is BrokerState.NOT_RUNNING or self.is_over:
            return None
        deadlines = [ms for ms in self._offline_directories.values() if ms is not None]
        if self._registration_deadline_ms is not None:
            deadlines.append(self._registration_deadline_ms)
        if self._in_flight is None:
            deadlines.append(self._next_ms)
        return min(deadlines, default=None)

    def take_changes(self) -> list[Change]:
        changes, self._changes = self._changes, []
        return changes

    def poll(self, now_ms: int, metadata_offset: int) -> BrokerRegistrationRequest | BrokerHeartbeatRequest | None:
        """Return the request to send now, if one is due. `metadata_offset` is the offset that this broker has read."""
        if self.state is BrokerState.NOT_RUNNING or self.is_over or self._has_expired(now_ms):
            return None
        if self._in_flight is not None or now_ms < self._next_ms:
            return None
        self._is_urgent = False
        self._sent_ms = now_ms
        self._in_flight = self._heartbeat(metadata_offset) if self._registered else self._registration()
        return self._in_flight

    # Events of the node

    def start(self, now_ms: int) -> None:
        self._registration_deadline_ms = now_ms + self._timings.registration_timeout_ms
        self._next_ms = now_ms
        self._move(BrokerState.STARTING, "the node has started")

    def ready_to_unfence(self, now_ms: int) -> None:
        """Request unfencing: the node has applied the metadata and can serve."""
        self._ready_to_unfence = True
        self._soon(now_ms)

    def heartbeat_soon(self, now_ms: int) -> None:
        """Send a heartbeat soon: its connection was lost, and the controller fences the broker without a new one; or
        another controller is active, and does not know the offset that this broker has read."""
        if self._registered:
            self._soon(now_ms)

    def register_again(self, now_ms: int) -> None:
        """Register again: the registration is out of date."""
        self._registered = False
        self._soon(now_ms)

    def directory_failed(self, directory: bytes, now_ms: int) -> None:
        if directory not in self._offline_directories:
            self._offline_directories[directory] = now_ms + self._timings.directory_failure_timeout_ms
            self._soon(now_ms)

    def begin_controlled_shutdown(self, now_ms: int) -> None:
        if self.state is BrokerState.RUNNING:
            self._move(BrokerState.PENDING_CONTROLLED_SHUTDOWN, "a controlled shutdown begins")
            self._soon(now_ms)
        elif self.state is not BrokerState.PENDING_CONTROLLED_SHUTDOWN:
            self.shut_down("it was not running, so there are no leaderships to move")

    def shut_down(self, reason: str) -> None:
        if not self.is_over:
            self._in_flight, self.over_reason = None, reason
            self._move(BrokerState.SHUTTING_DOWN, reason)

    # Results of requests

    def answered(self, response: BrokerRegistrationResponse | BrokerHeartbeatResponse, now_ms: int) -> None:
        sent, self._in_flight = self._in_flight, None
        if self.is_over:
            return
        check(sent is not None, "a response to a request that was not sent")
        if response.error_code:
            self._rejected(response.error_code, now_ms)
        elif isinstance(response, BrokerRegistrationResponse):
            self._registration_succeeded(response.broker_epoch, now_ms)
        elif isinstance(sent, BrokerHeartbeatRequest):
            self._heartbeat_succeeded(sent, response, now_ms)

    def failed(self, error: ApiError, now_ms: int) -> None:
        """Record that a request got no response."""
        self._in_flight = None
        self._back_off(str(error) or type(error).__name__, now_ms)

    def _rejected(self, error_code: int, now_ms: int) -> None:
        if error_code in _UNKNOWN_TO_CONTROLLER and self._registered:
            self._registered = False
            self.standing = Standing.OFFLINE
            self._note("the controllers do not know it under this epoch")
        self._back_off(f"the controller responded with {error_name(error_code)}", now_ms)

    def _registration_succeeded(self, epoch: int, now_ms: int) -> None:
        self._registration_deadline_ms = None
        self._registered = True
        if epoch != self.epoch:
            self.epoch, self.standing = epoch, Standing.FENCED
            self._note("registered")
        # Failures are counted until a heartbeat succeeds: a broker that is rejected again at once must not spin.
        self._next_ms = now_ms if not self._failures else now_ms + self._backoff_ms(self._failures)

    def _heartbeat_succeeded(
        self, sent: BrokerHeartbeatRequest, response: BrokerHeartbeatResponse, now_ms: int
    ) -> None:
        self._failures, self.last_failure = 0, ""
        for directory in sent.offline_log_dirs:
            self._offline_directories[directory] = None
        interval_ms = self._interval_ms(sent)
        previous, self.standing = self.standing, self._standing_by(response)
        if not self._advanced(sent, response) and self.standing is not previous:
            self._note(_STANDING_REASONS[self.standing])
        if self.state >= BrokerState.RUNNING:
            self.heard_ms = self._sent_ms
        self._next_ms = now_ms if self._is_urgent else now_ms + interval_ms

    def _standing_by(self, response: BrokerHeartbeatResponse) -> Standing:
        if response.is_fenced:
            return Standing.FENCED
        return Standing.STOPPING if self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN else Standing.ONLINE

    def _advanced(self, sent: BrokerHeartbeatRequest, response: BrokerHeartbeatResponse) -> bool:
        """Return whether the response leads to another state."""
        if self.state is BrokerState.STARTING and response.is_caught_up:
            self._move(BrokerState.RECOVERY, f"caught up with the metadata at offset {sent.current_metadata_offset}")
        elif self.state is BrokerState.RECOVERY and not response.is_fenced:
            self._move(BrokerState.RUNNING, "unfenced")
        elif sent.want_shut_down and response.should_shut_down:
            self.shut_down("the controller has moved its leaderships")
        else:
            return False
        return True

    def _interval_ms(self, sent: BrokerHeartbeatRequest) -> int:
        if sent.want_shut_down:
            self._shutdown_heartbeats += 1
            return self._backoff_ms(self._shutdown_heartbeats)
        regular_ms = self._timings.heartbeat_interval_ms
        return min(_STARTING_INTERVAL_MS, regular_ms) if self.state is BrokerState.STARTING else regular_ms

    # Requests

    def _registration(self) -> BrokerRegistrationRequest:
        identity = self.identity
        return BrokerRegistrationRequest(
            broker_id=identity.node_id,
            cluster_id=identity.cluster_id,
            incarnation_id=identity.incarnation_id,
            listeners=[
                Listener(name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol)
                for e in identity.listeners
            ],
            features=[
                Feature(name=name, min_supported_version=levels.min, max_supported_version=levels.max)
                for name, levels in identity.supported_features.items()
            ],
            rack=identity.rack,
            log_dirs=sorted(identity.directories),
            previous_broker_epoch=identity.previous_broker_epoch,
        )

    def _heartbeat(self, metadata_offset: int) -> BrokerHeartbeatRequest:
        cordoned = None if self.state is BrokerState.STARTING else self.cordoned_directories
        return BrokerHeartbeatRequest(
            broker_id=self.identity.node_id,
            broker_epoch=self.epoch,
            current_metadata_offset=metadata_offset,
            want_fence=not self._ready_to_unfence,
            want_shut_down=self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN,
            offline_log_dirs=sorted(self._offline_directories),
            cordoned_log_dirs=None if cordoned is None else sorted(cordoned),
        )

    # Time and state

    def _soon(self, now_ms: int) -> None:
        """Send the next request now, or right after the one in flight."""
        self._is_urgent = self._in_flight is not None
        self._next_ms = now_ms

    def _back_off(self, failure: str, now_ms: int) -> None:
        self._failures += 1
        self.last_failure = failure
        self._next_ms = now_ms + self._backoff_ms(self._failures)

    def _backoff_ms(self, times: int) -> int:
        return min(_FIRST_BACKOFF_MS << min(times - 1, 16), self._timings.heartbeat_interval_ms)

    def _has_expired(self, now_ms: int) -> bool:
        deadline_ms = self._registration_deadline_ms
        if deadline_ms is not None and now_ms >= deadline_ms:
            allowed_ms = self._timings.registration_timeout_ms
            self.shut_down(f"it could not register in {allowed_ms} ms: {self.last_failure or 'no response'}")
        elif any(ms is not None and now_ms >= ms for ms in self._offline_directories.values()):
            self.shut_down("a failed log directory could not be reported to the controllers")
        return self.is_over

    def _move(self, state: BrokerState, reason: str) -> None:
        check(state in TRANSITIONS[self.state], f"a broker cannot move from {self.state.name} to {state.name}")
        self.state = state
        self._note(reason)

    def _note(self, reason: str) -> None:
        self._changes.append(Change(self.state, self.standing, self.epoch, reason))
