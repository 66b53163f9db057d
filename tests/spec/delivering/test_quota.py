""" "Per key, on deliver: test 20/hour burst 5, live 500/hour burst 50: a token bucket"
(docs/protocol.md, Limits). Exactness across threads is in tests/stress/concurrency."""

from __future__ import annotations

import time
from typing import Any

import pytest

from accounts.agents import keys, quota
from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey
from tests.fixtures.agent_client import AgentClient
from tests.spec.http.test_errors import error_of
from wake.models import Delivery

NOW = 1_800_000_000_000_000  # microseconds since 1970
INTERVALS = {"test": 180_000_000, "live": 7_200_000}
BURSTS = {"test": 5, "live": 50}


def pass_time(agent: AgentClient, seconds: float) -> None:
    """Lets time pass for the quota of the key."""
    key = ApiKey.objects.get(pk=agent.key.pk)
    key.quota_us -= round(seconds * 1_000_000)
    key.save(update_fields=["quota_us"])


@pytest.fixture(params=["test", "live"])
def bucket(agent: Agent, request: pytest.FixtureRequest) -> ApiKey:
    return keys.mint(agent, by=SYSTEM, mode=request.param)[0]


def test_the_burst_is_exact(bucket: ApiKey) -> None:
    """ "capacity = burst" """
    burst = BURSTS[bucket.mode]

    left = [quota.spend(bucket, now_us=NOW).remaining for _ in range(burst)]

    assert left == list(reversed(range(burst)))
    with pytest.raises(quota.QuotaSpent):
        quota.spend(bucket, now_us=NOW)


def test_it_refills_by_the_hour(bucket: ApiKey) -> None:
    """ "refill = hourly/3600 per second" """
    interval = INTERVALS[bucket.mode]
    for _ in range(BURSTS[bucket.mode]):
        quota.spend(bucket, now_us=NOW)

    for more in range(1, 4):
        with pytest.raises(quota.QuotaSpent):
            quota.spend(bucket, now_us=NOW + more * interval - 1)
        assert quota.spend(bucket, now_us=NOW + more * interval).remaining == 0


def test_an_hour_admits_the_hourly_number_and_the_burst(bucket: ApiKey) -> None:
    admitted, now_us = 0, NOW
    while now_us < NOW + 3_600_000_000:
        try:
            quota.spend(bucket, now_us=now_us)
        except quota.QuotaSpent:
            now_us += 900_000
        else:
            admitted += 1

    assert admitted == {"test": 20 + 5 - 1, "live": 500 + 50 - 1}[bucket.mode]


def test_it_never_holds_more_than_the_burst(bucket: ApiKey) -> None:
    quota.spend(bucket, now_us=NOW)

    a_year_later = quota.spend(bucket, now_us=NOW + 365 * 86_400_000_000)

    assert a_year_later.remaining == BURSTS[bucket.mode] - 1


def test_a_clock_that_is_set_back_adds_no_quota(bucket: ApiKey) -> None:
    for _ in range(BURSTS[bucket.mode]):
        quota.spend(bucket, now_us=NOW)

    with pytest.raises(quota.QuotaSpent):
        quota.spend(bucket, now_us=NOW - 3_600_000_000)


@pytest.mark.parametrize("offset", [0, 1, 499_999, 500_000, 999_999, 1_000_000, 5_000_001])
def test_a_retry_after_retry_after_succeeds(bucket: ApiKey, offset: int) -> None:
    """ "`Retry-After` is true: a retry after it succeeds." """
    for _ in range(BURSTS[bucket.mode]):
        quota.spend(bucket, now_us=NOW)
    with pytest.raises(quota.QuotaSpent) as refused:
        quota.spend(bucket, now_us=NOW + offset)

    wait = refused.value.allowance.retry_after

    assert wait >= 1
    with pytest.raises(quota.QuotaSpent):
        quota.spend(bucket, now_us=NOW + offset + (wait - 1) * 1_000_000)
    quota.spend(bucket, now_us=NOW + offset + wait * 1_000_000)


