"""An error that stands for a whole answer.

An ApiError that a handler lets through becomes an answer here and nowhere else. Some responses have an error code of
their own at the top; others have one for each topic, partition or resource that was asked for, and their clients look
nowhere else: for these the request's list comes back with the error in each element. `ECHOES` says how the one becomes
the other. A response that has neither has no such answer, and the connection closes.
"""

import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from odradek.common.failures import ApiError
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.codec import schema_of
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import LAST_VERSION, Message
from odradek.protocol.messages.produce_request import ProduceRequest
from odradek.protocol.registry import response_class
from odradek.protocol.schema import Field, Schema


class Echo(NamedTuple):
    """Every element of the request's list `asked` becomes one of the response's list `answered`."""

    asked: str
    answered: str
    #: Fields that say which element it is: the response's name for each, and the request's. An empty name stands for
    #: the element itself, where the request has a list of plain values.
    keys: Mapping[str, str]
    #: Lists within the elements.
    within: tuple["Echo", ...] = ()
    #: What else an element in error says.
    constants: Mapping[str, Any] = {}
    last_version: int = LAST_VERSION


_RESOURCE = {"resource_type": "resource_type", "resource_name": "resource_name"}
_NAME = {"name": "name"}

_INDEX = {"partition_index": "partition_index"}

