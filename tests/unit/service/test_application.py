"""What a service is told, as far as it needs no broker to refuse it."""

import asyncio
from typing import Any

import pytest

from odradek.common.failures import InputError
from odradek.service import Context, MemoryDone, Order, Retries, Send, Service
from odradek.service.admin_http import ailment
from odradek.service.handlers import Handler
from odradek.service.threads import ABANDONED_MAX
from odradek.service.topics import TopicNames, routes_of


def declared(function: Any, **options: Any) -> Handler:
    app = Service("shop")
    assert app.handler("orders", **options)(function) is function
    return app.handlers[0]


def test_a_handler_is_read_from_its_function() -> None:
    async def handle(order: dict[str, int] | None, context: Context) -> Send | None: ...

    handler = declared(handle, concurrency=3, order="partition", time_limit_s=5)
    assert handler.codec.name == "JSON dict"
    assert (handler.takes_none, handler.takes_context, handler.is_async) == (True, True, True)
    assert (handler.concurrency, handler.order, handler.time_limit_s) == (3, Order.PARTITION, 5)
    assert handler.dead_letters and handler.retries == Retries()
    assert "handle" in handler.name


def test_plain_functions_without_annotations_get_bytes() -> None:
    handler = declared(lambda value: None)
    assert handler.codec.name == "bytes"
    assert (handler.takes_none, handler.takes_context, handler.is_async) == (False, False, False)


def test_message_says_more_than_the_annotation() -> None:
    def handle(value: Any) -> None: ...

    assert declared(handle, message=str).codec.name == "str"


def test_annotations_that_cannot_be_found() -> None:
    def handle(value: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(InputError, match=r"Nowhere.*message="):
        declared(handle)
    assert declared(handle, message=bytes).codec.name == "bytes"


@pytest.mark.parametrize(
    ("function", "options", "said"),
    [
        (lambda: None, {}, "0 arguments"),
        (lambda a, b, c: None, {}, "3 arguments"),
        (lambda a: None, {"concurrency": 0}, "concurrency 0"),
        (lambda a: None, {"time_limit_s": 0}, "time_limit_s 0"),
        (lambda a: None, {"order": "time"}, "key, partition, none"),
        (lambda a: None, {"message": complex}, "complex"),
    ],
)
def test_handlers_that_are_refused(function: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        declared(function, **options)


def test_services_that_are_refused() -> None:
    with pytest.raises(InputError, match="done_key needs a store"):
        Service("shop", done_key=lambda context: "")
    with pytest.raises(InputError, match="exactly_once"):
        Service("shop", transactional_id="t")
    with pytest.raises(InputError, match="is no port"):
        Service("shop", admin_listener="here:port")
    with pytest.raises(InputError, match="several topics one name"):
        Service("shop", retry_topic="{topic}.again")
    with pytest.raises(InputError, match="cannot be made"):
        Service("shop", dead_topic="{toppic}.dead")
    with pytest.raises(InputError, match="no handlers"):
        asyncio.run(Service("shop").run())


def test_two_handlers_of_one_topic_are_refused() -> None:
    app = Service("shop", done=MemoryDone())
    app.handler("orders", retries=Retries(topics=["1s"]))(lambda value: None)
    with pytest.raises(InputError, match="orders has two handlers"):
        app.handler("orders")(lambda value: None)
    with pytest.raises(InputError, match=r"orders\.retry\.1s has two handlers"):
        app.handler("orders.retry.1s")(lambda value: None)
    assert len(app.handlers) == 1


def test_routes_lead_to_stages() -> None:
    app = Service("shop")
    app.handler("orders", retries=Retries(topics=["1s", "1m"]))(lambda value: None)
    names = TopicNames("shop", retry="{topic}.{group}.retry.{delay}")
    routes = routes_of(app.handlers, names)
    assert {topic: route.stage for topic, route in routes.items()} == {
        "orders": 0,
        "orders.shop.retry.1s": 1,
        "orders.shop.retry.1m": 2,
    }


def test_what_ails_a_service() -> None:
    class Patient(Service):
        silent_ms: int | None = 0
        hanging = 0

        def since_poll_ms(self) -> int | None:
            return self.silent_ms

        @property
        def abandoned(self) -> int:
            return self.hanging

    patient = Patient("shop")
    assert ailment(patient) is None
    patient.silent_ms = 90_000
    assert ailment(patient) == "nothing was polled for 90 s"
    patient.silent_ms = None
    assert ailment(patient) == "starting"
    patient.silent_ms, patient.hanging = 0, ABANDONED_MAX
    assert "hang" in (ailment(patient) or "")
    patient.stop()
    assert ailment(patient) == "stopping"
