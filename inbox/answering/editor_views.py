"""Shows the redirect editor: fields, JSON or text, and the changes. The editor's form posts to the
delivery's answer view."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from accounts.access.objects import NotAllowed
from accounts.access.requests import PersonRequest
from accounts.access.viewer import Viewer
from database.clock import database_now
from inbox.answering.editing import editor
from inbox.answering.forms import AnswerForm, PreviewForm
from inbox.answering.unsent import refused_page
from inbox.reading import in_sight
from inbox.reading.drafts import draft_of
from inbox.reading.finding import find_delivery
from inbox.search.filter_state import FilterState
from pages.page import page
from pages.redirects import SeeOther
from wake.models import Delivery


@require_http_methods(["GET", "HEAD", "POST"])
@page
def delivery_editor(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Shows the editor. A POST with `view` previews the edit as fields, as JSON or with its
    changes. A POST without `view` opens the editor with the feedback and the choice from the
    delivery's page. With `from`, the edit begins with the agent's content instead of the person's
    draft."""
    delivery = find_delivery(request.user, pk)
    is_open = not delivery.is_closed and delivery.erased_at is None
    if hasattr(delivery, "response") or not is_open:
        return SeeOther("delivery", pk=pk)
    if not Viewer.of(request.user).may_answer(delivery.team_id):
        if request.method == "POST":
            return refused_page(request, delivery)
        raise PermissionDenied(NotAllowed.__doc__)
    if view := request.POST.get("view"):
        form = PreviewForm(request.POST, delivery=delivery)
        status = HTTPStatus.OK if form.is_valid() else HTTPStatus.UNPROCESSABLE_ENTITY
        return editor_page(request, delivery, form, view=view, status=status)
    draft = None if "from" in request.GET else draft_of(delivery, request.user)
    return _render(request, delivery, editor.begin(delivery, draft, request.POST))


def editor_page(
    request: PersonRequest, delivery: Delivery, form: AnswerForm, *, view: str = "", status: int
) -> HttpResponse:
    """Renders the editor with the typed text and its errors."""
    edited = form.cleaned_data.get("edited_json")
    editor_state = editor.again(
        delivery, form.data, edited_json=edited, errors=form.edit_errors(), view=view
    )
    return _render(request, delivery, editor_state, form, status=status)


def _render(
    request: PersonRequest,
    delivery: Delivery,
    editor_state: editor.Editor,
    form: AnswerForm | None = None,
    *,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    view = in_sight.view_in(request.GET)
    context = {
        "now": database_now(),
        "filters": FilterState.from_back(request.POST or request.GET),
        "delivery": delivery,
        "editor": editor_state,
        "form": form,
        "details_view": view,
        "left_out": in_sight.left_out(delivery, asked_for=view),
    }
    return render(request, "inbox/answering/editing/editor.html", context, status=status)
