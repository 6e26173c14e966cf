"""What is let in from a producer, and what is not: tables of cases."""

from dataclasses import dataclass

import pytest

from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.log.errors import (
    InvalidArgument,
    InvalidProducerEpoch,
    InvalidTxnState,
    OutOfOrderSequence,
    TransactionCoordinatorFenced,
)
from odradek.log.offsets import AppendOrigin, CompletedTxn, OffsetMetadata
from odradek.log.producers.producer_append import TV_UNKNOWN, ProducerAppend
from odradek.log.producers.producer_entry import BatchMetadata, ProducerEntry, VerificationEntry
from support.builders.segments import START_MS, data_batch, marker

TP = TopicPartition("t", 0)
MAX = 2**31 - 1
CLIENT, COORDINATOR, REPLICATION = AppendOrigin.CLIENT, AppendOrigin.COORDINATOR, AppendOrigin.REPLICATION


def entry(epoch: int = 0, last_sequence: int | None = None, **more: int | None) -> ProducerEntry:
    batches = [] if last_sequence is None else [BatchMetadata(last_sequence, 100, 0, START_MS)]
    return ProducerEntry(7, epoch, more.get("coordinator_epoch") or -1, START_MS, more.get("txn"), batches)


def start(
    current: ProducerEntry | None,
    origin: AppendOrigin = CLIENT,
    verification: VerificationEntry | None = None,
) -> ProducerAppend:
    return ProducerAppend(TP, 7, current, origin, verification)


def send(
    append: ProducerAppend, epoch: int, sequence: int, *, count: int = 1, offset: int = 200, txn: bool = False
) -> None:
    batch = data_batch(offset, count, producer_id=7, producer_epoch=epoch, base_sequence=sequence, is_transactional=txn)
    assert append.append(batch) is None


@dataclass(frozen=True)
class Case:
    what: str
    current: ProducerEntry | None
    epoch: int
    sequence: int
    refused: type[ApiError] | None


CLIENT_CASES = [
    Case("the first of all", None, 0, 0, None),
    Case("a producer whose records were deleted", None, 3, 17, None),
    Case("next in sequence", entry(0, 9), 0, 10, None),
    Case("a gap", entry(0, 9), 0, 11, OutOfOrderSequence),
    Case("older than the window", entry(0, 9), 0, 3, OutOfOrderSequence),
    Case("the last one again, in part", entry(0, 9), 0, 9, OutOfOrderSequence),
    Case("wraps after 2^31 - 1", entry(0, MAX), 0, 0, None),
    Case("does not wrap early", entry(0, MAX - 1), 0, 0, OutOfOrderSequence),
    Case("does not go beyond", entry(0, MAX), 0, 1, OutOfOrderSequence),
    Case("a new epoch starts at 0", entry(0, 9), 1, 0, None),
    Case("a new epoch that does not", entry(0, 9), 1, 10, OutOfOrderSequence),
    Case("an old epoch", entry(2, 9), 1, 10, InvalidProducerEpoch),
    Case("after a marker only, from 0", entry(1), 1, 0, None),
    Case("after a marker only, from elsewhere", entry(1), 1, 5, OutOfOrderSequence),
    Case("after a marker only, a new epoch", entry(1), 2, 0, None),
]


@pytest.mark.parametrize("case", CLIENT_CASES, ids=lambda case: case.what)
def test_a_client(case: Case) -> None:
    append = start(case.current)
    if case.refused is None:
        send(append, case.epoch, case.sequence)
        assert append.producer_epoch == case.epoch
        assert append.batches[-1].last_sequence == case.sequence
    else:
        with pytest.raises(case.refused):
            send(append, case.epoch, case.sequence)


def test_nothing_is_changed_by_deciding() -> None:
    current = entry(0, 9)
    append = start(current)
    send(append, 0, 10, txn=True)
    send(append, 1, 0, offset=201, txn=True)
    assert (current.producer_epoch, current.last_sequence, current.current_txn_first_offset) == (0, 9, None)


