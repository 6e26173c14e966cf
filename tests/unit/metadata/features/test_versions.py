"""Levels of metadata.version and of the other features."""

import pytest

from odradek.common.failures import InputError
from odradek.metadata.features.feature_versions import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    FEATURES,
    default_level,
    supported_features,
    unmet_dependency,
)
from odradek.metadata.features.metadata_version import (
    LATEST_PRODUCTION,
    MINIMUM_VERSION,
    MetadataVersion,
    from_version_string,
    metadata_changed_between,
)
from odradek.protocol.registry import message_versions


@pytest.mark.parametrize(
    ("text", "level"),
    [("3.3-IV3", 7), ("3.7", 19), ("4.0-IV1", 23), ("4.0", 25), ("4.3", 30), ("4.3.1", 30), ("4.3-IV0", 30)],
)
def test_names_of_levels(text: str, level: int) -> None:
    assert from_version_string(text) == level


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"4\.9.*3\.3-IV3.*4\.3-IV0"):
        from_version_string("4.9")


def test_levels_have_no_gaps() -> None:
    assert [int(level) for level in MetadataVersion] == list(range(MINIMUM_VERSION, LATEST_PRODUCTION + 1))


def test_versions_of_records_grow_with_the_level_up_to_the_newest() -> None:
    for name, attribute in [
        ("RegisterBrokerRecord", "register_broker_record_version"),
        ("BrokerRegistrationChangeRecord", "broker_registration_change_record_version"),
        ("PartitionRecord", "partition_record_version"),
        ("PartitionChangeRecord", "partition_change_record_version"),
    ]:
        versions = [getattr(level, attribute) for level in MetadataVersion]
        assert versions == sorted(versions)
        assert versions[-1] == message_versions(name)[-1]


def test_which_changes_of_level_change_records() -> None:
    assert not metadata_changed_between(MetadataVersion.IBP_4_0_IV1, MetadataVersion.IBP_4_2_IV1)
    assert metadata_changed_between(MetadataVersion.IBP_4_0_IV1, MetadataVersion.IBP_4_0_IV0)
    assert metadata_changed_between(MetadataVersion.IBP_4_2_IV1, MetadataVersion.IBP_4_3_IV0)


def test_levels_of_a_new_cluster() -> None:
    """As in a cluster that Kafka 4.3 has formatted, without the features that are not served here."""
    levels = {name: default_level(name, LATEST_PRODUCTION) for name in FEATURES}
    assert levels == {
        "kraft.version": 1,
        "transaction.version": 2,
        "group.version": 1,
        "eligible.leader.replicas.version": 1,
        "share.version": 0,
        "streams.version": 0,
    }
    assert default_level("group.version", MetadataVersion.IBP_3_9_IV0) == 0


def test_needs_of_a_level() -> None:
    low = {"metadata.version": int(MetadataVersion.IBP_3_9_IV0)}
    assert "depends on metadata.version level 23" in (unmet_dependency(ELIGIBLE_LEADER_REPLICAS_VERSION, 1, low) or "")
    assert unmet_dependency(ELIGIBLE_LEADER_REPLICAS_VERSION, 1, {"metadata.version": 23}) is None
    assert "feature level 9" in (unmet_dependency("group.version", 9, low) or "")
    assert "metadata.version=7" in (unmet_dependency("group.version", 1, {}) or "")


def test_supported_ranges_are_what_a_node_registers() -> None:
    ranges = supported_features()
    assert 30 in ranges["metadata.version"] and 31 not in ranges["metadata.version"]
    assert str(ranges["transaction.version"]) == "0-2"
