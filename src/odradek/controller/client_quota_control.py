"""Client quotas: validation, and the state of the metadata log."""

import ipaddress
import re
from collections.abc import Mapping

from odradek.controller.decision import SUCCESS, ControllerDecision, ItemResult, RequestRejected, item_result
from odradek.metadata.image.client_quotas import QuotaEntity, quota_entity
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages import alter_client_quotas_response as response
from odradek.protocol.messages.alter_client_quotas_request import AlterClientQuotasRequest, EntryData, OpData
from odradek.protocol.messages.client_quota_record import ClientQuotaRecord, EntityData

USER, CLIENT_ID, IP = "user", "client-id", "ip"

#: Quota keys, and whether their values are integers.
_USER_AND_CLIENT_KEYS: Mapping[str, bool] = {
    "producer_byte_rate": True,
    "consumer_byte_rate": True,
    "request_percentage": False,
    "controller_mutation_rate": False,
}
_IP_KEYS: Mapping[str, bool] = {"connection_creation_rate": True}

_INT_MAX = 2**31 - 1
_LONG_MAX = 2**63 - 1
#: Largest fractional part of a value that must be an integer.
_FRACTION_MAX = 1e-6

_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")


class ClientQuotaControl:
    def __init__(self) -> None:
        self.quotas: dict[QuotaEntity, dict[str, float]] = {}

    def alter(self, request: AlterClientQuotasRequest) -> ControllerDecision[response.AlterClientQuotasResponse]:
        records: list[MetadataRecord] = []
        results: list[tuple[EntryData, ItemResult]] = []
        seen: dict[QuotaEntity, None] = {}
        for entry in request.entries:
            entity = tuple((part.entity_type, part.entity_name) for part in entry.entity)
            try:
                if entity in seen:
                    raise _invalid(f"Ignoring duplicate entity {entity}")
                seen[entity] = None
                records += self._alter_entity(entry)
                results.append((entry, SUCCESS))
            except RequestRejected as rejection:
                results.append((entry, item_result(rejection)))
        if request.validate_only:
            records = []
        return ControllerDecision(records, _response(results), is_atomic=True)

    def replay(self, record: ClientQuotaRecord) -> None:
        entity = quota_entity(record.entity)
        quotas = self.quotas.setdefault(entity, {})
        if record.remove:
            quotas.pop(record.key, None)
        else:
            quotas[record.key] = record.value
        if not quotas:
            del self.quotas[entity]

    def _alter_entity(self, entry: EntryData) -> list[MetadataRecord]:
        parts = _checked_parts(entry)
        keys = _keys_for(parts)
        data = [EntityData(entity_type=entity_type, entity_name=name) for entity_type, name in parts.items()]
        current = self.quotas.get(quota_entity(data), {})
        records, seen = [], []
        for op in entry.ops:
            if op.key in seen:
                raise _invalid(f"Duplicate quota key {op.key} not updating quota for this entity {parts}")
            seen.append(op.key)
            record = _record(op, data, keys, current)
            if record is not None:
                records.append(MetadataRecord(record, 0))
        return records


def _record(
    op: OpData, entity: list[EntityData], keys: Mapping[str, bool], current: Mapping[str, float]
) -> ClientQuotaRecord | None:
    if op.remove:
        return ClientQuotaRecord(entity=entity, key=op.key, remove=True) if op.key in current else None
    _check_value(op, keys)
    return None if current.get(op.key) == op.value else ClientQuotaRecord(entity=entity, key=op.key, value=op.value)


def _checked_parts(entry: EntryData) -> dict[str, str | None]:
    parts: dict[str, str | None] = {}
    for part in entry.entity:
        if part.entity_type in parts:
            raise _invalid(f"Invalid client quota entity, duplicate entity entry {part.entity_type}")
        if part.entity_type not in (USER, CLIENT_ID, IP):
            raise _invalid(f"Unhandled client quota entity type: {part.entity_type}")
        if part.entity_name == "":
            raise _invalid(f"Empty {part.entity_type} not supported")
        parts[part.entity_type] = part.entity_name
    if not parts:
        raise _invalid("Invalid empty client quota entity")
    return parts


def _keys_for(parts: Mapping[str, str | None]) -> Mapping[str, bool]:
    if IP not in parts:
        return _USER_AND_CLIENT_KEYS
    if len(parts) > 1:
        raise _invalid("Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId")
    name = parts[IP]
    if name is not None and not _is_address(name):
        raise _invalid(f"{name} is not a valid IP or resolvable host.")
    return _IP_KEYS


def _is_address(text: str) -> bool:
    """Return whether the text is an IP address or a syntactically valid host name, which is not resolved here."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return _HOST_NAME.fullmatch(text) is not None
    return True


def _check_value(op: OpData, keys: Mapping[str, bool]) -> None:
    if op.key not in keys:
        raise _invalid(f"Invalid configuration key {op.key}")
    if op.value <= 0.0:
        raise _invalid(f"Quota {op.key} must be greater than 0")
    if not keys[op.key]:
        return
    limit, name = (_INT_MAX, "an INT") if op.key in _IP_KEYS else (_LONG_MAX, "a LONG")
    if op.value > limit:
        raise _invalid(f"Proposed value for {op.key} is too large for {name}.")
    if op.value % 1.0 > _FRACTION_MAX:
        raise _invalid(f"{op.key} cannot be a fractional value.")


def _invalid(message: str) -> RequestRejected:
    return RequestRejected(ErrorCode.INVALID_REQUEST, message)


def _response(results: list[tuple[EntryData, ItemResult]]) -> response.AlterClientQuotasResponse:
    return response.AlterClientQuotasResponse(
        entries=[
            response.EntryData(
                error_code=result.code,
                error_message=result.message,
                entity=[
                    response.EntityData(entity_type=part.entity_type, entity_name=part.entity_name)
                    for part in entry.entity
                ],
            )
            for entry, result in results
        ]
    )
