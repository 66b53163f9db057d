""" "`{"error": {"code": "...", "message": "...", "fields": [{"field", "code", "message"}]}}`"
(docs/protocol.md, Errors): every row of the table, and what holds for all of them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.agents import keys
from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, AuditEvent
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.strict_client import Client
from wake.models import Delivery

REQUIRED = ["agent_id", "provider", "type", "headline", "summary"]


def error_of(answer: Any, status: int, code: str) -> dict[str, Any]:
    """Returns the error and checks what holds for every error."""
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/json"
    body = answer.json()
    error: dict[str, Any] = body["error"]
    assert error["code"] == code
    assert error["message"]
    if status not in {429, 503}:
        assert set(body) == {"error"}, 'Never a top-level "status" in an error.'
    return error


@pytest.mark.parametrize(
    "body",
    [b"", b"nonsense", b"[]", b'"text"', b"null", b"17", b'{"agent_id"', b"{}x", b"\xff{}"],
    ids=repr,
)
def test_400_a_body_that_is_no_json_object(caller: AgentClient, body: bytes) -> None:
    """ "400 | not JSON, not an object, undecodable, too deeply nested" """
    answer = caller.post(body)

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] in {"malformed", "missing_field"}
    assert not Delivery.objects.exists()


@pytest.mark.parametrize("name", REQUIRED)
@pytest.mark.parametrize("absent", [True, False])
def test_400_a_missing_required_field(caller: AgentClient, name: str, absent: bool) -> None:
    """ "400 | ... a required field absent or null" """
    body = caller.payload(**{name: None})
    if absent:
        del body[name]

    error = error_of(caller.post(body), 400, "missing_field")

    assert [problem["field"] for problem in error["fields"]] == [name]
    assert not Delivery.objects.exists()


def test_400_names_every_invalid_field(caller: AgentClient) -> None:
    """ "`fields` names the field for 400 and 422 on deliver." """
    error = error_of(caller.post({"type": "poem", "headline": "x" * 121}), 400, "missing_field")

    assert {problem["field"] for problem in error["fields"]} == set(REQUIRED)
    for problem in error["fields"]:
        assert set(problem) == {"field", "code", "message"}
        assert problem["field"] in error["message"]


def _revoked(key: ApiKey) -> str:
    keys.revoke(key, by=SYSTEM, at=timezone.now())
    return f"Bearer {key.text}"  # type: ignore[attr-defined]


def _expired(key: ApiKey) -> str:
    ApiKey.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    return f"Bearer {key.text}"  # type: ignore[attr-defined]


def _unknown(key: ApiKey) -> str:
    ApiKey.objects.all().delete()
    return f"Bearer {key.text}"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "authorization",
    [
        _revoked,
        _expired,
        _unknown,
        lambda key: "",
        lambda key: "Bearer",
        lambda key: "Bearer ",
        lambda key: f"Basic {key.text}",
        lambda key: key.text,
        lambda key: f"Bearer {key.text}x",
        lambda key: f"Bearer {key.text[:-1]}",
        lambda key: f"Bearer {key.text.lower()}",
        lambda key: f"Bearer {key.digest}",
        lambda key: "Bearer \xff\xfe",
    ],
)
@pytest.mark.parametrize("path", ["deliver", "responses", f"response/{uuid.UUID(int=7)}"])
def test_every_401_is_the_same(
    key: ApiKey, authorization: Callable[[ApiKey], str], path: str
) -> None:
    """ "401 | no key, unknown, revoked or expired key; `WWW-Authenticate: Bearer`; one body for all
    of these" """
    client = Client()
    no_key = client.get("/wake/v1/responses")

    answer = client.generic(
        "POST" if path == "deliver" else "GET",
        f"/wake/v1/{path}",
        headers={"Authorization": authorization(key)},
    )

    error_of(answer, 401, "unauthorized")
    assert answer["WWW-Authenticate"] == "Bearer"
    assert answer.content == no_key.content


