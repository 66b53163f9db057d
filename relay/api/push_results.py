"""Reads what came of the pushes of a task. In a chain of agents, a push becomes a task of the next
agent."""

from __future__ import annotations

import json
from typing import Any

from django.db.models import OuterRef, Subquery

from database.uuids import uuid_or_none
from relay.models import PushNotification, Task
from relay.protocol.dialects import Json
from relay.tasks import pushes
from wake.models import Callback, CallbackAttempt

# In the metadata of a task: what came of the newest push to each config.
RESULTS = "wakePushes"


def of(task: Task) -> list[Json]:
    """Returns what came of the newest push to each config, oldest config first: `configId`,
    `generation`, `state` (`delivered`, `waiting` or `failed`), `attempts`, the `statusCode` of the
    newest response, and the `taskId` of a task that the receiver began. Makes one query, and two
    more if there were pushes."""
    of_config = PushNotification.objects.filter(config=OuterRef("pk")).order_by("-generation")
    newest = task.push_configs.annotate(push=Subquery(of_config.values("pk")[:1]))
    ids = [push for push in newest.values_list("push", flat=True) if push is not None]
    if not ids:
        return []
    rows = PushNotification.objects.filter(pk__in=ids).select_related("config", "callback")
    rows = rows.defer("callback__body", "callback__url", "callback__headers_ciphertext")
    rows = rows.order_by("config__created_at", "config")
    attempts = pushes.newest_attempts([push.callback_id for push in rows])
    return [_result(push, attempts.get(push.callback_id)) for push in rows]


def _result(push: PushNotification, attempt: CallbackAttempt | None) -> Json:
    callback = push.callback
    result: Json = {
        "configId": str(push.config),
        "generation": push.generation,
        "state": _state(callback),
        "attempts": callback.tries,
    }
    if attempt and attempt.status_code:
        result["statusCode"] = attempt.status_code
    if attempt and callback.delivered_at and (task_id := _task_in(attempt.answer)):
        result["taskId"] = task_id
    return result


def _state(callback: Callback) -> str:
    if callback.delivered_at:
        return "delivered"
    return "failed" if callback.given_up_at else "waiting"


def _task_in(answer: str) -> str:
    """Returns the id of the task that a receiver names in its response (`{"taskId": "..."}`), as
    Wake does; otherwise an empty text."""
    try:
        body: Any = json.loads(answer)
    except (ValueError, RecursionError):
        return ""
    named = body.get("taskId") if isinstance(body, dict) else None
    return str(uuid_or_none(named) or "") if isinstance(named, str) else ""
