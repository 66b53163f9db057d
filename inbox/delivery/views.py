"""One delivery: what the agent sent, the answer or the form for it, and how it got here."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from inbox import later, neighbours, reading, revisions, story, windows
from inbox.changes import changes
from inbox.drafts import draft_of
from inbox.edits import Original, as_typed, choice_of, chosen
from inbox.fates import fate
from inbox.forms import AnswerForm
from inbox.panels import panels
from inbox.places import Place
from inbox.viewer import Viewer
from inbox.views.page import PersonRequest, find_delivery, page
from wake.models import Callback, Delivery, Response


@require_safe
@page
def show(request: PersonRequest, pk: UUID) -> HttpResponse:
    delivery = find_delivery(request.user, pk)
    reading.mark_read(delivery, by=request.user, at=timezone.now())
    return delivery_page(request, delivery)


@require_safe
@page
def raw(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Exactly what was sent, as a download that no browser runs."""
    delivery = find_delivery(request.user, pk)
    if delivery.details_json is None:
        raise Http404
    is_text = isinstance(delivery.details, str)
    content = delivery.details if is_text else delivery.details_json
    return HttpResponse(
        content,
        content_type="text/plain; charset=utf-8",
        headers={
            "Content-Disposition": f'attachment; filename="{pk}.{"txt" if is_text else "json"}"',
            "Content-Security-Policy": "sandbox; default-src 'none'",
        },
    )


def delivery_page(
    request: PersonRequest,
    delivery: Delivery,
    *,
    form: AnswerForm | None = None,
    status: int = HTTPStatus.OK,
    **extra: Any,
) -> HttpResponse:
    now = timezone.now()
    viewer = Viewer.of(request.user)
    place = Place.back(request.POST or request.GET)
    response: Response | None = getattr(delivery, "response", None)
    context = {
        "now": now,
        "viewer": viewer,
        "place": place,
        "delivery": delivery,
        "team": viewer.team_label(delivery.team_id),
        "window": "" if delivery.is_closed else windows.window(delivery, now),
        "is_past": delivery.is_past_deadline(now),
        "passed": windows.passed(delivery, now),
        "events": story.story(delivery),
        "thread": revisions.thread_of(delivery),
        "panels": panels("delivery", delivery, user=request.user, at=now),
        **_revision(request, delivery),
    }
    if response is not None:
        context |= _answer(delivery, response, viewer) | _callback(delivery, response)
        context["is_own_answer"] = response.by_id == request.user.pk
    if delivery.erased_at is not None:
        return render(request, "inbox/erased.html", context | extra, status=status)
    if response is None and viewer.may_answer(delivery.team_id):
        context |= _form(delivery, form, request)
    if response is None and not delivery.is_closed:
        context["choices"] = later.choices(delivery, by=request.user, at=now)
        context["may_be_acknowledged"] = (
            delivery.needs_no_answer(now)
            and delivery.acknowledged_at is None
            and viewer.may_answer(delivery.team_id)
        )
        here = viewer.within(place.team) or viewer
        context["around"] = neighbours.neighbours(delivery, here, at=now)
    return render(request, "inbox/delivery.html", context | extra, status=status)


def _answer(delivery: Delivery, response: Response, viewer: Viewer) -> dict[str, Any]:
    original, edited = Original.of(delivery), response.edited_json
    choice = choice_of(original)
    is_answered = response.status != Response.Status.REJECTED
    return {
        "response": response,
        "fate": fate(response, viewer, at=timezone.now()),
        "changes": changes(as_typed(original.json), as_typed(edited)) if edited else None,
        "option": choice.option(chosen(original, edited)) if choice and is_answered else None,
    }


def _callback(delivery: Delivery, response: Response) -> dict[str, Any]:
    callback: Callback | None = getattr(response, "callback", None)
    now = timezone.now()
    if callback is None:
        line = story.held_line(response, webhook=delivery.callback_webhook, at=now)
        return {"callback_line": line}
    line = story.callback_line(callback, at=now)
    return {"callback": callback, "callback_line": line}


def _revision(request: PersonRequest, delivery: Delivery) -> dict[str, Any]:
    is_asked_for = request.GET.get("compare") == "yes"
    revision = revisions.revision_of(delivery, is_asked_for=is_asked_for)
    edited = revision.response if revision else None
    is_own = edited is not None and edited.by_id == request.user.pk
    return {
        "revision": revision,
        "whose": "your" if is_own else f"{edited.by_name}'s" if edited else "",
    }


def _form(delivery: Delivery, form: AnswerForm | None, request: PersonRequest) -> dict[str, Any]:
    draft = draft_of(delivery, request.user)
    kept = form.data.get("feedback", "") if form else draft.feedback if draft else ""
    original = Original.of(delivery)
    drafted = chosen(original, draft.edited_json if draft else None)
    return {
        "may_answer": True,
        "form": form,
        "draft": draft,
        "feedback": kept,
        "choice": choice_of(original),
        "chosen": form.data.get("choice", "") if form else drafted,
        "phrases": None,  # not asked for
    }
