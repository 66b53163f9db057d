"""Turns a person's answer into the hook's output. No other module of this package allows a call."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Literal

from wake_client.answers import Answer
from wake_client.hook.calls import ASK_USER, BEFORE_TOOL, CLAUDE_CODE, CURSOR, EXIT_PLAN, Call
from wake_client.hook.questions import GO, MAX_CHARACTERS, PLAN, questions_of
from wake_client.visible_text import json_text, visible, visible_lines

TOO_LONG = (
    f"The arguments are longer than {MAX_CHARACTERS:,} characters, so no person could read them "
    "before a decision. Nothing was asked. Split the call into smaller ones."
)
REJECTED = "A person rejected this."
BY_RULE = "A rule of the team answered, and no person. Only a person allows a call."
UNCLEAR = "A person answered, but neither approved the call nor changed it. Nothing was allowed."
ANOTHER_CALL = (
    "People were asked about another call under this id: the session, the folder, the tool or the "
    "arguments are different. Nothing was allowed. Make the call again to ask about it."
)
# For each error code of the server, the reason why an approval cannot be used.
NOT_USED = {
    "already_claimed": "This approval was used before, and it is for one call. Make the call again "
    "to ask about it.",
    "not_approved": "The approval was taken back, so nothing was allowed.",
    "approval_expired": "The time to use this approval is over. Make the call again to ask about "
    "it.",
    "digest_mismatch": "People approved other content than the hook sent, so nothing was allowed.",
}
SUPERSEDED = (
    "People decided about a newer version of this question, so this approval no longer counts. "
    "Make the call again to ask about it."
)
NOT_USABLE = "This approval cannot be used, so nothing was allowed."
# The answer to a question if a person ticked none of its checkboxes.
NO_ANSWER = "No answer"


@dataclass(frozen=True, slots=True)
class HookVerdict:
    """Holds the decision about a call. `arguments` replace the arguments of an allowed call.
    `message` gives the agent the reason of a denial. `note` is the text that a person added to an
    approval."""

    behavior: Literal["allow", "deny", "defer"]
    message: str = ""
    arguments: dict[str, Any] | None = None
    note: str = ""


DEFERRED = HookVerdict("defer")


def verdict_of(call: Call, answer: Answer) -> HookVerdict | None:
    """Returns the verdict of a person's answer. Returns None if the answer decides nothing, for
    example because a rule of the team gave it."""
    if answer.responded_by is not None:
        return None
    if answer.status == "rejected":
        return HookVerdict("deny", answer.feedback or REJECTED)
    if answer.status not in {"approved", "redirected"}:
        return None
    edit = answer.edited_content if answer.status == "redirected" else None
    if call.tool == ASK_USER:
        return _of_questions(call, answer, edit)
    if call.tool == EXIT_PLAN:
        return _of_plan(call, answer, edit)
    if answer.status == "approved":
        return HookVerdict("allow", note=answer.feedback or "")
    if isinstance(edit, dict):
        return _edited(call, edit, answer.feedback)
    return _words(answer, edit)


def not_used(code: str, delivery_status: str | None = None) -> HookVerdict:
    """Returns the verdict for an approval that the server does not let the hook use. The reason
    follows from the server's error code and the status of the delivery."""
    if delivery_status == "superseded":
        return HookVerdict("deny", SUPERSEDED)
    return HookVerdict("deny", NOT_USED.get(code, NOT_USABLE))


def verdict_of_deferred(call: Call, answer: Answer) -> HookVerdict:
    """Returns the verdict of an answer to a deferred call. The verdict is a denial unless a person
    allowed the call, because there is no terminal that asks."""
    verdict = verdict_of(call, answer)
    if verdict is None:
        return HookVerdict("deny", UNCLEAR if answer.responded_by is None else BY_RULE)
    return verdict


def undecided(agent: str) -> str:
    """Returns the output that leaves the decision to the agent's own prompt. Claude Code and Codex
    prompt if a hook prints nothing. If a hook of Cursor prints nothing, the editor takes this for
    invalid JSON, and the command line for "allow". So the output tells Cursor to ask (read on
    2026-11-26: https://cursor.com/docs/hooks, and github.com/awslabs/aidlc-workflows/pull/745)."""
    return json.dumps({"permission": "ask"}) if agent == CURSOR else ""


