"""Rate limits apply to requests that store no row (docs/protocol.md, Limits; docs/reliability.md,
Other promises, 12)."""

from __future__ import annotations

import logging
import time
from typing import Any

import pytest
from django.test import RequestFactory

from accounts.limits import throttles
from accounts.sign_in.limits import count_sign_in
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.strict_client import Client
from tests.spec.http.test_errors import error_of

JUNK = {"Authorization": "Bearer junk"}


def knock(times: int, **request: Any) -> list[int]:
    client = Client()
    return [
        client.get("/wake/v1/responses", headers=JUNK, **request).status_code for _ in range(times)
    ]


def test_bad_keys_are_limited_by_address(caller: AgentClient) -> None:
    codes = knock(62)

    assert codes == [401] * 60 + [429] * 2
    answer = Client().post("/wake/v1/deliver", headers=JUNK)
    error_of(answer, 429, "rate_limited")
    assert 1 <= int(answer["Retry-After"]) <= 60
    assert caller.get("responses").status_code == 200, "Good keys of that address are not counted."


def test_a_forged_header_does_not_reset_the_limit(db: None) -> None:
    """ "with forged X-Forwarded-For" """
    client = Client()

    codes = [
        client.get(
            "/wake/v1/responses",
            headers={**JUNK, "X-Forwarded-For": f"203.0.113.{number}", "X-Real-Ip": "::1"},
        ).status_code
        for number in range(130)
    ]

    assert 429 in codes


def test_another_address_is_not_held_back(db: None, settings: Any) -> None:
    settings.WAKE_CLIENT_ADDRESS = "HTTP_X_REAL_IP"
    knock(130, HTTP_X_REAL_IP="192.0.2.1")

    assert knock(1, HTTP_X_REAL_IP="192.0.2.2") == [401]


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("203.0.113.9, 192.0.2.1", "192.0.2.1"),
        ("2001:DB8::1", "2001:db8::1"),
        ("fe80::1%" + "x" * 500, "fe80::1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("unknown", ""),
        ("", ""),
        ("192.0.2.1:4711", ""),
    ],
)
def test_the_clients_address(settings: Any, given: str, address: str) -> None:
    """ "Behind a proxy only a configured" header is believed, and of a list only the last, which
    the proxy wrote."""
    settings.WAKE_CLIENT_ADDRESS = "HTTP_X_FORWARDED_FOR"

    request = RequestFactory().get("/", HTTP_X_FORWARDED_FOR=given)

    assert throttles.client_address(request) == address


def test_without_a_proxy_the_peers_address_counts() -> None:
    request = RequestFactory().get("/", HTTP_X_FORWARDED_FOR="203.0.113.9")

    assert throttles.client_address(request) == "127.0.0.1"


def test_an_address_with_a_long_zone_is_no_500(caller: AgentClient, settings: Any) -> None:
    """The audit keeps 45 characters of an address, and PostgreSQL used to refuse a longer
    address."""
    settings.WAKE_CLIENT_ADDRESS = "HTTP_X_REAL_IP"

    answer = caller.post(caller.payload(), **{"X-Real-Ip": "fe80::1%" + "x" * 100})

    assert answer.status_code == 201


def sign_in(email: str, address: str = "192.0.2.1", times: int = 1) -> int:
    """Returns how many requests were allowed."""
    for number in range(times):
        try:
            count_sign_in(RequestFactory().get("/", REMOTE_ADDR=address), email)
        except throttles.TooManyRequests:
            return number
    return times


def test_sign_ins_are_limited_by_address_and_person(db: None) -> None:
    """ "counted by address and e-mail together, so that nobody can lock another person out" """
    assert 10 <= sign_in("alice@example.com", times=30) <= 20
    assert sign_in("Alice@Example.com", times=12) <= 10, "In any spelling."
    assert sign_in("bob@example.com") == 1
    assert sign_in("alice@example.com", address="192.0.2.2") == 1


def test_sign_ins_of_one_address_are_limited_across_accounts(db: None) -> None:
    tried = [sign_in(f"person{number}@example.com") for number in range(150)]

    assert 0 in tried


def test_reads_are_limited_by_key(caller: AgentClient, others: AgentClient, settings: Any) -> None:
    """ "django-ratelimit, by key" """
    settings.WAKE_READS_PER_MINUTE = 3
    codes = [caller.get("responses").status_code for _ in range(8)]

    assert codes[:3] == [200] * 3
    assert 429 in codes
    assert others.get("responses").status_code == 200


def test_while_the_cache_is_away_everything_passes(
    caller: AgentClient,
    redis_away: None,
    settings: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """ "fails open at once when Redis is away (... then skipped for five seconds)" """
    settings.WAKE_READS_PER_MINUTE = 0
    start = time.monotonic()

    with caplog.at_level(logging.WARNING, logger="accounts.limits.throttles"):
        codes = [caller.get("responses").status_code for _ in range(20)]

    assert codes == [200] * 20
    assert time.monotonic() - start < 5
    assert len(caplog.records) == 1, "Asked once, and then left alone for a while."


def test_after_a_while_the_cache_is_asked_again(caller: AgentClient, settings: Any) -> None:
    settings.WAKE_READS_PER_MINUTE = 0
    throttles._outage.until = time.monotonic() + 60
    assert caller.get("responses").status_code == 200

    throttles._outage.until = time.monotonic() - 1

    assert caller.get("responses").status_code == 429


def test_one_request_tries_a_cache_that_was_away_and_no_other_waits_for_it() -> None:
    throttles._outage.until = time.monotonic() - 1

    assert [throttles.may_ask_cache() for _ in range(3)] == [True, False, False]

    throttles.record_answer()
    assert throttles.may_ask_cache()
