"""Lets owners send a test callback, and shows the reply."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render

from accounts.access.owners import owned_agent
from accounts.access.requests import PersonRequest, actor
from accounts.limits.throttles import TooManyRequests
from accounts.models import Agent
from database.clock import database_now
from inbox.callbacks.limits import count_test_callback
from inbox.callbacks.test_callback_form import TestCallbackForm
from pages.page import form_page, page, too_many
from pages.settings import posted
from wake.callbacks.test_callback import send_test_callback


@form_page
@page
def test_callback(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Shows the form and the reply. There is no redirect, because the reply is not stored."""
    agent, form = owned_agent(request, pk), TestCallbackForm(posted(request))
    if not form.is_valid():
        return _page(request, agent, form)
    try:
        count_test_callback(request)
    except TooManyRequests as error:
        waits = _page(request, agent, form, wait=error.retry_after)
        return too_many(waits, error.retry_after)
    url = form.cleaned_data["url"]
    outcome = send_test_callback(agent, url, by=actor(request), at=database_now())
    return _page(request, agent, form, outcome=outcome)


def _page(
    request: PersonRequest, agent: Agent, form: TestCallbackForm, **context: Any
) -> HttpResponse:
    context = {"nav": "agents", "agent": agent, "form": form, **context}
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render(request, "inbox/callbacks/test_callback.html", context, status=status)
