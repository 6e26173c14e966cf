"""Plans of reassignment as files, in the form of Kafka's tool."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from odradek.client.admin import TopicPartition
from odradek.common.failures import InputError
from odradek.common.files import OsFileSystem
from odradek.common.ports import write_atomically

Replicas = Mapping[TopicPartition, Sequence[int]]

_FORM = '{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2]}]}'


def plan_document(plan: Replicas) -> dict[str, Any]:
    partitions = [
        {"topic": each.topic, "partition": each.partition, "replicas": list(replicas)}
        for each, replicas in plan.items()
    ]
    return {"version": 1, "partitions": partitions}


def write_plan(path: str, plan: Replicas) -> None:
    write_atomically(OsFileSystem(), path, json.dumps(plan_document(plan)).encode() + b"\n")


def read_plan(path: str) -> dict[TopicPartition, list[int]]:
    """Raises InputError for what is no plan, OSError if it cannot be read."""
    try:
        document = json.loads(OsFileSystem().read_file(path))
        entries = [
            (TopicPartition(str(each["topic"]), int(each["partition"])), [int(id_) for id_ in each["replicas"]])
            for each in document["partitions"]
        ]
        moves_dirs = any(
            directory != "any" for each in document["partitions"] for directory in each.get("log_dirs", ())
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is no plan ({type(error).__name__}: {error}). Right would be {_FORM}.") from None
    if moves_dirs:
        raise InputError(f'{path}: log_dirs: replicas cannot be put into a directory from here; "any" is the only one.')
    plan = dict(entries)
    if len(plan) != len(entries):
        raise InputError(f"{path}: a partition is there twice.")
    if not plan:
        raise InputError(f"{path}: it moves nothing.")
    return plan
