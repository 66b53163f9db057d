"""Sends an answer, continues an unsent one, inserts a saved reply, and takes an answer back."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from accounts.access.objects import NotAllowed, may_answer
from accounts.access.requests import PersonRequest
from accounts.access.viewer import Viewer
from accounts.limits.throttles import TooManyRequests, client_address
from accounts.sign_in.browsers.sessions import authentication_of
from accounts.sign_in.passkeys.refusals import PasskeyRefused
from database.clock import database_now
from inbox.answering.answer_status import answer_status
from inbox.answering.editor_views import editor_page
from inbox.answering.forms import AnswerForm
from inbox.answering.saved_replies import by_answer, with_saved_reply
from inbox.answering.unsent import own_answer, refused_page
from inbox.delivery import revisions
from inbox.delivery.neighbours import after_answer, next_to_open
from inbox.delivery.signing_views import sign_page, signature_in
from inbox.delivery.views import delivery_page
from inbox.models import SavedReply
from inbox.reading import in_sight
from inbox.reading.finding import find_delivery
from inbox.search.filter_state import FilterState
from pages.characters.invisible import reveal_value
from pages.page import page
from pages.redirects import SeeOther
from wake.models import Delivery, Place, Response, Sight, Vote
from wake.responses import (
    AlreadyAnswered,
    BadEdit,
    ContentChanged,
    EditNotWanted,
    NeedsPasskey,
    NothingToSend,
    Replaced,
    respond,
)
from wake.undo import PickedUp, take_back

NOT_IN_A_ROW = "The list does not show all of this delivery. Read it here, then answer."
NOTHING_TO_SEND = "Nothing to send yet. Change something or write a message."


@require_POST
@page
def answer_delivery(request: PersonRequest, pk: UUID) -> HttpResponse:
    delivery = find_delivery(request.user, pk)
    if not may_answer(request.user, delivery.team_id):
        return refused_page(request, delivery)
    form = AnswerForm(request.POST, delivery=delivery)
    if not form.is_valid():
        return _not_sent(request, delivery, form)
    sight = _sight(request, delivery)
    if sight is None:
        form.add_error(None, NOT_IN_A_ROW)
        return _not_sent(request, delivery, form)
    now, filters = database_now(), FilterState.from_form(request.POST)
    following = next_to_open(pk, request.POST, filters, request.user, at=now)
    try:
        is_signed = "credential" in request.POST
        signature = signature_in(request, delivery, form) if is_signed else None
        given = respond(
            delivery,
            by=request.user,
            status=form.cleaned_data["status"],
            content_hash=form.cleaned_data["content_hash"],
            feedback=form.cleaned_data["feedback"],
            edited_json=form.cleaned_data["edited_json"],
            knows_replaced=form.cleaned_data["knows_replaced"],
            sight=sight,
            signed_in=authentication_of(request.session),
            signature=signature,
            address=client_address(request),
            at=now,
        )
    except NotAllowed as reason:
        return refused_page(request, delivery, reason)
    except AlreadyAnswered as first:
        return _conflict(request, delivery, form, first.response)
    except Replaced as reason:
        return _replaced(request, delivery, form, reason)
    except NothingToSend:
        form.add_error(None, NOTHING_TO_SEND)
        return _not_sent(request, delivery, form)
    except NeedsPasskey:
        return sign_page(request, delivery, form)
    except (PasskeyRefused, TooManyRequests) as problem:
        return sign_page(request, delivery, form, problem)
    except (ContentChanged, EditNotWanted, BadEdit) as reason:
        form.add_error(None, str(reason))
        return _not_sent(request, delivery, form)
    if isinstance(given, Vote):
        headline = reveal_value(delivery.headline)
        messages.success(request, f"You approved “{headline}”. Others still have to approve it.")
    return after_answer(pk, following, filters)


@require_POST
@page
def continue_answer(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Shows a new version with the message that was typed for the earlier one. Sends nothing."""
    delivery = find_delivery(request.user, pk)
    if not may_answer(request.user, delivery.team_id):
        return refused_page(request, delivery)
    return delivery_page(request, delivery, feedback=request.POST.get("feedback", ""))


