"""A person's answer becomes the outcome of the request: the option that they chose, and never
another one that allows."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.client.acp.desk import (
    ALLOW,
    ALWAYS,
    NEVER,
    OPTIONS,
    REFUSED,
    REJECT,
    Desk,
    asked,
    at_desk,
    eventually,
)
from tests.client.test_sdk import error, ok
from wake_client.errors import NOT_CLAIMED

CANCELLED = {"outcome": "cancelled"}
WORDS = {"feedback": "Run the tests first."}


def selected(option: dict[str, str]) -> dict[str, str]:
    return {"outcome": "selected", "optionId": option["optionId"]}


def choice(number: object) -> dict[str, Any]:
    return {"edited_content": {"permission": number}}


@pytest.mark.parametrize(
    ("options", "status", "more", "outcome", "is_claimed"),
    [
        (OPTIONS, "approved", {}, selected(ALLOW), True),
        (OPTIONS, "redirected", choice("1"), selected(ALWAYS), True),
        (OPTIONS, "redirected", choice("2"), selected(ALLOW), True),
        (OPTIONS, "redirected", choice("3"), selected(NEVER), False),
        (OPTIONS, "redirected", choice("4"), selected(REJECT), False),
        (OPTIONS, "redirected", WORDS, selected(REJECT), False),
        (OPTIONS, "rejected", WORDS, selected(REJECT), False),
        ([ALWAYS, ALLOW, NEVER], "rejected", {}, CANCELLED, False),
        ([ALWAYS], "redirected", choice("1"), selected(ALWAYS), True),
    ],
)
def test_an_answer_becomes_the_outcome(
    options: Any, status: str, more: Any, outcome: Any, is_claimed: bool
) -> None:
    async def work(desk: Desk) -> None:
        desk.ask(options=options)
        await asked(desk)
        desk.wake.people(status, **more)
        await eventually(lambda: desk.to_agent)

        assert not desk.editor_answers(option="yes")  # the answer of the dialog is dropped
        assert desk.editor_answers(option="yes")  # another request may have the same id

    desk = at_desk(work)

    assert desk.to_agent == [{"jsonrpc": "2.0", "id": 5, "result": {"outcome": outcome}}]
    cancel = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 5}}
    assert desk.to_editor == [cancel]
    assert desk.wake.sent_to("claim") == ([{"digest": desk.wake.digest}] if is_claimed else [])
    assert desk.wake.sent_to("withdraw") == []


def test_the_words_of_a_person_are_in_the_log_of_the_editor(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def work(desk: Desk) -> None:
        desk.ask()
        await asked(desk)
        desk.wake.people("rejected", **WORDS)
        await eventually(lambda: desk.to_agent)

    at_desk(work)

    assert "A person wrote about npm publish: Run the tests first." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "status", "more", "reason"),
    [
        ([ALWAYS, REJECT], "approved", {}, "chooses no option"),
        ([ALLOW, {**ALLOW, "optionId": "b", "name": "B"}], "approved", {}, "chooses no option"),
        (OPTIONS, "approved", {"erased": True}, "chooses no option"),
        (OPTIONS, "redirected", choice(None), "chooses no option"),
        (OPTIONS, "redirected", choice("5"), "chooses no option"),
        (OPTIONS, "redirected", choice("yes"), "chooses no option"),
        (OPTIONS, "redirected", choice(["2"]), "chooses no option"),
        (OPTIONS, "approved", {"responded_by": {"kind": "rule"}}, "A rule of the team answered"),
        (OPTIONS, "rejected", {"responded_by": {"kind": "rule"}}, "A rule of the team answered"),
    ],
)
def test_an_answer_that_chooses_no_option_leaves_the_request_to_the_editor(
    options: Any, status: str, more: Any, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def work(desk: Desk) -> None:
        desk.ask(options=options)
        await asked(desk)
        desk.wake.people(status, **more)
        await eventually(lambda: desk.wake.sent_to("outcome"))

        assert desk.editor_answers()

    desk = at_desk(work)

    assert (desk.to_agent, desk.to_editor, desk.wake.sent_to("claim")) == ([], [], [])
    (outcome,) = desk.wake.sent_to("outcome")
    assert outcome["status"] == "skipped"
    assert reason in outcome["summary"]
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize("code", [*sorted(NOT_CLAIMED), "unavailable"])
def test_an_approval_that_cannot_be_used_leaves_the_request_to_the_editor(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def work(desk: Desk) -> None:
        desk.ask()
        await asked(desk)
        desk.wake.people("approved")
        await eventually(lambda: desk.wake.sent_to("claim"))

    desk = at_desk(work, claim=error(503 if code == "unavailable" else 409, code))

    assert (desk.to_agent, desk.to_editor) == ([], [])
    assert desk.wake.sent_to("withdraw") == [{"reason": "Wake could not use an answer any more."}]
    assert f"Only the editor asks about this tool call. No. ({code})" in capsys.readouterr().err


@pytest.mark.parametrize(
    "delivery",
    [
        httpx.ConnectError("refused"),
        error(401, "unauthorized"),
        error(422, "invalid"),
        error(429, "too_many_requests"),
        error(500, "internal"),
        httpx.Response(200, text="<html>"),
    ],
)
def test_a_question_that_cannot_be_asked_leaves_the_request_to_the_editor(
    delivery: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    async def work(desk: Desk) -> None:
        if isinstance(delivery, Exception):
            delivery.request = httpx.Request("POST", "https://wake.example.com")  # type: ignore[attr-defined]
        desk.wake.delivery = delivery
        desk.ask()
        await eventually(lambda: desk.wake.requests[1:])

        assert desk.editor_answers()

    desk = at_desk(work)

    assert (desk.to_agent, desk.to_editor) == ([], [])
    assert "Only the editor asks about this tool call." in capsys.readouterr().err


@pytest.mark.parametrize(
    "more", [{"expired": True}, {"withdrawn_at": "2026-03-07T09:00:00Z"}], ids=["late", "withdrawn"]
)
def test_a_question_without_an_answer_leaves_the_request_to_the_editor(more: Any) -> None:
    async def work(desk: Desk) -> None:
        desk.ask()
        await asked(desk)
        desk.wake.people("pending", **more)
        await eventually(lambda: desk.wake.sent_to("withdraw"))

        assert desk.editor_answers()

    desk = at_desk(work)

    assert (desk.to_agent, desk.to_editor) == ([], [])
    (withdrawal,) = desk.wake.sent_to("withdraw")
    assert withdrawal == {"reason": "No answer came in time, so only the editor asks."}


def test_an_answer_to_other_content_selects_nothing() -> None:
    async def work(desk: Desk) -> None:
        desk.ask()
        await asked(desk)
        desk.wake.withdrawal = REFUSED
        desk.wake.people("approved", digest="0" * 64)
        await eventually(lambda: desk.wake.sent_to("outcome"))

    desk = at_desk(work)

    assert (desk.to_agent, desk.to_editor, desk.wake.sent_to("claim")) == ([], [], [])


@pytest.mark.parametrize("extensions", [ok({"extensions": ["digest"]}), error(404, "not_found")])
def test_a_server_without_claims_works_as_before(
    extensions: httpx.Response, capsys: pytest.CaptureFixture[str]
) -> None:
    async def work(desk: Desk) -> None:
        desk.wake.extensions = extensions
        desk.ask()
        await asked(desk)
        desk.wake.people("approved", digest=None)
        await eventually(lambda: desk.to_agent)

    desk = at_desk(work)

    assert desk.to_agent[0]["result"]["outcome"] == selected(ALLOW)
    assert "digest" not in desk.wake.asked
    assert desk.wake.sent_to("claim") == []
    says_so = "approvals are not used up" in capsys.readouterr().err
    assert says_so == (extensions.status_code == 404)
