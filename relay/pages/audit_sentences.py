"""Registers the words for what happens to cards, caller keys and tasks."""

from __future__ import annotations

from accounts.audit.sentences import Detail, Words, does, says

CALLERS = {
    "public": "anyone",
    "key": "anyone with a caller key",
    "allowlist": "selected caller keys",
}
ANSWERS = {"approved": "approved", "rejected": "rejected"}  # every other answer is in words


def _answer_ignored(actor: str, detail: Detail) -> str:
    status = ANSWERS.get(str(detail.get("status")), "answered")
    return f"{actor} {status}, but the task had already moved on"


def _published(actor: str, detail: Detail) -> str:
    callers = CALLERS.get(str(detail.get("access")), "others")
    return f"{actor} published an agent: {callers} can call it"


def _card_changed(actor: str, detail: Detail) -> str:
    names = [str(name).replace("_", " ") for name in detail.get("changed", [])]
    change = f"{actor} changed an agent's card: {', '.join(names)}"
    if "access" not in names:
        return change
    return f"{change}; {CALLERS.get(str(detail.get('access')), 'others')} can call it now"


EVENTS = {
    "card.published": Words("Agent published", "agents published", _published),
    "card.changed": Words("Card changed", "cards changed", _card_changed),
    "card.unpublished": Words(
        "Agent unpublished", "agents unpublished", does("unpublished an agent")
    ),
    "caller_key.issued": Words(
        "Caller key created",
        "caller keys created",
        does("created a caller key"),
    ),
    "caller_key.revoked": Words(
        "Caller key revoked",
        "caller keys revoked",
        does("revoked a caller key"),
    ),
    "task.received": Words("Task received", "tasks received", does("sent a task over A2A")),
    "task.continued": Words(
        "Message to a task", "messages to tasks", does("sent a message to a task")
    ),
    "task.completed": Words("Task completed", "tasks completed", does("completed a task")),
    "task.failed": Words("Task failed", "tasks failed", says("A task failed")),
    "task.canceled": Words("Task canceled", "tasks canceled", does("canceled a task")),
    "task.rejected": Words("Task rejected", "tasks rejected", does("rejected a task")),
    "task.answer_passed_over": Words("Answer not used", "answers not used", _answer_ignored),
    "task.result_came_late": Words(
        "Late result",
        "late results",
        does("sent a result after the task had ended, so it was ignored"),
    ),
    "retention.erased_tasks": Words(
        "Task content erased",
        "erasures of task content",
        lambda actor, detail: f"Content of tasks was erased: {detail.get('count', 'some')}",
    ),
}
