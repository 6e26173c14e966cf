"""Copies of replicas that are not in sync go no faster than the broker's rate allows."""

import pytest

from odradek.protocol.messages.config_record import ConfigRecord
from odradek.replica.replication_quota import QuotaWindows, ReplicationQuota
from odradek.replica.settings import ReplicaSettings
from support.builders.replica import TOPIC, TP, Cluster, change_record


def setting(name: str, value: str) -> ConfigRecord:
    return ConfigRecord(resource_type=2, resource_name=TOPIC, name=name, value=value)


@pytest.mark.parametrize(
    ("setting", "applies"),
    [((), False), (("*",), True), (("0:3",), True), (("1:3", "0:4"), False)],
)
def test_whom_it_concerns(setting: tuple[str, ...], applies: bool) -> None:
    quota = ReplicationQuota(3, QuotaWindows())
    assert not quota.applies_to(TP, setting), "there is no rate"
    quota.set_rate(1)
    assert quota.applies_to(TP, setting) is applies


RATE_BYTES = 2_000_000
RESPONSE_BYTES = 1_000_000
TICK_MS = 10

#: Time and size of each copy.
Copies = list[tuple[int, int]]


def copy_greedily(quota: ReplicationQuota, start_ms: int, end_ms: int, response_bytes: int = RESPONSE_BYTES) -> Copies:
    """At each tick, copy responses for as long as the quota allows it."""
    copies = []
    for now_ms in range(start_ms, end_ms, TICK_MS):
        while not quota.is_exceeded(now_ms):
            quota.record(response_bytes, now_ms)
            copies.append((now_ms, response_bytes))
    return copies


def copied_between(copies: Copies, start_ms: int, end_ms: int) -> int:
    return sum(size for now_ms, size in copies if start_ms <= now_ms < end_ms)


def check_steady(copies: Copies, rate_bytes: int, start_ms: int, end_ms: int, response_bytes: int) -> None:
    """The total follows the rate from the first second on, by no more than a response on either side."""
    for now_ms in range(start_ms + 1_000, end_ms + 1, 100):
        allowed = rate_bytes * (now_ms - start_ms) // 1_000
        copied = copied_between(copies, start_ms, now_ms)
        assert allowed - response_bytes <= copied <= allowed + response_bytes, f"after {now_ms - start_ms} ms"


