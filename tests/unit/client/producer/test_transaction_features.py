"""The version of transactions: the newest report counts, from the next transaction on."""

from odradek.client.producer.transaction_features import TransactionFeatures


def test_a_level_counts_once_it_is_applied() -> None:
    features = TransactionFeatures()
    features.note(1, 2)
    assert not features.is_version_2
    assert features.apply() and features.is_version_2
    assert not features.apply(), "the upgrade is reported once"


def test_older_reports_are_ignored() -> None:
    features = TransactionFeatures()
    features.note(5, 2)
    features.note(4, 1)
    features.apply()
    assert features.is_version_2


def test_a_downgrade_needs_no_new_epoch() -> None:
    features = TransactionFeatures()
    features.note(1, 2)
    features.apply()
    features.note(2, 1)
    assert not features.apply() and not features.is_version_2
