"""Lists the callbacks of a person's teams, each with its status, and the hosts that receive
callbacks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, QuerySet, Subquery

from accounts.access.viewer import Viewer
from database.batched_queries import PAGE, Cursor, first_of_each, older_than
from pages.times import when
from wake.callbacks.allowlist import patterns_of
from wake.callbacks.attempts import GONE
from wake.callbacks.kinds import Kind, Link, kind_of
from wake.models import Callback, CallbackAttempt, CallbackHost, FailingTarget
from wake.models.callbacks import CallbackQuerySet

STATES = {"waiting": "Waiting", "delivered": "Delivered", "stopped": "Stopped"}
CALLBACKS_LOOKED_AT = 500  # the newest callbacks of each team, from which its targets are read
MAX_TARGETS = 20
TRYING = "Retrying"
NUMBER_WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


@dataclass(frozen=True, slots=True)
class CallbackFilter:
    """Filters the list. Empty fields match everything."""

    state: str = ""
    agent_pk: UUID | None = None

    @property
    def narrows(self) -> bool:
        return bool(self.state or self.agent_pk)


@dataclass(frozen=True, slots=True)
class CallbackStatus:
    """Describes one callback and its status. `next_at` is the time of the next attempt, if the text
    does not contain this time."""

    callback: Callback
    kind: Kind
    link: Link | None
    text: str
    tone: str
    error: str
    next_at: datetime | None
    team: str


@dataclass(frozen=True, slots=True)
class HostSummary:
    """Summarises the newest callbacks to one host. `latest` is the newest callback that was tried.
    `ended` counts the callbacks that were delivered or failed."""

    host: str
    kind: Kind
    team: str
    latest: CallbackStatus
    delivered: int
    ended: int
    waiting: int
    next_at: datetime | None


def page(
    viewer: Viewer, filters: CallbackFilter, *, at: datetime, before: Cursor | None
) -> tuple[list[CallbackStatus], Cursor | None]:
    """Returns the newest callbacks first, and where the next page begins. Makes three queries."""
    lists = [
        older_than(_matching(team_id, filters).only("pk", "created_at"), "created_at", before)
        for team_id in viewer.team_ids
    ]
    callbacks = sorted(first_of_each(lists), key=lambda row: (row.created_at, row.pk), reverse=True)
    on_page = callbacks[:PAGE]
    older = Cursor((on_page[-1].created_at, on_page[-1].pk)) if len(callbacks) > PAGE else None
    return statuses([row.pk for row in on_page], viewer, at=at), older


def targets(viewer: Viewer, *, at: datetime) -> list[HostSummary]:
    """Returns the hosts of each team's newest callbacks, busiest first. Makes three queries. Index:
    callbacks_of_a_team."""
    columns = ("pk", "team_id", "host", "response_id", "kind", "tries", "created_at")
    ends = ("due_at", "delivered_at", "given_up_at")
    recent = first_of_each(
        [_newest(team_id).only(*columns, *ends) for team_id in viewer.team_ids], CALLBACKS_LOOKED_AT
    )
    by_target: dict[tuple[int, str, bool], list[Callback]] = {}
    for row in sorted(recent, key=lambda row: row.created_at, reverse=True):
        by_target.setdefault(row.target, []).append(row)
    busiest = sorted(by_target.values(), key=len, reverse=True)[:MAX_TARGETS]
    tried = [next((row for row in rows if row.tries), rows[0]).pk for rows in busiest]
    return [
        _target(rows, latest)
        for rows, latest in zip(busiest, statuses(tried, viewer, at=at), strict=True)
    ]


def statuses(ids: list[UUID], viewer: Viewer, *, at: datetime) -> list[CallbackStatus]:
    """Returns the status of these callbacks, in this order; two queries."""
    rows = {row.pk: row for row in _with_last_attempt(Callback.objects.filter(pk__in=ids))}
    allowed = _allowed_patterns({row.team_id for row in rows.values()})
    return [_status(rows[pk], viewer, allowed, at=at) for pk in ids if pk in rows]


def suspended(viewer: Viewer) -> list[FailingTarget]:
    """Returns the targets that are suspended until a person resumes them, longest suspended
    first."""
    mine = FailingTarget.objects.filter(team__in=viewer.team_ids)
    return list(mine.suspended().select_related("team").order_by("suspended_at")[:MAX_TARGETS])


def unfinished_of(agent_id: UUID | OuterRef, *, team_id: Any) -> CallbackQuerySet:
    """Returns the agent's callbacks that were not sent yet. Index: callbacks_not_delivered."""
    rows = Callback.objects.not_delivered().unfinished()
    return rows.filter(agent_id=agent_id, team_id=team_id)


