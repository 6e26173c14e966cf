"""Outcomes of an operation on several resources."""

import pytest

from odradek.client.admin.outcomes import Outcomes, broker_not_running
from odradek.errors import PartlyRefused, Refused
from odradek.protocol.error_codes import ErrorCode

DENIED = Refused("TOPIC_AUTHORIZATION_FAILED: denied", ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def test_values_are_returned_if_nothing_was_rejected() -> None:
    outcomes: Outcomes[str, int | None] = Outcomes({"a": 1, "b": None})
    assert outcomes.values_or_raise() == {"a": 1, "b": None}
    assert Outcomes[str, int]().values_or_raise() == {}


def test_the_error_of_the_only_resource_is_raised() -> None:
    outcomes: Outcomes[str, int] = Outcomes({"a": DENIED})
    with pytest.raises(Refused) as raised:
        outcomes.values_or_raise()
    assert raised.value is DENIED


def test_errors_of_some_resources_are_raised_with_all_outcomes() -> None:
    outcomes: Outcomes[str, int] = Outcomes({"a": 1, "b": DENIED})
    with pytest.raises(PartlyRefused, match="1 of 2: b: TOPIC_AUTHORIZATION_FAILED: denied") as raised:
        outcomes.values_or_raise()
    assert raised.value.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert raised.value.outcomes == outcomes


def test_succeeded_and_rejected_resources() -> None:
    outcomes: Outcomes[str, int] = Outcomes({"a": 1, "b": DENIED})
    assert (outcomes.succeeded(), outcomes.rejected()) == ({"a": 1}, {"b": DENIED})


def test_the_order_of_the_request() -> None:
    outcomes: Outcomes[str, int] = Outcomes({"b": 2, "a": 1, "c": 3})
    assert list(outcomes.in_order_of(["a", "b", "a", "missing"]).items()) == [("a", 1), ("b", 2)]


def test_a_broker_that_is_not_running() -> None:
    error = broker_not_running(7)
    assert (error.code, error.message) == (ErrorCode.BROKER_NOT_AVAILABLE, "broker 7 is not running")
