"""The log says what failed and where, without the content that people or agents wrote."""

from __future__ import annotations

import asyncio
import io
import logging
import logging.config
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError, connection, transaction

from accounts.models import User
from inbox.list import sections
from inbox.models import SavedReply
from tests.fixtures import wrapped
from tests.fixtures.strict_client import Client
from tests.types import MakeDelivery
from wake import deadlines, jobs
from wake.server.telemetry.lines import MAX_DEPTH, LineFormatter, described

SECRET = "saffroninthesafe"
log = logging.getLogger("tests")
Fail = Callable[[], None]


@pytest.fixture(params=["text", "json"])
def lines(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    """Returns what the server writes."""
    formatters: Any = settings.LOGGING["formatters"]
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        logging.config.DictConfigurator({}).configure_formatter(formatters[request.param])
    )
    logging.getLogger().addHandler(handler)
    yield stream
    logging.getLogger().removeHandler(handler)


@pytest.fixture(params=["broken rule", "name twice", "database reads it", "number", "key"])
def fail(
    request: pytest.FixtureRequest, alice: User, make_delivery: MakeDelivery
) -> Callable[..., None]:
    """Causes an error whose message quotes the content, at least on one of the databases."""

    def name_twice() -> None:
        for _ in range(2):
            SavedReply.objects.create(user=alice, status="approved", name=SECRET, text="x")

    def database_reads_it() -> None:
        is_sqlite = connection.vendor == "sqlite"
        finds = "SELECT 1 FROM words_of_deliveries WHERE words MATCH %s || ' : x'"
        with connection.cursor() as cursor:
            cursor.execute(finds if is_sqlite else "SELECT CAST(%s AS text)::json", [SECRET])

    failures: dict[str, Callable[[], Any]] = {
        "broken rule": lambda: make_delivery(headline=SECRET, timeout_seconds=1),
        "name twice": name_twice,
        "database reads it": database_reads_it,
        "number": lambda: int(SECRET),
        "key": lambda: dict[str, str]()[SECRET],
    }

    def raise_it(*_: Any, **__: Any) -> None:
        with transaction.atomic():
            failures[request.param]()

    return raise_it


def test_our_logs_contain_no_secrets(fail: Fail, lines: io.StringIO) -> None:
    try:
        try:
            fail()
        except Exception as first:
            log.warning("It failed: %s", first)
            raise RuntimeError("One thing led to another.") from first
    except RuntimeError:
        log.exception("It failed")

    logged = lines.getvalue()
    assert SECRET not in logged
    assert "in raise_it" in logged
    assert "The above exception was the direct cause of the following exception" in logged
    assert "RuntimeError: One thing led to another." in logged


def test_djangos_logs_contain_no_secrets(fail: Fail, lines: io.StringIO, alice: User) -> None:
    browser = Client(raise_request_exception=False)
    browser.force_login(alice)

    with wrapped.before(sections, "inbox", fail):
        status = browser.get("/", {"q": SECRET}).status_code

    assert status in {500, 503}
    assert SECRET not in lines.getvalue()
    assert "in raise_it" in lines.getvalue()


def test_celerys_logs_contain_no_secrets(fail: Fail, lines: io.StringIO) -> None:
    with wrapped.before(deadlines, "time_out_overdue", fail):
        jobs.time_out_overdue.apply()

    assert SECRET not in lines.getvalue()
    assert "time_out_overdue" in lines.getvalue()
    assert "raised unexpected: " in lines.getvalue()
    assert "in raise_it" in lines.getvalue()


def test_asyncios_logs_contain_no_secrets(lines: io.StringIO) -> None:
    async def fail_unseen() -> None:
        loop = asyncio.get_running_loop()
        task = loop.create_future()
        task.set_exception(ValueError(SECRET))
        failure = task.exception()
        loop.call_exception_handler({"message": "Never", "exception": failure, "future": task})

    asyncio.run(fail_unseen())

    assert SECRET not in lines.getvalue()
    assert "exception=ValueError" in lines.getvalue()


def test_a_broken_rule_is_named(make_delivery: MakeDelivery, lines: io.StringIO) -> None:
    try:
        with transaction.atomic():
            make_delivery(timeout_seconds=1)
    except Exception:
        log.exception("It failed")

    assert {
        "sqlite": "IntegrityError (SQLITE_CONSTRAINT_CHECK)",
        "postgresql": "IntegrityError (23514 CheckViolation, wake_delivery, timeout_within_a_week)",
    }[connection.vendor] in lines.getvalue()


def test_an_unavailable_server_is_logged_with_its_own_message() -> None:
    for away in (OperationalError("connection refused"), ConnectionError("connection refused")):
        assert described(away) == f"{type(away).__name__}: connection refused"


def test_other_handlers_see_the_record_as_it_was() -> None:
    failure = ValueError(SECRET)
    record = log.makeRecord("tests", logging.ERROR, "", 1, "It: %s", (failure,), None)

    assert LineFormatter().format(record) == "It: ValueError"
    assert record.args == (failure,)


@pytest.mark.parametrize("wrap", ["%s", "%r", "%(error)s", "%(error)r"])
def test_nested_values_in_logs_contain_no_secrets(lines: io.StringIO, wrap: str) -> None:
    failure = ValueError(SECRET)

    log.error(wrap, {"error": failure, "seconds": 3})
    log.error("It: %s %s %s", [failure], ("a", {failure: {failure}}), frozenset([failure]))

    assert SECRET not in lines.getvalue()
    assert lines.getvalue().count("ValueError") == 5


def test_nested_numbers_and_texts_are_logged(lines: io.StringIO) -> None:
    log.error("%(name)s took %(seconds).1f s", {"name": "It", "seconds": 3})
    log.error("At %s", ("192.0.2.1", 443))

    assert "It took 3.0 s" in lines.getvalue()
    assert "At ('192.0.2.1', 443)" in lines.getvalue()


def test_endless_structures_are_cut_after_a_few_levels(lines: io.StringIO) -> None:
    without_end: list[Any] = [ValueError(SECRET)]
    without_end.append(without_end)

    log.error("It: %s", without_end)

    assert SECRET not in lines.getvalue()
    assert lines.getvalue().count("ValueError") == MAX_DEPTH - 1
