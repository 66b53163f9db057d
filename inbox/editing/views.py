"""The redirect editor: fields, JSON or text, and what the edit changes. It sends by the answer's
own address."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from accounts.access import NotAllowed
from inbox import editor
from inbox.drafts import draft_of
from inbox.forms import AnswerForm, PreviewForm
from inbox.places import Place
from inbox.viewer import Viewer
from inbox.views.page import PersonRequest, SeeOther, find_delivery, page
from wake.models import Delivery


@require_http_methods(["GET", "HEAD", "POST"])
@page
def show(request: PersonRequest, pk: UUID) -> HttpResponse:
    """POST with `view` shows what was typed so far as fields, as JSON or with its changes; POST
    without begins, with the feedback and the choice that were made elsewhere."""
    delivery = find_delivery(request.user, pk)
    is_open = not delivery.is_closed and delivery.erased_at is None
    if hasattr(delivery, "response") or not is_open:
        return SeeOther("delivery", pk=pk)
    if not Viewer.of(request.user).may_answer(delivery.team_id):
        raise PermissionDenied(NotAllowed.__doc__)
    if view := request.POST.get("view"):
        form = PreviewForm(request.POST, delivery=delivery)
        status = HTTPStatus.OK if form.is_valid() else HTTPStatus.UNPROCESSABLE_ENTITY
        return editor_page(request, delivery, form, view=view, status=status)
    draft = None if request.GET.get("from") == "original" else draft_of(delivery, request.user)
    begun = editor.begin(
        delivery,
        draft,
        feedback=request.POST.get("feedback", ""),
        choice=request.POST.get("choice", ""),
    )
    return _render(request, delivery, begun)


def editor_page(
    request: PersonRequest, delivery: Delivery, form: AnswerForm, *, view: str = "", status: int
) -> HttpResponse:
    """The form as it was typed, with what is wrong with it."""
    edited = form.cleaned_data.get("edited_json")
    shown = editor.again(
        delivery, form.data, edited_json=edited, errors=form.edit_errors(), view=view
    )
    return _render(request, delivery, shown, form, status=status)


def _render(
    request: PersonRequest,
    delivery: Delivery,
    shown: editor.Editor,
    form: AnswerForm | None = None,
    *,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    context = {
        "now": timezone.now(),
        "place": Place.back(request.POST or request.GET),
        "delivery": delivery,
        "editor": shown,
        "form": form,
    }
    return render(request, "inbox/editor.html", context, status=status)
