"""Levels of loggers as settings. Words and codes are compared with Apache Kafka's in tests/system."""

import logging
from collections.abc import Iterator

import pytest

from odradek.api.shared.broker_loggers import ROOT, Change, change_levels, levels
from odradek.common.failures import ApiError
from odradek.protocol.config_types import ConfigOp
from odradek.protocol.error_codes import ErrorCode

PARENT, CHILD = "odradek.test_levels", "odradek.test_levels.child"


@pytest.fixture(autouse=True)
def loggers() -> Iterator[None]:
    before = logging.root.level
    for name in (PARENT, CHILD):
        logging.getLogger(name).setLevel(logging.NOTSET)
    yield
    logging.root.setLevel(before)


def change(*changes: Change, validate_only: bool = False) -> None:
    change_levels(1, "1", changes, validate_only=validate_only)


def test_a_level_holds_for_those_below_until_it_is_taken_away() -> None:
    logging.root.setLevel(logging.ERROR)
    assert levels()[PARENT] == levels()[CHILD] == "ERROR"
    change(Change(PARENT, ConfigOp.SET, "TRACE"))
    assert levels()[PARENT] == levels()[CHILD] == "TRACE" and logging.getLogger(CHILD).isEnabledFor(logging.DEBUG)
    change(Change(CHILD, ConfigOp.SET, "FATAL"))
    assert (levels()[PARENT], levels()[CHILD]) == ("TRACE", "FATAL")
    change(Change(CHILD, ConfigOp.DELETE, None), Change(PARENT, ConfigOp.DELETE, None))
    assert levels()[PARENT] == levels()[CHILD] == levels()[ROOT] == "ERROR"


def test_the_root_is_above_all() -> None:
    change(Change(ROOT, ConfigOp.SET, "DEBUG"))
    assert levels()[ROOT] == levels()[CHILD] == "DEBUG"


def test_only_our_own_are_shown() -> None:
    logging.getLogger("somebody.elses")
    assert all(name == ROOT or name.startswith("odradek") for name in levels())


def test_all_or_nothing() -> None:
    before = levels()[PARENT]
    with pytest.raises(ApiError) as caught:
        change(Change(PARENT, ConfigOp.SET, "FATAL"), Change("odradek.nobody", ConfigOp.SET, "FATAL"))
    assert caught.value.code == ErrorCode.INVALID_CONFIG
    change(Change(PARENT, ConfigOp.SET, "FATAL"), validate_only=True)
    assert levels()[PARENT] == before


def test_an_operation_that_nobody_knows() -> None:
    with pytest.raises(ApiError, match="Unknown operation type 9"):
        change(Change(PARENT, 9, "INFO"))
