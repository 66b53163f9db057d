"""The callbacks of the person's teams: what became of each, and one button to send it again."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from accounts.access import NotAllowed, agents_of
from accounts.throttles import client_address
from inbox import callbacks
from inbox.callback_requests import number_of, request_of, tries_of
from inbox.ids import uuid_or_none
from inbox.slices import Cursor
from inbox.viewer import Viewer
from inbox.views.page import PersonRequest, SeeOther, page
from wake import breakers
from wake.models import Callback, FailingTarget
from wake.outbox import AlreadyDelivered, NothingLeftToSend, send_again

MOST_AGENTS = 500


@require_safe
@page
def list_all(request: PersonRequest) -> HttpResponse:
    now = timezone.now()
    viewer = Viewer.of(request.user)
    state = request.GET.get("state", "")
    asked = callbacks.Asked(
        state=state if state in callbacks.STATES else "",
        agent_pk=uuid_or_none(request.GET.get("agent", "")),
    )
    before = Cursor.read(request.GET.get("before", ""))
    lines, older = callbacks.page(viewer, asked, at=now, before=before)
    is_first_look = not asked.narrows and before is None
    context = {
        "here": "callbacks",
        "now": now,
        "asked": asked,
        "states": callbacks.STATES,
        "agents": agents_of(request.user).order_by("agent_id", "pk")[:MOST_AGENTS],
        "resting": [
            (target, viewer.team_label(target.team_id), viewer.may_answer(target.team_id))
            for target in (callbacks.resting(viewer) if is_first_look else [])
        ],
        "targets": callbacks.targets(viewer, at=now) if is_first_look else [],
        "looked_at": callbacks.LOOKED_AT,
        "lines": lines,
        "older": older,
        "is_first_look": is_first_look,
    }
    return render(request, "inbox/callbacks.html", context)


@require_safe
@page
def show(request: PersonRequest, pk: UUID) -> HttpResponse:
    return _show(request, _find(request, pk))


@require_POST
@page
def replay(request: PersonRequest, pk: UUID) -> HttpResponse:
    callback = _find(request, pk)
    try:
        send_again(callback, by=request.user, at=timezone.now(), address=client_address(request))
    except NotAllowed as reason:
        raise PermissionDenied(str(reason)) from None
    except (AlreadyDelivered, NothingLeftToSend) as reason:
        return _show(request, callback, problem=str(reason), status=HTTPStatus.CONFLICT)
    messages.success(request, "It is sent again now, with the same body and the same id.")
    return SeeOther("callback", pk=pk)


@require_POST
@page
def resume(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Two who ask at once have both been heard: the second finds nothing that rests."""
    target = get_object_or_404(FailingTarget.objects.for_person(request.user), pk=pk)
    try:
        missed = breakers.resume(
            target, by=request.user, at=timezone.now(), address=client_address(request)
        )
    except NotAllowed as reason:
        raise PermissionDenied(str(reason)) from None
    number = "1 callback is" if missed == 1 else f"{missed} callbacks are"
    messages.success(request, f"Resumed. {number} sent to {target.host} now.")
    return SeeOther("callbacks")


def _find(request: PersonRequest, pk: UUID) -> Callback:
    """Not theirs and not there are the same 404."""
    return get_object_or_404(
        Callback.objects.for_person(request.user).select_related("response"), pk=pk
    )


def _show(
    request: PersonRequest,
    callback: Callback,
    *,
    problem: str = "",
    status: HTTPStatus = HTTPStatus.OK,
) -> HttpResponse:
    now = timezone.now()
    viewer = Viewer.of(request.user)
    (standing,) = callbacks.standings([callback.pk], viewer, at=now)
    tries = [(number_of(attempt), attempt) for attempt in tries_of(callback)]
    context = {
        "here": "callbacks",
        "now": now,
        "problem": problem,
        "line": standing,
        "callback": standing.callback,
        "delivery": standing.callback.response and standing.callback.response.delivery,
        "tries": tries,
        "sent": request_of(callback, at=now),
        "may_send_again": (
            viewer.may_answer(callback.team_id)
            and standing.callback.delivered_at is None
            and standing.callback.erased_at is None
        ),
        "is_owner": viewer.is_owner(callback.team_id),
    }
    return render(request, "inbox/callback.html", context, status=status)
