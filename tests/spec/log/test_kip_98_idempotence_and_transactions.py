"""KIP-98, Exactly Once Delivery and Transactional Messaging, with KIP-360, which keeps producers known for longer."""

from pathlib import Path

import pytest

from odradek.common.ids import TopicPartition
from odradek.log.errors import InvalidProducerEpoch, OutOfOrderSequence
from odradek.log.offsets import AbortedTxn, AppendOrigin
from odradek.log.producers.producer_state import ProducerState
from support.builders.segments import FILES, START_MS, append, data_batch, marker, new_segment

TP = TopicPartition("t", 0)


def produce(state: ProducerState, offset: int, sequence: int, *, epoch: int = 0, producer_id: int = 7) -> None:
    decided = state.prepare_update(producer_id, AppendOrigin.CLIENT)
    decided.append(data_batch(offset, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence))
    state.update(decided)
    state.update_map_end_offset(offset + 1)


def test_sequences_grow_by_one(tmp_path: Path) -> None:
    """The broker takes a batch only if its first sequence follows the last one it has of the producer: a lower one is
    a duplicate, a higher one means that something was lost in between."""
    state = ProducerState(FILES, TP, str(tmp_path))
    produce(state, 0, 0)
    produce(state, 1, 1)
    with pytest.raises(OutOfOrderSequence) as lost:
        produce(state, 2, 3)
    assert lost.value.code == 45
    known = state.last_entry(7)
    assert known is not None
    repeated = known.find_duplicate(0, 0, 0)
    assert repeated is not None and repeated.first_offset == 0


def test_a_zombie_is_fenced_by_its_epoch(tmp_path: Path) -> None:
    """Of two producers with the same id the one with the older epoch is refused from the moment that the newer one
    has written."""
    state = ProducerState(FILES, TP, str(tmp_path))
    produce(state, 0, 0, epoch=0)
    produce(state, 1, 0, epoch=1)
    with pytest.raises(InvalidProducerEpoch) as fenced:
        produce(state, 2, 1, epoch=0)
    assert fenced.value.code == 47


def test_a_reader_of_committed_data_is_told_what_was_aborted(tmp_path: Path) -> None:
    """The transaction index holds, for each aborted transaction, the producer, the first offset, the last offset and
    the last stable offset at that time: a fetch is answered with those that reach into it."""
    segment = new_segment(tmp_path)
    state = ProducerState(FILES, TP, str(tmp_path))
    open_batch = data_batch(0, producer_id=8, producer_epoch=0, base_sequence=0, is_transactional=True)
    aborted_batch = data_batch(1, producer_id=9, producer_epoch=0, base_sequence=0, is_transactional=True)
    for batch in (open_batch, aborted_batch, marker(2, 9, commit=False)):
        decided = state.prepare_update(batch.producer_id, AppendOrigin.COORDINATOR)
        completed = decided.append(batch, transaction_version=0)
        append(segment, batch)
        state.update(decided)
        if completed is not None:
            segment.update_txn_index(completed, state.last_stable_offset(completed))
            state.complete_txn(completed)
    assert segment.collect_aborted(0, 3) == ([AbortedTxn(9, 1, 2, 0)], False)
    unstable = state.first_unstable_offset()
    assert unstable is not None and unstable.message_offset == 0


def test_state_outlives_the_records_of_a_producer(tmp_path: Path) -> None:
    """KIP-360: "we will alter the behavior of the broker to retain the cached producer state even after it has been
    removed from the log." """
    state = ProducerState(FILES, TP, str(tmp_path))
    produce(state, 0, 0)
    state.on_log_start_offset_incremented(100)
    state.truncate_and_reload(100, 100, START_MS)
    produce(state, 100, 1)
    with pytest.raises(OutOfOrderSequence):
        produce(state, 101, 7)


def test_a_producer_that_is_not_known_may_start_anywhere(tmp_path: Path) -> None:
    """KIP-360 takes UNKNOWN_PRODUCER_ID away: a broker without state accepts the sequence that it is given."""
    state = ProducerState(FILES, TP, str(tmp_path))
    produce(state, 0, 4711, epoch=3)
    produce(state, 1, 4712, epoch=3)
