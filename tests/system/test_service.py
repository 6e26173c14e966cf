"""Services under kill -9: every message is handled or in the dead letters, none is lost, effects happen once.

Three nodes, each broker and controller, RF 3. 5 % of the messages fail once and come back through a retry topic, 1 %
always fail. The service (or the bridge to Celery and its worker) and brokers are killed in turn while they work.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.figures import report
from support.loads.data_load import bootstrap_of, create_topic, read_all
from support.processes.nodes import Cluster, three_nodes
from support.service.orders import always_fails
from support.service.runs import (
    Lag,
    beat,
    consuming_worker,
    effect_count,
    effects,
    kill_broker,
    kill_in_turn,
    produce_orders,
    runs,
    service,
    wait_for,
    worker,
)

pytestmark = pytest.mark.slow

IS_SOAK = "ODRADEK_SOAK_FACTOR" in os.environ
PARTITIONS = 6
ORDERS = 10_000
CELERY_ORDERS = 10_000 if IS_SOAK else 2_000
NUMBERS = 2_000


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with three_nodes(tmp_path) as made:
        yield made


def orders_in(cluster: Cluster, topic: str) -> Counter[int]:
    values = read_all(bootstrap_of(cluster), topic, PARTITIONS).values()
    return Counter(json.loads(value)["number"] for value in values)


def check_everything(effect: Counter[int], dead: Counter[int], count: int) -> dict[str, int]:
    """Each one exactly once, or dead, and not both."""
    lost = [number for number in range(count) if number not in effect and number not in dead]
    wrongly_dead = [number for number in dead if not always_fails(number)]
    assert not lost, lost[:10]
    assert not wrongly_dead, wrongly_dead[:10]
    assert sorted(dead) == [number for number in range(count) if always_fails(number)]
    assert set(effect.values()) == {1}
    assert len(effect) + len(dead) == count
    return {"handled": len(effect), "dead": len(dead), "lost": 0, "effects_twice": 0}


def test_ten_thousand_orders_with_kills(cluster: Cluster, tmp_path: Path) -> None:
    create_topic(cluster, "orders", PARTITIONS, 3)
    produce_orders(cluster, "orders", ORDERS)
    begun_s = time.monotonic()
    with service("support.service.shop:app", cluster, tmp_path) as shop:
        steps = [
            step
            for node_id in (1, 2, 3)
            for step in (shop.kill, lambda node_id=node_id: kill_broker(cluster, node_id, "orders"))
        ]
        kill_in_turn(steps, lambda: effect_count(tmp_path), ORDERS, [shop])
        lag = Lag(cluster, "shop", PARTITIONS, "orders", "orders.retry.500ms")
        wait_for(lambda: lag.count() == 0, "all is committed", [shop])
        took_s = time.monotonic() - begun_s
        assert shop.stop() == 0
    figures = check_everything(effects(tmp_path), orders_in(cluster, "orders.dead"), ORDERS)
    again = sum(runs(tmp_path).values()) - ORDERS
    kills = {"kills_of_service": shop.kills, "kills_of_brokers": 3}
    report("service: orders under kill -9", orders=ORDERS, **kills, **figures, runs_again=again, took_s=round(took_s))


def test_the_same_through_celery(cluster: Cluster, tmp_path: Path) -> None:
    create_topic(cluster, "orders", PARTITIONS, 3)
    produce_orders(cluster, "orders", CELERY_ORDERS)
    begun_s = time.monotonic()
    with service("support.service.celery_app:bridge", cluster, tmp_path) as bridge, worker(tmp_path) as tasks:
        steps = [bridge.kill, tasks.kill, lambda: kill_broker(cluster, 2, "orders"), bridge.kill, tasks.kill]
        kill_in_turn(steps, lambda: effect_count(tmp_path), CELERY_ORDERS, [bridge, tasks])
        lag = Lag(cluster, "bridge", PARTITIONS, "orders")
        wait_for(lambda: lag.count() == 0, "all is committed", [bridge, tasks])
        took_s = time.monotonic() - begun_s
        assert bridge.stop() == 0
    figures = check_everything(effects(tmp_path), orders_in(cluster, "orders.dead"), CELERY_ORDERS)
    again = sum(runs(tmp_path).values()) - CELERY_ORDERS
    kills = {"kills_of_bridge": bridge.kills, "kills_of_worker": tasks.kills, "kills_of_brokers": 1}
    report(
        "service: Celery under kill -9",
        orders=CELERY_ORDERS,
        **kills,
        **figures,
        runs_again=again,
        took_s=round(took_s),
    )


def test_the_same_inside_celery_tasks(cluster: Cluster, tmp_path: Path) -> None:
    """The handlers of the service, unchanged. A worker that is killed in the middle of a task loses nothing: the next
    period begins at what was committed."""
    create_topic(cluster, "orders", PARTITIONS, 3)
    produce_orders(cluster, "orders", CELERY_ORDERS)
    begun_s = time.monotonic()
    with consuming_worker(cluster, tmp_path) as tasks, beat(cluster, tmp_path) as schedule:
        steps = [tasks.kill, lambda: kill_broker(cluster, 2, "orders"), tasks.kill]
        kill_in_turn(steps, lambda: effect_count(tmp_path), CELERY_ORDERS, [tasks, schedule])
        lag = Lag(cluster, "shop", PARTITIONS, "orders", "orders.retry.500ms")
        wait_for(lambda: lag.count() == 0, "all is committed", [tasks, schedule])
        took_s = time.monotonic() - begun_s
        assert schedule.stop() == 0
    figures = check_everything(effects(tmp_path), orders_in(cluster, "orders.dead"), CELERY_ORDERS)
    again = sum(runs(tmp_path).values()) - CELERY_ORDERS
    report(
        "service: in Celery tasks under kill -9",
        orders=CELERY_ORDERS,
        kills_of_worker=tasks.kills,
        kills_of_brokers=1,
        **figures,
        runs_again=again,
        took_s=round(took_s),
    )


def test_exactly_once_with_kills(cluster: Cluster, tmp_path: Path) -> None:
    create_topic(cluster, "numbers", PARTITIONS, 3)
    create_topic(cluster, "doubled", PARTITIONS, 3)
    produce_orders(cluster, "numbers", NUMBERS)
    alive = NUMBERS - NUMBERS // 100
    with service("support.service.shop:doubling", cluster, tmp_path) as doubling:
        steps = [doubling.kill, lambda: kill_broker(cluster, 3, "numbers"), doubling.kill]
        kill_in_turn(steps, lambda: len(runs(tmp_path)), NUMBERS, [doubling])
        wait_for(lambda: len(orders_in(cluster, "doubled")) >= alive, "all are doubled", [doubling])
        wait_for(lambda: len(orders_in(cluster, "numbers.dead")) >= NUMBERS - alive, "others are dead", [doubling])
        assert doubling.stop() == 0
    doubled, dead = orders_in(cluster, "doubled"), orders_in(cluster, "numbers.dead")
    assert doubled == Counter(2 * number for number in range(NUMBERS) if not always_fails(number))
    assert dead == Counter(number for number in range(NUMBERS) if always_fails(number))
    report("service: exactly once under kill -9", records=NUMBERS, kills=doubling.kills + 1, lost=0, twice=0)
