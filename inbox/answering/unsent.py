"""Shows an answer that was not sent, so that the person can copy it."""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpResponse
from django.shortcuts import render

from accounts.access.objects import NotAllowed
from accounts.access.requests import PersonRequest
from inbox.answering.editing.choices import clicked, questions
from inbox.answering.forms import AnswerForm
from inbox.reading.status_words import status_words
from pages.characters.invisible import reveal_value
from wake.assignment.taking import NotAssigned
from wake.models import Delivery, Response

CHANGE_ROLE = "A team owner can change it."


def refused_page(
    request: PersonRequest, delivery: Delivery, reason: NotAllowed | None = None
) -> HttpResponse:
    """Shows the text of a person who may not answer, and why they may not. By default the reason is
    the person's role."""
    form = AnswerForm(request.POST, delivery=delivery)
    form.is_valid()  # makes the form read the edit
    is_assigned = isinstance(reason, NotAssigned)
    context = {
        "delivery": delivery,
        "reason": str(reason) if is_assigned else f"{NotAllowed.__doc__} {CHANGE_ROLE}",
        "own": own_answer(form),
    }
    return render(request, "inbox/answering/refused.html", context, status=HTTPStatus.FORBIDDEN)


def own_answer(form: AnswerForm) -> dict[str, str]:
    """Returns the person's choice and text."""
    return {
        "chosen": _own_choice(form),
        "feedback": form.data.get("feedback", ""),
        "edited": form.edit_as_typed(),
    }


def _own_choice(form: AnswerForm) -> str:
    """Returns the options that the person chose, or the words for their answer."""
    clicked_options = questions(form.original, clicked(form.original, form.data))
    labels = [option.label for question in clicked_options for option in question.chosen]
    if labels:
        return reveal_value(", ".join(labels))
    status = form.data.get("status", "")
    return status_words(form.delivery.type, status) if status in Response.Status else ""
