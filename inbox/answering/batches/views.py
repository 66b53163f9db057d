"""Lets a person review several outputs on one page, answer them together, and undo the answers
together."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from accounts.access.requests import PersonRequest
from accounts.access.viewer import Viewer
from accounts.limits.throttles import client_address
from accounts.sign_in.browsers.sessions import authentication_of
from database.clock import database_now
from inbox.answering.batches import batches
from inbox.answering.batches import review as batch_review
from inbox.answering.batches.batches import AnswerBatch, AnswerLine
from inbox.search.filter_state import FilterState
from pages.page import page
from pages.redirects import SeeOther


@require_safe
@page
def batch_review_page(request: PersonRequest) -> HttpResponse:
    return _review_page(request, FilterState.from_form(request.GET))


@require_POST
@page
def send_batch(request: PersonRequest) -> HttpResponse:
    """Sends the choices if they are complete. A failure does not stop the other answers. If the
    form names a page in `to`, shows the choices again without sending."""
    choices = batch_review.read_choices(request.POST)
    note = request.POST.get("note", "").replace("\r\n", "\n")
    filters = FilterState.from_form(request.POST)
    if "to" in request.POST:
        return _review_page(request, filters, choices=choices, note=note)
    if problem := batch_review.problem(choices, note, Viewer.of(request.user)):
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        return _review_page(
            request, filters, status=status, choices=choices, note=note, problem=problem
        )
    now = database_now()
    ids = [choice.pk for choice in choices]
    shown = batch_review.review(Viewer.of(request.user), ids, at=now)
    batch = batches.send(
        choices,
        by=request.user,
        note=note,
        not_here=shown.not_here,
        signed_in=authentication_of(request.session),
        address=client_address(request),
        at=now,
    )
    batch.store(request.session)
    unsent = filters.deselect(batch.ids(sent=True))
    return SeeOther("batch-result", pk=batch.id, query=unsent.back_query())


@require_safe
@page
def batch_result(request: PersonRequest, pk: UUID) -> HttpResponse:
    now = database_now()
    batch = _find(request, pk)
    lines = batches.lines(batch, Viewer.of(request.user), at=now)
    context = {
        "nav": "inbox",
        "now": now,
        "batch": batch,
        "filters": FilterState.from_form(request.GET),
        "heading": _heading(lines),
        "lines": lines,
        "sent_count": sum(line.is_sent for line in lines),
        "is_partly_undone": any(line.is_taken_back for line in lines),
        "can_be_undone": any(line.can_be_undone for line in lines),
    }
    return render(request, "inbox/answering/batches/result.html", context)


@require_POST
@page
def undo_batch(request: PersonRequest, pk: UUID) -> HttpResponse:
    batch = _find(request, pk)
    batches.take_all_back(batch, by=request.user, address=client_address(request))
    return SeeOther("batch-result", pk=pk, query=FilterState.from_form(request.POST).back_query())


def _heading(lines: list[AnswerLine]) -> str:
    """Returns the result of the answers, for the heading and the tab."""
    sent = sum(line.is_sent for line in lines)
    if not sent:
        if any(line.is_taken_back for line in lines):
            return "Undone"
        is_waiting = any(line.is_vote for line in lines)
        return "Waiting for others to agree" if is_waiting else "Nothing was sent"
    if sent != len(lines):
        return f"{sent} of {len(lines)} answers sent"
    return {1: "Answer sent", 2: "Both answers sent"}.get(sent, f"All {sent} answers sent")


def _find(request: PersonRequest, pk: UUID) -> AnswerBatch:
    """Returns one of this browser's last few batches; raises Http404."""
    if batch := AnswerBatch.load(request.session, pk):
        return batch
    raise Http404


def _review_page(
    request: PersonRequest, filters: FilterState, *, status: int = HTTPStatus.OK, **extra: Any
) -> HttpResponse:
    now = database_now()
    review = batch_review.review(
        Viewer.of(request.user), filters.ids, at=now, choices=extra.pop("choices", ())
    )
    context = {"nav": "inbox", "now": now, "filters": filters, "review": review, **extra}
    context["draft"] = _draft_name(filters.ids)
    return render(request, "inbox/answering/batches/review.html", context, status=status)


def _draft_name(ids: Iterable[UUID]) -> str:
    """Returns the name of the draft. Any order of the same selection has the same name. The result
    page discards all names that begin with `batch:`."""
    selection = " ".join(sorted(map(str, ids)))
    return f"batch:{sha256(selection.encode()).hexdigest()[:16]}"
