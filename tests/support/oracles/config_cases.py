"""Configurations that are right or wrong in one thing, for our verdict and Apache Kafka's on the same files."""

from collections.abc import Mapping
from typing import NamedTuple

_COMMON = {
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "log.dirs": "/tmp/nowhere",
}

COMBINED = {
    **_COMMON,
    "process.roles": "broker,controller",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.quorum.voters": "1@localhost:9093",
}
CONTROLLER = {
    **_COMMON,
    "process.roles": "controller",
    "listeners": "CONTROLLER://localhost:9093",
    "controller.quorum.voters": "1@localhost:9093",
}
BROKER = {
    **_COMMON,
    "process.roles": "broker",
    "listeners": "PLAINTEXT://localhost:9092",
    "controller.quorum.bootstrap.servers": "localhost:9093",
}

#: A key that is taken out.
GONE = None


class Case(NamedTuple):
    """`key` is what our message names; None for a configuration that both take."""

    name: str
    base: Mapping[str, str]
    change: Mapping[str, str | None]
    key: str | None = None

    @property
    def text(self) -> str:
        values = {**self.base, **self.change}
        return "".join(f"{key}={value}\n" for key, value in values.items() if value is not None)


_MAP = "listener.security.protocol.map"
_NAMES = "controller.listener.names"
_VOTERS = "controller.quorum.voters"
_SERVERS = "controller.quorum.bootstrap.servers"
_INTER = "inter.broker.listener.name"
_ADVERTISED = "advertised.listeners"

