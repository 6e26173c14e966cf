"""Reassignment plans as files, in the JSON format of kafka-reassign-partitions.sh."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from odradek.client.admin.log_dirs import Replica
from odradek.client.types import TopicPartition
from odradek.common.failures import InputError
from odradek.common.files import OsFileSystem
from odradek.common.ports import write_atomically

Replicas = Mapping[TopicPartition, Sequence[int]]

_ANY = "any"

_EXAMPLE = '{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2]}]}'


def plan_document(plan: Replicas) -> dict[str, Any]:
    partitions = [
        {"topic": partition.topic, "partition": partition.partition, "replicas": list(replicas)}
        for partition, replicas in plan.items()
    ]
    return {"version": 1, "partitions": partitions}


def write_plan(path: str, plan: Replicas) -> None:
    write_atomically(OsFileSystem(), path, json.dumps(plan_document(plan)).encode() + b"\n")


class PlanFile(NamedTuple):
    """Content of a plan."""

    replicas: dict[TopicPartition, list[int]]
    #: Directories of the replicas that have to be in a certain one; others may be in any.
    log_dirs: dict[Replica, str]


def read_plan(path: str) -> PlanFile:
    """Read a plan. Raises InputError if it is malformed, OSError if it cannot be read."""
    try:
        entries = [_parse_entry(entry) for entry in json.loads(OsFileSystem().read_file(path))["partitions"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is not a plan ({type(error).__name__}: {error}). Expected {_EXAMPLE}.") from None
    for partition, replicas, log_dirs in entries:
        if log_dirs and len(log_dirs) != len(replicas):
            raise InputError(
                f"{path}: {partition}: log_dirs has {len(log_dirs)} and replicas {len(replicas)} elements. "
                f'Each replica needs a directory, or "{_ANY}".'
            )
    plan = {partition: replicas for partition, replicas, _ in entries}
    if len(plan) != len(entries):
        raise InputError(f"{path}: the plan has a partition twice.")
    if not plan:
        raise InputError(f"{path}: the plan has no partitions.")
    paths = {
        Replica(*partition, broker_id): directory
        for partition, replicas, log_dirs in entries
        for broker_id, directory in zip(replicas, log_dirs, strict=False)
        if directory != _ANY
    }
    return PlanFile(plan, paths)


def _parse_entry(entry: Any) -> tuple[TopicPartition, list[int], list[str]]:
    return (
        TopicPartition(str(entry["topic"]), int(entry["partition"])),
        [int(broker_id) for broker_id in entry["replicas"]],
        [str(directory) for directory in entry.get("log_dirs", ())],
    )
