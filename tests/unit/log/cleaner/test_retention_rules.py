"""What compaction keeps, rule by rule."""

from collections.abc import Mapping

import pytest

from odradek.log.cleaner.retention_rules import (
    BatchRetention,
    CleanedTransactions,
    LastRecord,
    judge_batch,
    keeps_tombstones,
)
from odradek.log.offsets import AbortedTxn
from odradek.records.batch import Batch, read_batch
from odradek.records.builder import BatchBuilder, control_batch, empty_batch, end_transaction_marker
from odradek.records.control import ControlType

NOW_MS = 1_000_000
PRODUCER = 7


def data(
    offset: int, *, count: int = 1, transactional: bool = False, producer: int = PRODUCER, epoch: int = 0
) -> Batch:
    builder = BatchBuilder(
        base_offset=offset,
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=0,
        is_transactional=transactional,
    )
    for number in range(count):
        builder.append(5, b"key %d" % number, b"value")
    return read_batch(builder.build())


def marker(
    offset: int, *, commit: bool, producer: int = PRODUCER, epoch: int = 0, horizon_ms: int | None = None
) -> Batch:
    if horizon_ms is None:
        built = end_transaction_marker(
            commit=commit,
            timestamp=5,
            producer_id=producer,
            producer_epoch=epoch,
            coordinator_epoch=0,
            base_offset=offset,
        )
        return read_batch(built)
    plain = marker(offset, commit=commit, producer=producer, epoch=epoch)
    builder = BatchBuilder(
        base_offset=offset,
        producer_id=producer,
        producer_epoch=epoch,
        is_transactional=True,
        is_control=True,
        delete_horizon_ms=horizon_ms,
    )
    for record in plain.records():
        builder.append(record.timestamp, record.key, record.value)
    return read_batch(builder.build())


def judge(
    batch: Batch,
    transactions: CleanedTransactions | None = None,
    last_records: Mapping[int, LastRecord] | None = None,
    round_end_offset: int = 1000,
) -> tuple[str, bool, bool]:
    verdict = judge_batch(batch, transactions or CleanedTransactions(), last_records or {}, round_end_offset, NOW_MS)
    return verdict.retention.value, verdict.drops_records, verdict.marks_no_data


KEEP = ("delete empty", False, False)


def test_a_batch_of_nobody_is_judged_by_its_records() -> None:
    assert judge(data(10)) == KEEP


@pytest.mark.parametrize(
    ("last", "batch", "kept"),
    [
        (LastRecord(12, 0), data(10, count=3), True),
        (LastRecord(11, 0), data(10, count=3), False),  # its last sequence is elsewhere
        (LastRecord(None, 0), data(10), False),  # only a marker tells this producer's epoch
        (LastRecord(None, 0), marker(10, commit=True), True),
        (LastRecord(None, 1), marker(10, commit=True), False),  # of an older epoch
        (LastRecord(9, 0), marker(10, commit=True), False),
    ],
)
def test_what_an_active_producer_needs_stays_even_if_empty(last: LastRecord, batch: Batch, kept: bool) -> None:
    retention, _, _ = judge(batch, last_records={PRODUCER: last})
    assert (retention == "retain empty") is kept


def test_the_last_batch_of_the_round_stays_even_if_empty() -> None:
    assert judge(data(10, count=3), round_end_offset=13)[0] == "retain empty"
    assert judge(data(10, count=3), round_end_offset=14)[0] == "delete empty"


def test_aborted_data_goes_at_once_and_its_marker_stays_for_another_round() -> None:
    transactions = CleanedTransactions()
    aborted = AbortedTxn(PRODUCER, first_offset=10, last_offset=20, last_stable_offset=10)
    transactions.add_aborted([aborted])
    retained: list[AbortedTxn] = []
    assert judge(data(9, transactional=True, producer=8), transactions) == KEEP
    assert judge(data(10, transactional=True), transactions) == ("delete", True, False)
    verdict = judge_batch(marker(20, commit=False), transactions, {}, 1000, NOW_MS, retained.append)
    assert (verdict.retention, verdict.marks_no_data) == (BatchRetention.DELETE_EMPTY, False)
    assert retained == [aborted]
    # Behind its marker the producer's next transaction is another one.
    assert judge(data(21, transactional=True), transactions) == KEEP


def test_the_last_aborted_batch_of_an_active_producer_loses_its_records_but_not_its_header() -> None:
    transactions = CleanedTransactions()
    transactions.add_aborted([AbortedTxn(PRODUCER, 10, 20, 10)])
    verdict = judge(data(10, transactional=True), transactions, {PRODUCER: LastRecord(10, 0)})
    assert verdict == ("retain empty", True, False)


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_without_data_waits_for_its_horizon(commit: bool) -> None:
    waiting = ("delete empty", False, True)
    assert judge(marker(20, commit=commit)) == waiting  # gets its horizon now
    assert judge(marker(20, commit=commit, horizon_ms=NOW_MS + 1)) == waiting
    assert judge(marker(20, commit=commit, horizon_ms=NOW_MS)) == ("delete", True, True)


def test_a_commit_marker_stays_while_data_of_its_transaction_does() -> None:
    transactions = CleanedTransactions()
    assert judge(data(10, transactional=True), transactions) == KEEP
    assert judge(marker(20, commit=True, horizon_ms=0), transactions) == KEEP
    assert judge(marker(30, commit=True, horizon_ms=0), transactions) == ("delete", True, True)


def test_two_transactions_of_one_producer_are_told_apart() -> None:
    transactions = CleanedTransactions()
    first, second = AbortedTxn(PRODUCER, 10, 12, 10), AbortedTxn(PRODUCER, 15, 17, 15)
    transactions.add_aborted([second, first])
    transactions.add_aborted([first])  # a transaction over two segments is found twice
    retained: list[AbortedTxn] = []
    for batch in (data(10, transactional=True), marker(12, commit=False), data(15, transactional=True)):
        judge_batch(batch, transactions, {}, 1000, NOW_MS, retained.append)
    judge_batch(marker(17, commit=False), transactions, {}, 1000, NOW_MS, retained.append)
    assert retained == [first, second]


def test_an_emptied_marker_is_dropped_when_nobody_needs_it() -> None:
    emptied = read_batch(empty_batch(marker(20, commit=True)))
    assert judge(emptied) == ("delete empty", False, True)
    assert judge(emptied, last_records={PRODUCER: LastRecord(None, 0)})[0] == "retain empty"


def test_other_control_records_stay() -> None:
    leader_change = read_batch(control_batch([(ControlType.LEADER_CHANGE, b"\0\0")], 5, base_offset=3))
    assert judge(leader_change) == KEEP


@pytest.mark.parametrize(
    ("horizon_ms", "kept"), [(None, True), (NOW_MS + 1, True), (NOW_MS, False), (NOW_MS - 1, False)]
)
def test_tombstones_stay_until_their_horizon(horizon_ms: int | None, kept: bool) -> None:
    builder = BatchBuilder(delete_horizon_ms=horizon_ms)
    builder.append(5, b"key", None)
    assert keeps_tombstones(read_batch(builder.build()), NOW_MS, legacy_horizon_passed=True) is kept
