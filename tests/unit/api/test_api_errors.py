"""One error for a whole answer."""

from odradek.api.errors import error_response
from odradek.common.failures import ApiError
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.describe_cluster_response import DescribeClusterResponse
from odradek.protocol.messages.vote_response import VoteResponse


def test_an_api_error_becomes_its_code() -> None:
    assert error_response(ApiKey.VOTE, 1, ApiError("no", code=41)) == VoteResponse(error_code=41)


def test_a_message_goes_along_where_there_is_room_for_it() -> None:
    response = error_response(ApiKey.DESCRIBE_CLUSTER, 1, ApiError("not now", code=41))
    assert response == DescribeClusterResponse(error_code=41, error_message="not now")


def test_what_else_goes_wrong_tells_nothing() -> None:
    response = error_response(ApiKey.DESCRIBE_CLUSTER, 1, KeyError("secret"))
    assert response == DescribeClusterResponse(error_code=-1)


def test_a_response_with_errors_per_topic_only_has_no_such_answer() -> None:
    assert error_response(ApiKey.CREATE_TOPICS, 7, ApiError("no", code=41)) is None


def test_a_version_without_the_code_does_not_pretend_that_all_is_well() -> None:
    assert error_response(ApiKey.METADATA, 13, ApiError("no", code=41)) is not None
    assert error_response(ApiKey.METADATA, 12, ApiError("no", code=41)) is None
