"""What clients may be told: Apache Kafka's own clients are told the same, and take it or refuse it as ours do."""

import subprocess
from pathlib import Path

import pytest

from odradek.client.settings.settings import admin_settings, consumer_settings, producer_settings
from odradek.common.failures import InputError
from support.peers import downloads as peers
from support.peers import jvm

pytestmark = [pytest.mark.peer, pytest.mark.slow]

SOURCE = Path(__file__).parents[3] / "support" / "peers" / "KafkaClientVerdicts.java"
MAKE = {"producer": producer_settings, "consumer": consumer_settings, "admin": admin_settings}

_CLASSES = "org.apache.kafka.clients"

#: Kind, and settings beside the address.
CASES: list[tuple[str, dict[str, str]]] = [
    *(
        ("producer", given)
        for given in (
            {},
            {"acks": "0"},
            {"acks": "-1"},
            {"acks": "2"},
            {"acks": "all", "enable.idempotence": "true"},
            {"acks": "1", "enable.idempotence": "true"},
            {"retries": "0"},
            {"retries": "0", "enable.idempotence": "true"},
            {"retries": "-1"},
            {"max.in.flight.requests.per.connection": "0"},
            {"max.in.flight.requests.per.connection": "6"},
            {"max.in.flight.requests.per.connection": "6", "acks": "1"},
            {"max.in.flight.requests.per.connection": "6", "enable.idempotence": "FALSE"},
            {"enable.idempotence": "yes"},
            {"transactional.id": "t"},
            {"transactional.id": ""},
            {"transactional.id": "t", "enable.idempotence": "false"},
            {"transactional.id": "t", "acks": "1"},
            {"linger.ms": "-1"},
            {"linger.ms": "0.5"},
            {"linger.ms": " 7 "},
            {"linger.ms": "9223372036854775808"},
            {"batch.size": "0"},
            {"batch.size": "2147483648"},
            {"delivery.timeout.ms": "10"},
            {"delivery.timeout.ms": "30005"},
            {"request.timeout.ms": "200000"},
            {"request.timeout.ms": "200000", "delivery.timeout.ms": "120000"},
            {"compression.type": "zstd"},
            {"compression.type": "ZSTD"},
            {"compression.type": "br"},
            {"compression.gzip.level": "-1"},
            {"compression.gzip.level": "0"},
            {"compression.lz4.level": "18"},
            {"compression.zstd.level": "-131072"},
            {"metadata.max.idle.ms": "10"},
            {"metadata.recovery.strategy": "Rebootstrap"},
            {"metadata.recovery.strategy": "maybe"},
            {"partitioner.class": f"{_CLASSES}.producer.RoundRobinPartitioner"},
            {"partitioner.class": "no.such.Partitioner"},
            {"client.dns.lookup": "default"},
            {"security.protocol": "PLAINTEXTISH"},
            {"security.protocol": "plaintext"},
        )
    ),
    *(
        ("consumer", given)
        for given in (
            {},
            {"group.id": "g"},
            {"group.id": ""},
            {"enable.auto.commit": "true"},
            {"enable.auto.commit": "true", "group.id": "g"},
            {"auto.offset.reset": "none"},
            {"auto.offset.reset": "smallest"},
            {"auto.offset.reset": "by_duration:PT1H"},
            {"auto.offset.reset": "by_duration:P1DT2H3M4.5S"},
            {"auto.offset.reset": "by_duration:"},
            {"auto.offset.reset": "by_duration:PT"},
            {"auto.offset.reset": "by_duration:-PT1H"},
            {"auto.offset.reset": "by_duration:1h"},
            {"group.protocol": "Consumer", "group.id": "g"},
            {"group.protocol": "share", "group.id": "g"},
            {"group.protocol": "consumer", "group.id": "g", "session.timeout.ms": "9000"},
            {"group.protocol": "consumer", "group.id": "g", "heartbeat.interval.ms": "9000"},
            {
                "group.protocol": "consumer",
                "group.id": "g",
                "partition.assignment.strategy": f"{_CLASSES}.consumer.RangeAssignor",
            },
            {"group.protocol": "classic", "group.id": "g", "group.remote.assignor": "uniform"},
            {"group.protocol": "consumer", "group.id": "g", "group.remote.assignor": "uniform"},
            {"group.id": "g", "session.timeout.ms": "3000"},
            {"group.id": "g", "session.timeout.ms": "3001"},
            {"group.instance.id": ""},
            {"isolation.level": "read_committed"},
            {"isolation.level": "READ_COMMITTED"},
            {"max.poll.records": "0"},
            {"max.poll.interval.ms": "0"},
            {"fetch.min.bytes": "-1"},
            {"partition.assignment.strategy": f"{_CLASSES}.consumer.StickyAssignor", "group.id": "g"},
            {"partition.assignment.strategy": "no.such.Assignor", "group.id": "g"},
            {"check.crcs": "maybe"},
            {"receive.buffer.bytes": "-2"},
        )
    ),
    *(
        ("admin", given)
        for given in (
            {},
            {"bootstrap.controllers": "localhost:9093"},
            {"default.api.timeout.ms": "1"},
            {"request.timeout.ms": "90000"},
            {"retries": "-1"},
            {"retry.backoff.ms": "-1"},
        )
    ),
]


def theirs(tmp_path: Path) -> list[str]:
    lines = ["\t".join([kind, "bootstrap.servers=localhost:1", *map("=".join, given.items())]) for kind, given in CASES]
    table = tmp_path / "cases"
    table.write_text("".join(f"{line}\n" for line in lines))
    command = peers.java_command(SOURCE.stem, [str(table)], flags=jvm.quick_flags(), classes=jvm.compiled(SOURCE))
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return [line.partition("\t")[2] for line in done.stdout.splitlines() if line.startswith("verdict\t")]


def ours(kind: str, given: dict[str, str]) -> str:
    try:
        MAKE[kind]({"bootstrap.servers": "localhost:1", **given})
    except InputError as error:
        return str(error)
    return "ok"


def test_kafkas_clients_take_and_refuse_the_same(tmp_path: Path) -> None:
    verdicts = theirs(tmp_path)
    assert len(verdicts) == len(CASES)
    differing = [
        f"{kind} {given}\n  ours: {mine}\n  Kafka's: {said}"
        for (kind, given), said in zip(CASES, verdicts, strict=True)
        if ((mine := ours(kind, given)) == "ok") != (said == "ok")
    ]
    assert not differing, "\n".join(differing)
    assert 20 < verdicts.count("ok") < len(CASES) - 20
