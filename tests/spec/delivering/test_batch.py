"""An agent sends several deliveries in one request (docs/protocol.md, Batches)."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import patch

import pytest
from django.db import OperationalError
from django.utils import timezone

from accounts.agents import keys
from accounts.models import Agent, ApiKey, AuditEvent
from tests.fixtures import wrapped
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.strict_client import Client
from tests.spec.test_documents import fits
from wake.api.serializers import MAX_DELIVERIES
from wake.deliveries import deliver
from wake.models import Delivery

pytestmark = pytest.mark.django_db
EXAMPLE = {"headline": "One of three", "summary": "The first."}


def send(caller: AgentClient, *items: Any, **members: Any) -> Any:
    body = {"deliveries": list(items), **members}
    return post(caller, json.dumps(body))


def post(caller: AgentClient, body: str | bytes) -> Any:
    return caller.client.post(
        "/wake/v1/deliveries", body, content_type="application/json", headers=caller.headers
    )


def codes(answer: Any) -> list[int]:
    return [result["status_code"] for result in answer.json()["results"]]


def test_each_delivery_has_the_result_of_a_request_of_its_own(caller: AgentClient) -> None:
    sent = send(
        caller,
        caller.payload(headline="First"),
        caller.payload(headline="x" * 121),
        caller.payload(agent_id="somebody-else"),
        caller.payload(summary=None),
        caller.payload(headline="Last", details={"price": 1.10}),
    )

    assert sent.status_code == 200
    assert codes(sent) == [201, 422, 403, 400, 201]
    first, wrong, *_, last = sent.json()["results"]
    assert list(first) == ["status_code", "body", "replayed", "retry_after"]
    assert list(first["body"]) == ["delivery_id", "status", "created_at"]
    assert wrong["body"]["error"]["fields"][0]["field"] == "headline"
    rows = Delivery.objects.order_by("activity_at")
    assert [row.headline for row in rows] == ["First", "Last"]
    assert rows[1].details_json == '{"price": 1.1}'
    assert str(rows[1].pk) == last["body"]["delivery_id"]
    assert caller.poll(last["body"]["delivery_id"])["status"] == "pending"


def test_details_are_stored_as_they_were_sent(caller: AgentClient) -> None:
    item = json.dumps(caller.payload(details="?")).replace('"?"', '{ "price" :1.10}')

    post(caller, f'{{"deliveries": [{item}]}}')

    assert Delivery.objects.get().details_json == '{ "price" :1.10}'


def test_each_delivery_is_recorded_and_costs_one_unit(caller: AgentClient) -> None:
    before = caller.post(caller.payload())
    sent = send(caller, caller.payload(), caller.payload(), caller.payload(type="poem"))

    assert int(before["X-RateLimit-Remaining"]) - int(sent["X-RateLimit-Remaining"]) == 2
    assert AuditEvent.objects.filter(event="delivery.received").count() == 3


def test_what_the_quota_does_not_cover_is_refused_by_itself(
    caller: AgentClient, settings: Any
) -> None:
    settings.WAKE_QUOTA_LIVE = (60, 2)

    sent = send(caller, *[caller.payload()] * 4)

    assert codes(sent) == [201, 201, 429, 429]
    assert sent.json()["results"][2]["retry_after"] in range(1, 61)
    assert sent["X-RateLimit-Remaining"] == "0"
    assert Delivery.objects.count() == 2


def test_an_atomic_batch_is_stored_whole(caller: AgentClient) -> None:
    sent = send(caller, caller.payload(), caller.payload(), atomic=True)

    assert (sent.status_code, codes(sent)) == (200, [201, 201])
    assert Delivery.objects.count() == 2
    assert sent["X-RateLimit-Remaining"]


def test_an_atomic_batch_names_all_fields_that_are_wrong(caller: AgentClient) -> None:
    sent = send(caller, caller.payload(), caller.payload(type="poem", headline=""), 17, atomic=True)

    assert sent.status_code == 422
    problems = sent.json()["error"]["fields"]
    assert {problem["field"] for problem in problems} == {
        "deliveries[1].type",
        "deliveries[1].headline",
        "deliveries[2]",
    }
    assert not Delivery.objects.exists()


def test_an_atomic_batch_is_refused_whole(caller: AgentClient, settings: Any) -> None:
    settings.WAKE_QUOTA_LIVE = (60, 3)
    foreign = send(caller, caller.payload(), caller.payload(agent_id="other"), atomic=True)
    unknown = "9b2f6d0e-7a61-4a53-9f38-1d7f5a3f2a10"
    revision = send(caller, caller.payload(), caller.payload(supersedes=unknown), atomic=True)
    send(caller, caller.payload(type="update"))
    many = send(caller, *[caller.payload()] * 3, atomic=True)

    assert (foreign.status_code, foreign.json()["error"]["code"]) == (403, "agent_mismatch")
    assert foreign.json()["error"]["message"].startswith("deliveries[1]: ")
    assert revision.json()["error"]["fields"][0]["field"] == "deliveries[1].supersedes"
    assert many.status_code == 429
    assert int(many["Retry-After"]) >= 1
    assert AuditEvent.objects.filter(event="key.slowed_down").count() == 1
    assert Delivery.objects.get().type == "update"
    assert codes(send(caller, *[caller.payload()] * 2, atomic=True)) == [201] * 2


def test_an_atomic_batch_that_can_never_pass_is_told_so(caller: AgentClient, settings: Any) -> None:
    settings.WAKE_QUOTA_LIVE = (60, 3)
    keys = [caller.payload(idempotency_key=name) for name in ("a", "b")]
    send(caller, keys[0])

    refused = send(caller, *[caller.payload()] * 3, *keys, keys[1], atomic=True)
    waits = send(caller, *[caller.payload()] * 2, *keys, keys[1], atomic=True)

    assert refused.status_code == 422
    error = refused.json()["error"]
    assert error["code"] == "batch_too_large"
    assert "has 4 new deliveries, and this key may deliver at most 3 at once" in error["message"]
    assert "Retry-After" not in refused
    assert waits.status_code == 429
    assert Delivery.objects.count() == 1
    assert codes(send(caller, *[caller.payload()] * 2, atomic=True)) == [201] * 2


@pytest.mark.parametrize(("size", "missing"), [(2, 1), (3, 2), (4, 3)])
def test_an_atomic_batch_waits_until_all_of_it_fits(
    size: int, missing: int, caller: AgentClient, settings: Any
) -> None:
    settings.WAKE_QUOTA_LIVE = (60, 4)
    send(caller, *[caller.payload()] * 3)

    refused = send(caller, *[caller.payload()] * size, atomic=True)

    assert refused.status_code == 429
    assert refused["X-RateLimit-Remaining"] == "1"
    assert missing * 60 - 30 < int(refused["Retry-After"]) <= missing * 60


def test_replays_do_not_lengthen_the_wait_of_an_atomic_batch(
    caller: AgentClient, settings: Any
) -> None:
    settings.WAKE_QUOTA_LIVE = (60, 4)
    stored = [caller.payload(idempotency_key=f"report-{number}") for number in range(3)]
    send(caller, *stored)

    refused = send(caller, *stored, caller.payload(), caller.payload(), atomic=True)

    assert 30 < int(refused["Retry-After"]) <= 60


@pytest.mark.parametrize("atomic", [False, True])
def test_an_item_with_a_key_is_safe_to_repeat(caller: AgentClient, atomic: bool) -> None:
    items = [caller.payload(headline=name, idempotency_key=name) for name in ("One", "Two")]
    first = send(caller, *items, atomic=atomic)

    again = send(caller, *items, caller.payload(), atomic=atomic)
    alone = caller.post(caller.payload(headline="One"), **{"Idempotency-Key": "One"})

    results = again.json()["results"]
    assert [result["replayed"] for result in results] == [True, True, False]
    assert results[0]["body"] == first.json()["results"][0]["body"] == alone.json()
    assert alone["Idempotency-Replayed"] == "true"
    assert Delivery.objects.count() == 3
    assert not any("idempotency_key" in row.extensions for row in Delivery.objects.all())


@pytest.mark.parametrize("atomic", [False, True])
def test_after_a_withdrawal_the_key_of_an_item_is_free(caller: AgentClient, atomic: bool) -> None:
    item = caller.payload(idempotency_key="report-42")
    withdrawn = send(caller, item).json()["results"][0]["body"]["delivery_id"]
    caller.withdraw(withdrawn)

    first, again = send(caller, item, item, atomic=atomic).json()["results"]

    assert (first["replayed"], again["replayed"]) == (False, True)
    assert first["body"] == again["body"]
    assert first["body"]["delivery_id"] != withdrawn


def test_a_key_that_was_used_for_something_else_is_a_conflict(caller: AgentClient) -> None:
    one, other = caller.payload(idempotency_key="k"), caller.payload(idempotency_key="k", a=1)

    assert codes(send(caller, one, other, one)) == [201, 422, 201]
    together = send(caller, caller.payload(), other, atomic=True)

    assert together.json()["error"]["code"] == "idempotency_conflict"
    assert Delivery.objects.count() == 1


@pytest.mark.parametrize("text", ["", 7, "é", "k" * 256, ["k"]])
def test_a_bad_key_of_an_item_is_its_error(caller: AgentClient, text: Any) -> None:
    sent = send(caller, caller.payload(idempotency_key=text), caller.payload())

    assert codes(sent) == [422, 201]


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ("{}", 400, "deliveries"),
        ('{"deliveries": null}', 400, "deliveries"),
        ('{"deliveries": []}', 422, "deliveries"),
        ('{"deliveries": {}}', 422, "deliveries"),
        (f'{{"deliveries": [{", ".join("17" for _ in range(51))}]}}', 422, "deliveries"),
        ('{"deliveries": [17], "atomic": "yes"}', 422, "atomic"),
        ('{"deliveries": [17], "atmoic": true}', 422, "atmoic"),
        ('{"deliveries": [17], "deliveries": [17]}', 400, None),
        ('{"deliveries": [NaN]}', 400, None),
        ("[]", 400, None),
        ("{", 400, None),
    ],
)
def test_a_wrong_request_stores_nothing(
    caller: AgentClient, body: str, status: int, field: str | None
) -> None:
    refused = post(caller, body)

    assert refused.status_code == status
    assert field is None or refused.json()["error"]["fields"][0]["field"] == field


def test_items_that_are_no_objects_are_malformed(caller: AgentClient) -> None:
    sent = send(caller, 17, None, [], "x", caller.payload())

    assert codes(sent) == [400, 400, 400, 400, 201]
    assert sent.json()["results"][0]["body"]["error"]["code"] == "malformed"


def test_a_key_that_has_ended_is_the_error_of_the_request(caller: AgentClient) -> None:
    ApiKey.objects.update(revoked_at=timezone.now())

    assert send(caller, caller.payload()).status_code == 401
    assert send(caller, caller.payload(), atomic=True).status_code == 401
    assert Client().post("/wake/v1/deliveries", "{}", "application/json").status_code == 401


def test_a_paused_agent_delivers_nothing(caller: AgentClient) -> None:
    Agent.objects.update(paused_at=timezone.now())

    assert codes(send(caller, caller.payload(), caller.payload())) == [403, 403]
    assert send(caller, caller.payload(), atomic=True).json()["error"]["code"] == "paused"


def test_a_pause_applies_to_deliveries_that_waited_for_it(caller: AgentClient) -> None:
    """The owner pauses the agent while requests that have read the agent wait for the agent's
    lock."""

    def pause() -> None:
        Agent.objects.update(paused_at=timezone.now())

    with wrapped.after(keys, "look_up_again", pause):
        refused = send(caller, caller.payload(), caller.payload(), atomic=True)

    assert refused.json()["error"]["code"] == "paused"
    assert not Delivery.objects.exists()


def test_a_database_that_goes_away_keeps_what_was_stored(caller: AgentClient) -> None:
    calls: list[int] = []

    def dies_at_the_second(*arguments: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) != 1:
            raise OperationalError("gone")
        return deliver(*arguments, **more)

    with (
        patch("wake.api.batches.deliver", dies_at_the_second),
        patch("database.outages.is_away", lambda error: isinstance(error, OperationalError)),
    ):
        sent = send(caller, *[caller.payload()] * 3)
        away = send(caller, caller.payload())

    assert codes(sent) == [201, 503, 503]
    assert sent.json()["results"][2]["retry_after"] == 2
    assert len(calls) == 3
    assert (away.status_code, away["Retry-After"]) == (503, "2")


def test_an_unexpected_failure_is_the_error_of_one_delivery(caller: AgentClient) -> None:
    calls: list[int] = []

    def fails_once(*arguments: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("a bug")
        return deliver(*arguments, **more)

    with patch("wake.api.batches.deliver", fails_once):
        sent = send(caller, caller.payload(), caller.payload())

    assert codes(sent) == [500, 201]
    assert sent.json()["results"][0]["body"]["error"]["code"] == "server_error"


def test_the_server_says_that_it_takes_batches(client: Client, caller: AgentClient) -> None:
    capabilities = client.get("/wake/v1").json()
    openapi = client.get("/wake/v1/openapi.json").json()

    assert "batch" in capabilities["extensions"]
    assert capabilities["limits"]["batch_deliveries"] == MAX_DELIVERIES == 50
    fits(openapi, "/wake/v1/deliveries", "post", send(caller, caller.payload(), 17))
    fits(openapi, "/wake/v1/deliveries", "post", send(caller))
    fits(openapi, "/wake/v1/deliveries", "post", send(caller, {}, atomic=True))
