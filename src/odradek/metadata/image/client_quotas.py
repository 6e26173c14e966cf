"""Client quotas by the user, client id or address that they apply to."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from odradek.metadata.image.immutable_map import MapDelta, SharedMap
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.messages.client_quota_record import ClientQuotaRecord, EntityData

#: Sorted pairs of type ("user", "client-id", "ip") and name; the name None means the default of that type.
QuotaEntity = tuple[tuple[str, str | None], ...]

Quotas = SharedMap[str, float]


@dataclass(frozen=True, slots=True)
class ClientQuotasImage:
    #: Only entities with at least one quota.
    entities: SharedMap[QuotaEntity, Quotas] = field(default_factory=SharedMap)

    @property
    def is_empty(self) -> bool:
        return not self.entities

    def records(self) -> Iterator[MetadataRecord]:
        for entity, quotas in sorted(self.entities.items(), key=lambda item: _order(item[0])):
            for key, value in sorted(quotas.items()):
                yield MetadataRecord(ClientQuotaRecord(entity=entity_data(entity), key=key, value=value), 0)


class ClientQuotasDelta:
    def __init__(self, image: ClientQuotasImage) -> None:
        self.image = image
        self.changed: dict[QuotaEntity, MapDelta[str, float]] = {}

    def replay(self, record: ClientQuotaRecord) -> None:
        quotas = self._entity(quota_entity(record.entity))
        if record.remove:
            quotas.remove(record.key)
        else:
            quotas.put(record.key, record.value)

    def finish_snapshot(self) -> None:
        for entity in self.image.entities:
            self._entity(entity).finish_snapshot()

    def apply(self) -> ClientQuotasImage:
        changes = {entity: quotas.apply() or None for entity, quotas in self.changed.items()}
        return ClientQuotasImage(self.image.entities.changed(changes))

    def _entity(self, entity: QuotaEntity) -> MapDelta[str, float]:
        quotas = self.changed.get(entity)
        if quotas is None:
            quotas = self.changed[entity] = MapDelta(self.image.entities.get(entity, _NONE))
        return quotas


_NONE: Quotas = SharedMap()


def quota_entity(parts: list[EntityData]) -> QuotaEntity:
    named = {part.entity_type: part.entity_name for part in parts}
    return tuple((entity_type, named[entity_type]) for entity_type in sorted(named))


def entity_data(entity: QuotaEntity) -> list[EntityData]:
    return [EntityData(entity_type=entity_type, entity_name=name) for entity_type, name in entity]


def _order(entity: QuotaEntity) -> tuple[tuple[str, bool, str], ...]:
    return tuple((entity_type, name is not None, name or "") for entity_type, name in entity)