def test_401_for_a_signed_in_person_without_a_key(
    signed_in: Callable[..., Client], alice: Any
) -> None:
    """ "The agent API takes keys only, never cookies." (docs/reliability.md)"""
    answer = signed_in(alice).get("/wake/v1/responses")

    error_of(answer, 401, "unauthorized")


def test_the_scheme_is_found_in_any_case(key: ApiKey) -> None:
    """RFC 9110, 11.1: the scheme's case does not matter."""
    answer = Client().get(
        "/wake/v1/responses",
        headers={"Authorization": f"bearer  {key.text}"},  # type: ignore[attr-defined]
    )

    assert answer.status_code == 200


def test_403_another_agents_id(caller: AgentClient) -> None:
    """ "403 | ... `agent_mismatch` (not 401: agents ask for a new key on 401)" """
    answer = caller.post(caller.payload(agent_id="somebody-else"))

    error_of(answer, 403, "agent_mismatch")
    assert not answer.has_header("WWW-Authenticate")
    assert not Delivery.objects.exists()


def test_404_has_one_body_for_unknown_malformed_and_another_agents(
    caller: AgentClient, others: AgentClient
) -> None:
    """ "404 | unknown, malformed or another agent's delivery id: one body, one timing" """
    theirs = others.deliver()
    paths = [theirs, str(uuid.uuid4()), "17", "x" * 500, theirs.replace("-", ""), f"{{{theirs}}}"]

    answers = [caller.get(f"response/{path}") for path in paths]

    for answer in answers:
        error_of(answer, 404, "not_found")
    assert len({answer.content for answer in answers}) == 1


def test_404_costs_the_same_queries_for_all(
    caller: AgentClient, others: AgentClient, django_assert_num_queries: Any
) -> None:
    theirs = others.deliver()
    caller.get("responses")  # records the key's use, at most once a minute

    for path in [theirs, str(uuid.uuid4()), "17"]:
        with django_assert_num_queries(2):
            assert caller.get(f"response/{path}").status_code == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "deliver"),
        ("PUT", "deliver"),
        ("DELETE", "responses"),
        ("POST", "responses"),
        ("PATCH", f"response/{uuid.UUID(int=7)}"),
        ("OPTIONS", "deliver"),
        ("POST", ""),
        ("TRACE", "openapi.json"),
    ],
)
def test_405_is_json_and_lists_the_allowed_methods(
    caller: AgentClient, method: str, path: str
) -> None:
    """ "Everything under `/wake/` answers JSON, also 404, 405, 413, 429, 500." """
    answer = caller.client.generic(method, f"/wake/v1/{path}", headers=caller.headers)

    error_of(answer, 405, "method_not_allowed")
    assert answer["Allow"] in {"GET", "POST"}


def test_413_above_the_limit_and_not_at_it(caller: AgentClient) -> None:
    """ "413 | body above 256 KiB (setting)" """
    empty = len(json.dumps(caller.payload(details="")))
    longest = "x" * (262_144 - empty)

    accepted = caller.post(caller.payload(details=longest))
    refused = caller.post(caller.payload(details=longest + "x"))

    assert accepted.status_code == 201
    error_of(refused, 413, "body_too_large")
    assert Delivery.objects.count() == 1


