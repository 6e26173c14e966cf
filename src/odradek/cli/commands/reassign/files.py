"""Plans of reassignment as files, in the form of Kafka's tool."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from odradek.client.admin.log_dirs import Replica
from odradek.client.admin.outcomes import TopicPartition
from odradek.common.failures import InputError
from odradek.common.files import OsFileSystem
from odradek.common.ports import write_atomically

Replicas = Mapping[TopicPartition, Sequence[int]]

_ANY = "any"

_FORM = '{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2]}]}'


def plan_document(plan: Replicas) -> dict[str, Any]:
    partitions = [
        {"topic": each.topic, "partition": each.partition, "replicas": list(replicas)}
        for each, replicas in plan.items()
    ]
    return {"version": 1, "partitions": partitions}


def write_plan(path: str, plan: Replicas) -> None:
    write_atomically(OsFileSystem(), path, json.dumps(plan_document(plan)).encode() + b"\n")


class PlanFile(NamedTuple):
    replicas: dict[TopicPartition, list[int]]
    #: Of replicas that are to be in a certain directory of their broker, which; most may be in any.
    log_dirs: dict[Replica, str]


def read_plan(path: str) -> PlanFile:
    """Raises InputError for what is no plan, OSError if it cannot be read."""
    try:
        entries = [_entry(each) for each in json.loads(OsFileSystem().read_file(path))["partitions"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is no plan ({type(error).__name__}: {error}). Right would be {_FORM}.") from None
    for partition, replicas, log_dirs in entries:
        if log_dirs and len(log_dirs) != len(replicas):
            raise InputError(
                f"{path}: {partition}: log_dirs has {len(log_dirs)} and replicas {len(replicas)}. "
                f'Each replica has its directory, or "{_ANY}".'
            )
    plan = {partition: replicas for partition, replicas, _ in entries}
    if len(plan) != len(entries):
        raise InputError(f"{path}: a partition is there twice.")
    if not plan:
        raise InputError(f"{path}: it moves nothing.")
    placed = {
        Replica(*partition, broker_id): directory
        for partition, replicas, log_dirs in entries
        for broker_id, directory in zip(replicas, log_dirs, strict=False)
        if directory != _ANY
    }
    return PlanFile(plan, placed)


def _entry(each: Any) -> tuple[TopicPartition, list[int], list[str]]:
    return (
        TopicPartition(str(each["topic"]), int(each["partition"])),
        [int(id_) for id_ in each["replicas"]],
        [str(directory) for directory in each.get("log_dirs", ())],
    )
