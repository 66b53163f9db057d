"""Pages through the tasks of one caller, most recently changed first (1.0, 3.1.4)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db.models import F, Q

from database.clock import EPOCH, microseconds
from database.encrypted_columns import length_of
from relay.models import CallerKey, Card, Task, TaskQuerySet
from relay.protocol import dialects
from relay.protocol.fields import Fields

PAGE_SIZE = 50
LARGEST_PAGE = 100
LONGEST_PAGE = 10_000_000  # bytes of content in the tasks of a page
NEWEST_FIRST = ("-status_at", "-pk")
# The last row of the previous page: its status time in microseconds since 1970, and its id.
TOKEN = re.compile(r"([0-9]{1,16})-([0-9a-f]{32})", re.ASCII)


@dataclass(frozen=True, slots=True)
class TaskListQuery:
    """Holds the filter of a list of tasks, and the start of the page."""

    context_id: str
    state: Task.State | None
    since: datetime | None
    page_size: int
    after: tuple[datetime, UUID] | None
    artifacts: bool = False


@dataclass(frozen=True, slots=True)
class TaskPage:
    """Holds a page of tasks. `total` counts the tasks of all pages. The token of the last page is
    empty."""

    tasks: list[Task]
    total: int
    next_token: str


def read(params: Fields, caller: CallerKey | None) -> TaskListQuery:
    """Reads the filter; raises InvalidParams. An anonymous caller must name a context. Otherwise
    that caller would read the requests of all anonymous callers of a public agent."""
    context_id = params.id("contextId")
    if caller is None and not context_id:
        raise params.wrong("contextId", "Without a caller key, name the context to list.")
    return TaskListQuery(
        context_id=context_id,
        state=_state(params),
        since=_since(params),
        page_size=params.number("pageSize", low=1, high=LARGEST_PAGE) or PAGE_SIZE,
        after=_after(params),
        artifacts=params.flag("includeArtifacts") or False,
    )


def page(
    card: Card, caller: CallerKey | None, query: TaskListQuery, *, network: str = ""
) -> TaskPage:
    """Returns one page, which ends early if it would be too long. An anonymous caller gets only
    tasks from its own network, because callers often make up the ids of contexts, and such an id
    can be guessed."""
    tasks = Task.objects.of_caller(card.agent, caller)
    if caller is None:
        tasks = tasks.filter(network=network)
    if query.context_id:
        tasks = tasks.filter(context__context_id=query.context_id)
    if query.state:
        tasks = tasks.filter(state=query.state)
    if query.since:
        tasks = tasks.filter(status_at__gte=query.since)
    size = F("stored_bytes") if query.artifacts else length_of("status_message__parts_json")
    sizes = list(_from(tasks, query).values_list("pk", size)[: query.page_size + 1])
    ids = _fitting(sizes[: query.page_size])
    rows = tasks.filter(pk__in=ids).select_related("context", "status_message")
    listed = list(rows.order_by(*NEWEST_FIRST))
    is_last = len(sizes) == len(ids) or not listed
    return TaskPage(listed, tasks.count(), "" if is_last else _token(listed[-1]))


def _fitting(sizes: Sequence[tuple[UUID, int]]) -> list[UUID]:
    """Returns the ids of the first tasks that fit into one answer."""
    fitting: list[UUID] = []
    together = 0
    for pk, size in sizes:
        together += size
        if fitting and together > LONGEST_PAGE:
            break
        fitting.append(pk)
    return fitting


def _from(tasks: TaskQuerySet, query: TaskListQuery) -> TaskQuerySet:
    if query.after:
        at, pk = query.after
        tasks = tasks.filter(Q(status_at__lt=at) | Q(status_at=at, pk__lt=pk))
    return tasks.order_by(*NEWEST_FIRST)


def _state(params: Fields) -> Task.State | None:
    name = params.text("status")
    if not name or name == "TASK_STATE_UNSPECIFIED":
        return None
    state = dialects.read_state(name)
    if state is None:
        raise params.wrong("status", "There is no such state.")
    return state


def _since(params: Fields) -> datetime | None:
    text = params.text("statusTimestampAfter")
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise params.wrong("statusTimestampAfter", "Must be a time in ISO 8601.") from None


def _after(params: Fields) -> tuple[datetime, UUID] | None:
    text = params.text("pageToken")
    if not text:
        return None
    if not (match := TOKEN.fullmatch(text)):
        raise params.wrong("pageToken", "Must be a nextPageToken of an earlier answer.")
    return EPOCH + timedelta(microseconds=int(match[1])), UUID(match[2])


def _token(task: Task) -> str:
    return f"{microseconds(task.status_at)}-{task.pk.hex}"
