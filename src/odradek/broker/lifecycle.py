"""A broker's life as the controllers see it: it registers, heartbeats, is unfenced, stops in good order.

A pure core: `poll` gives the next request when one is due, `answered` or `failed` says what became of it, and one
request at a time is under way. A driver feeds it with the time and with what the node does.

    NOT_RUNNING -> STARTING                     `start`: register, then heartbeat until the metadata is caught up
    STARTING -> RECOVERY                        caught up: the node opens its logs and applies the metadata
    RECOVERY -> RUNNING                         `ready_to_unfence`, and the controller has unfenced the broker
    RUNNING -> PENDING_CONTROLLED_SHUTDOWN      `begin_controlled_shutdown`: its leaderships are being moved
    any -> SHUTTING_DOWN                        let go by the controller, or given up

The states are those of Kafka's broker. What the cluster thinks of it is its `Standing`: Offline until it is
registered, then Fenced, Online, Stopping. The two move on their own: a running broker that was silent for too long is
fenced, and unfenced with its next heartbeats without having stopped.

A broker that the controllers do not know any more, or know under another epoch, registers again with the same
incarnation id. Where another process has taken its id, that is refused for as long as the other one lives.
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

#: While it starts a broker asks again this soon whether it has caught up: there may be nothing left to read.
_STARTING_INTERVAL_MS = 10
#: The same while it stops, and after a failure; doubled each time, up to the heartbeat's interval.
_FIRST_BACKOFF_MS = 50

#: The controllers have another epoch of this broker, or none.
_UNKNOWN_TO_CONTROLLER = (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED)


class BrokerState(IntEnum):
    """Kafka's numbers, which its metrics show."""

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
    """As the controller last said."""

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
    """What a broker registers with. `incarnation_id` is drawn anew by each run of the process."""

    node_id: int
    cluster_id: str
    incarnation_id: bytes
    listeners: tuple[Endpoint, ...]
    supported_features: Mapping[str, VersionRange]
    directories: tuple[bytes, ...]
    rack: str | None = None
    #: Of the run before, if that one stopped cleanly.
    previous_broker_epoch: int = NO_EPOCH


@dataclass(frozen=True, slots=True)
class LifecycleTimings:
    #: `broker.heartbeat.interval.ms`
    heartbeat_interval_ms: int = 2_000
    #: `initial.broker.registration.timeout.ms`
    registration_timeout_ms: int = 60_000
    #: `log.dir.failure.timeout.ms`: how long until a broker gives up that cannot report a failed directory.
    directory_failure_timeout_ms: int = 30_000


