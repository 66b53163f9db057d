"""A person answers a question of the agent, and approves the agent's plan or sends the plan
back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.client.hook.running import ASK, FIXTURES, PLAN, REDIRECTED, REJECTED, Hook, asked
from tests.client.test_sdk import APPROVED, RECEIPT, Server, ok


def test_a_question_of_the_agent_is_a_choice_each(hook: Hook) -> None:
    edit = {"question-0": "1", "question-1": ["0", "2"]}
    server = Server(ok(RECEIPT, 201), ok({**REDIRECTED, "edited_content": edit}))

    printed = hook(FIXTURES[ASK]["input"], server, "claude-code")

    blocks = asked(server)["details"]["blocks"]
    assert [(block["name"], block["multiple"]) for block in blocks[:2]] == [
        ("question-0", False),
        ("question-1", True),
    ]
    assert blocks[0]["options"][0] == {"id": "0", "label": "React", "text": "Known to the team."}
    given = printed["hookSpecificOutput"]
    assert given["permissionDecision"] == "allow"
    assert given["updatedInput"] == {
        **FIXTURES[ASK]["input"]["tool_input"],
        "answers": {"Which framework?": "Vue", "Which pages?": "Cart, Login"},
    }


def test_checkboxes_without_a_tick_are_no_answer(hook: Hook) -> None:
    edit = {"question-0": "1", "question-1": None}
    server = Server(ok(RECEIPT, 201), ok({**REDIRECTED, "edited_content": edit}))

    printed = hook(FIXTURES[ASK]["input"], server, "claude-code")

    answers = printed["hookSpecificOutput"]["updatedInput"]["answers"]
    assert answers == {"Which framework?": "Vue", "Which pages?": "No answer"}


@pytest.mark.parametrize(
    ("answer", "behavior", "words"),
    [
        ({**REDIRECTED, "feedback": "Svelte."}, "deny", "Svelte."),
        ({**REJECTED, "feedback": "Later."}, "deny", "Later."),
        (APPROVED, None, ""),
        ({**REDIRECTED, "edited_content": {"question-0": "1"}}, None, ""),
        ({**REDIRECTED, "edited_content": {"question-0": "9", "question-1": []}}, None, ""),
        ({**REDIRECTED, "edited_content": {"question-0": None, "question-1": []}}, None, ""),
    ],
)
def test_a_question_without_all_options_is_not_allowed(
    answer: Any, behavior: str | None, words: str, hook: Hook
) -> None:
    printed = hook(FIXTURES[ASK]["input"], Server(ok(RECEIPT, 201), ok(answer)), "claude-code")

    if behavior is None:
        assert printed is None
    else:
        assert printed["hookSpecificOutput"]["permissionDecision"] == behavior
        assert printed["hookSpecificOutput"]["permissionDecisionReason"] == words


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (APPROVED, {"permissionDecision": "allow"}),
        (
            {**REDIRECTED, "edited_content": {"plan": "revise"}, "feedback": "Test first."},
            {"permissionDecision": "deny", "permissionDecisionReason": "Test first."},
        ),
        (
            {**REDIRECTED, "edited_content": {"plan": "revise"}},
            {
                "permissionDecision": "deny",
                "permissionDecisionReason": "A person wants you to keep planning.",
            },
        ),
    ],
)
def test_a_plan_is_approved_or_goes_back(answer: Any, told: Any, hook: Hook) -> None:
    server = Server(ok(RECEIPT, 201), ok(answer))

    printed = hook(FIXTURES[PLAN]["input"], server, "claude-code")["hookSpecificOutput"]

    if told["permissionDecision"] == "allow":
        assert printed.pop("updatedInput") == FIXTURES[PLAN]["input"]["tool_input"]
    assert printed == {"hookEventName": "PreToolUse", **told}
    assert asked(server)["details"]["blocks"][0]["text"].startswith("## Refactor auth")
