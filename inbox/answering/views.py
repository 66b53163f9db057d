"""Answering and taking back: each calls its verb, and says in full what came of it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_POST

from accounts.access import NotAllowed, may_answer
from accounts.throttles import client_address
from inbox.fates import fate
from inbox.forms import AnswerForm
from inbox.models import Preset
from inbox.places import Place
from inbox.presets import by_answer, with_phrase
from inbox.viewer import Viewer
from inbox.views.delivery import delivery_page
from inbox.views.editor import editor_page
from inbox.views.page import PersonRequest, SeeOther, find_delivery, page
from wake.models import Delivery, Response
from wake.responses import (
    AlreadyAnswered,
    BadEdit,
    ContentChanged,
    EditNotWanted,
    NothingToSend,
    PickedUp,
    respond,
    take_back,
)

NOTHING_YET = "Nothing to send yet: change something or add feedback."


@require_POST
@page
def respond_to(request: PersonRequest, pk: UUID) -> HttpResponse:
    delivery = find_delivery(request.user, pk)
    if not may_answer(request.user, delivery.team_id):
        raise PermissionDenied(NotAllowed.__doc__)
    form = AnswerForm(request.POST, delivery=delivery)
    if not form.is_valid():
        return _not_sent(request, delivery, form)
    try:
        respond(
            delivery,
            by=request.user,
            status=form.cleaned_data["status"],
            content_hash=form.cleaned_data["content_hash"],
            feedback=form.cleaned_data["feedback"],
            edited_json=form.cleaned_data["edited_json"],
            address=client_address(request),
        )
    except AlreadyAnswered as first:
        return _conflict(request, delivery, form, first.response)
    except NothingToSend:
        form.add_error(None, NOTHING_YET)
        return _not_sent(request, delivery, form)
    except (ContentChanged, EditNotWanted, BadEdit) as reason:
        form.add_error(None, str(reason))
        return _not_sent(request, delivery, form)
    left = str(Place.left(request.POST).without({pk}))
    return SeeOther("inbox", query=f"{left}{'&' if left else ''}answered={pk}")


@require_POST
@page
def phrases(request: PersonRequest, pk: UUID) -> HttpResponse:
    """The page again with this person's phrases, and the chosen one under what they typed; nothing
    is sent."""
    delivery = find_delivery(request.user, pk)
    if not may_answer(request.user, delivery.team_id):
        raise PermissionDenied(NotAllowed.__doc__)
    mine = list(Preset.objects.of(request.user))
    words = with_phrase(
        request.POST.get("feedback", ""), mine, chosen=request.POST.get("phrase", "")
    )
    kept: Any = {"chosen": request.POST["choice"]} if "choice" in request.POST else {}
    return delivery_page(request, delivery, feedback=words, phrases=by_answer(mine), **kept)


@require_POST
@page
def undo(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Back to where the person was, or to their own words, where there are any."""
    delivery = find_delivery(request.user, pk)
    try:
        draft = take_back(delivery, by=request.user, address=client_address(request))
    except PickedUp as late:
        return _page(request, "inbox/too_late.html", delivery, late.response)
    except NotAllowed as reason:
        raise PermissionDenied(str(reason)) from None
    except Response.DoesNotExist:
        return SeeOther("delivery", pk=pk)
    has_words = bool(draft.feedback or draft.edited_json)
    if "back" in request.POST and not has_words:
        return SeeOther("inbox", query=str(Place.back(request.POST)))
    return SeeOther("delivery", pk=pk)


def _not_sent(request: PersonRequest, delivery: Delivery, form: AnswerForm) -> HttpResponse:
    """The form again with its words, and what is wrong with them."""
    if earlier := getattr(delivery, "response", None):
        return _conflict(request, delivery, form, earlier)
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    if form.data.get("edited_as") or form.data.get("edited_content"):
        return editor_page(request, delivery, form, status=status)
    return delivery_page(request, delivery, form=form, status=status)


def _conflict(
    request: PersonRequest, delivery: Delivery, form: AnswerForm, first: Response
) -> HttpResponse:
    status = form.cleaned_data.get("status") or form.data.get("status", "")
    chosen = dict(Response.Status.choices).get(status, "")
    own = {
        "chosen": chosen,
        "feedback": form.data.get("feedback", ""),
        "edited": form.edit_as_typed(),
    }
    return _page(request, "inbox/conflict.html", delivery, first, own=own)


def _page(
    request: PersonRequest, template: str, delivery: Delivery, response: Response, **extra: object
) -> HttpResponse:
    now = timezone.now()
    response.delivery = delivery
    context = {
        "now": now,
        "delivery": delivery,
        "response": response,
        "fate": fate(response, Viewer.of(request.user), at=now),
        **extra,
    }
    return render(request, template, context, status=HTTPStatus.CONFLICT)
