"""KIP-890, Transactions Server-Side Defense."""

from pathlib import Path

import pytest

from odradek.common.ids import TopicPartition
from odradek.log.errors import InvalidProducerEpoch
from odradek.log.offsets import AppendOrigin
from odradek.log.producers.producer_state import ProducerState
from odradek.records.batch import Batch
from support.builders.segments import FILES, START_MS, data_batch, marker

TP = TopicPartition("t", 0)
TV2 = 2


def data(offset: int, epoch: int, sequence: int = 0) -> Batch:
    return data_batch(offset, producer_id=7, producer_epoch=epoch, base_sequence=sequence, is_transactional=True)


def write(state: ProducerState, batch: Batch, origin: AppendOrigin = AppendOrigin.CLIENT) -> None:
    decided = state.prepare_update(7, origin)
    completed = decided.append(batch, transaction_version=TV2)
    state.update(decided)
    if completed is not None:
        state.complete_txn(completed)
    state.update_map_end_offset(batch.next_offset)


def test_each_transaction_has_an_epoch_of_its_own(tmp_path: Path) -> None:
    """ "Uniquely identify transactions by bumping the producer epoch after every commit/abort marker. That way, each
    transaction can be identified by (producer id, epoch)." """
    state = ProducerState(FILES, TP, str(tmp_path))
    write(state, data(0, epoch=0))
    write(state, marker(1, 7, producer_epoch=1), AppendOrigin.COORDINATOR)
    known = state.last_entry(7)
    assert known is not None
    assert (known.producer_epoch, known.batches) == (1, [])
    write(state, data(2, epoch=1))
    assert state.has_ongoing_transaction(7, 1)


def test_a_delayed_message_of_the_transaction_before_is_fenced(tmp_path: Path) -> None:
    """ "This can happen when a message gets stuck or delayed due to networking issues or a network partition, the
    transaction aborts, and then the delayed message finally comes in." """
    state = ProducerState(FILES, TP, str(tmp_path))
    write(state, data(0, epoch=0))
    write(state, marker(1, 7, commit=False, producer_epoch=1), AppendOrigin.COORDINATOR)
    with pytest.raises(InvalidProducerEpoch):
        write(state, data(2, epoch=0, sequence=1))
    assert state.first_undecided_offset() is None


def test_a_delayed_marker_does_not_end_the_next_transaction(tmp_path: Path) -> None:
    """ "A similar event can occur if a delayed EndTxn marker comes through an a new transaction with the same epoch has
    started when the request is received. This can result in incorrectly completing a transaction." """
    state = ProducerState(FILES, TP, str(tmp_path))
    write(state, data(0, epoch=0))
    late = marker(1, 7, producer_epoch=1)
    write(state, late, AppendOrigin.COORDINATOR)
    write(state, late, AppendOrigin.COORDINATOR)  # again, because the first answer was lost: harmless
    write(state, data(3, epoch=1))
    with pytest.raises(InvalidProducerEpoch):
        write(state, marker(4, 7, producer_epoch=1), AppendOrigin.COORDINATOR)
    assert state.has_ongoing_transaction(7, 1)
    write(state, marker(4, 7, producer_epoch=2), AppendOrigin.COORDINATOR)
    assert not state.has_ongoing_transaction(7, 2)


def test_an_old_verification_does_not_open_a_new_transaction(tmp_path: Path) -> None:
    """A producer is let into a partition once its coordinator has confirmed the transaction. An abort that comes in
    between must make that confirmation worthless, even if the producer tries again (the guard is unique)."""
    state = ProducerState(FILES, TP, str(tmp_path))
    asked = state.maybe_create_verification(7, 0, 0, False, START_MS).guard
    assert state.is_verified(7, asked)
    decided = state.prepare_update(7, AppendOrigin.COORDINATOR)
    decided.append(marker(0, 7, commit=False), transaction_version=0)
    state.update(decided)
    assert not state.is_verified(7, asked)
    asked_again = state.maybe_create_verification(7, 0, 0, False, START_MS).guard
    assert not state.is_verified(7, asked)
    assert state.is_verified(7, asked_again)
