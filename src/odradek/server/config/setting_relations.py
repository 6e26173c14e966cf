"""Settings that must fit each other: Kafka's rules, mostly that one number does not exceed another."""

from typing import NamedTuple

from odradek.server.config.listeners import Listeners
from odradek.server.config.problems import Problems
from odradek.server.config.settings import Settings

_MEGABYTE = 1024 * 1024


class _AtMost(NamedTuple):
    low: str
    high: str
    is_strict: bool = False


def _group_rules(kind: str) -> list[_AtMost]:
    rules = [
        _AtMost(f"group.{kind}.heartbeat.interval.ms", f"group.{kind}.session.timeout.ms", is_strict=True),
    ]
    for name in ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms"):
        rules.append(_AtMost(f"group.{kind}.min.{name}", f"group.{kind}.{name}"))
        rules.append(_AtMost(f"group.{kind}.{name}", f"group.{kind}.max.{name}"))
    return rules


_RULES = (
    _AtMost("replica.fetch.wait.max.ms", "replica.socket.timeout.ms"),
    _AtMost("replica.fetch.wait.max.ms", "replica.lag.time.max.ms"),
    *_group_rules("consumer"),
    *_group_rules("share"),
    *_group_rules("streams"),
    _AtMost("group.streams.num.standby.replicas", "group.streams.max.standby.replicas"),
    _AtMost("group.share.min.delivery.count.limit", "group.share.delivery.count.limit"),
    _AtMost("group.share.delivery.count.limit", "group.share.max.delivery.count.limit"),
    _AtMost("group.share.min.partition.max.record.locks", "group.share.partition.max.record.locks"),
    _AtMost("group.share.partition.max.record.locks", "group.share.max.partition.max.record.locks"),
    _AtMost("group.share.min.record.lock.duration.ms", "group.share.record.lock.duration.ms"),
    _AtMost("group.share.record.lock.duration.ms", "group.share.max.record.lock.duration.ms"),
    _AtMost("group.share.max.size", "group.share.max.share.sessions"),
)


def check_relations(settings: Settings, listeners: Listeners, problems: Problems) -> None:
    for rule in _RULES:
        _check_rule(settings, rule, problems)
    _check_times(settings, problems)
    _check_cleaner(settings, problems)
    _check_connections(settings, problems)
    _check_cordoned(settings, problems)
    _check_sasl(settings, listeners, problems)


def _check_rule(settings: Settings, rule: _AtMost, problems: Problems) -> None:
    low, high = settings.whole(rule.low), settings.whole(rule.high)
    if low < high or (low == high and not rule.is_strict):
        return
    # Told where somebody set something: the other one may be a default that nobody knows.
    key, other, value, bound = rule.low, rule.high, low, high
    relation = "less than" if rule.is_strict else "at most"
    if not settings.is_given(rule.low) and settings.is_given(rule.high):
        key, other, value, bound = rule.high, rule.low, high, low
        relation = "more than" if rule.is_strict else "at least"
    problems.error(settings.where(key), f"{value} does not fit {other}={bound}.", f"It is {relation} {other}.")


def _check_times(settings: Settings, problems: Problems) -> None:
    retention_key, retention = _first_given(
        settings, "log.retention.ms", "log.retention.minutes", "log.retention.hours"
    )
    if retention == 0:
        problems.error(settings.where(retention_key), "0 keeps nothing.", "It is at least 1, or -1 for ever.")
    for key, least in (("log.roll.ms", 1), ("log.roll.jitter.ms", 0)):
        value = settings.optional_whole(key)
        if value is not None and value < least:
            problems.error(settings.where(key), f"{value} is too small.", f"It is at least {least}.")
    interval, session = settings.whole("broker.heartbeat.interval.ms"), settings.whole("broker.session.timeout.ms")
    if interval * 2 > session:
        problems.warning(
            settings.where("broker.heartbeat.interval.ms"),
            f"{interval} is more than half of broker.session.timeout.ms={session}: one late heartbeat fences a broker.",
        )


def _first_given(settings: Settings, *keys: str) -> tuple[str, int]:
    """The finer unit counts more; the last one has a default."""
    for key in keys:
        value = settings.optional_whole(key)
        if value is not None:
            return key, value
    return keys[-1], settings.whole(keys[-1])


def _check_cleaner(settings: Settings, problems: Problems) -> None:
    key = "log.cleaner.dedupe.buffer.size"
    threads = settings.whole("log.cleaner.threads")
    if threads == 0:
        problems.error(settings.where("log.cleaner.threads"), "0 threads clean nothing.", "It is at least 1.")
    elif settings.whole(key) // threads <= _MEGABYTE:
        location = settings.where(key if settings.is_given(key) else "log.cleaner.threads")
        problems.error(
            location, f"{settings.whole(key)} bytes are too few for {threads} threads.", "It is over 1 MiB a thread."
        )


def _check_connections(settings: Settings, problems: Problems) -> None:
    queued, request = settings.whole("queued.max.request.bytes"), settings.whole("socket.request.max.bytes")
    if 0 < queued < request:
        problems.error(
            settings.where("queued.max.request.bytes"),
            f"{queued} is less than one request may have.",
            f"It is at least socket.request.max.bytes={request}, or -1 for no limit.",
        )
    key = "max.connections.per.ip.overrides"
    overrides = settings.items(key)
    for entry in overrides:
        host, colon, limit = entry.rpartition(":")
        if not (host and colon and limit.strip().isdecimal()):
            problems.error(settings.where(key), f'"{entry}" is no limit of an address.', "Each is host:number.")
    if settings.whole("max.connections.per.ip") == 0 and not overrides:
        problems.error(
            settings.where("max.connections.per.ip"), "0 lets nobody connect.", f"It is at least 1 unless {key} is set."
        )
    delay, idle = settings.whole("connection.failed.authentication.delay.ms"), settings.whole("connections.max.idle.ms")
    if 0 <= idle <= delay:
        problems.error(
            settings.where("connections.max.idle.ms"),
            f"{idle} ends connections before a refusal is sent.",
            f"It is more than connection.failed.authentication.delay.ms={delay}, or negative for ever.",
        )


def _check_cordoned(settings: Settings, problems: Problems) -> None:
    key, everything = "cordoned.log.dirs", "*"
    cordoned = settings.items(key)
    log_dirs = settings.items("log.dirs") or settings.items("log.dir")
    if everything in cordoned and len(cordoned) > 1:
        problems.error(
            settings.where(key), f'"{everything}" stands beside others.', f"It is {everything} alone, or some."
        )
    elif everything not in cordoned:
        for log_dir in cordoned:
            if log_dir not in log_dirs:
                problems.error(settings.where(key), f'"{log_dir}" is no directory of log.dirs.', "Name one that is.")


def _check_sasl(settings: Settings, listeners: Listeners, problems: Problems) -> None:
    key = "sasl.mechanism.inter.broker.protocol"
    name = listeners.inter_broker_name
    own = f"listener.name.{name.lower()}.sasl.enabled.mechanisms"
    enabled = settings.given.get(own, ",".join(settings.items("sasl.enabled.mechanisms")))
    uses_sasl = listeners.protocols.get(name, "").startswith("SASL")
    if uses_sasl and settings.text(key) not in [mechanism.strip() for mechanism in enabled.split(",")]:
        problems.error(
            settings.where(key), f"{settings.text(key)} is not enabled.", f"sasl.enabled.mechanisms has {enabled}."
        )
