"""Several outputs on one reading page, their answers, and the way back from all of them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from accounts.throttles import client_address
from inbox import batch_review, batches
from inbox.batches import Batch
from inbox.places import Place
from inbox.viewer import Viewer
from inbox.views.page import PersonRequest, SeeOther, page


@require_safe
@page
def show(request: PersonRequest) -> HttpResponse:
    return _review_page(request, Place.left(request.GET))


@require_POST
@page
def answer(request: PersonRequest) -> HttpResponse:
    """All that was chosen, or nothing, where something is missing."""
    choices = batch_review.read_choices(request.POST)
    note = request.POST.get("note", "").replace("\r\n", "\n")
    place = Place.left(request.POST)
    if problem := batch_review.problem(choices, note):
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        return _review_page(
            request, place, status=status, choices=choices, note=note, problem=problem
        )
    batch = batches.send(
        choices,
        by=request.user,
        note=note,
        address=client_address(request),
        at=timezone.now(),
    )
    batch.keep(request.session)
    left = place.without(batch.ids(sent=True))
    return SeeOther("batch-result", pk=batch.id, query=left.as_back())


@require_safe
@page
def result(request: PersonRequest, pk: UUID) -> HttpResponse:
    now = timezone.now()
    batch = _find(request, pk)
    lines = batches.lines(batch, Viewer.of(request.user), at=now)
    context = {
        "here": "inbox",
        "now": now,
        "batch": batch,
        "place": Place.left(request.GET),
        "lines": lines,
        "on_their_way": sum(line.is_on_its_way for line in lines),
        "is_partly_undone": any(line.is_taken_back for line in lines),
        "can_be_undone": any(line.can_be_undone for line in lines),
    }
    return render(request, "inbox/batch_result.html", context)


@require_POST
@page
def undo(request: PersonRequest, pk: UUID) -> HttpResponse:
    batch = _find(request, pk)
    batches.take_all_back(batch, by=request.user, address=client_address(request))
    return SeeOther("batch-result", pk=pk, query=Place.left(request.POST).as_back())


def _find(request: PersonRequest, pk: UUID) -> Batch:
    """One of the last few of this browser."""
    if batch := Batch.kept(request.session, pk):
        return batch
    raise Http404


def _review_page(
    request: PersonRequest, place: Place, *, status: int = HTTPStatus.OK, **extra: Any
) -> HttpResponse:
    now = timezone.now()
    review = batch_review.review(
        Viewer.of(request.user), place.ids, at=now, choices=extra.pop("choices", ())
    )
    context = {"here": "inbox", "now": now, "place": place, "review": review, **extra}
    return render(request, "inbox/batch.html", context, status=status)
