"""The question shows the whole tool call. A request that cannot be shown whole is asked by the
editor only."""

from __future__ import annotations

import json
from html import unescape
from typing import Any

import pytest
from django.utils.html import strip_tags

from inbox.rendering.details import render
from tests.client.acp.desk import (
    ALLOW,
    ALWAYS,
    CALL,
    OPTIONS,
    REFUSED,
    REJECT,
    TOOL_CALL,
    Desk,
    asked,
    at_desk,
    eventually,
)

EDIT: dict[str, Any] = {
    "toolCallId": "call_02",
    "title": "Edit `prices.py`",
    "kind": "edit",
    "name": "edit_file",
    "content": [
        {"type": "diff", "path": "/srv/shop/prices.py", "oldText": "a = 1\n", "newText": "a = 2\n"},
        {"type": "diff", "path": "/srv/shop/new.py", "newText": "b = 1\n"},
        {"type": "content", "content": {"type": "text", "text": "The price of **all** teams."}},
        {"type": "content", "content": {"type": "resource_link", "name": "x", "uri": "file:///x"}},
        {"type": "terminal", "terminalId": "term_1"},
        {"type": "diff", "path": "/srv/shop/d.py", "oldText": ["lines of d"], "newText": "d"},
        {"type": "diff", "path": "/srv/shop/c.py", "newText": "c", "mode": "0777"},
    ],
    "locations": [{"path": "/srv/shop/prices.py"}, {"path": "/srv/shop/x", "column": 4}],
    "rawInput": ["prices.py", 2],
    "audience": "everyone",
    "rawOutput": None,
    "_meta": {"trace": "not for people"},
}


def delivery_of(call: Any, **more: Any) -> Any:
    async def work(desk: Desk) -> None:
        desk.ask(call=call, **more)
        await asked(desk)

    return at_desk(work).wake.asked


def test_a_question_has_the_call_that_the_agent_announced_earlier() -> None:
    asked = delivery_of({"toolCallId": CALL})

    assert asked["headline"] == "Allow `npm publish` in shop?"
    assert asked["summary"] == "Coder asks for permission."
    assert (asked["thread"], asked["timeout_seconds"]) == ("acp-sess_01", 3600)
    assert (asked["on_timeout"], asked["digest"], asked["provider"]) == ("hold", True, "custom")
    command, given, about, choice = asked["details"]["blocks"]
    assert command == {"type": "code", "language": "sh", "text": "npm publish"}
    assert given == {"type": "kv", "title": "Input", "items": {"timeout": 60}}
    assert about == {
        "type": "kv",
        "items": {
            "agent": "Coder",
            "title": "npm publish",
            "kind": "execute",
            "locations": ["/srv/shop/package.json:3"],
            "folder": "/srv/shop",
        },
    }
    assert choice["options"] == [
        {
            "id": "1",
            "label": "Always allow",
            "text": "Allows this call and, without a question, later calls like it.",
        },
        {"id": "2", "label": "Allow", "text": "Allows this call.", "recommended": True},
        {
            "id": "3",
            "label": "Never allow",
            "text": "Rejects this call and, without a question, later calls like it.",
        },
        {"id": "4", "label": "Reject", "text": "Rejects this call."},
    ]


def test_a_member_of_the_request_replaces_the_earlier_one() -> None:
    asked = delivery_of({"toolCallId": CALL, "rawInput": {"command": "npm pack"}, "title": None})

    assert asked["headline"] == "Allow `npm publish` in shop?"
    assert asked["details"]["blocks"][0]["text"] == "npm pack"
    assert "npm publish --" not in str(asked)


def test_every_member_of_a_call_is_on_the_page() -> None:
    options = [{**ALLOW, "hint": "costs 3 EUR"}, REJECT]
    asked = delivery_of(EDIT, options=options, urgency="tonight")

    rendered = render(json.dumps(asked["details"]))
    assert rendered
    page = unescape(strip_tags(rendered.html))
    for text in [
        *("/srv/shop/prices.py", "a = 1", "a = 2", "New file: /srv/shop/new.py", "b = 1"),
        *("The price of **all** teams.", "file:///x", "term_1", "/srv/shop/c.py", "0777"),
        "lines of d",
        *("edit_file", "/srv/shop/x", "everyone", "hint of option 1", "costs 3 EUR", "tonight"),
    ]:
        assert text in page, text
    assert "not for people" not in page
    assert (rendered.has_all_text, rendered.left_out) == (True, ())


