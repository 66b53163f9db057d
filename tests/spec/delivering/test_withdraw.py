"""An agent takes back what needs no answer any more (docs/protocol.md, Withdraw)."""

from __future__ import annotations

import io
import time
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse

from accounts.models import ApiKey, AuditEvent, User
from database.clock import database_now
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.strict_client import Client
from tests.spec.answering.test_wait import LESS_THAN_ASKED, soon
from wake.models import Delivery
from wake.responses import Withdrawn, respond

pytestmark = pytest.mark.django_db


def answer(pk: str, by: User, status: str = "approved") -> None:
    delivery = Delivery.objects.get(pk=pk)
    content_hash = delivery.content_hash
    respond(delivery, by=by, status=status, content_hash=content_hash, at=database_now())


def test_a_withdrawn_delivery_leaves_the_inbox_and_says_why(
    caller: AgentClient, bob: User, client: Client
) -> None:
    client.force_login(bob)
    pk = caller.deliver(headline="Which of two names?", type="question")

    taken = caller.withdraw(pk, {"reason": "The name was found in the brief."})

    body = taken.json()
    assert taken.status_code == 200
    assert list(body) == ["delivery_id", "status", "withdrawn_at", "reason"]
    assert (body["delivery_id"], body["status"]) == (pk, "withdrawn")
    assert body["reason"] == "The name was found in the brief."
    assert "Which of two names?" not in client.get("/").content.decode()
    page = client.get(reverse("delivery", args=[pk])).content.decode()
    assert "Withdrawn by the agent" in page
    assert "The name was found in the brief." in page
    assert 'value="approved"' not in page
    with pytest.raises(Withdrawn):
        answer(pk, bob)


def test_a_poll_and_a_sweep_say_when_it_was_withdrawn(caller: AgentClient, bob: User) -> None:
    """A poll used to say only `pending`, so that agents waited for ever."""
    pk, open_pk, answered_pk = caller.deliver(), caller.deliver(), caller.deliver()
    before = caller.poll(pk)
    answer(answered_pk, bob)
    withdrawn_at = caller.withdraw(pk).json()["withdrawn_at"]

    polled = caller.poll(pk)

    assert polled == {**before, "withdrawn_at": withdrawn_at}
    assert list(polled)[-1] == "withdrawn_at"
    items = {item["delivery_id"]: item for item in caller.sweep()["deliveries"]}
    assert items[pk] == polled
    assert "withdrawn_at" not in items[open_pk]
    assert "withdrawn_at" not in items[answered_pk]


def test_a_withdrawal_moves_no_cursor(caller: AgentClient) -> None:
    pk = caller.deliver()
    since = caller.sweep()["next_since"]

    caller.withdraw(pk)

    assert caller.sweep(since=since)["deliveries"] == []


def test_a_wait_for_a_withdrawn_delivery_returns_at_once(caller: AgentClient) -> None:
    pk = caller.deliver()
    caller.withdraw(pk)
    start = time.monotonic()

    polled = caller.get(f"response/{pk}", wait=25).json()

    assert "withdrawn_at" in polled
    assert time.monotonic() - start < LESS_THAN_ASKED


@pytest.mark.django_db(transaction=True)
def test_a_withdrawal_ends_a_wait(caller: AgentClient) -> None:
    pk = caller.deliver()
    start = time.monotonic()

    with soon(lambda: caller.withdraw(pk)):
        polled = caller.get(f"response/{pk}", wait=25).json()

    assert (polled["status"], "withdrawn_at" in polled) == ("pending", True)
    assert 0.3 < time.monotonic() - start < LESS_THAN_ASKED


def test_a_repeated_request_changes_nothing(caller: AgentClient) -> None:
    pk = caller.deliver()
    first = caller.withdraw(pk, {"reason": "Solved."})

    again = caller.withdraw(pk.upper() + "/", {"reason": "Another reason."})

    assert again.content == first.content
    events = AuditEvent.objects.filter(event="delivery.withdrawn")
    assert [(event.actor_name, event.detail["key"]) for event in events] == [
        (caller.agent_id, caller.key.hint)
    ]


