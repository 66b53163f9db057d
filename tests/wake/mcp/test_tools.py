"""The six tools do, say and refuse the right things."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from accounts.models import ApiKey, User
from database.clock import database_now
from tests.fixtures.long_polls import Clock, wait_by
from tests.types import MakeRule
from tests.wake.mcp.client import McpClient
from wake import wire
from wake.mcp.same_calls import SAME_CALL
from wake.mcp.tools import TOOLS
from wake.mcp.wording import WAITS
from wake.models import Delivery, Response
from wake.responses import release, respond

pytestmark = pytest.mark.django_db
REPORT = {"type": "output", "headline": "Report ready", "summary": "Ten companies."}
QUESTION = {"headline": "Which name?", "summary": "Both are free."}


def answer(pk: str, by: User, status: str, **more: Any) -> None:
    row = Delivery.objects.get(pk=pk)
    now = database_now()
    response = respond(row, by=by, status=status, content_hash=row.content_hash, at=now, **more)
    assert isinstance(response, Response)
    release(response, at=now)


@pytest.mark.parametrize("name", TOOLS)
def test_the_schemas_are_schemas(name: str) -> None:
    for schema in (TOOLS[name].takes, TOOLS[name].returns):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"


def test_a_delivery_is_the_one_of_the_rest_api(either: McpClient, key: ApiKey) -> None:
    receipt = either.structured(
        "deliver", **REPORT, details={"price": 1}, thread="market", priority="high"
    )

    row = Delivery.objects.get()
    assert receipt["delivery_id"] == str(row.pk)
    assert (row.type, row.headline, row.details) == ("output", "Report ready", {"price": 1})
    assert (row.claimed_agent_id, row.key_hint) == (key.agent.agent_id, key.hint)
    assert (row.thread, row.priority, row.extensions) == ("market", "high", {})
    jsonschema.validate(receipt, TOOLS["deliver"].returns)


def test_a_number_keeps_its_digits(mcp: McpClient) -> None:
    mcp.post(
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"deliver","arguments":'
        '{"type":"output","headline":"h","summary":"s","details":{"price":1.10}}}}'
    )

    assert Delivery.objects.get().details_json == '{"price":1.10}'


def test_the_provider_is_the_clients_name(mcp: McpClient) -> None:
    mcp.structured("deliver", **REPORT)

    assert Delivery.objects.get().provider == "inspector"


def test_an_older_client_is_known_by_its_user_agent(either: McpClient) -> None:
    either.client.defaults["HTTP_USER_AGENT"] = "claude-code/2.1 (cli)"
    either.structured("deliver", **REPORT)

    assert Delivery.objects.get().provider in {"inspector", "claude-code"}


def test_a_question_without_an_answer_returns_the_next_step(
    either: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    wait_by(clock, monkeypatch)

    result = either.call("ask", **QUESTION, timeout_seconds=3600, assumption="Take the first name.")

    text, structured = result["content"][0]["text"], result["structuredContent"]
    row = Delivery.objects.get()
    assert clock.waited == 45
    assert (structured["status"], structured["delivery_id"]) == ("pending", str(row.pk))
    assert structured["expires_at"] is not None
    assert text.startswith("pending: no decision yet. This is no approval.")
    assert "Take the first name." in text
    assert f"call check with delivery_id {row.pk}" in text
    jsonschema.validate(structured, TOOLS["ask"].returns)


def test_a_model_is_told_that_it_has_to_wait(
    either: McpClient, make_rule: MakeRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result does not repeat the model's own plan."""
    wait_by(Clock(), monkeypatch)
    make_rule(role="owner", must_wait=True)

    asked = either.call("ask", **QUESTION, timeout_seconds=3600, assumption="Take the first name.")
    delivered = either.call("deliver", **REPORT, timeout_seconds=3600)

    for result in (asked, delivered):
        assert "you wait for the answer, also after the deadline" in result["content"][0]["text"]
    assert "Take the first name." not in asked["content"][0]["text"]
    assert delivered["structuredContent"]["on_timeout"] == "hold"


