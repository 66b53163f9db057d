"""The one page on which a key or a signing secret of an agent is ever shown."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from accounts.models import Agent
from inbox.views.page import PersonRequest


def shown_once(
    request: PersonRequest, agent: Agent, what: str, text: str | None, **context: Any
) -> HttpResponse:
    """`what` is `key` or `secret`. No redirect: the text is nowhere else, and no cache keeps it."""
    context = {"here": "agents", "agent": agent, "what": what, "text": text, **context}
    return render(request, "inbox/agent_once.html", context)


def no_longer_visible(request: PersonRequest, agent: Agent, **context: Any) -> HttpResponse:
    """The same form again, or another owner was quicker: nothing was made."""
    context = {"here": "agents", "agent": agent, **context}
    return render(request, "inbox/agent_once.html", context, status=HTTPStatus.GONE)
