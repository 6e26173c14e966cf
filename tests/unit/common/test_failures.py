from odradek.common.failures import ApiError
from odradek.protocol.codec import encode
from odradek.protocol.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse


def test_what_is_told_can_be_sent_however_much_it_quotes() -> None:
    error = ApiError(f"`{'☃' * 32_767}` is wrong", 1)
    assert error.message.startswith("`☃☃")
    assert encode(ConsumerGroupHeartbeatResponse(error_code=error.code, error_message=error.message), 0)
    assert ApiError("`☃` is wrong").message == "`☃` is wrong"