def test_a_later_look_says_that_the_model_has_to_wait(mcp: McpClient, make_rule: MakeRule) -> None:
    """If another session had asked the question, a session used to read only that the deadline had
    passed."""
    free = mcp.structured("ask", **QUESTION, timeout_seconds=3600, wait_seconds=0)
    make_rule(role="owner", must_wait=True)
    held = mcp.structured("deliver", **REPORT, timeout_seconds=3600)

    before = mcp.call("check", delivery_id=held["delivery_id"])
    Delivery.objects.update(expires_at=database_now() - timedelta(seconds=1))
    after = mcp.call("check", delivery_id=held["delivery_id"])
    other = mcp.call("check", delivery_id=free["delivery_id"])

    for result in (before, after):
        assert WAITS in result["content"][0]["text"]
    assert after["structuredContent"]["expired"] is True
    assert "deadline passed" in other["content"][0]["text"]
    assert WAITS not in other["content"][0]["text"]


def test_a_question_that_is_answered_meanwhile(
    mcp: McpClient, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def say_no() -> None:
        answer(str(Delivery.objects.get().pk), bob, "rejected", feedback="Too early.")

    wait_by(Clock(say_no), monkeypatch)

    result = mcp.call("ask", **QUESTION)

    assert result["structuredContent"]["status"] == "rejected"
    assert result["structuredContent"]["feedback"] == "Too early."
    assert result["content"][0]["text"].startswith("rejected: A person rejected it. Do not do it.")


def test_options_are_a_choice_that_comes_back(mcp: McpClient, bob: User) -> None:
    asked = mcp.structured(
        "ask", **QUESTION, details="Both **fit**.", options=["Harbour", "Lantern"], wait_seconds=0
    )
    row = Delivery.objects.get()
    assert [block["type"] for block in row.details["blocks"]] == ["markdown", "choice"]
    assert [each["id"] for each in row.details["blocks"][1]["options"]] == ["Harbour", "Lantern"]

    answer(asked["delivery_id"], bob, "redirected", edited_json='{"choice":"Lantern"}')

    result = mcp.call("check", delivery_id=asked["delivery_id"])
    assert result["structuredContent"]["edited_content"] == {"choice": "Lantern"}
    assert '"choice":"Lantern"' in result["content"][0]["text"]


def test_several_choices_come_back_by_name(mcp: McpClient, bob: User) -> None:
    choices = [
        {"name": "day", "label": "On which day?", "options": ["Monday", "Tuesday"]},
        {"name": "told", "label": "Who is told?", "options": ["Sales", "All"], "multiple": True},
    ]
    asked = mcp.structured("ask", **QUESTION, choices=choices, wait_seconds=0)
    row = Delivery.objects.get()
    assert [block["name"] for block in row.details["blocks"]] == ["day", "told"]
    assert row.details["blocks"][1]["multiple"] is True
    assert row.details["text"].startswith("On which day?\nMonday\nTuesday")

    answer(asked["delivery_id"], bob, "redirected", edited_json='{"day":"Monday","told":["Sales"]}')

    checked = mcp.structured("check", delivery_id=asked["delivery_id"])
    assert checked["edited_content"] == {"day": "Monday", "told": ["Sales"]}


def test_options_join_typed_blocks(mcp: McpClient) -> None:
    table = {"type": "table", "columns": ["Name"], "rows": [["Harbour"]]}
    day = {"type": "choice", "name": "day", "options": [{"id": "1", "label": "Monday"}]}
    details = {"wake_blocks": 1, "text": "Two names.", "blocks": [table, day]}

    mcp.structured("ask", **QUESTION, details=details, options=["Harbour"], wait_seconds=0)

    row = Delivery.objects.get()
    assert row.details["wake_blocks"] == 1
    assert row.details["text"] == "Two names.\nHarbour"
    assert [block["type"] for block in row.details["blocks"]] == ["choice", "table", "choice"]
    assert row.details["blocks"][1:] == [table, day]


@pytest.mark.parametrize(
    "arguments",
    [
        {"options": ["two\nlines"]},
        {"options": "Harbour"},
        {"options": ["a"] * 2},
        {"choices": []},
        {"choices": {}},
        {"choices": ["a"]},
        {"choices": [{"name": "a", "label": "A?"}]},
        {"choices": [{"name": "a", "label": "A?", "options": []}]},
        {"choices": [{"name": "a", "label": "A?", "options": [{}]}]},
        {"choices": [{"name": "a", "label": "A?", "options": ["x"], "more": 1}]},
        {"choices": [{"name": "a", "label": "A?", "options": ["x"], "multiple": 1}]},
        {"choices": [{"name": "", "label": "A?", "options": ["x"]}]},
        {"choices": [{"name": "a" * 65, "label": "A?", "options": ["x"]}]},
        {"choices": [{"name": "a", "label": 7, "options": ["x"]}]},
        {"choices": [{"name": "a", "label": "A?", "options": ["x"]}] * 2},
        {"choices": [{"name": "choice", "label": "A?", "options": ["x"]}], "options": ["y"]},
        {"options": ["y"], "details": {"wake_blocks": 1, "blocks": [{"type": "choice"}]}},
        {
            "choices": [{"name": "day", "label": "A?", "options": ["x"]}],
            "details": {"wake_blocks": 1, "blocks": [{"type": "field", "name": "day"}]},
        },
    ],
)
def test_wrong_choices_are_an_error_that_a_model_can_read(
    mcp: McpClient, arguments: dict[str, Any]
) -> None:
    result = mcp.call("ask", **QUESTION, **arguments, wait_seconds=0)

    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("invalid_field: ")
    assert not Delivery.objects.exists()


def test_the_next_session_finds_the_answer(mcp: McpClient, bob: User, key: ApiKey) -> None:
    asked = mcp.structured("ask", **QUESTION, wait_seconds=0)
    mcp.structured("deliver", **REPORT)
    answer(asked["delivery_id"], bob, "approved")

    later = McpClient(key.text)  # type: ignore[attr-defined]
    answers = later.structured("answers")

    assert [each["delivery_id"] for each in answers["deliveries"]] == [asked["delivery_id"]]
    assert answers["deliveries"][0]["status"] == "approved"
    jsonschema.validate(answers, TOOLS["answers"].returns)
    again = later.structured("answers", since=answers["next_since"])
    assert (again["deliveries"], again["next_since"]) == ([], answers["next_since"])


def test_the_same_call_again_is_the_same_delivery(mcp: McpClient) -> None:
    first = mcp.structured("ask", **QUESTION, wait_seconds=0)

    again = mcp.structured("ask", **QUESTION, wait_seconds=1)

    assert again["delivery_id"] == first["delivery_id"]
    other = mcp.structured("ask", **{**QUESTION, "summary": "None is free."}, wait_seconds=0)
    assert other["delivery_id"] != first["delivery_id"]


def test_the_same_call_later_is_another_delivery(mcp: McpClient) -> None:
    first = mcp.structured("deliver", **REPORT)
    Delivery.objects.update(created_at=database_now() - SAME_CALL - timedelta(seconds=1))

    assert mcp.structured("deliver", **REPORT)["delivery_id"] != first["delivery_id"]


def test_an_idempotency_key_of_its_own(mcp: McpClient) -> None:
    first = mcp.structured("deliver", **REPORT, idempotency_key="run-7")
    Delivery.objects.update(created_at=database_now() - SAME_CALL - timedelta(seconds=1))

    assert mcp.structured("deliver", **REPORT, idempotency_key="run-7") == first | {
        "created_at": mcp.structured("deliver", **REPORT, idempotency_key="run-7")["created_at"]
    }
    assert mcp.failure(
        "deliver", **{**REPORT, "summary": "Another."}, idempotency_key="run-7"
    ).startswith("idempotency_conflict: ")


def test_a_withdrawal(mcp: McpClient) -> None:
    asked = mcp.structured("ask", **QUESTION, wait_seconds=0)

    taken = mcp.structured("withdraw", delivery_id=asked["delivery_id"], reason="Found it.")

    assert (taken["status"], taken["reason"]) == ("withdrawn", "Found it.")
    assert Delivery.objects.get().withdrawn_at is not None
    jsonschema.validate(taken, TOOLS["withdraw"].returns)


def test_a_withdrawn_delivery_is_not_waited_for(
    either: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model used to read "Go on with other work; call check"."""
    clock = Clock()
    wait_by(clock, monkeypatch)
    question = {**QUESTION, "timeout_seconds": 3600, "idempotency_key": "q", "wait_seconds": 0}
    asked = either.structured("ask", **question)
    either.structured("withdraw", delivery_id=asked["delivery_id"])

    checked = either.call("check", delivery_id=asked["delivery_id"], wait_seconds=50)

    at = wire.instant(Delivery.objects.get().withdrawn_at)  # type: ignore[arg-type]
    text = checked["content"][0]["text"]
    assert clock.waited == 0
    assert checked["structuredContent"]["withdrawn_at"] == at
    assert text.startswith(f"withdrawn at {at}: people are not asked any more")
    assert "no answer will come" in text
    assert "call check" not in text
    jsonschema.validate(checked["structuredContent"], TOOLS["check"].returns)


def test_a_withdrawal_ends_a_wait(mcp: McpClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def withdraw() -> None:
        Delivery.objects.update(withdrawn_at=database_now())

    clock = Clock(withdraw)
    wait_by(clock, monkeypatch)

    asked = mcp.call("ask", **QUESTION)

    assert clock.waited < 45
    assert asked["content"][0]["text"].startswith("withdrawn at ")


@pytest.mark.parametrize("more", [{}, {"idempotency_key": "colours"}])
def test_asking_again_after_a_withdrawal_asks_again(mcp: McpClient, more: dict[str, str]) -> None:
    call = {**QUESTION, **more, "wait_seconds": 0}
    first = mcp.structured("ask", **call)["delivery_id"]
    mcp.structured("withdraw", delivery_id=first)

    again = mcp.structured("ask", **call)["delivery_id"]

    assert again != first
    assert mcp.structured("ask", **call)["delivery_id"] == again
    assert Delivery.objects.get(pk=again).withdrawn_at is None


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("deliver", {**REPORT, "headline": ""}, "invalid_field: headline"),
        ("deliver", {"type": "output"}, "missing_field: headline"),
        ("deliver", {**REPORT, "title": "x"}, "invalid_field: title: deliver takes type,"),
        ("deliver", {**REPORT, "idempotency_key": ""}, "invalid_field: idempotency_key"),
        ("deliver", {**REPORT, "idempotency_key": 7}, "invalid_field: idempotency_key"),
        ("ask", {**QUESTION, "wait_seconds": 51}, "invalid_field: wait_seconds"),
        ("ask", {**QUESTION, "wait_seconds": True}, "invalid_field: wait_seconds"),
        ("ask", {**QUESTION, "options": []}, "invalid_field: options"),
        ("ask", {**QUESTION, "options": ["a", "a"]}, "invalid_field: options"),
        ("ask", {**QUESTION, "options": ["a", 1]}, "invalid_field: options"),
        ("ask", {**QUESTION, "options": "a"}, "invalid_field: options"),
        ("ask", {**QUESTION, "timeout_seconds": 5}, "invalid_field: timeout_seconds"),
        ("check", {}, "missing_field: delivery_id"),
        ("check", {"delivery_id": "nothing"}, "not_found: "),
        ("check", {"delivery_id": 7}, "not_found: "),
        ("answers", {"since": "yesterday"}, "invalid_field: since"),
        ("answers", {"limit": 0}, "invalid_field: limit"),
        ("withdraw", {"delivery_id": "nothing"}, "not_found: "),
        ("withdraw", {"delivery_id": "x", "reason": 7}, "invalid_field: reason"),
    ],
)
def test_an_invalid_argument_is_explained_and_stores_nothing(
    tool: str, arguments: Any, text: str, mcp: McpClient
) -> None:
    assert mcp.failure(tool, **arguments).startswith(text)
    assert not Delivery.objects.exists()


def test_a_paused_agent_gets_an_error(mcp: McpClient, key: ApiKey) -> None:
    key.agent.paused_at = database_now()
    key.agent.save()

    assert mcp.failure("deliver", **REPORT).startswith("paused: A person has paused")


def test_a_key_revoked_during_the_wait_gets_nothing(
    mcp: McpClient, bob: User, key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    def revoke() -> None:
        ApiKey.objects.update(revoked_at=database_now() - timedelta(seconds=1))

    wait_by(Clock(revoke), monkeypatch)

    refused = mcp.ask("tools/call", {"name": "ask", "arguments": QUESTION})

    assert refused.status_code == 401
    assert refused.json()["error"]["data"] == {"code": "unauthorized"}
    assert refused.json()["id"] == 1
