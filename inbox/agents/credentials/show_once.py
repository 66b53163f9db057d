"""Shows a key or a signing secret of an agent, only once."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from accounts.access.requests import PersonRequest
from accounts.models import Agent


def shown_once(
    request: PersonRequest, agent: Agent, what: str, text: str | None, **context: Any
) -> HttpResponse:
    """Shows the text. `what` is `key` or `secret`. There is no redirect, because the server does
    not store the text. Caches must not store the text, either."""
    context = {"nav": "agents", "agent": agent, "what": what, "text": text, **context}
    return render(request, "inbox/agents/credentials/show_once.html", context)


def no_longer_visible(request: PersonRequest, agent: Agent, **context: Any) -> HttpResponse:
    """Says that nothing was created: the same form was sent twice, or another owner was faster."""
    context = {"nav": "agents", "agent": agent, **context}
    return render(
        request, "inbox/agents/credentials/show_once.html", context, status=HTTPStatus.GONE
    )
