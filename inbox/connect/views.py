"""How an agent is connected: where it delivers, what to paste, and whether anything has come."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts import quota
from accounts.access import agents_of
from accounts.models import ApiKey
from inbox.first_delivery import first_delivery
from inbox.panels import panels
from inbox.snippets import snippets
from inbox.viewer import Viewer
from inbox.views.page import PersonRequest, page


@require_safe
@page
def show(request: PersonRequest, pk: UUID) -> HttpResponse:
    now = timezone.now()
    agent = get_object_or_404(agents_of(request.user), pk=pk)
    context = {
        "here": "agents",
        "now": now,
        "agent": agent,
        "team": Viewer.of(request.user).team_label(agent.team_id),
        "origin": settings.WAKE_ORIGIN,
        "snippets": snippets(agent),
        "delivery": first_delivery(agent),
        "panels": panels("connect", agent, user=request.user, at=now),
        "quota": quota.given(ApiKey.Lane.TEST, agent.hourly_limit),
    }
    return render(request, "inbox/connect.html", context)


@require_safe
@page
def pulse(request: PersonRequest, pk: UUID) -> HttpResponse:
    """204 as long as nothing has come, then the way to it."""
    agent = get_object_or_404(agents_of(request.user), pk=pk)
    delivery = first_delivery(agent)
    if delivery is None:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    return render(
        request, "inbox/_first_delivery.html", {"delivery": delivery, "now": timezone.now()}
    )
