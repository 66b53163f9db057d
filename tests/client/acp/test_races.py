"""The editor and Wake ask at the same time. The first answer wins, and the other one is ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.client.acp.desk import (
    CALL,
    REFUSED,
    SESSION,
    TOOL_CALL,
    Desk,
    asked,
    at_desk,
    eventually,
)


def editor_answers(desk: Desk) -> None:
    assert desk.editor_answers(option="yes")


def editor_answers_in_other_digits(desk: Desk) -> None:
    assert desk.editor_answers(5.0, option="yes")


def editor_cancels(desk: Desk) -> None:
    assert desk.editor("session/cancel", sessionId=SESSION)


def agent_cancels(desk: Desk) -> None:
    desk.agent("$/cancel_request", requestId=5)


def turn_ends(desk: Desk) -> None:
    result = {"stopReason": "cancelled"}
    desk.permissions.read_from_agent({"jsonrpc": "2.0", "id": 2, "result": result})


def call_ends(desk: Desk) -> None:
    desk.update(sessionUpdate="tool_call_update", toolCallId=CALL, status="failed")


def call_changes(desk: Desk) -> None:
    changed = {"command": "npm publish --force"}
    desk.update(sessionUpdate="tool_call_update", toolCallId=CALL, rawInput=changed)


ENDS: dict[Callable[[Desk], None], str] = {
    editor_answers: "A person answered in the editor.",
    editor_answers_in_other_digits: "A person answered in the editor.",
    editor_cancels: "The agent's turn was cancelled in the editor.",
    agent_cancels: "The agent does not wait for this answer any more.",
    turn_ends: "The agent does not wait for this answer any more.",
    call_ends: "The tool call has ended.",
    call_changes: "The agent changed the tool call after it had asked.",
}


@pytest.mark.parametrize("end", ENDS)
def test_a_question_that_needs_no_answer_is_withdrawn(end: Callable[[Desk], None]) -> None:
    async def work(desk: Desk) -> None:
        desk.ask()
        await asked(desk)
        end(desk)
        await eventually(lambda: desk.wake.sent_to("withdraw"))

    desk = at_desk(work)

    assert (desk.to_agent, desk.to_editor, desk.wake.sent_to("claim")) == ([], [], [])
    assert desk.wake.sent_to("withdraw") == [{"reason": ENDS[end]}]


@pytest.mark.parametrize("end", ENDS)
def test_an_answer_that_comes_too_late_selects_nothing(end: Callable[[Desk], None]) -> None:
    async def work(desk: Desk) -> None:
        desk.ask()
        await asked(desk)
        desk.wake.withdrawal = REFUSED
        desk.wake.people("approved")
        end(desk)
        await eventually(lambda: desk.wake.sent_to("outcome"))

    desk = at_desk(work)

    assert (desk.to_agent, desk.to_editor, desk.wake.sent_to("claim")) == ([], [], [])
    (outcome,) = desk.wake.sent_to("outcome")
    assert outcome == {"status": "skipped", "summary": f"{ENDS[end]} This answer was not used."}


@pytest.mark.parametrize("end", ENDS)
def test_an_end_before_the_question_is_stored_withdraws_it(end: Callable[[Desk], None]) -> None:
    async def work(desk: Desk) -> None:
        desk.ask()
        end(desk)
        await eventually(lambda: desk.wake.sent_to("withdraw"))

    desk = at_desk(work)

    assert len(desk.wake.sent_to("deliver")) == 1
    assert (desk.to_agent, desk.to_editor) == ([], [])


@pytest.mark.parametrize("end", ENDS)
def test_an_end_during_the_claim_selects_nothing(end: Callable[[Desk], None]) -> None:
    async def work(desk: Desk) -> None:
        answer = desk.wake.answer

        def end_at_the_claim(request: httpx.Request) -> httpx.Response:
            if "/claim/" in request.url.path:
                end(desk)
            return answer(request)

        desk.wake.answer = end_at_the_claim  # type: ignore[method-assign]
        desk = Desk(desk.wake)
        desk.update(sessionUpdate="tool_call", **TOOL_CALL)
        desk.editor("session/prompt", 2, sessionId=SESSION, prompt=[])
        desk.ask()
        await asked(desk)
        desk.wake.people("approved")
        await eventually(lambda: desk.wake.sent_to("outcome"))
        assert (desk.to_agent, desk.to_editor) == ([], [])

    desk = at_desk(work)

    assert len(desk.wake.sent_to("claim")) == 1
    (outcome,) = desk.wake.sent_to("outcome")
    assert outcome == {"status": "skipped", "summary": f"{ENDS[end]} This answer was not used."}


def test_the_answer_to_one_request_is_not_the_answer_to_another() -> None:
    async def work(desk: Desk) -> None:
        desk.ask(5)
        await asked(desk)
        assert desk.editor_answers("5")
        assert desk.editor_answers(6)
        desk.wake.people("approved")
        await eventually(lambda: desk.to_agent)
        assert desk.editor_answers(6)

    desk = at_desk(work)

    assert [message["id"] for message in desk.to_agent] == [5]


def test_a_progress_of_the_call_changes_nothing() -> None:
    async def work(desk: Desk) -> None:
        desk.ask()
        await asked(desk)
        update = {"toolCallId": CALL, "status": "in_progress", "title": "npm publish"}
        desk.update(sessionUpdate="tool_call_update", **update)
        desk.wake.people("approved")
        await eventually(lambda: desk.to_agent)

    desk = at_desk(work)

    assert len(desk.to_agent) == 1


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("completed", {"status": "done", "summary": "The call ended without an error."}),
        ("failed", {"status": "failed", "summary": "The call ended with an error."}),
    ],
)
def test_the_end_of_an_allowed_call_is_reported_once(status: str, told: Any) -> None:
    async def work(desk: Desk) -> None:
        desk.ask()
        await asked(desk)
        desk.wake.people("approved")
        await eventually(lambda: desk.to_agent)
        for _ in range(2):
            desk.update(sessionUpdate="tool_call_update", toolCallId=CALL, status=status)
        await eventually(lambda: desk.wake.sent_to("outcome"))

    desk = at_desk(work)

    assert desk.wake.sent_to("outcome") == [told]


def test_a_report_that_cannot_be_sent_names_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    async def work(desk: Desk) -> None:
        desk.ask()
        await asked(desk)
        desk.wake.people("approved")
        await eventually(lambda: desk.to_agent)
        desk.wake.outcome = httpx.Response(503)
        desk.update(sessionUpdate="tool_call_update", toolCallId=CALL, status="completed")
        await eventually(lambda: desk.wake.sent_to("outcome"))

    at_desk(work)

    assert "Report it with: wake report 550e8400-e29b-41d4" in capsys.readouterr().err


def test_a_rejected_call_has_no_outcome() -> None:
    async def work(desk: Desk) -> None:
        desk.ask()
        await asked(desk)
        desk.wake.people("rejected")
        await eventually(lambda: desk.to_agent)
        desk.update(sessionUpdate="tool_call_update", toolCallId=CALL, status="failed")

    desk = at_desk(work)

    assert desk.wake.sent_to("outcome") == []
