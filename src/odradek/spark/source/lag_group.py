"""Commits the progress of a stream to a consumer group, so that tools that show consumer lag show the stream.

Spark keeps the offsets of a stream itself; the group has no members, and the stream does not read its offsets. So an
error here does not stop the stream: it is logged once, and the next batch commits again.
"""

import logging
import time

from odradek.client.errors import check_error, is_retriable
from odradek.client.group.core import Identity
from odradek.client.group.offset_messages import IDS_FROM, commit_errors, commit_request
from odradek.client.net.coordinator_kind import CoordinatorKind
from odradek.client.settings.settings import ConsumerConfig
from odradek.client.types import OffsetAndMetadata
from odradek.common.addresses import HostPort
from odradek.common.failures import ApiError
from odradek.protocol.error_names import error_name
from odradek.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from odradek.protocol.messages.find_coordinator_response import FindCoordinatorResponse
from odradek.protocol.messages.offset_commit_request import OffsetCommitRequest
from odradek.spark.connections import consumer_leaders
from odradek.spark.source.offset_limits import Offsets

#: The last version of FindCoordinator in which a request is about one key.
_ONE_KEY_LAST = 3

#: The first commit waits this long at most for a coordinator that is being elected, or that creates its topic. Later
#: commits do not wait: the next batch tries again, and must not be delayed for a lag that is up to date.
_FIRST_COMMIT_TIMEOUT_S = 5.0
_RETRY_S = 0.1

_log = logging.getLogger(__name__)


class LagGroup:
    """The consumer group that mirrors the offsets of one stream."""

    def __init__(self, group_id: str, settings: ConsumerConfig) -> None:
        self._group_id = group_id
        self._settings = settings
        self._coordinator: HostPort | None = None
        self._committed: Offsets | None = None
        self._has_warned = False

    def commit(self, offsets: Offsets) -> None:
        """Commit the offsets before which everything is processed. Errors of the cluster are logged, not raised."""
        if offsets == self._committed or not offsets:
            return
        is_first = self._committed is None and not self._has_warned
        deadline_s = time.monotonic() + (_FIRST_COMMIT_TIMEOUT_S if is_first else 0.0)
        while True:
            try:
                self._commit(offsets)
            except ApiError as error:
                self._coordinator = None
                if not is_retriable(error) or time.monotonic() >= deadline_s:
                    self._warn(error)
                    return
            else:
                self._committed, self._has_warned = dict(offsets), False
                return
            time.sleep(_RETRY_S)

    def _commit(self, offsets: Offsets) -> None:
        self._coordinator = self._coordinator or self._find_coordinator()
        request = commit_request(
            self._group_id,
            Identity(),
            None,
            {partition: OffsetAndMetadata(offset) for partition, offset in offsets.items()},
            lambda topic: None,
        )
        leaders = consumer_leaders(self._settings)
        try:
            connection = leaders.connection(self._coordinator)
            response = connection.ask(request, connection.version(OffsetCommitRequest, IDS_FROM - 1))
        except ApiError:
            leaders.drop(self._coordinator)
            raise
        for partition, code in commit_errors(request, response).items():
            check_error(code, f"{partition}: {error_name(code)}")

    def _find_coordinator(self) -> HostPort:
        request = FindCoordinatorRequest(key=self._group_id, key_type=CoordinatorKind.GROUP)
        response: FindCoordinatorResponse = consumer_leaders(self._settings).ask_any(request, _ONE_KEY_LAST)
        check_error(response.error_code, response.error_message)
        return HostPort(response.host, response.port)

    def _warn(self, error: ApiError) -> None:
        if not self._has_warned:
            _log.warning("the lag of group %s is not up to date: %s", self._group_id, error.message)
        self._has_warned = True