def denied(reason: str) -> str:
    """Returns the output that denies a call of Claude Code before the tool runs (PreToolUse)."""
    given = {"hookEventName": BEFORE_TOOL, "permissionDecision": "deny"}
    return json.dumps(
        {"hookSpecificOutput": {**given, "permissionDecisionReason": visible(reason)}}
    )


def output(call: Call, verdict: HookVerdict | None) -> str:
    """Returns the output of the hook for a verdict. None stands for no decision."""
    if verdict is None:
        return undecided(call.agent)
    verdict = replace(
        verdict, message=visible_lines(verdict.message), note=visible_lines(verdict.note)
    )
    if call.agent == CURSOR:
        cursor_output: dict[str, str] = {"permission": verdict.behavior}
        if verdict.message:
            cursor_output |= {"user_message": verdict.message, "agent_message": verdict.message}
        return json.dumps(cursor_output)
    printed: dict[str, Any] = {}
    note = f"A person allowed this call and wrote: {verdict.note}" if verdict.note else ""
    if call.event == BEFORE_TOOL:
        given: dict[str, Any] = {"permissionDecision": verdict.behavior}
        if verdict.message:
            given["permissionDecisionReason"] = verdict.message
        if verdict.arguments is not None:
            given["updatedInput"] = verdict.arguments
        if note:
            given["additionalContext"] = note
    else:
        decision: dict[str, Any] = {"behavior": verdict.behavior}
        if verdict.message:
            decision["message"] = verdict.message
        if verdict.arguments is not None:
            decision["updatedInput"] = verdict.arguments
        given = {"decision": decision}
        if (
            note and call.agent == CLAUDE_CODE
        ):  # the output of this event has no field for the model
            printed["systemMessage"] = note
    printed["hookSpecificOutput"] = {"hookEventName": call.event, **given}
    return json.dumps(printed)


def _edited(call: Call, edit: dict[str, Any], feedback: str | None) -> HookVerdict:
    """Allows the call with the person's arguments. Codex and Cursor cannot replace arguments, so
    they get a denial that names the arguments, and the agent can make a new call."""
    if call.agent == CLAUDE_CODE:
        return HookVerdict("allow", arguments=edit, note=feedback or "")
    changed = json_text(edit)
    words = f"A person changed the arguments. Call the tool again with exactly these: {changed}"
    return HookVerdict("deny", f"{words} {feedback}" if feedback else words)


def _words(answer: Answer, edit: Any) -> HookVerdict | None:
    words = [text for text in (answer.feedback, edit) if isinstance(text, str) and text]
    return HookVerdict("deny", "\n".join(words)) if words else None


def _of_questions(call: Call, answer: Answer, edit: Any) -> HookVerdict | None:
    """Returns the chosen options under the text of each question, as Claude Code expects them. If a
    person wrote words instead, the agent gets the words as the reason of a denial."""
    if not isinstance(edit, dict):
        return _words(answer, edit)
    answers: dict[str, str] = {}
    for place, each in enumerate(questions_of(call)):
        labels = {str(number): option["label"] for number, option in enumerate(each["options"])}
        name = f"question-{place}"
        if name in edit and edit[name] is None and each.get("multiSelect") is True:
            answers[each["question"]] = NO_ANSWER
            continue
        chosen = edit.get(name)
        ids: list[Any] = chosen if isinstance(chosen, list) else [chosen]
        if not all(isinstance(id, str) and id in labels for id in ids):
            return _words(answer, None)
        answers[each["question"]] = ", ".join(labels[id] for id in ids) or "None of these"
    if answer.feedback:
        last = next(reversed(answers))
        answers[last] = f"{answers[last]} ({answer.feedback})"
    return HookVerdict("allow", arguments={**call.arguments, "answers": answers})


def _of_plan(call: Call, answer: Answer, edit: Any) -> HookVerdict | None:
    if answer.status == "approved" or (isinstance(edit, dict) and edit.get(PLAN) == GO):
        # If the output had no arguments, Claude Code would still ask in its terminal.
        return HookVerdict("allow", arguments=call.arguments)
    if isinstance(edit, dict):
        return HookVerdict("deny", answer.feedback or "A person wants you to keep planning.")
    return _words(answer, edit)
