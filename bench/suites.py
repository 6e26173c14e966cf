"""The benchmarks, in the order of the document."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Benchmark:
    title: str
    #: Module and function, which yields rows.
    function: str
    #: Whether it can be told to hurry.
    takes_effort: bool = False


def _brokers(title: str, function: str) -> Benchmark:
    return Benchmark(f"Brokers: {title}", function, takes_effort=True)


SUITES: Mapping[str, Benchmark] = {
    "brokers.starts": _brokers("start and memory", "brokers.starts"),
    "brokers.one_record": _brokers("one-record requests", "brokers.one_record"),
    "brokers.librdkafka": _brokers("records through librdkafka", "flows.librdkafka"),
    "brokers.java": _brokers("records through the Java clients", "flows.java"),
    "brokers.latency": _brokers("end to end", "brokers.latency"),
    "brokers.connections": _brokers("connections", "brokers.connections"),
    "brokers.three_nodes": _brokers("one-record requests to three nodes", "three_nodes.requests"),
    "brokers.three_flows": _brokers("records through three nodes", "three_nodes.flows"),
    "brokers.kills": _brokers("the death of a node", "three_nodes.kills"),
    "brokers.many_partitions": _brokers("many partitions", "brokers.many_partitions"),
    "clients": Benchmark("Clients in Python, on one broker of ours", "clients.run", takes_effort=True),
    "spark": Benchmark("Spark jobs, with either connector", "spark_connectors.run", takes_effort=True),
    "spark_batches": Benchmark("Small micro-batches of Spark", "spark_batches.run", takes_effort=True),
    "spark.latency": Benchmark("Spark streams: time from topic to topic", "spark_latency.run", takes_effort=True),
    "spark.real_time": Benchmark("Spark streams: beside real-time mode", "spark_latency.real_time", takes_effort=True),
    "spark_kills": Benchmark("The death of a broker, with tasks of Spark", "spark_kills.run"),
    "coordinators": Benchmark("Groups and transactions", "coordinators.run", takes_effort=True),
    "controllers": Benchmark("Controllers", "controllers.run"),
    "network": Benchmark("Network", "network.run"),
    "replicas": Benchmark("Replicas", "replicas.run"),
    "log_ops": Benchmark("Log", "log_ops.run"),
    "cleaning": Benchmark("Cleaner", "cleaning.run"),
    "batches": Benchmark("Batches", "batches.run"),
    "codec": Benchmark("Messages", "codec.run"),
}