def _newest(team_id: int) -> QuerySet[Callback]:
    return Callback.objects.filter(team_id=team_id).order_by("-created_at", "-pk")


def _matching(team_id: int, filters: CallbackFilter) -> CallbackQuerySet:
    """Filters a team's callbacks. Index: callbacks_not_delivered for undelivered ones, otherwise
    callbacks_of_a_team."""
    rows = Callback.objects.filter(team_id=team_id)
    if filters.agent_pk:
        rows = rows.filter(agent_id=filters.agent_pk)
    match filters.state:
        case "waiting":
            return rows.not_delivered().unfinished()
        case "stopped":
            return rows.not_delivered().filter(due_at__isnull=True)
        case "delivered":
            return rows.filter(delivered_at__isnull=False)
    return rows


def _with_last_attempt(rows: QuerySet[Callback]) -> QuerySet[Callback]:
    """Adds the result of the last attempt. Index: attempts_of_a_callback."""
    attempts = CallbackAttempt.objects.filter(callback=OuterRef("pk")).order_by("-pk")
    return (
        rows.select_related("agent", "response__delivery")
        .annotate(
            last_code=Subquery(attempts.values("status_code")[:1]),
            last_error=Subquery(attempts.values("error")[:1]),
        )
        .defer(
            "headers_ciphertext",
            "body",
            "response__feedback",
            "response__edited_json",
            "response__delivery__details_json",
            "response__delivery__extensions",
        )
    )


def _allowed_patterns(team_ids: set[int]) -> set[tuple[int, str]]:
    """Returns the lines of the teams' allowlists, each with its team."""
    rows = CallbackHost.objects.filter(team_id__in=team_ids)
    return set(rows.values_list("team_id", "pattern"))


def _status(
    row: Any, viewer: Viewer, allowed: set[tuple[int, str]], *, at: datetime
) -> CallbackStatus:
    kind = kind_of(row)
    is_allowed = not kind.needs_allowlist or any(
        (row.team_id, pattern) in allowed for pattern in patterns_of(row.host)
    )
    text, tone = _status_text(row, is_allowed=is_allowed, at=at)
    code = "" if row.last_code is None else f"Response {row.last_code}. "
    is_later = row.due_at is not None and row.due_at > at and not text.startswith(TRYING)
    return CallbackStatus(
        callback=row,
        kind=kind,
        link=kind.link(row) if kind.link else None,
        text=text,
        tone=tone,
        error="" if row.delivered_at else f"{code}{row.last_error or ''}".strip(),
        next_at=row.due_at if is_later else None,
        team=viewer.team_label(row.team_id),
    )


def _status_text(row: Any, *, is_allowed: bool, at: datetime) -> tuple[str, str]:
    if row.delivered_at is not None:
        return "Delivered", "approved"
    if row.due_at is None and row.given_up_at is None:
        return "Suspended", "expired"
    if row.due_at is None:
        is_gone = row.last_code == GONE
        return ("Gone (410)" if is_gone else f"Failed after {_attempts(row.tries)}"), "rejected"
    if row.leased_until is not None and row.leased_until > at:
        return "Sending", ""
    if not is_allowed:
        return "Not a callback host", "expired"
    if row.due_at <= at:
        return "Sending", ""
    return f"{TRYING} {when(row.due_at, now=at)}", "expired"


def _attempts(number: int) -> str:
    text = NUMBER_WORDS[number] if number < len(NUMBER_WORDS) else str(number)
    return f"{text} {'attempt' if number == 1 else 'attempts'}"


def _target(rows: list[Callback], latest: CallbackStatus) -> HostSummary:
    waiting = [row.due_at for row in rows if row.due_at is not None]
    next_at = min(waiting, default=None)
    return HostSummary(
        host=rows[0].host,
        kind=kind_of(rows[0]),
        team=latest.team,
        latest=latest,
        delivered=sum(row.delivered_at is not None for row in rows),
        ended=len(rows) - len(waiting),
        waiting=len(waiting),
        next_at=latest.next_at if next_at == latest.callback.due_at else next_at,
    )
