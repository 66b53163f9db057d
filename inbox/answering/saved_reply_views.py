"""Adds, changes and removes a person's saved replies."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_POST

from accounts.access.requests import PersonRequest
from inbox.answering import saved_replies
from inbox.answering.saved_reply_form import SavedReplyForm
from inbox.models import SavedReply
from pages.page import form_page, page
from pages.settings import posted, saved, settings_page


@form_page
@page
def saved_reply_list(request: PersonRequest) -> HttpResponse:
    form = SavedReplyForm(posted(request), instance=SavedReply(user=request.user))
    if _is_saved(form):
        return saved(request, "settings-saved-replies")
    grouped = saved_replies.by_answer(SavedReply.objects.of(request.user))
    return settings_page(
        request, "inbox/answering/saved_replies/list.html", form=form, groups=grouped
    )


@form_page
@page
def saved_reply_detail(request: PersonRequest, pk: UUID) -> HttpResponse:
    reply = get_object_or_404(SavedReply.objects.of(request.user), pk=pk)
    form = SavedReplyForm(posted(request), instance=reply)
    if _is_saved(form):
        return saved(request, "settings-saved-replies")
    return settings_page(
        request,
        "inbox/answering/saved_replies/saved_reply.html",
        form=form,
        saved_reply=reply,
    )


@require_POST
@page
def remove_saved_reply(request: PersonRequest, pk: UUID) -> HttpResponse:
    get_object_or_404(SavedReply.objects.of(request.user), pk=pk).delete()
    return saved(request, "settings-saved-replies", "Removed.")


def _is_saved(form: SavedReplyForm) -> bool:
    if not form.is_valid():
        return False
    try:
        saved_replies.save_reply(form.instance)
    except (saved_replies.TooManyReplies, saved_replies.SameName) as reason:
        form.add_error(None, str(reason))
        return False
    return True