ECHOES: Mapping[int, tuple[Echo, ...]] = {
    ApiKey.PRODUCE: (
        Echo(
            "topic_data",
            "responses",
            {"name": "name", "topic_id": "topic_id"},
            (Echo("partition_data", "partition_responses", {"index": "index"}, constants={"base_offset": -1}),),
        ),
    ),
    ApiKey.LIST_OFFSETS: (Echo("topics", "topics", _NAME, (Echo("partitions", "partitions", _INDEX),)),),
    ApiKey.DELETE_RECORDS: (
        Echo("topics", "topics", _NAME, (Echo("partitions", "partitions", _INDEX, constants={"low_watermark": -1}),)),
    ),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (
        Echo("topics", "topics", {"topic": "topic"}, (Echo("partitions", "partitions", {"partition": "partition"}),)),
    ),
    ApiKey.DESCRIBE_PRODUCERS: (
        Echo("topics", "topics", _NAME, (Echo("partition_indexes", "partitions", {"partition_index": ""}),)),
    ),
    ApiKey.FETCH: (
        Echo(
            "topics",
            "responses",
            {"topic": "topic"},
            (Echo("partitions", "partitions", {"partition_index": "partition"}, constants={"high_watermark": -1}),),
            last_version=12,  # since then the code at the top is all that there is
        ),
    ),
    ApiKey.FIND_COORDINATOR: (
        Echo("coordinator_keys", "coordinators", {"key": ""}, constants={"node_id": -1, "port": -1}),
    ),
    ApiKey.OFFSET_COMMIT: (
        Echo("topics", "topics", {"name": "name", "topic_id": "topic_id"}, (Echo("partitions", "partitions", _INDEX),)),
    ),
    ApiKey.TXN_OFFSET_COMMIT: (
        Echo("topics", "topics", {"name": "name", "topic_id": "topic_id"}, (Echo("partitions", "partitions", _INDEX),)),
    ),
    ApiKey.OFFSET_FETCH: (
        Echo(
            "topics",
            "topics",
            _NAME,
            (
                Echo(
                    "partition_indexes",
                    "partitions",
                    {"partition_index": ""},
                    constants={"committed_offset": -1, "metadata": ""},
                ),
            ),
            last_version=1,  # since then there is a code for the group, too
        ),
        Echo("groups", "groups", {"group_id": "group_id"}),
    ),
    ApiKey.DESCRIBE_GROUPS: (Echo("groups", "groups", {"group_id": ""}),),
    ApiKey.DELETE_GROUPS: (Echo("groups_names", "results", {"group_id": ""}),),
    ApiKey.METADATA: (Echo("topics", "topics", {"name": "name", "topic_id": "topic_id"}),),
    ApiKey.CREATE_TOPICS: (Echo("topics", "topics", _NAME),),
    ApiKey.DELETE_TOPICS: (
        Echo("topic_names", "responses", {"name": ""}),
        Echo("topics", "responses", {"name": "name", "topic_id": "topic_id"}),
    ),
    ApiKey.DESCRIBE_CONFIGS: (Echo("resources", "results", _RESOURCE),),
    ApiKey.ALTER_CONFIGS: (Echo("resources", "responses", _RESOURCE),),
    ApiKey.ALTER_REPLICA_LOG_DIRS: (
        Echo(
            "dirs.topics",
            "results",
            {"topic_name": "name"},
            (Echo("partitions", "partitions", {"partition_index": ""}),),
        ),
    ),
    ApiKey.CREATE_PARTITIONS: (Echo("topics", "results", _NAME),),
    ApiKey.ELECT_LEADERS: (
        Echo(
            "topic_partitions",
            "replica_election_results",
            {"topic": "topic"},
            (Echo("partitions", "partition_result", {"partition_id": ""}),),
        ),
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (Echo("resources", "responses", _RESOURCE),),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (
        Echo("topics", "responses", _NAME, (Echo("partitions", "partitions", {"partition_index": "partition_index"}),)),
    ),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (
        Echo("topics", "topics", _NAME, (Echo("partition_indexes", "partitions", {"partition_index": ""}),)),
    ),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (Echo("users", "results", {}),),
    ApiKey.ALTER_CLIENT_QUOTAS: (
        Echo(
            "entries",
            "entries",
            {},
            (Echo("entity", "entity", {"entity_type": "entity_type", "entity_name": "entity_name"}),),
        ),
    ),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (Echo("topics", "topics", _NAME),),
    ApiKey.ADD_PARTITIONS_TO_TXN: (
        Echo(
            "v3_and_below_topics",
            "results_by_topic_v3_and_below",
            _NAME,
            (Echo("partitions", "results_by_partition", {"partition_index": ""}),),
            last_version=3,  # since then the code at the top is all that there is
        ),
    ),
    ApiKey.WRITE_TXN_MARKERS: (
        Echo(
            "markers",
            "markers",
            {"producer_id": "producer_id"},
            (Echo("topics", "topics", _NAME, (Echo("partition_indexes", "partitions", {"partition_index": ""}),)),),
        ),
    ),
    ApiKey.DESCRIBE_TRANSACTIONS: (Echo("transactional_ids", "transaction_states", {"transactional_id": ""}),),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (Echo("group_ids", "groups", {"group_id": ""}),),
}

#: Versions of these cannot say that something failed, and an answer without anything in it has to do.
SILENT = (ApiKey.DESCRIBE_LOG_DIRS,)

#: Fields at the top that come back as they were.
COPIED: Mapping[int, tuple[str, ...]] = {ApiKey.FETCH: ("session_id",)}

#: Fields at the top that are null where they would be empty otherwise, in versions that can say so.
NULLED: Mapping[int, tuple[str, ...]] = {
    ApiKey.DESCRIBE_CLIENT_QUOTAS: ("entries",),
    ApiKey.JOIN_GROUP: ("protocol_name",),
}

#: Fields at the top that say that there is nothing, and whose default does not.
NOTHING: Mapping[int, Mapping[str, Any]] = {
    ApiKey.FIND_COORDINATOR: {"node_id": -1, "port": -1},
    ApiKey.INIT_PRODUCER_ID: {"producer_epoch": -1},
}


def error_response(api_key: int, version: int, error: Exception, request: Message | None = None) -> Message | None:
    """None where this version cannot say it, and for Produce with acks=0, whose client expects no answer. Anything but
    an ApiError is code -1, without a message: internals are not for clients."""
    if isinstance(request, ProduceRequest) and request.acks == 0:
        return None
    response = response_class(api_key)()
    writer = _Writer(response, version, error)
    fields = writer.schema.fields
    is_said = writer.put_error(response, fields) or api_key in SILENT
    for field in fields:
        if field.name in NULLED.get(api_key, ()) and version in field.nullable:
            setattr(response, field.name, None)
    nothing = NOTHING.get(api_key, {})
    for field in fields:
        if field.name in nothing and version in field.versions:
            setattr(response, field.name, nothing[field.name])
    if request is not None:
        for name in COPIED.get(api_key, ()):
            setattr(response, name, getattr(request, name))
        for echo in ECHOES.get(api_key, ()):
            if version <= echo.last_version:
                writer.echo(echo, request, response, fields)
                is_said = True
    return response if is_said else None


#: What the field is called.
_ERROR_CODES = ("error_code", "partition_error_code")


class _Writer:
    def __init__(self, response: Message, version: int, error: Exception) -> None:
        self.schema: Schema = schema_of(type(response))
        self._module = sys.modules[type(response).__module__]
        self._version = version
        self._code: int = ErrorCode.UNKNOWN_SERVER_ERROR
        self._message: str | None = None
        if isinstance(error, ApiError):
            self._code, self._message = error.code, str(error) or None

    def put_error(self, target: Message, fields: tuple[Field, ...]) -> bool:
        """Whether this part of the response has a place for the code."""
        names = [field.name for field in fields if self._version in field.versions]
        for field in fields:
            if field.name == "error_message" and field.name in names:
                self._put(target, field, self._message)
        name = next((name for name in _ERROR_CODES if name in names), None)
        if name is None:
            return False
        setattr(target, name, self._code)
        return True

    def echo(self, echo: Echo, asked: Any, target: Message, fields: tuple[Field, ...]) -> None:
        """Add to the response's list what the request's list names."""
        array = next(field for field in fields if field.name == echo.answered)
        struct_class, members = getattr(self._module, array.element), self.schema.structs[array.element]
        for element in _elements(asked, echo.asked):
            made = struct_class()
            self.put_error(made, members)
            for field in members:
                if field.name in echo.keys:
                    name = echo.keys[field.name]
                    self._put(made, field, getattr(element, name) if name else element)
                elif field.name in echo.constants:
                    setattr(made, field.name, echo.constants[field.name])
            for inner in echo.within:
                self.echo(inner, element, made, members)
            getattr(target, echo.answered).append(made)

    def _put(self, target: Message, field: Field, value: Any) -> None:
        """A name that the response must have, and that was not given, is empty."""
        setattr(target, field.name, "" if value is None and self._version not in field.nullable else value)


def _elements(asked: Any, path: str) -> list[Any]:
    """Of a list, or of the lists within the elements of a list: `dirs.topics`."""
    found = [asked]
    for name in path.split("."):
        found = [element for one in found for element in getattr(one, name) or ()]
    return found
