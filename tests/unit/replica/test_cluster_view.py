"""The cluster as the replicas of a broker see it: fencing, registrations, broker epochs."""

import pytest

from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import EMPTY, MetadataProvenance
from odradek.replica.cluster_view import ClusterView
from support.builders.replica import broker_record

EPOCH = 101


@pytest.fixture
def view() -> ClusterView:
    delta = MetadataDelta(EMPTY)
    delta.replay(broker_record(1, epoch=EPOCH))
    delta.replay(broker_record(2, fenced=True))
    view = ClusterView(0)
    view.update(delta.apply(MetadataProvenance(1, 1)))
    return view


def test_a_fenced_or_unknown_broker_is_not_alive(view: ClusterView) -> None:
    assert [view.is_alive(broker_id) for broker_id in (1, 2, 3)] == [True, False, False]


@pytest.mark.parametrize(("epoch", "eligible"), [(EPOCH, True), (-1, True), (EPOCH - 1, False), (None, False)])
def test_only_the_current_registration_may_join_the_isr(view: ClusterView, epoch: int | None, eligible: bool) -> None:
    assert view.is_isr_eligible(1, epoch) is eligible
    assert not view.is_isr_eligible(2, epoch), "it is fenced"


def test_a_fetch_of_an_earlier_registration_is_stale(view: ClusterView) -> None:
    assert view.is_stale_epoch(1, EPOCH - 1)
    assert not view.is_stale_epoch(1, EPOCH) and not view.is_stale_epoch(1, -1)


def test_the_broker_epoch_is_unknown_until_it_is_set(view: ClusterView) -> None:
    assert view.broker_epoch == -1
    view.set_broker_epoch(7)
    assert view.broker_epoch == 7