@pytest.mark.parametrize(
    ("options", "recommended"),
    [
        (OPTIONS, ["2"]),
        ([ALWAYS, REJECT], []),
        ([ALLOW, {**ALLOW, "optionId": "b", "name": "B"}], []),
    ],
)
def test_an_approval_stands_for_the_only_option_that_allows_once(
    options: Any, recommended: list[str]
) -> None:
    asked = delivery_of(EDIT, options=options)

    given = asked["details"]["blocks"][-1]["options"]
    assert [option["id"] for option in given if option.get("recommended")] == recommended


LONG = {**EDIT, "rawInput": {"command": "x" * 20_001}}
LINES = {**EDIT, "rawInput": {"rows": [0] * 401}}
PARTS = {**EDIT, "content": [{"type": "content"}] * 81, "rawInput": None}


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ({"call": LONG}, "could not read the whole of it"),
        ({"call": LINES}, "could not read the whole of it"),
        ({"call": PARTS}, "could not read the whole of it"),
        ({"call": TOOL_CALL, "note": "x" * 20_001}, "could not read the whole of it"),
        ({"call": {"toolCallId": "another"}}, "says nothing about what the tool call does"),
        ({"call": {"title": "npm publish"}}, "not as version 1 of the protocol defines it"),
        ({"call": "npm publish"}, "not as version 1 of the protocol defines it"),
        ({"options": None}, "not as version 1 of the protocol defines it"),
        ({"options": []}, "The request has 0 options"),
        ({"options": [{**ALLOW, "optionId": str(n), "name": str(n)} for n in range(13)]}, "13"),
        ({"options": [ALLOW, {"optionId": "x", "name": "X", "kind": "allow_all"}]}, "An option is"),
        ({"options": [ALLOW, "no"]}, "An option is not as version 1"),
        ({"options": [{**ALLOW, "name": " "}]}, "An option has no name"),
        ({"options": [{**ALLOW, "name": "x" * 201}]}, "too long for a button"),
        ({"options": [ALLOW, {**REJECT, "optionId": "yes"}]}, "the same optionId"),
        ({"options": [ALLOW, {**ALLOW, "optionId": "b"}]}, "Two options look the same."),
        ({"id": 1.5}, "no id of its own"),
        ({"id": True}, "no id of its own"),
    ],
)
def test_a_request_that_cannot_be_shown_is_left_to_the_editor(
    request_: Any, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def work(desk: Desk) -> None:
        desk.ask(**request_)
        assert desk.editor_answers(request_.get("id", 5))

    desk = at_desk(work)

    assert desk.wake.requests == []
    assert (desk.to_agent, desk.to_editor) == ([], [])
    error = capsys.readouterr().err
    assert error.startswith("wake acp: Only the editor asks about this tool call.")
    assert reason in error


def test_two_requests_with_one_id_are_left_to_the_editor() -> None:
    async def work(desk: Desk) -> None:
        desk.ask()
        await asked(desk)
        desk.wake.withdrawal = REFUSED
        desk.wake.people("approved")
        desk.ask(call=EDIT)
        await eventually(lambda: desk.wake.sent_to("outcome"))

        assert desk.editor_answers()

    desk = at_desk(work)

    assert desk.wake.asked["headline"] == "Allow `npm publish` in shop?"
    assert (desk.to_agent, desk.wake.sent_to("claim")) == ([], [])


def test_content_that_is_not_json_on_the_wire_is_left_to_the_editor(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def work(desk: Desk) -> None:
        desk.ask(call={**TOOL_CALL, "rawInput": {"limit": float("inf")}})
        await eventually(lambda: desk.wake.requests)

    desk = at_desk(work)

    assert desk.wake.sent_to("deliver") == []
    assert "Only the editor asks about this tool call." in capsys.readouterr().err
