"""Records that a controller writes when it becomes active."""

from collections.abc import Sequence

from odradek.common.failures import Fault, check
from odradek.controller.configuration_control import ALL_BROKERS, MIN_INSYNC_REPLICAS
from odradek.controller.controls import Controls
from odradek.controller.decision import ControllerDecision
from odradek.metadata.features import metadata_version
from odradek.metadata.features.feature_versions import ELIGIBLE_LEADER_REPLICAS_VERSION
from odradek.metadata.image.features import supported_version
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.messages.abort_transaction_record import AbortTransactionRecord
from odradek.protocol.messages.begin_transaction_record import BeginTransactionRecord
from odradek.protocol.messages.config_record import ConfigRecord
from odradek.protocol.messages.end_transaction_record import EndTransactionRecord
from odradek.protocol.messages.feature_level_record import FeatureLevelRecord


def activation_records(controls: Controls, bootstrap: Sequence[MetadataRecord]) -> ControllerDecision[str]:
    """Decide the first records; the response is a description for the log.

    A transaction that the previous controller left open is aborted. A log without a metadata.version gets the bootstrap
    records in one transaction, so that a crash between them leaves nothing.
    """
    records: list[MetadataRecord] = []
    descriptions = []
    if controls.open_transaction is not None:
        records.append(MetadataRecord(AbortTransactionRecord(reason="Controller failover"), 0))
        descriptions.append("aborted the transaction that its predecessor left open")
    if controls.features.is_bootstrapped:
        return ControllerDecision(records, "; ".join(descriptions), is_atomic=True)
    version = supported_version(_bootstrap_level(bootstrap, metadata_version.FEATURE_NAME))
    check(not records or version.is_metadata_transaction_supported, "a transaction at a level without transactions")
    first_records = [*bootstrap]
    if _bootstrap_level(bootstrap, ELIGIBLE_LEADER_REPLICAS_VERSION) > 0:
        record = ConfigRecord(
            resource_type=ALL_BROKERS.type,
            resource_name=ALL_BROKERS.name,
            name=MIN_INSYNC_REPLICAS,
            value=str(controls.configuration.static_min_insync_replicas),
        )
        first_records.append(MetadataRecord(record, 0))
    descriptions.append(f"wrote the {len(bootstrap)} records of a new cluster at metadata.version {version.version}")
    if not version.is_metadata_transaction_supported:
        return ControllerDecision(first_records, "; ".join(descriptions), is_atomic=True)
    records.append(MetadataRecord(BeginTransactionRecord(name="Bootstrap records"), 0))
    records += [*first_records, MetadataRecord(EndTransactionRecord(), 0)]
    return ControllerDecision(records, "; ".join(descriptions))


def _bootstrap_level(bootstrap: Sequence[MetadataRecord], feature: str) -> int:
    for message, _ in bootstrap:
        if isinstance(message, FeatureLevelRecord) and message.name == feature:
            return message.feature_level
    if feature == metadata_version.FEATURE_NAME:
        raise Fault("the bootstrap records of the cluster have no metadata.version")
    return 0
