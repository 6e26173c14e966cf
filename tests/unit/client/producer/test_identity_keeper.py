"""Producer id and epoch: when the epoch is raised, and which sequences restart then."""

from odradek.client.producer.identity_keeper import ProducerIdentityKeeper
from odradek.client.producer.partition_sequences import SequenceTable
from odradek.client.producer.producer_identity import NO_IDENTITY, ProducerIdentity
from odradek.client.producer.transaction_features import TransactionFeatures
from odradek.client.types import TopicPartition

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def keeper_with(epoch: int) -> tuple[ProducerIdentityKeeper, SequenceTable, TransactionFeatures]:
    table, features = SequenceTable(), TransactionFeatures()
    keeper = ProducerIdentityKeeper(table, features)
    keeper.replace(ProducerIdentity(7, epoch), restarts_sequences=False)
    return keeper, table, features


def test_a_raised_epoch_restarts_only_partitions_to_renumber() -> None:
    keeper, table, _ = keeper_with(0)
    for partition in (A, B):
        table.of(partition).restart(keeper.identity)
    keeper.renumber(A)
    assert keeper.is_bump_due and keeper.raise_epoch() and not keeper.is_bump_due
    assert table.of(A).identity == (7, 1) and table.of(B).identity == (7, 0)


def test_the_last_epoch_needs_a_new_producer_id() -> None:
    keeper, _, _ = keeper_with(2**15 - 1)
    keeper.renumber(A)
    assert not keeper.raise_epoch() and keeper.identity == NO_IDENTITY


def test_version_2_needs_no_bump_after_an_error() -> None:
    keeper, _, features = keeper_with(0)
    features.note(1, 2)
    features.apply()
    keeper.request_bump()
    assert not keeper.is_bump_due, "the end of the transaction brings a new epoch"
    keeper.require_bump()
    assert keeper.is_bump_due


def test_a_new_identity_may_restart_all_sequences() -> None:
    keeper, table, _ = keeper_with(0)
    table.of(A)
    keeper.replace(ProducerIdentity(7, 1), restarts_sequences=True)
    assert table.get(A) is None
