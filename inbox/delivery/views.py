"""Shows one delivery: the agent's content, the answer or the form for it, and its timeline."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from accounts.access.requests import PersonRequest
from accounts.access.viewer import Viewer
from database.clock import database_now
from database.uuids import uuid_or_none
from inbox.answering.answer_status import answer_status
from inbox.answering.editing.choices import chosen, clicked, questions
from inbox.answering.editing.edits import Field, Original, proposed_fields, typed_into
from inbox.answering.forms import AnswerForm
from inbox.answering.just_done import just_done
from inbox.answering.places import where_given
from inbox.answering.use import failure_of, reports_of, use_of
from inbox.assignment.of_delivery import assignment_context, has_voted
from inbox.delivery import neighbours, revisions, timeline
from inbox.delivery.discussion.comments import discussion_of
from inbox.delivery.discussion.mentions import mark_seen_if_possible
from inbox.delivery.signing_views import passkeys_of
from inbox.preferences.preferences import opens_next
from inbox.reading import deadlines, in_sight, presence, readings, snoozes, updates
from inbox.reading.drafts import draft_of
from inbox.reading.finding import find_delivery
from inbox.rendering.diffs.outlines import sides
from inbox.rendering.diffs.word_diffs import changes
from inbox.search.filter_state import FilterState
from pages.page import page
from pages.panels import panels
from pages.redirects import SeeOther
from wake.callbacks.outbox import masked_address
from wake.models import Callback, Delivery, Response

# An answer to one of these types is shown as a reply, and most of these deliveries need no answer.
NOTICES = {Delivery.Type.UPDATE, Delivery.Type.ALERT}


@require_safe
@page
def delivery_detail(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Marks the delivery as read, except for HEAD, which shows no page."""
    delivery = find_delivery(request.user, pk)
    if request.method == "GET":
        readings.mark_read_if_possible(delivery, by=request.user, at=database_now())
    return delivery_page(request, delivery)


