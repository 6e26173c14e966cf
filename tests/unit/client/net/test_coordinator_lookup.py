"""Looking for a coordinator until the time is over."""

import asyncio
import time
from collections.abc import Callable

import pytest

from odradek.client.net.coordinator_kind import CoordinatorKind
from odradek.client.net.coordinator_lookup import CoordinatorFinder
from odradek.errors import RequestTimedOut
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from odradek.protocol.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse


def test_an_error_that_comes_when_the_time_is_over_is_the_reason_and_not_the_outcome() -> None:
    """As on a machine so busy that an answer and the end of the time are seen in the same moment."""

    async def ask(build: Callable[[int], FindCoordinatorRequest]) -> FindCoordinatorResponse:
        time.sleep(0.02)  # the loop is held up until the time is over
        return FindCoordinatorResponse(coordinators=[Coordinator(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)])

    async def test() -> None:
        finder = CoordinatorFinder(ask, lambda failures: 0.0)
        with pytest.raises(RequestTimedOut, match="no coordinator of group g in 10 ms: COORDINATOR_NOT_AVAILABLE"):
            await finder.find(CoordinatorKind.GROUP, "g", 10)

    asyncio.run(test())
