"""Lets owners download the evidence of one agent."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus
from uuid import UUID

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from accounts.access.owners import owned_agent
from accounts.access.requests import PersonRequest, actor
from accounts.models import Agent
from accounts.sign_in.reauthentication import requires_password
from database.clock import database_now
from inbox.audit.evidence.archive import zipped
from inbox.audit.evidence.export import export
from inbox.audit.evidence.forms import EvidenceForm
from inbox.audit.evidence.scope import MAX_ON_PAGE, Scope, TooManyDeliveries
from pages.page import form_page, page
from pages.settings import posted
from pages.streaming import streamed

DAYS = 30


@form_page
@page
@requires_password
def evidence(request: PersonRequest, pk: UUID) -> HttpResponseBase:
    """Shows the form for the days, and streams the archive when the form is posted."""
    agent, now = owned_agent(request, pk), database_now()
    today = now.date()
    days = {"first_day": today - timedelta(days=DAYS), "last_day": today}
    form = EvidenceForm(posted(request), initial=days, today=today)
    if not form.is_valid():
        return _form(request, agent, form)
    scope = Scope(agent, form.cleaned_data["first_day"], form.cleaned_data["last_day"])
    try:
        files = export(scope, by=actor(request), limit=MAX_ON_PAGE, at=now)
    except TooManyDeliveries as reason:
        form.add_error(None, str(reason))
        return _form(request, agent, form)
    return streamed(
        request,
        lambda: zipped(files),
        name=f"evidence-{agent.pk}-{scope.first_day}-{scope.last_day}.zip",
        content_type="application/zip",
    )


def _form(request: PersonRequest, agent: Agent, form: EvidenceForm) -> HttpResponse:
    context = {
        "nav": "agents",
        "now": database_now(),
        "agent": agent,
        "form": form,
        "limit": f"{MAX_ON_PAGE:,}",
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render(request, "inbox/audit/evidence/evidence.html", context, status=status)