def test_429_over_http(in_test_mode: AgentClient) -> None:
    """ "429 | with `Retry-After`: whole seconds, at least 1" """
    for left in reversed(range(5)):
        answer = in_test_mode.post(in_test_mode.payload())
        assert answer.status_code == 201
        assert answer["X-RateLimit-Limit"] == "5"
        assert answer["X-RateLimit-Remaining"] == str(left)
        # The header has the time at which all missing tokens are back. A second may have passed
        # since.
        assert 0 <= time.time() + (5 - left) * 180 + 1 - int(answer["X-RateLimit-Reset"]) < 20

    refused = in_test_mode.post(in_test_mode.payload())

    error_of(refused, 429, "rate_limited")
    assert refused["Retry-After"].isdecimal()
    assert 160 <= int(refused["Retry-After"]) <= 180
    assert refused["X-RateLimit-Remaining"] == "0"
    assert Delivery.objects.count() == 5
    pass_time(in_test_mode, int(refused["Retry-After"]))
    assert in_test_mode.post(in_test_mode.payload()).status_code == 201
    assert in_test_mode.post(in_test_mode.payload()).status_code == 429


def test_a_refused_request_spends_nothing(in_test_mode: AgentClient) -> None:
    """ "A refused request (4xx) ... spend[s] nothing." """
    for _ in range(20):
        in_test_mode.post(b"{")
        in_test_mode.post(in_test_mode.payload(headline=""))
        in_test_mode.post(in_test_mode.payload(agent_id="somebody-else"))
        in_test_mode.post(in_test_mode.payload(callback_webhook="https://nowhere.example/"))

    answer = in_test_mode.post(in_test_mode.payload())

    assert answer["X-RateLimit-Remaining"] == "4"
    for _ in range(4):
        in_test_mode.deliver()
    waits = [int(in_test_mode.post(in_test_mode.payload())["Retry-After"]) for _ in range(10)]
    assert max(waits) <= 180, "Knocking does not make it longer."


def test_a_replay_spends_nothing(in_test_mode: AgentClient) -> None:
    """ "A refused request (4xx) and a replay spend nothing." """
    for _ in range(20):
        answer = in_test_mode.post(in_test_mode.payload(), **{"Idempotency-Key": "once"})
        assert answer.status_code == 201

    assert in_test_mode.post(in_test_mode.payload())["X-RateLimit-Remaining"] == "3"


def test_a_replay_is_answered_without_quota(in_test_mode: AgentClient) -> None:
    first = in_test_mode.post(in_test_mode.payload(), **{"Idempotency-Key": "once"})
    while in_test_mode.post(in_test_mode.payload()).status_code == 201:
        pass

    again = in_test_mode.post(in_test_mode.payload(), **{"Idempotency-Key": "once"})

    assert (again.status_code, again.content) == (201, first.content)


def test_each_key_has_its_own_quota(
    caller: AgentClient, in_test_mode: AgentClient, agent: Agent
) -> None:
    """ "Per key" """
    while in_test_mode.post(in_test_mode.payload()).status_code == 201:
        pass
    row, text = keys.mint(agent, by=SYSTEM, mode="test")
    row.text = text  # type: ignore[attr-defined]

    assert AgentClient(row, agent.agent_id).post(caller.payload()).status_code == 201
    assert caller.post(caller.payload())["X-RateLimit-Remaining"] == "49"


def test_reads_are_not_counted_with_deliveries(in_test_mode: AgentClient) -> None:
    """ "Reads have a separate, generous limit" """
    pk = in_test_mode.deliver()

    for _ in range(60):
        assert in_test_mode.poll(pk)["status"] == "pending"

    assert in_test_mode.post(in_test_mode.payload())["X-RateLimit-Remaining"] == "3"


def test_the_quota_follows_the_settings(in_test_mode: AgentClient, settings: Any) -> None:
    """ "`WAKE_QUOTA_TEST` (`20/5`)" (docs/operations.md, Environment)"""
    settings.WAKE_QUOTA_TEST = (3600, 1)

    in_test_mode.deliver()
    refused = in_test_mode.post(in_test_mode.payload())

    assert (refused.status_code, refused["Retry-After"]) == (429, "1")


def test_a_read_limit_answers_what_polling_clients_index(
    caller: AgentClient, settings: Any
) -> None:
    """ "a 429 or 503 on the two GETs also carries what they index" """
    pk = caller.deliver()
    settings.WAKE_READS_PER_MINUTE = 0

    single = caller.get(f"response/{pk}")
    bulk = caller.get("responses", since="2026-03-08T11:55:00 00:00")
    plain = caller.get("responses")

    for answer in (single, bulk, plain):
        error_of(answer, 429, "rate_limited")
        assert 1 <= int(answer["Retry-After"]) <= 60
    assert single.json()["delivery_id"] == pk
    assert single.json()["status"] == "pending"
    nothing = {"deliveries": [], "total": 0, "has_more": False}
    assert {name: bulk.json()[name] for name in nothing} == nothing
    assert bulk.json()["next_since"] == "2026-03-08T11:55:00 00:00", "The caller's own."
    assert plain.json()["next_since"] is None
