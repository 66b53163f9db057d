"""Writes and removes comments on a delivery, and lists the comments that mention the reader."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from accounts.access.objects import NotAllowed
from accounts.access.requests import PersonRequest
from accounts.limits.throttles import client_address
from database.clock import database_now
from inbox.delivery.discussion import comments, mentions
from inbox.delivery.discussion.forms import CommentForm
from inbox.delivery.views import delivery_page
from inbox.models import Comment
from inbox.reading.finding import find_delivery
from inbox.search.filter_state import FilterState
from pages.page import page
from pages.redirects import SeeOther
from wake.models import Delivery


@require_POST
@page
def write_comment(request: PersonRequest, pk: UUID) -> HttpResponse:
    delivery = find_delivery(request.user, pk)
    form = CommentForm(request.POST)
    if not form.is_valid():
        return _not_written(request, delivery, form)
    try:
        comments.write_comment(
            delivery,
            form.cleaned_data["text"],
            pk=form.cleaned_data["id"],
            by=request.user,
            address=client_address(request),
            at=database_now(),
        )
    except NotAllowed:
        raise Http404 from None
    except (comments.NoLongerOpen, comments.TooManyComments) as reason:
        form.add_error(None, str(reason))
        return _not_written(request, delivery, form)
    return _back_to_the_discussion(request, pk)


@require_POST
@page
def remove_comment(request: PersonRequest, pk: UUID, comment: UUID) -> HttpResponse:
    delivery = find_delivery(request.user, pk)
    try:
        comments.remove_comment(
            delivery,
            comment,
            by=request.user,
            address=client_address(request),
            at=database_now(),
        )
    except Comment.DoesNotExist:
        raise Http404 from None
    except NotAllowed as reason:
        raise PermissionDenied(str(reason)) from None
    return _back_to_the_discussion(request, pk)


@require_safe
@page
def mention_list(request: PersonRequest) -> HttpResponse:
    context = {
        "nav": "inbox",
        "now": database_now(),
        "mentions": mentions.newest_mentions(request.user),
    }
    return render(request, "inbox/delivery/discussion/mentions.html", context)


def _back_to_the_discussion(request: PersonRequest, pk: UUID) -> HttpResponse:
    back = FilterState.from_back(request.POST).back_query()
    return SeeOther("delivery", query=back, fragment="discussion", pk=pk)


def _not_written(request: PersonRequest, delivery: Delivery, form: CommentForm) -> HttpResponse:
    """Shows the delivery again with the typed text and its errors."""
    return delivery_page(
        request, delivery, comment_form=form, status=HTTPStatus.UNPROCESSABLE_ENTITY
    )
