"""Shows an agent's tasks, one task or one context: messages, artifacts, runs and events."""

from __future__ import annotations

import re
from uuid import UUID

from django.db.models import Min
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from accounts.access.objects import agents_of
from accounts.access.requests import PersonRequest
from database.batched_queries import PAGE, Cursor, older_than
from database.clock import database_now
from database.encrypted_columns import length_of
from inbox.delivery.picture_response import picture_response
from inbox.rendering.files import digest_of
from pages.page import for_person, page
from relay.models import Context, Event, Message, Task, TaskQuerySet, TaskReference
from relay.pages import turns
from relay.pages.push_lines import push_lines
from relay.tasks.blocks import text_of
from relay.tasks.headlines import cut
from wake.models import File
from wake.server.http.downloads import download

MAX_EVENTS = 200
MAX_TASKS = 100
MAX_LINKS = 20
LINE = 120
LONGEST_REQUEST = 1_000_000
NO_TEXT = "No text"
ROW_KEY = re.compile(r"[0-9]{1,18}", re.ASCII)  # 18 digits fit a bigint


@require_safe
@page
def task_detail(request: PersonRequest, pk: UUID) -> HttpResponse:
    now, task = database_now(), find_task(request, pk)
    before = _number(request.GET.get("before", ""))
    newest, older = turns.turns_of(task, before=before)
    artifacts, further = turns.artifacts_of(task, after=_number(request.GET.get("files", "")) or 0)
    events, has_earlier_events = _events(task)
    context = {
        "now": now,
        "task": task,
        "turns": newest,
        "older": older,
        "is_newest": before is None,
        "artifacts": artifacts,
        "further_artifacts": further,
        "runs": task.runs.select_related("connector").order_by("created_at"),
        "events": events,
        "has_earlier_events": has_earlier_events,
        "pushes": push_lines(task, at=now),
        "task_deliveries": task.task_deliveries.select_related("delivery").order_by("-generation")[
            :MAX_EVENTS
        ],
        **_links(request, task),
    }
    return render(request, "relay/tasks/task.html", context)


@require_safe
@page
def task_list(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Lists the tasks of one agent, newest first. Index: tasks_of_an_agent."""
    agent = get_object_or_404(agents_of(request.user), pk=pk)
    before = Cursor.read(request.GET.get("before", ""))
    newest = older_than(agent.tasks.select_related("caller"), "created_at", before)
    tasks = list(newest[: PAGE + 1])
    last = tasks[PAGE - 1] if len(tasks) > PAGE else None
    context = {
        "nav": "agents",
        "now": database_now(),
        "agent": agent,
        "lines": _lines(tasks[:PAGE]),
        "older": Cursor((last.created_at, last.pk)) if last else None,
    }
    return render(request, "relay/tasks/tasks.html", context)


@require_safe
@page
def context_detail(request: PersonRequest, pk: UUID) -> HttpResponse:
    theirs = Context.objects.for_person(request.user).select_related("agent__team", "caller")
    context = get_object_or_404(theirs, pk=pk)
    tasks = list(context.tasks.order_by("-created_at")[:MAX_TASKS])
    return render(
        request,
        "relay/tasks/context.html",
        {"now": database_now(), "context_of": context, "lines": _lines(tasks)},
    )


@require_safe
@page
def file(request: PersonRequest, pk: UUID, kind: str, row: int, number: int) -> HttpResponse:
    """Downloads a file of a message or an artifact."""
    return download(_file_of(find_task(request, pk), kind, row, number))


@require_safe
@for_person
def picture(request: PersonRequest, pk: UUID, kind: str, row: int, number: int) -> HttpResponseBase:
    """Shows a file that is a picture. The picture is re-encoded first."""
    content = _file_of(find_task(request, pk), kind, row, number).content
    return picture_response(request, content, digest_of(content))


def find_task(request: PersonRequest, pk: UUID) -> Task:
    """Returns a task of the person's teams. A task of another team and an unknown id are the same
    404."""
    theirs = Task.objects.for_person(request.user)
    return get_object_or_404(theirs.select_related("agent__team", "context", "caller"), pk=pk)


def _links(request: PersonRequest, task: Task) -> dict[str, TaskQuerySet]:
    """Returns the tasks that this task refers to, and the tasks that refer to this task. Leaves out
    tasks that the person may not see. Most tasks have none."""
    if not TaskReference.objects.of(task).exists():
        return {}
    theirs = Task.objects.for_person(request.user).select_related("agent")
    return {
        "earlier": theirs.referred_to_by(task)[:MAX_LINKS],
        "later": theirs.that_refer_to(task)[:MAX_LINKS],
    }


def _file_of(task: Task, kind: str, row: int, number: int) -> File:
    """Returns one file of a task. Raises Http404."""
    parts = turns.parts_of(task, kind, row)
    stored = turns.file_of(task, parts[number]) if number < len(parts) else None
    if stored is None:
        raise Http404
    return stored


def _events(task: Task) -> tuple[list[Event], bool]:
    """Returns the newest events, oldest first, without the content of their artifacts. Also returns
    whether there are earlier events."""
    content = [f"artifact__{name}" for name in ("parts_json", "description", "metadata_json")]
    rows = task.events.select_related("artifact").defer(*content).order_by("-pk")
    newest = list(rows[: MAX_EVENTS + 1])
    return newest[MAX_EVENTS - 1 :: -1], len(newest) > MAX_EVENTS


def _number(text: str) -> int | None:
    """Reads the key of a row. Returns None for any other text; the newest page is then shown."""
    return int(text) if ROW_KEY.fullmatch(text) else None


def _lines(tasks: list[Task]) -> list[tuple[Task, str]]:
    """Returns each task with the first words of its request, on one line. Makes one query. Very
    long requests are not read."""
    sent = Message.objects.filter(task__in=tasks, source=Message.Source.CALLER).order_by()
    first = sent.values("task").annotate(first=Min("pk")).values("first")
    rows = Message.objects.annotate(length=length_of("parts_json"))
    rows = rows.filter(pk__in=first, length__lte=LONGEST_REQUEST)
    requests = {row.task_id: cut(text_of(row.parts), LINE) for row in rows}
    return [(task, requests.get(task.pk) or NO_TEXT) for task in tasks]