@dataclass(frozen=True, slots=True)
class Change:
    """A new state or standing, and why."""

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
        #: Why the last request failed; empty after one that did not.
        self.last_failure = ""
        self.over_reason = ""
        #: Those that take no new replicas; None where the cluster's metadata.version has no word for them.
        self.cordoned_directories: tuple[bytes, ...] | None = None
        #: When the last heartbeat was sent that was answered; None until the broker serves.
        self.heard_ms: int | None = None
        self._sent_ms = 0
        self._timings = timings
        self._registered = False
        self._ready_to_unfence = False
        #: By directory: until when the controller must have heard of its failure; None once it has.
        self._offline_directories: dict[bytes, int | None] = {}
        self._in_flight: BrokerRegistrationRequest | BrokerHeartbeatRequest | None = None
        self._next_ms = 0
        self._at_once = False
        self._registration_deadline_ms: int | None = None
        self._failures = 0
        self._shutdown_answers = 0
        self._changes: list[Change] = []

    # What the driver asks

    @property
    def is_fenced(self) -> bool:
        """Whether the controllers, as far as the broker was told, send no clients to it."""
        return self.standing in (Standing.OFFLINE, Standing.FENCED)

    @property
    def is_over(self) -> bool:
        return self.state is BrokerState.SHUTTING_DOWN

    @property
    def deadline_ms(self) -> int | None:
        """When to `poll` at the latest, if nothing else happens before."""
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
        """The request to send now, if one is due. `metadata_offset`: up to where this broker has read."""
        if self.state is BrokerState.NOT_RUNNING or self.is_over or self._gives_up(now_ms):
            return None
        if self._in_flight is not None or now_ms < self._next_ms:
            return None
        self._at_once = False
        self._sent_ms = now_ms
        self._in_flight = self._heartbeat(metadata_offset) if self._registered else self._registration()
        return self._in_flight

    # What the node does

    def start(self, now_ms: int) -> None:
        self._registration_deadline_ms = now_ms + self._timings.registration_timeout_ms
        self._next_ms = now_ms
        self._move(BrokerState.STARTING, "the node has started")

    def ready_to_unfence(self, now_ms: int) -> None:
        """The node has applied the metadata and can serve."""
        self._ready_to_unfence = True
        self._soon(now_ms)

    def heartbeat_soon(self, now_ms: int) -> None:
        """The heartbeats' connection is gone, and the controller fences the broker unless it hears from it again; or
        another controller is active, and does not know how far this broker has read."""
        if self._registered:
            self._soon(now_ms)

    def register_again(self, now_ms: int) -> None:
        """What the controllers know of this broker is out of date."""
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

    # What became of a request

    def answered(self, response: BrokerRegistrationResponse | BrokerHeartbeatResponse, now_ms: int) -> None:
        sent, self._in_flight = self._in_flight, None
        if self.is_over:
            return
        check(sent is not None, "an answer to a request that was not sent")
        if response.error_code:
            self._refused(response.error_code, now_ms)
        elif isinstance(response, BrokerRegistrationResponse):
            self._was_registered(response.broker_epoch, now_ms)
        elif isinstance(sent, BrokerHeartbeatRequest):
            self._was_heard(sent, response, now_ms)

    def failed(self, error: ApiError, now_ms: int) -> None:
        """It got no answer."""
        self._in_flight = None
        self._back_off(str(error) or type(error).__name__, now_ms)

    def _refused(self, error_code: int, now_ms: int) -> None:
        if error_code in _UNKNOWN_TO_CONTROLLER and self._registered:
            self._registered = False
            self.standing = Standing.OFFLINE
            self._note("the controllers do not know it under this epoch")
        self._back_off(f"the controller answered {error_name(error_code)}", now_ms)

    def _was_registered(self, epoch: int, now_ms: int) -> None:
        self._registration_deadline_ms = None
        self._registered = True
        if epoch != self.epoch:
            self.epoch, self.standing = epoch, Standing.FENCED
            self._note("registered")
        # Failures go on being counted until a heartbeat succeeds: one that is forgotten at once must not spin.
        self._next_ms = now_ms if not self._failures else now_ms + self._backoff_ms(self._failures)

    def _was_heard(self, sent: BrokerHeartbeatRequest, response: BrokerHeartbeatResponse, now_ms: int) -> None:
        self._failures, self.last_failure = 0, ""
        for directory in sent.offline_log_dirs:
            self._offline_directories[directory] = None
        interval_ms = self._interval_ms(sent)
        before, self.standing = self.standing, self._standing_by(response)
        if not self._advanced(sent, response) and self.standing is not before:
            self._note(_STANDING_REASONS[self.standing])
        if self.state >= BrokerState.RUNNING:
            self.heard_ms = self._sent_ms
        self._next_ms = now_ms if self._at_once else now_ms + interval_ms

    def _standing_by(self, response: BrokerHeartbeatResponse) -> Standing:
        if response.is_fenced:
            return Standing.FENCED
        return Standing.STOPPING if self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN else Standing.ONLINE

    def _advanced(self, sent: BrokerHeartbeatRequest, response: BrokerHeartbeatResponse) -> bool:
        """Whether the answer leads to another state."""
        if self.state is BrokerState.STARTING and response.is_caught_up:
            self._move(BrokerState.RECOVERY, f"caught up with the metadata at offset {sent.current_metadata_offset}")
        elif self.state is BrokerState.RECOVERY and not response.is_fenced:
            self._move(BrokerState.RUNNING, "unfenced")
        elif sent.want_shut_down and response.should_shut_down:
            self.shut_down("the controller has moved its leaderships")
        else:
            return False
        return True

    def _interval_ms(self, answered: BrokerHeartbeatRequest) -> int:
        if answered.want_shut_down:
            self._shutdown_answers += 1
            return self._backoff_ms(self._shutdown_answers)
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
        """With the next request, or right after the one that is under way."""
        self._at_once = self._in_flight is not None
        self._next_ms = now_ms

    def _back_off(self, failure: str, now_ms: int) -> None:
        self._failures += 1
        self.last_failure = failure
        self._next_ms = now_ms + self._backoff_ms(self._failures)

    def _backoff_ms(self, times: int) -> int:
        return min(_FIRST_BACKOFF_MS << min(times - 1, 16), self._timings.heartbeat_interval_ms)

    def _gives_up(self, now_ms: int) -> bool:
        deadline_ms = self._registration_deadline_ms
        if deadline_ms is not None and now_ms >= deadline_ms:
            allowed_ms = self._timings.registration_timeout_ms
            self.shut_down(f"it could not register in {allowed_ms} ms: {self.last_failure or 'no answer'}")
        elif any(ms is not None and now_ms >= ms for ms in self._offline_directories.values()):
            self.shut_down("the controllers could not be told of a failed log directory")
        return self.is_over

    def _move(self, state: BrokerState, reason: str) -> None:
        check(state in TRANSITIONS[self.state], f"a broker does not go from {self.state.name} to {state.name}")
        self.state = state
        self._note(reason)

    def _note(self, reason: str) -> None:
        self._changes.append(Change(self.state, self.standing, self.epoch, reason))