@require_safe
@page
def delivery_updates(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Returns 204, or a line about the event that ended the delivery after the page was made."""
    delivery = find_delivery(request.user, pk)
    since = updates.read_mark(request.GET.get("since", ""))
    presence.renew(delivery, by=request.user, at=database_now())
    ending = updates.ending_of(delivery, since) if since else ""
    if not ending:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    return render(request, "inbox/delivery/_updates.html", {"delivery": delivery, "ending": ending})


@require_safe
@page
def raw_details(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Returns exactly the bytes that were sent, as a download that no browser runs."""
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


@require_POST
@page
def mark_unread(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Marks the delivery as unread for this person, and returns to the inbox."""
    delivery = find_delivery(request.user, pk)
    readings.mark_unread(delivery, by=request.user, at=database_now())
    return SeeOther("inbox", query=str(FilterState.from_back(request.POST)))


def delivery_page(
    request: PersonRequest,
    delivery: Delivery,
    *,
    form: AnswerForm | None = None,
    status: int = HTTPStatus.OK,
    **extra: Any,
) -> HttpResponse:
    """Renders the page. `extra` overrides its context, for a form that was not accepted."""
    now = database_now()
    viewer = Viewer.of(request.user)
    filters = FilterState.from_back(request.POST or request.GET)
    response: Response | None = getattr(delivery, "response", None)
    discussion = discussion_of(delivery, reader=request.user)
    if discussion.has_new_mention and request.method == "GET":
        mark_seen_if_possible(delivery, by=request.user, at=now)
    if request.method == "GET":
        presence.begin(delivery, viewer, at=now)
    is_open = response is None and not delivery.is_closed
    context = {
        "now": now,
        "viewer": viewer,
        "filters": filters,
        "delivery": delivery,
        "is_open": is_open,
        "team": viewer.team_label(delivery.team_id),
        "deadline": deadlines.deadline_text(delivery, now) if is_open else "",
        "time_left": deadlines.time_left(delivery, now) if is_open else "",
        "closes_soon": is_open and deadlines.closes_soon(delivery, now),
        "is_past": delivery.is_past_deadline(now),
        "plan": deadlines.plan(delivery),
        "missed": deadlines.missed_text(delivery, now),
        "events": timeline.timeline_of(delivery),
        "callback_address": masked_address(delivery),
        "thread": revisions.thread_of(delivery),
        "panels": panels("delivery", delivery, user=request.user, at=now),
        "discussion": discussion,
        "reports": reports_of(delivery) if vars(delivery).get("has_outcomes") else [],
        "other_fields": in_sight.other_fields(delivery),
        "is_owner": viewer.is_owner(delivery.team_id),
        **assignment_context(delivery, viewer),
        "readers": presence.readers(delivery, besides=request.user, at=now),
        **_revision(request, delivery),
    }
    if response is not None:
        context |= _answer(delivery, response, viewer) | _callback(delivery, response)
        context["is_own_answer"] = response.by_id == request.user.pk
        context["failure"] = failure_of(delivery)
        context["may_acknowledge_failure"] = viewer.may_answer(delivery.team_id)
    if delivery.erased_at is not None:
        return render(request, "inbox/delivery/erased.html", context | extra, status=status)
    may_answer = viewer.may_answer(delivery.team_id) and not context["is_blocked"]
    if response is None and may_answer and not context.get("has_voted"):
        context |= _form(delivery, form, request)
    if context["is_open"]:
        context["since"] = updates.mark(now)
        context["choices"] = snoozes.choices(delivery, by=request.user, at=now)
        context["may_be_acknowledged"] = (
            delivery.needs_no_answer(now)
            and delivery.acknowledged_at is None
            and viewer.may_answer(delivery.team_id)
        )
        context["leads_with_got_it"] = (
            context["may_be_acknowledged"]
            and delivery.type in NOTICES
            and not context.get("questions")  # a person who may not answer has no form
        )
        in_team = viewer.within(filters.team) or viewer
        context["neighbours"] = neighbours.neighbours(
            delivery, in_team, is_mine=context["is_mine"], at=now
        )
        context["opens_next"] = opens_next(request.user)
        if answered := uuid_or_none(request.GET.get("answered", "")):
            context["done"] = just_done(viewer, request.session, answered=answered, at=now)
    return render(request, "inbox/delivery/delivery.html", context | extra, status=status)


def _answer(delivery: Delivery, response: Response, viewer: Viewer) -> dict[str, Any]:
    original, edited = Original.of(delivery), response.edited_json
    is_chosen = bool(edited) or response.status == Response.Status.APPROVED
    return {
        "response": response,
        "where_given": where_given(response, viewer.user),
        "use": use_of(response, at=database_now()),
        "answer_status": answer_status(
            response, viewer, has_voted=has_voted(response, viewer.user), at=database_now()
        ),
        "changes": changes(*sides(original.json, edited)) if edited else None,
        "chosen": questions(original, chosen(original, edited)) if is_chosen else [],
    }


def _callback(delivery: Delivery, response: Response) -> dict[str, Any]:
    callback: Callback | None = getattr(response, "callback", None)
    now = database_now()
    warning = timeline.delay_warning(response, webhook=delivery.callback_webhook, at=now)
    line = timeline.callback_line(callback, at=now) if callback else ""
    return {"callback": callback, "callback_line": line, "delay_warning": warning}


def _revision(request: PersonRequest, delivery: Delivery) -> dict[str, Any]:
    is_asked_for = request.GET.get("compare") == "yes"
    revision = revisions.revision_of(delivery, is_asked_for=is_asked_for)
    edited = revision.response if revision else None
    is_own = edited is not None and edited.by_id == request.user.pk
    return {
        "revision": revision,
        "whose": "your" if is_own else f"{edited.by_name}'s" if edited else "",
    }


def _fields(
    original: Original, form: AnswerForm | None, posted: QueryDict, drafted: str | None
) -> list[Field]:
    errors = form.edit_errors() if form else {}
    return typed_into(proposed_fields(original, drafted), posted, errors=errors)


def _form(delivery: Delivery, form: AnswerForm | None, request: PersonRequest) -> dict[str, Any]:
    draft = draft_of(delivery, request.user)
    feedback = form.data.get("feedback", "") if form else draft.feedback if draft else ""
    original = Original.of(delivery)
    # The recommended options are not selected in advance, because a single key press would then
    # send options that the person has not read.
    drafted = chosen(original, draft.edited_json) if draft and draft.edited_json else {}
    values = drafted | clicked(original, request.POST)
    view = in_sight.view_in(request.GET)
    return {
        "may_answer": True,
        "may_choose": not delivery.is_closed,
        "must_be_signed": delivery.must_be_signed,
        **(passkeys_of(request.user, request) if delivery.must_be_signed else {}),
        "form": form,
        "draft": draft,
        "feedback": feedback,
        "questions": questions(original, values),
        "fields": _fields(original, form, request.POST, draft.edited_json if draft else None),
        "saved_replies": None,  # shown only on request
        "details_view": view,
        "left_out": in_sight.left_out(
            delivery, asked_for=view, inputs_apart=not delivery.is_closed
        ),
    }
