"""Rules for dynamic settings: combinations that are valid, and changes that are possible at run time.

Kafka checks the first as it does at the start, and has each part that is told of a change look at it before: pools of
threads are at most doubled and at most halved at once. Words and order are Kafka's, since clients show them; even those
that it wraps into one another.
"""

from collections.abc import Iterator
from typing import NamedTuple

from odradek.metadata.configs.definitions import InvalidRequest
from odradek.server.config.settings import Settings

_MEGABYTE = 1024 * 1024
_ALL_DIRS = "*"

#: Kafka's: a reason is the "value" of a setting that is called "Invalid dynamic configuration".
_WRAPPED = (
    "Invalid value org.apache.kafka.common.config.ConfigException: {} for configuration Invalid dynamic configuration"
)

_POOLS = ("num.io.threads", "num.replica.fetchers", "num.recovery.threads.per.data.dir", "background.threads")
_CLEANER = (
    *("log.cleaner.threads", "log.cleaner.dedupe.buffer.size", "log.cleaner.io.buffer.load.factor"),
    *("log.cleaner.io.buffer.size", "message.max.bytes", "log.cleaner.io.max.bytes.per.second"),
    "log.cleaner.backoff.ms",
)


PER_IP_OVERRIDES = "max.connections.per.ip.overrides"


class _Requirement(NamedTuple):
    is_met: bool
    words: str


def per_ip_overrides(settings: Settings) -> dict[str, int]:
    """Limits by address. Raises InvalidRequest."""
    overrides: dict[str, int] = {}
    for entry in filter(None, settings.items(PER_IP_OVERRIDES)):
        host, _, limit = entry.rpartition(":")
        try:
            overrides[host.strip()] = int(limit)
        except ValueError:
            host = ""
        if not host:
            raise InvalidRequest(
                f"Error parsing configuration property '{PER_IP_OVERRIDES}': {entry} is no address with a limit, "
                "as 127.0.0.1:100 is"
            )
    return overrides


def check_together(settings: Settings) -> None:
    """Raises InvalidRequest."""
    per_ip_overrides(settings)
    if settings.whole("log.cleaner.threads") == 0:
        raise InvalidRequest("/ by zero")
    for requirement in _requirements(settings):
        if not requirement.is_met:
            raise InvalidRequest(f"requirement failed: {requirement.words}")


def check_update(before: Settings, after: Settings) -> None:
    """Raises InvalidRequest."""
    check_together(after)
    changed = {name for name in {**before.given, **after.given} if before.given.get(name) != after.given.get(name)}
    for reason in _objections(before, after, changed):
        raise InvalidRequest(_WRAPPED.format(reason))


def _requirements(after: Settings) -> Iterator[_Requirement]:
    cordoned = after.items("cordoned.log.dirs")
    log_dirs = after.items("log.dirs") or after.items("log.dir")
    if _ALL_DIRS in cordoned:
        message = f"When cordoned.log.dirs is set to {_ALL_DIRS}, it must not contain other values"
        yield _Requirement(len(cordoned) == 1, message)
    else:
        unknown = [path for path in cordoned if path not in log_dirs]
        message = "All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : "
        yield _Requirement(not unknown, message + ", ".join(unknown))
    roll_ms, jitter_ms = after.optional_whole("log.roll.ms"), after.optional_whole("log.roll.jitter.ms")
    yield _Requirement(roll_ms is None or roll_ms >= 1, "log.roll.ms must be greater than or equal to 1")
    yield _Requirement(jitter_ms is None or jitter_ms >= 0, "log.roll.jitter.ms must be greater than or equal to 0")
    yield _Requirement(
        after.optional_whole("log.retention.ms") != 0,
        "log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
    )
    yield _Requirement(
        after.whole("log.cleaner.dedupe.buffer.size") // after.whole("log.cleaner.threads") > _MEGABYTE,
        "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
    )
    yield _Requirement(
        after.whole("max.connections.per.ip") != 0 or bool(after.items(PER_IP_OVERRIDES)),
        "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.",
    )


def _objections(before: Settings, after: Settings, changed: set[str]) -> Iterator[str]:
    """Yield the objections against the change: for listeners, then thread pools, then the cleaner."""
    for name in ("max.connections", "max.connection.creation.rate"):
        if name in changed and after.whole(name) <= 0:
            yield f"Invalid {name} {after.whole(name)}"
    for name in ("num.network.threads", *_POOLS):
        if name in changed:
            yield from _pool_objections(name, before.whole(name), after.whole(name))
    if not changed.isdisjoint(_CLEANER):
        yield from _cleaner_objections(before.whole("log.cleaner.threads"), after.whole("log.cleaner.threads"))


def _pool_objections(name: str, now: int, then: int) -> Iterator[str]:
    message = f"Dynamic thread count update validation failed for {name}={then}, value should"
    if then < now // 2:
        yield f"{message} be at least half the current value {now}"
    if then > now * 2:
        yield f"{message} not be greater than double the current value {now}"


def _cleaner_objections(now: int, then: int) -> Iterator[str]:
    if then < now // 2:
        yield f"Log cleaner threads cannot be reduced to less than half the current value {now}"
    if then > now * 2:
        yield f"Log cleaner threads cannot be increased to more than double the current value {now}"