@require_POST
@page
def insert_saved_reply(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Shows the page again with this person's saved replies, and adds the chosen reply to the
    feedback. Sends nothing."""
    delivery = find_delivery(request.user, pk)
    if not may_answer(request.user, delivery.team_id):
        return refused_page(request, delivery)
    saved_replies = list(SavedReply.objects.of(request.user))
    feedback = with_saved_reply(
        request.POST.get("feedback", ""), saved_replies, chosen=request.POST.get("saved_reply", "")
    )
    return delivery_page(
        request, delivery, feedback=feedback, saved_replies=by_answer(saved_replies)
    )


@require_POST
@page
def undo_answer(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Takes the answer back; returns to the inbox, or to the delivery if there is a draft to
    continue."""
    delivery = find_delivery(request.user, pk)
    try:
        draft = take_back(
            delivery,
            by=request.user,
            place=_place(request),
            address=client_address(request),
            at=database_now(),
        )
    except PickedUp as late:
        return _page(request, "inbox/delivery/answer/too_late.html", delivery, late.response)
    except NotAllowed as reason:
        raise PermissionDenied(str(reason)) from None
    except Response.DoesNotExist:
        return SeeOther("delivery", pk=pk)
    has_words = bool(draft.feedback or draft.edited_json)
    if "back" in request.POST and not has_words:
        messages.success(request, f"Undone: {reveal_value(delivery.headline)}")
        return SeeOther("inbox", query=str(FilterState.from_form(request.POST)))
    return SeeOther("delivery", pk=pk)


def _place(request: PersonRequest) -> Place:
    """Returns where the form was. A form without a place counts as the delivery's page."""
    return Place.LIST if request.POST.get("place") == Place.LIST else Place.PAGE


def _sight(request: PersonRequest, delivery: Delivery) -> Sight | None:
    """Returns where the form was, and which parts that place did not show. Returns None if the
    delivery may not be answered there. A form without a place counts as the delivery's page. The
    view of the details comes from the form. The editor's form has `edited_as`, and the editor shows
    the inputs among the details."""
    opened_at = in_sight.first_opened([delivery.pk], by=request.user).get(delivery.pk)
    if _place(request) == Place.LIST:
        is_whole = in_sight.is_whole_in_a_row(delivery)
        return Sight(Place.LIST, (), opened_at=opened_at) if is_whole else None
    left_out = in_sight.left_out(
        delivery,
        asked_for=in_sight.view_in(request.POST),
        inputs_apart=not request.POST.get("edited_as"),
    )
    return Sight(Place.PAGE, left_out, opened_at=opened_at)


def _not_sent(request: PersonRequest, delivery: Delivery, form: AnswerForm) -> HttpResponse:
    """Shows the form again with the typed text and its errors."""
    if earlier := getattr(delivery, "response", None):
        return _conflict(request, delivery, form, earlier)
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    if form.data.get("edited_as") or form.data.get("edited_content"):
        return editor_page(request, delivery, form, status=status)
    return delivery_page(request, delivery, form=form, status=status)


def _conflict(
    request: PersonRequest, delivery: Delivery, form: AnswerForm, first: Response
) -> HttpResponse:
    own = own_answer(form)
    return _page(request, "inbox/delivery/answer/conflict.html", delivery, first, own=own)


def _replaced(
    request: PersonRequest, delivery: Delivery, form: AnswerForm, reason: Replaced
) -> HttpResponse:
    """Shows the changes of the new version, and keeps the answer that was given to the old
    version."""
    newest = revisions.newest_version_of(delivery)
    if newest is None:
        form.add_error(None, str(reason))
        return _not_sent(request, delivery, form)
    unsent = [
        (name, value)
        for name, values in request.POST.lists()
        for value in values
        if name not in {"csrfmiddlewaretoken", "place"}
    ]
    context = {
        "now": database_now(),
        "delivery": delivery,
        "newest": newest,
        "revision": revisions.compare(delivery, newest, is_asked_for=False),
        "own": own_answer(form),
        "unsent": unsent,
    }
    return render(
        request, "inbox/delivery/answer/replaced.html", context, status=HTTPStatus.CONFLICT
    )


def _page(
    request: PersonRequest, template: str, delivery: Delivery, response: Response, **extra: object
) -> HttpResponse:
    now = database_now()
    response.delivery = delivery
    context = {
        "now": now,
        "delivery": delivery,
        "response": response,
        "answer_status": answer_status(response, Viewer.of(request.user), at=now),
        **extra,
    }
    return render(request, template, context, status=HTTPStatus.CONFLICT)