def test_413_follows_the_setting(caller: AgentClient, settings: Any) -> None:
    settings.WAKE_MAX_BODY_BYTES = 1024

    error_of(caller.post(caller.payload(details="x" * 1024)), 413, "body_too_large")


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("type", "poem", "invalid_choice"),
        ("type", "UPDATE", "invalid_choice"),
        ("type", ["update"], "invalid_choice"),
        ("type", True, "invalid_choice"),
        ("headline", "x" * 121, "max_length"),
        ("headline", 17, "invalid"),
        ("summary", "x" * 281, "max_length"),
        ("summary", ["text"], "invalid"),
        ("provider", "x" * 129, "max_length"),
        ("provider", True, "invalid"),
        ("agent_id", "x" * 129, "max_length"),
        ("agent_id", {}, "invalid"),
        ("details", 17, "invalid"),
        ("details", [], "invalid"),
        ("details", False, "invalid"),
        ("details", 1.5, "invalid"),
        ("callback_webhook", "", "blank"),
        ("callback_webhook", 17, "invalid"),
        ("callback_webhook", "https://" + "x" * 2048, "max_length"),
        ("timeout_seconds", 59, "min_value"),
        ("timeout_seconds", 604_801, "max_value"),
        ("timeout_seconds", -1, "min_value"),
        ("timeout_seconds", True, "invalid"),
        ("timeout_seconds", "3600", "invalid"),
        ("timeout_seconds", 3600.0, "invalid"),
        ("assumption", 17, "invalid"),
        ("assumption", "x" * 2001, "max_length"),
        ("on_timeout", "explode", "invalid_choice"),
    ],
)
def test_422_an_invalid_field(caller: AgentClient, name: str, value: Any, code: str) -> None:
    """ "422 | present but invalid: type, length, enum, range, URL, allowlist, `details` neither
    object, string nor null" """
    error = error_of(caller.post(caller.payload(**{name: value})), 422, "invalid_field")

    assert [(found["field"], found["code"]) for found in error["fields"]] == [(name, code)]
    assert error["message"].startswith(f"{name}: ")
    assert not Delivery.objects.exists()


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com/",
        "https://not-on-the-list.example.com/",
        "https://user:password@hooks.example.com/",
        "https://hooks.example.com:8443/",
        "https://127.0.0.1/",
        "hooks.example.com",
        "javascript:alert(1)",
    ],
)
def test_422_a_callback_that_is_not_on_the_allowlist(
    caller: AgentClient, allowed_host: str, url: str
) -> None:
    """ "`callback_webhook` is checked at deliver (422)" """
    error = error_of(caller.post(caller.payload(callback_webhook=url)), 422, "invalid_field")

    assert [problem["field"] for problem in error["fields"]] == ["callback_webhook"]
    assert not Delivery.objects.exists()


def test_201_a_callback_that_is_on_the_allowlist(caller: AgentClient, allowed_host: str) -> None:
    """ "Must match allowlist." """
    caller.deliver(callback_webhook=f"https://{allowed_host}/wake-callback")

    assert Delivery.objects.get().callback_webhook == f"https://{allowed_host}/wake-callback"


def test_422_a_longer_agent_id_before_it_is_a_mismatch(caller: AgentClient) -> None:
    """ "A longer `agent_id` is 422 before it is a mismatch." """
    error_of(caller.post(caller.payload(agent_id="x" * 129)), 422, "invalid_field")
    error_of(caller.post(caller.payload(agent_id="x" * 128)), 403, "agent_mismatch")


def test_403_a_paused_agent(caller: AgentClient, agent: Agent) -> None:
    """ "`paused` is a 403, because clients retry a 429, and no `Retry-After` would be true" """
    earlier = caller.deliver()
    Agent.objects.update(paused_at=timezone.now())

    answer = caller.post(caller.payload())

    error_of(answer, 403, "paused")
    assert "Retry-After" not in answer
    assert Delivery.objects.count() == 1
    assert caller.poll(earlier)["status"] == "pending", "Answers can still be read."


def test_a_refused_delivery_stores_nothing(caller: AgentClient, key: ApiKey) -> None:
    """ "A refused request (4xx) and a replay spend nothing." """
    caller.post(caller.payload(agent_id="somebody-else"))
    caller.post(caller.payload(headline=""))
    caller.post(caller.payload(callback_webhook="http://example.com"))
    caller.post(b"{")

    key.refresh_from_db()
    assert key.quota_us == 0
    assert not Delivery.objects.exists()
    assert not AuditEvent.objects.filter(event="delivery.received").exists()