def test_batches_of_one_append_follow_each_other() -> None:
    append = start(entry(0, 9))
    send(append, 0, 10, count=3)
    send(append, 0, 13, offset=203)
    with pytest.raises(OutOfOrderSequence, match=r"15 \(incoming seq. number\), 13 \(current end sequence number\)"):
        send(append, 0, 15, offset=204)
    assert append.batches == [(12, 202, 2, START_MS + 2), (13, 203, 0, START_MS)]


def test_of_many_batches_the_last_five_are_kept() -> None:
    append = start(None)
    for i in range(8):
        send(append, 0, i, offset=200 + i)
    assert [batch.last_sequence for batch in append.batches] == [3, 4, 5, 6, 7]


def test_a_batch_that_spans_the_wrap() -> None:
    append = start(entry(0, MAX - 2))
    send(append, 0, MAX - 1, count=4)
    assert append.batches[-1] == (1, 203, 3, START_MS + 3)
    assert append.batches[-1].first_sequence == MAX - 1
    send(append, 0, 2, offset=204)


@pytest.mark.parametrize("case", CLIENT_CASES, ids=lambda case: case.what)
def test_a_coordinator_is_checked_by_epoch_and_a_leader_not_at_all(case: Case) -> None:
    if case.refused is InvalidProducerEpoch:
        with pytest.raises(InvalidProducerEpoch):
            send(start(case.current, COORDINATOR), case.epoch, case.sequence)
    else:
        send(start(case.current, COORDINATOR), case.epoch, case.sequence)
    replicated = start(case.current, REPLICATION)
    send(replicated, case.epoch, case.sequence)
    assert replicated.producer_epoch == case.epoch


def test_a_coordinators_batch_has_no_sequence() -> None:
    append = start(entry(0, 9), COORDINATOR)
    send(append, 0, -1)
    assert append.batches[-1].last_sequence == -1