@pytest.mark.parametrize("body", ["", "{}", {"reason": None}])
def test_the_reason_may_be_left_out(body: Any, caller: AgentClient) -> None:
    taken = caller.withdraw(caller.deliver(), body)

    assert (taken.status_code, taken.json()["reason"]) == (200, None)


def test_an_empty_chunked_body_has_no_reason(caller: AgentClient) -> None:
    """A withdrawal without a Content-Length used to get a 400, although an empty body is
    allowed."""
    chunked: dict[str, Any] = {
        "wsgi.input": io.BytesIO(),
        "wsgi.input_terminated": True,
        "HTTP_TRANSFER_ENCODING": "chunked",
        "CONTENT_LENGTH": "",
        "CONTENT_TYPE": "application/json",
    }
    path = f"/wake/v1/withdraw/{caller.deliver()}"

    taken = caller.client.generic("POST", path, headers=caller.headers, **chunked)

    assert (taken.status_code, taken.json()["reason"]) == (200, None)


def test_an_answered_delivery_is_not_withdrawn(caller: AgentClient, bob: User) -> None:
    """A held answer counts, too, because the person has decided."""
    pk = caller.deliver()
    answer(pk, bob)

    refused = caller.withdraw(pk)

    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "already_answered")
    assert Delivery.objects.get(pk=pk).withdrawn_at is None


def test_a_replaced_delivery_can_be_withdrawn_too(caller: AgentClient) -> None:
    first = caller.deliver()
    caller.deliver(supersedes=first)
    superseded_at = Delivery.objects.get(pk=first).superseded_at

    assert caller.withdraw(first).status_code == 200

    row = Delivery.objects.get(pk=first)
    assert row.withdrawn_at is not None
    assert row.superseded_at == superseded_at


@pytest.mark.parametrize("pk", ["nothing", "00000000-0000-0000-0000-000000000000", "1"])
def test_an_unknown_delivery_is_a_404(pk: str, caller: AgentClient) -> None:
    refused = caller.withdraw(pk)

    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "not_found")


def test_another_agents_delivery_is_the_same_404(caller: AgentClient, others: AgentClient) -> None:
    theirs = others.deliver()

    refused = caller.withdraw(theirs)

    assert refused.status_code == 404
    assert refused.content == caller.withdraw("nothing").content
    assert Delivery.objects.get(pk=theirs).withdrawn_at is None


def test_a_test_key_withdraws_nothing_live(caller: AgentClient, in_test_mode: AgentClient) -> None:
    assert in_test_mode.withdraw(caller.deliver()).status_code == 404


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ("{", 400, "malformed"),
        ("[]", 400, "malformed"),
        ({"reason": ""}, 422, "invalid_field"),
        ({"reason": 7}, 422, "invalid_field"),
        ({"reason": "x" * 501}, 422, "invalid_field"),
    ],
)
def test_a_bad_body_withdraws_nothing(
    body: Any, status: int, code: str, caller: AgentClient
) -> None:
    pk = caller.deliver()

    refused = caller.withdraw(pk, body)

    assert (refused.status_code, refused.json()["error"]["code"]) == (status, code)
    assert Delivery.objects.get(pk=pk).withdrawn_at is None


def test_a_revoked_key_withdraws_nothing(caller: AgentClient) -> None:
    pk = caller.deliver()
    ApiKey.objects.filter(pk=caller.key.pk).update(revoked_at=database_now() - timedelta(seconds=5))

    refused = caller.withdraw(pk)

    assert refused.status_code == 401
    assert Delivery.objects.get(pk=pk).withdrawn_at is None


def test_the_server_declares_it(client: Client) -> None:
    assert {"withdraw", "withdrawn_at"} <= set(client.get("/wake/v1").json()["extensions"])
    schema = client.get("/wake/v1/openapi.json").json()
    assert "/wake/v1/withdraw/{delivery_id}" in schema["paths"]