@pytest.mark.parametrize("response_bytes", [10_000, RESPONSE_BYTES, 5 * RATE_BYTES])
@pytest.mark.parametrize("start_ms", [0, 987_654])
def test_the_rate_is_steady_from_the_beginning(response_bytes: int, start_ms: int) -> None:
    quota = ReplicationQuota(3, QuotaWindows())
    quota.set_rate(RATE_BYTES)
    end_ms = start_ms + 40_000
    copies = copy_greedily(quota, start_ms, end_ms, response_bytes)
    check_steady(copies, RATE_BYTES, start_ms, end_ms, response_bytes + RATE_BYTES * TICK_MS // 1_000)


def test_no_burst_after_a_slow_or_an_idle_time() -> None:
    quota = ReplicationQuota(3, QuotaWindows())
    quota.set_rate(RATE_BYTES)
    for now_ms in range(0, 12_345, 500):
        quota.record(1, now_ms)
    busy_ms, idle_ms = 12_350, 100_000
    copies = copy_greedily(quota, busy_ms, 30_000) + copy_greedily(quota, idle_ms, 120_000)
    for start_ms, size in copies:
        at_once = copied_between(copies, start_ms, start_ms + TICK_MS)
        assert at_once <= RATE_BYTES + size, "no more than a window's worth and a response at once"
        assert copied_between(copies, start_ms, start_ms + 1_000) <= 2 * RATE_BYTES + size
        assert copied_between(copies, start_ms, start_ms + 5_000) <= 6 * RATE_BYTES + size


def test_the_windows_limit_the_credit_and_how_long_a_copy_is_remembered() -> None:
    quota = ReplicationQuota(3, QuotaWindows(count=3, size_ms=4_000))
    quota.set_rate(100)
    quota.record(401, 50_000)
    assert quota.delay_ms(50_000) == 4_010
    assert quota.is_exceeded(54_000) and not quota.is_exceeded(54_010)
    quota.record(400, 60_000)
    assert not quota.is_exceeded(60_000), "the credit is one window's worth"
    quota.record(1_000_000, 60_000)
    assert quota.delay_ms(60_000) == 12_000
    assert quota.is_exceeded(71_999)
    assert not quota.is_exceeded(72_000), "it is forgotten after three windows"


@pytest.mark.parametrize("rate_bytes", [0, 1])
def test_a_rate_of_nearly_nothing_lets_one_response_through_per_windows(rate_bytes: int) -> None:
    quota = ReplicationQuota(3, QuotaWindows())
    quota.set_rate(rate_bytes)
    copies = copy_greedily(quota, 0, 22_010)
    assert [now_ms for now_ms, _ in copies] == [0, 11_000, 22_000]


def test_replicas_in_sync_leave_no_debt_for_hours() -> None:
    """They are counted and never held back, so a topic may be written to faster than the rate for any time."""
    quota = ReplicationQuota(3, QuotaWindows())
    quota.set_rate(RATE_BYTES)
    for now_ms in range(0, 3_600_000, 100):
        quota.record(RATE_BYTES, now_ms)
    for now_ms in range(3_600_000, 3_612_000, 100):
        quota.record(RATE_BYTES // 100, now_ms)
    # A tenth of the rate goes to the replicas in sync.
    assert not quota.is_exceeded(3_612_300)


def test_a_lowered_rate_does_not_prolong_the_debt() -> None:
    quota = ReplicationQuota(3, QuotaWindows())
    quota.set_rate(RATE_BYTES)
    quota.record(10 * RATE_BYTES, 0)
    quota.set_rate(1_000)
    for now_ms in range(0, 15_000, 100):
        quota.record(10, now_ms)
    assert not quota.is_exceeded(15_000)


def test_a_raised_rate_applies_at_once() -> None:
    quota = ReplicationQuota(3, QuotaWindows())
    quota.set_rate(1)
    quota.record(RESPONSE_BYTES, 0)
    quota.set_rate(RATE_BYTES)
    assert quota.delay_ms(0) == 500
    quota.set_rate(None)
    assert not quota.is_exceeded(0)


def replicate_slowly(cluster: Cluster, role: str) -> list[tuple[int, int]]:
    """The size of the follower's log, every 50 ms for 8 s."""
    cluster.replay(setting(f"{role}.replication.throttled.replicas", "*"))
    cluster.create_topic(isr=[0])
    manager = cluster.brokers[0 if role == "leader" else 1].replicas
    (manager.leader_quota if role == "leader" else manager.follower_quota).set_rate(10_000)
    for _ in range(200):
        cluster.brokers[0].produce("x" * 900, acks=1)
    sizes = []
    for _ in range(160):
        for _ in range(4):
            cluster.fetch_once(1)
        sizes.append((cluster.clock.monotonic_ms(), cluster.brokers[1].log.segments.size_bytes))
        cluster.clock.now_ms += 50
    return sizes


@pytest.mark.parametrize("role", ["leader", "follower"])
def test_a_new_replica_is_copied_at_the_rate(role: str) -> None:
    response_bytes = 2_000
    settings = ReplicaSettings(replica_fetch_max_bytes=response_bytes, replica_fetch_backoff_ms=100)
    sizes = replicate_slowly(Cluster(size=2, settings=settings), role)
    start_ms, _ = sizes[0]
    for now_ms, size in sizes:
        elapsed_ms = max(now_ms - start_ms, 1_000)
        assert size <= 10 * elapsed_ms + response_bytes, f"after {now_ms - start_ms} ms"
        if now_ms - start_ms >= 1_000:
            assert size >= 10 * (now_ms - start_ms) - 2 * response_bytes, f"after {now_ms - start_ms} ms"


def test_a_leader_holds_back_who_is_not_in_sync() -> None:
    cluster = Cluster(size=3)
    cluster.replay(setting("leader.replication.throttled.replicas", "0:0"))
    cluster.create_topic(isr=[0, 1])
    leader = cluster.brokers[0]
    leader.replicas.leader_quota.set_rate(1)
    for _ in range(2):
        leader.produce("x" * 100, acks=1)
        cluster.replicate(2)
    assert [broker.log.offsets.log_end_offset for broker in cluster.brokers] == [2, 2, 0], (
        "what the others got counts too"
    )
    cluster.clock.now_ms += 400_000
    cluster.replicate(2)
    assert cluster.brokers[2].log.offsets.log_end_offset == 2


def test_a_follower_that_is_held_back_pauses() -> None:
    cluster = Cluster(size=2)
    cluster.replay(setting("follower.replication.throttled.replicas", "*"))
    cluster.create_topic(isr=[0])
    follower = cluster.brokers[1].replicas
    follower.follower_quota.set_rate(1)
    cluster.brokers[0].produce("x" * 100, acks=1)
    cluster.replicate(1)
    cluster.brokers[0].produce("y", acks=1)
    cluster.replay(change_record(leader=0))
    [fetcher] = follower.fetchers.by_source.values()
    now_ms = cluster.clock.monotonic_ms()
    cluster.replicate(2)
    assert cluster.brokers[1].log.offsets.log_end_offset == 1 and fetcher.deadline_ms == now_ms + 1_000
    cluster.clock.now_ms += 400_000
    cluster.replicate(2)
    assert cluster.brokers[1].log.offsets.log_end_offset == 2