class TestTransactions:
    def test_the_first_batch_starts_it_and_the_marker_ends_it(self) -> None:
        append = start(entry(0, 9), COORDINATOR)
        send(append, 0, 10, count=2, txn=True)
        send(append, 0, 12, offset=202, txn=True)
        assert append.started == [OffsetMetadata(200)]
        assert append.current_txn_first_offset == 200
        completed = append.append(marker(203, 7, commit=False, coordinator_epoch=3), transaction_version=1)
        assert completed == CompletedTxn(7, 200, 203, is_aborted=True)
        assert (append.current_txn_first_offset, append.coordinator_epoch) == (None, 3)
        assert len(append.batches) == 2  # a marker of the same epoch leaves the sequences

    def test_where_it_starts_is_kept(self) -> None:
        append = start(None)
        place = OffsetMetadata(200, 150, 4096)
        batch = data_batch(200, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
        append.append(batch, place)
        assert append.started == [place]

    def test_two_in_one_append(self) -> None:
        append = start(None, REPLICATION)
        send(append, 0, 0, offset=10, txn=True)
        first = append.append(marker(11, 7))
        send(append, 0, 1, offset=12, txn=True)
        second = append.append(marker(13, 7, commit=False))
        assert (first, second) == (CompletedTxn(7, 10, 11, False), CompletedTxn(7, 12, 13, True))
        assert append.started == [OffsetMetadata(10), OffsetMetadata(12)]

    def test_a_batch_outside_of_the_open_transaction(self) -> None:
        with pytest.raises(InvalidTxnState, match="Expected transactional write from producer 7 at offset 200"):
            send(start(entry(0, 9, txn=50)), 0, 10)

    def test_a_marker_without_data_completes_nothing(self) -> None:
        append = start(None, COORDINATOR)
        assert append.append(marker(200, 7, coordinator_epoch=5), transaction_version=0) is None
        assert (append.producer_epoch, append.coordinator_epoch) == (0, 5)

    def test_an_old_coordinator_is_fenced_but_a_follower_takes_its_marker(self) -> None:
        current = entry(0, 9, coordinator_epoch=4, txn=100)
        with pytest.raises(TransactionCoordinatorFenced, match=r"3 \(zombie\), 4 \(current\)"):
            start(current, COORDINATOR).append(marker(200, 7, coordinator_epoch=3), transaction_version=1)
        assert start(current, REPLICATION).append(marker(200, 7, coordinator_epoch=3)) is not None

    def test_the_version_must_be_told_except_in_replication(self) -> None:
        with pytest.raises(InvalidArgument, match="transaction version"):
            start(entry(0), COORDINATOR).append(marker(200, 7), transaction_version=TV_UNKNOWN)

    @pytest.mark.parametrize(
        ("version", "current_epoch", "txn", "marker_epoch", "refused"),
        [
            (0, 5, 100, 4, True),
            (0, 5, 100, 5, False),
            (0, 5, 100, 6, False),
            (1, 5, 100, 4, True),
            (1, 5, 100, 5, False),
            (2, 5, 100, 4, True),
            (2, 5, 100, 5, True),  # of an earlier transaction: this one's marker has epoch 6
            (2, 5, 100, 6, False),
            (2, 5, None, 5, False),  # the same marker again
            (2, 5, None, 4, True),
            (2, 32767, 100, 32767, False),  # no epoch is left above
        ],
    )
    def test_epochs_of_markers(
        self, version: int, current_epoch: int, txn: int | None, marker_epoch: int, refused: bool
    ) -> None:
        batch = marker(200, 7, producer_epoch=marker_epoch)
        append = start(entry(current_epoch, 9, txn=txn), COORDINATOR)
        if refused:
            with pytest.raises(InvalidProducerEpoch):
                append.append(batch, transaction_version=version)
        else:
            append.append(batch, transaction_version=version)
            assert append.producer_epoch == marker_epoch
        assert start(entry(current_epoch, 9, txn=txn), REPLICATION).append(batch) == (
            None if txn is None else CompletedTxn(7, txn, 200, False)
        )

    def test_a_marker_with_a_higher_epoch_forgets_the_sequences(self) -> None:
        append = start(None, REPLICATION)
        send(append, 0, 0, txn=True)
        append.append(marker(201, 7, producer_epoch=1))
        assert append.batches == []
        assert append.producer_epoch == 1


class TestVerification:
    def test_a_later_sequence_must_not_overtake(self) -> None:
        verification = VerificationEntry(START_MS, 10, 0, False)
        with pytest.raises(OutOfOrderSequence, match=r"11 \(incoming seq. number\), 10 \(earliest seen sequence\)"):
            send(start(None, CLIENT, verification), 0, 11, txn=True)
        send(start(None, CLIENT, verification), 0, 10, txn=True)

    def test_with_epoch_bumps_an_unknown_producer_starts_at_0(self) -> None:
        verification = VerificationEntry(START_MS, 10, 0, True)
        with pytest.raises(OutOfOrderSequence, match="Expected sequence 0"):
            send(start(None, CLIENT, verification), 0, 10, txn=True)
        send(start(entry(0, 9), CLIENT, verification), 0, 10, txn=True)

    @pytest.mark.parametrize(
        ("bump", "is_marker", "epoch", "clears"),
        [
            (False, False, 1, True),
            (False, True, 1, True),
            (True, False, 1, True),
            (True, True, 1, False),  # the marker of the transaction before the one that is being verified
            (True, True, 0, True),
        ],
    )
    def test_when_it_is_done(self, bump: bool, is_marker: bool, epoch: int, clears: bool) -> None:
        verification = VerificationEntry(START_MS, 0, 1, bump)
        append = start(entry(0), REPLICATION, verification)
        if is_marker:
            append.append(marker(200, 7, producer_epoch=epoch))
        else:
            send(append, epoch, 0, txn=True)
        assert append.clears_verification == clears

    def test_batches_without_a_transaction_have_nothing_to_do_with_it(self) -> None:
        append = start(None, REPLICATION, VerificationEntry(START_MS, 0, 0, False))
        send(append, 0, 0)
        assert not append.clears_verification
