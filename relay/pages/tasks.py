"""The pages of a task and of a context: what was said and made, and how it went."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from inbox.story import callback_line
from inbox.views.page import PersonRequest, page
from relay import blobs, turns
from relay.conversation import text_of
from relay.headlines import cut
from relay.models import Context, Message, Task

MOST_EVENTS = 200
MOST_TASKS = 100
LINE = 120
NOT_SAID = "Without words"


@require_safe
@page
def show(request: PersonRequest, pk: UUID) -> HttpResponse:
    now, task = timezone.now(), find_task(request, pk)
    before = request.GET.get("before", "")
    said, older = turns.turns_of(task, before=int(before) if before.isdecimal() else None)
    pushes = task.notifications.select_related("callback").order_by("-generation")[:MOST_EVENTS]
    context = {
        "now": now,
        "task": task,
        "turns": said,
        "older": older,
        "is_newest": not before,
        "made": turns.made_in(task),
        "runs": task.dispatches.select_related("connector").order_by("created_at"),
        "events": task.events.select_related("message", "artifact")[:MOST_EVENTS],
        "pushes": [(push, callback_line(push.callback, at=now)) for push in pushes],
        "shown": task.surfaced.select_related("delivery").order_by("-generation")[:MOST_EVENTS],
    }
    return render(request, "relay/task.html", context)


@require_safe
@page
def show_context(request: PersonRequest, pk: UUID) -> HttpResponse:
    theirs = Context.objects.for_person(request.user).select_related("agent__team", "caller")
    context = get_object_or_404(theirs, pk=pk)
    tasks = list(context.tasks.order_by("-created_at")[:MOST_TASKS])
    asked = _requests(tasks)
    lines = [(task, asked.get(task.pk, NOT_SAID)) for task in tasks]
    return render(
        request,
        "relay/context.html",
        {"now": timezone.now(), "context_of": context, "lines": lines},
    )


@require_safe
@page
def file(request: PersonRequest, pk: UUID, kind: str, row: int, number: int) -> HttpResponse:
    """One that was sent in a message or an artifact, as a download."""
    task = find_task(request, pk)
    parts = turns.parts_of(task, kind, row)
    found = blobs.file_of(task, parts[number]) if number < len(parts) else None
    if found is None:
        raise Http404
    return blobs.download(found)


def find_task(request: PersonRequest, pk: UUID) -> Task:
    """Not theirs and not there are the same 404."""
    theirs = Task.objects.for_person(request.user)
    return get_object_or_404(theirs.select_related("agent__team", "context", "caller"), pk=pk)


def _requests(tasks: list[Task]) -> dict[Any, str]:
    """The first words of each, on a line; one query."""
    rows = Message.objects.filter(task__in=tasks, source=Message.Source.CALLER).order_by("-pk")
    return {row.task_id: cut(text_of(row.parts), LINE) or NOT_SAID for row in rows}
