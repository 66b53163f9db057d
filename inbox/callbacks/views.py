"""Shows callbacks and their status, sends a callback again, and resumes suspended targets."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_POST, require_safe

from accounts.access.objects import NotAllowed, agents_of
from accounts.access.requests import PersonRequest
from accounts.access.viewer import Viewer
from accounts.limits.throttles import client_address
from database.batched_queries import Cursor
from database.clock import database_now
from database.uuids import uuid_or_none
from inbox.callbacks import attention, callbacks
from inbox.callbacks.requests import attempts_of, number_of, request_of
from pages.page import page
from pages.redirects import SeeOther
from wake.callbacks import circuit_breaker
from wake.callbacks.kinds import title_of_others
from wake.callbacks.outbox import AlreadyDelivered, NothingLeftToSend, send_again
from wake.models import Callback, FailingTarget

MAX_AGENTS = 500


@require_safe
@page
def callback_list(request: PersonRequest) -> HttpResponse:
    now = database_now()
    viewer = Viewer.of(request.user)
    state = request.GET.get("state", "")
    filters = callbacks.CallbackFilter(
        state=state if state in callbacks.STATES else "",
        agent_pk=uuid_or_none(request.GET.get("agent", "")),
    )
    before = Cursor.read(request.GET.get("before", ""))
    lines, older = callbacks.page(viewer, filters, at=now, before=before)
    is_first_look = not filters.narrows and before is None
    suspended = callbacks.suspended(viewer) if is_first_look else []
    targets = callbacks.targets(viewer, at=now) if is_first_look else []
    context = {
        "nav": "callbacks",
        "now": now,
        "notes": attention.notes_of(suspended, targets),
        "filter": filters,
        "states": callbacks.STATES,
        "agents": agents_of(request.user).order_by("agent_id", "pk")[:MAX_AGENTS],
        "suspended": [
            (target, viewer.team_label(target.team_id), viewer.may_answer(target.team_id))
            for target in suspended
        ],
        "targets": targets,
        "title_of_others": title_of_others(),
        "callback_count": callbacks.CALLBACKS_LOOKED_AT,
        "lines": lines,
        "older": older,
        "is_first_look": is_first_look,
    }
    return render(request, "inbox/callbacks/callbacks.html", context)


@require_safe
@page
def callback_detail(request: PersonRequest, pk: UUID) -> HttpResponse:
    return _show(request, _find(request, pk))


@require_POST
@page
def replay_callback(request: PersonRequest, pk: UUID) -> HttpResponse:
    callback = _find(request, pk)
    try:
        send_again(callback, by=request.user, at=database_now(), address=client_address(request))
    except NotAllowed as reason:
        raise PermissionDenied(str(reason)) from None
    except (AlreadyDelivered, NothingLeftToSend) as reason:
        return _show(request, callback, problem=str(reason), status=HTTPStatus.CONFLICT)
    messages.success(request, "Sending again now, with the same body and ID.")
    return SeeOther("callback", pk=pk)


@require_POST
@page
def resume_target(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Resumes the target. A second simultaneous request finds nothing to resume."""
    target = get_object_or_404(FailingTarget.objects.for_person(request.user), pk=pk)
    try:
        missed = circuit_breaker.resume(
            target, by=request.user, at=database_now(), address=client_address(request)
        )
    except NotAllowed as reason:
        raise PermissionDenied(str(reason)) from None
    number = "1 callback is" if missed == 1 else f"{missed} callbacks are"
    messages.success(request, f"Resumed. {number} sent to {target.host} now.")
    return SeeOther("callbacks")


def _find(request: PersonRequest, pk: UUID) -> Callback:
    """Returns the callback; raises Http404 for a callback of another team."""
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
    now = database_now()
    viewer = Viewer.of(request.user)
    (status_line,) = callbacks.statuses([callback.pk], viewer, at=now)
    attempts = [(number_of(attempt), attempt) for attempt in attempts_of(callback)]
    context = {
        "nav": "callbacks",
        "now": now,
        "problem": problem,
        "line": status_line,
        "callback": status_line.callback,
        "delivery": status_line.callback.response and status_line.callback.response.delivery,
        "attempts": attempts,
        "http_request": request_of(callback, at=now),
        "may_send_again": (
            viewer.may_answer(callback.team_id)
            and status_line.callback.delivered_at is None
            and status_line.callback.erased_at is None
        ),
        "is_owner": viewer.is_owner(callback.team_id),
    }
    return render(request, "inbox/callbacks/callback.html", context, status=status)
