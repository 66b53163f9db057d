"""Says on the page of a task where its pushes go, and what came of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import OuterRef, Subquery

from database.encryption import Unreadable
from inbox.delivery.timeline import callback_state
from relay.cards import cards
from relay.models import PushNotification, Task
from relay.tasks.pushes import KIND
from wake.models import Callback, CallbackAttempt

MAX_PUSHES = 200
AGENT_PATH = re.compile(r"/@([^/]+)/([^/]+)/?")


def push_lines(task: Task, *, at: datetime) -> list[tuple[PushNotification, str]]:
    """Returns the newest pushes, newest first, each with a line about it."""
    attempts = CallbackAttempt.objects.filter(callback=OuterRef("callback")).order_by("-pk")
    pushes = task.notifications.select_related("callback").defer("callback__body")
    pushes = pushes.annotate(
        status_code=Subquery(attempts.values("status_code")[:1]),
        error=Subquery(attempts.values("error")[:1]),
    )
    agent_at = cache(_agent_at)
    newest = pushes.order_by("-generation")[:MAX_PUSHES]
    return [(push, _line(push, agent_at=agent_at, at=at)) for push in newest]


def _line(push: Any, *, agent_at: Callable[[str], str], at: datetime) -> str:
    reason = f"response {push.status_code}" if push.status_code else push.error or ""
    state = callback_state(push.callback, at=at, otherwise=KIND.hint, reason=reason)
    return f"Push to {_receiver(push.callback, agent_at)}: {state}"


def _receiver(callback: Callback, agent_at: Callable[[str], str]) -> str:
    """Returns the agent of this server to which a push goes, or else the host. The rest of another
    URL may be a secret."""
    try:
        return agent_at(callback.url) or callback.host
    except Unreadable:
        return callback.host


def _agent_at(url: str) -> str:
    """Returns `@handle/name` if this is the address of an agent of this server, or an empty
    text."""
    parts = urlsplit(url)
    match = AGENT_PATH.fullmatch(parts.path)
    if f"{parts.scheme}://{parts.netloc}" != settings.WAKE_ORIGIN or match is None:
        return ""
    card = cards.published_at(*match.groups())
    return str(card) if card else ""
