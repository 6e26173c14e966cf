"""What is served follows from one list."""

import subprocess
import sys

import pytest

from odradek.api.dispatch.registry import SERVED, Api, Registry
from odradek.protocol.api_keys import APIS, ApiKey, ListenerRole
from odradek.protocol.messages.produce_response import ProduceResponse
from odradek.protocol.schema import Versions

BROKER, CONTROLLER = ListenerRole.BROKER, ListenerRole.CONTROLLER


def test_what_is_not_in_the_list_is_neither_advertised_nor_accepted() -> None:
    for listener in ListenerRole:
        registry = Registry(listener, SERVED)
        served = [int(api.key) for api in SERVED if api.served_on(listener)]
        assert list(registry.advertised) == list(registry.accepted) == served


@pytest.mark.parametrize("listener", list(ListenerRole))
def test_every_api_of_the_list_has_a_handler(listener: ListenerRole) -> None:
    registry = Registry(listener)
    assert all(callable(registry.entry(key).handle) for key in registry.accepted)


def test_versions_are_those_of_the_protocol_unless_the_list_narrows_them() -> None:
    registry = Registry(BROKER, [Api(ApiKey.FETCH, len), Api(ApiKey.METADATA, len, versions=Versions(9, 12))])
    assert registry.advertised[ApiKey.FETCH] == APIS[ApiKey.FETCH].broker
    assert registry.advertised[ApiKey.METADATA] == registry.accepted[ApiKey.METADATA] == Versions(9, 12)


def test_produce_is_advertised_from_0_and_accepted_from_3() -> None:
    registry = Registry(BROKER, [Api(ApiKey.PRODUCE, lambda ctx, request: ProduceResponse())])
    assert registry.advertised[ApiKey.PRODUCE].first == 0
    assert registry.accepted[ApiKey.PRODUCE].first == 3


def test_a_listener_has_only_its_own_apis() -> None:
    apis = [Api(ApiKey.VOTE, len), Api(ApiKey.PRODUCE, len), Api(ApiKey.FETCH, len, listeners=(CONTROLLER,))]
    assert list(Registry(BROKER, apis).advertised) == [ApiKey.PRODUCE]
    assert list(Registry(CONTROLLER, apis).advertised) == [ApiKey.FETCH, ApiKey.VOTE]


def test_what_is_not_served_has_no_entry() -> None:
    with pytest.raises(KeyError):
        Registry(BROKER).entry(ApiKey.VOTE)


def test_handlers_are_imported_when_they_are_needed() -> None:
    script = (
        "import sys\n"
        "from odradek.api.dispatch.registry import Registry\n"
        "from odradek.protocol.api_keys import Listener\n"
        "registry = Registry(Listener.BROKER)\n"
        "assert 'odradek.api.handlers.api_versions' not in sys.modules\n"
        "registry.entry(18)\n"
        "assert 'odradek.api.handlers.api_versions' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