CASES = (
    Case("combined", COMBINED, {}),
    Case("controller", CONTROLLER, {}),
    Case("broker", BROKER, {}),
    Case("unknown setting", COMBINED, {"no.such.setting": "1"}),
    Case("setting of the other role", CONTROLLER, {"num.io.threads": "4"}),
    Case("dynamic quorum", COMBINED, {_VOTERS: GONE, _SERVERS: "localhost:9093,localhost:9094"}),
    Case("voters and servers", COMBINED, {_SERVERS: "localhost:9093"}),
    Case("empty voters beside servers", BROKER, {_VOTERS: ""}),
    Case("port 0", COMBINED, {"listeners": "PLAINTEXT://localhost:0,CONTROLLER://localhost:0"}),
    Case("every address, advertised", COMBINED, {"listeners": "PLAINTEXT://:9092,CONTROLLER://:9093"}),
    Case("controller on every address", CONTROLLER, {"listeners": "CONTROLLER://0.0.0.0:9093"}),
    Case("names in small letters", COMBINED, {"listeners": "plaintext://localhost:9092,controller://localhost:9093"}),
    Case("IPv6", COMBINED, {"listeners": "PLAINTEXT://[::1]:9092,CONTROLLER://[::1]:9093"}),
    Case("one port, two families", BROKER, {"listeners": "A://127.0.0.1:9092,B://[::1]:9092", _INTER: "A",
         _MAP: "A:PLAINTEXT,B:PLAINTEXT,CONTROLLER:PLAINTEXT"}),
    Case("old name of the id", COMBINED, {"node.id": GONE, "broker.id": "1"}),
    Case("controller advertises a broker's listener", CONTROLLER, {_ADVERTISED: "PLAINTEXT://localhost:9092"}),
    Case("spaces", COMBINED, {"process.roles": "broker , controller", "num.partitions": " 3 "}),
    Case("no roles", COMBINED, {"process.roles": GONE}, "process.roles"),
    Case("empty roles", COMBINED, {"process.roles": ""}, "process.roles"),
    Case("unknown role", COMBINED, {"process.roles": "broker,leader"}, "process.roles"),
    Case("one role twice", COMBINED, {"process.roles": "broker,broker,controller"}),
    Case("no id", COMBINED, {"node.id": GONE}, "node.id"),
    Case("negative id", COMBINED, {"node.id": "-1"}, "node.id"),
    Case("id that is no number", COMBINED, {"node.id": "one"}, "node.id"),
    Case("two ids", COMBINED, {"broker.id": "2"}, "broker.id"),
    Case("no voters", COMBINED, {_VOTERS: GONE}, _SERVERS),
    Case("voter without port", COMBINED, {_VOTERS: "1@localhost"}, _VOTERS),
    Case("voter without id", COMBINED, {_VOTERS: "localhost:9093"}, _VOTERS),
    Case("voter with a strange id", COMBINED, {_VOTERS: "x@localhost:9093"}, _VOTERS),
    Case("server without port", BROKER, {_SERVERS: "localhost"}, _SERVERS),
    Case("controller that does not vote", CONTROLLER, {_VOTERS: "2@localhost:9093"}, _VOTERS),
    Case("broker that votes", BROKER, {_VOTERS: "1@localhost:9093"}, _VOTERS),
    Case("listener without port", COMBINED, {"listeners": "PLAINTEXT://localhost,CONTROLLER://localhost:9093"},
         "listeners"),
    Case("listener without name", COMBINED, {"listeners": "localhost:9092,CONTROLLER://localhost:9093"}, "listeners"),
    Case("one listener twice", COMBINED,
         {"listeners": "PLAINTEXT://localhost:9092,PLAINTEXT://localhost:9094,CONTROLLER://localhost:9093"},
         "listeners"),
    Case("one port twice", COMBINED, {"listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9092"},
         "listeners"),
    Case("empty listeners", COMBINED, {"listeners": ""}, "listeners"),
    Case("empty advertised listeners", COMBINED, {_ADVERTISED: ""}, _ADVERTISED),
    Case("name without protocol", COMBINED, {"listeners": "INSIDE://localhost:9092,CONTROLLER://localhost:9093"},
         "listeners"),
    Case("map without the controllers' name", COMBINED, {_MAP: "PLAINTEXT:PLAINTEXT"}, "listeners"),
    Case("broker's map without the controllers' name", BROKER, {_MAP: "PLAINTEXT:PLAINTEXT"}, _NAMES),
    Case("unknown protocol", COMBINED, {_MAP: "PLAINTEXT:PLAIN,CONTROLLER:PLAINTEXT"}, _MAP),
    Case("no controllers' names", BROKER, {_NAMES: GONE}, _NAMES),
    Case("empty controllers' names", BROKER, {_NAMES: ""}, _NAMES),
    Case("controllers' name that is no listener", COMBINED, {_NAMES: "CONTROLLER,OTHER"}, _NAMES),
    Case("broker with a controllers' listener", BROKER,
         {"listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093"}, "listeners"),
    Case("controller with a clients' listener", CONTROLLER,
         {"listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093"}, "listeners"),
    Case("only controllers' listeners", COMBINED, {"listeners": "CONTROLLER://localhost:9093"}, "listeners"),
    Case("every address is not advertised", BROKER, {"listeners": "PLAINTEXT://0.0.0.0:9092"}, _ADVERTISED),
    Case("every address advertised", BROKER, {_ADVERTISED: "PLAINTEXT://0.0.0.0:9092"}, _ADVERTISED),
    Case("advertised without listening", BROKER,
         {_ADVERTISED: "PLAINTEXT://localhost:9092,SSL://localhost:9095"}, _ADVERTISED),
    Case("brokers' listener that is none", BROKER, {_INTER: "SSL"}, _INTER),
    Case("brokers' listener without protocol", BROKER, {_INTER: "INSIDE"}, _INTER),
    Case("brokers' listener and protocol", BROKER, {_INTER: "PLAINTEXT", "security.inter.broker.protocol": "PLAINTEXT"},
         _INTER),
    Case("controllers' listener for brokers", CONTROLLER, {_INTER: "CONTROLLER"}, _INTER),
    Case("broker that joins the quorum", BROKER, {"controller.quorum.auto.join.enable": "true"},
         "controller.quorum.auto.join.enable"),
    Case("early listener that is none", COMBINED, {"early.start.listeners": "OTHER"}, "early.start.listeners"),
    Case("empty directories", COMBINED, {"log.dirs": ""}, "log.dirs"),
    Case("one directory twice", COMBINED, {"log.dirs": "/tmp/a,/tmp/a"}),
    Case("cordoned directory that is none", COMBINED, {"cordoned.log.dirs": "/tmp/other"}, "cordoned.log.dirs"),
    Case("too few partitions", COMBINED, {"num.partitions": "0"}, "num.partitions"),
    Case("number that is none", COMBINED, {"num.network.threads": "many"}, "num.network.threads"),
    Case("empty number", COMBINED, {"num.partitions": ""}, "num.partitions"),
    Case("boolean that is none", COMBINED, {"auto.create.topics.enable": "yes"}, "auto.create.topics.enable"),
    Case("unknown compression", COMBINED, {"compression.type": "brotli"}, "compression.type"),
    Case("no retention", COMBINED, {"log.retention.ms": "0"}, "log.retention.ms"),
    Case("no roll", COMBINED, {"log.roll.ms": "0"}, "log.roll.ms"),
    Case("fetch that waits too long", COMBINED, {"replica.fetch.wait.max.ms": "40000"}, "replica.fetch.wait.max.ms"),
    Case("sessions shorter than heartbeats", COMBINED, {"group.consumer.session.timeout.ms": "5000",
         "group.consumer.min.session.timeout.ms": "1000"}, "group.consumer.session.timeout.ms"),
    Case("queue smaller than a request", COMBINED, {"queued.max.request.bytes": "1000"}, "queued.max.request.bytes"),
    Case("nobody may connect", COMBINED, {"max.connections.per.ip": "0"}, "max.connections.per.ip"),
    Case("idle before refused", COMBINED, {"connections.max.idle.ms": "100"}, "connections.max.idle.ms"),
    Case("no cleaner", COMBINED, {"log.cleaner.threads": "0"}, "log.cleaner.threads"),
    Case("small cleaner", COMBINED, {"log.cleaner.dedupe.buffer.size": "1048576"}, "log.cleaner.dedupe.buffer.size"),
    Case("mechanism that is not enabled", BROKER, {"listeners": "SASL_PLAINTEXT://localhost:9092",
         "security.inter.broker.protocol": "SASL_PLAINTEXT", "sasl.mechanism.inter.broker.protocol": "PLAIN",
         _MAP: "SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"}, "sasl.mechanism.inter.broker.protocol"),
)  # fmt: skip
