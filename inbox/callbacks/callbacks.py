"""The callbacks of a person's teams: where each stands, in words, and how their targets do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, QuerySet, Subquery

from inbox.moments import when
from inbox.slices import PAGE, Cursor, first_of_each, older_than
from inbox.viewer import Viewer
from wake.destinations import patterns_of
from wake.models import Callback, CallbackAttempt, CallbackHost, FailingTarget
from wake.models.callbacks import CallbackQuerySet
from wake.outbox import GONE

STATES = {"waiting": "Waiting", "delivered": "Delivered", "stopped": "Stopped"}
LOOKED_AT = 500
MOST_TARGETS = 20
TRYING = "Trying again"
NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What of the list somebody wants to see; empty is all of it."""

    state: str = ""
    agent_pk: UUID | None = None

    @property
    def narrows(self) -> bool:
        return bool(self.state or self.agent_pk)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one callback stands; `next_at` is when it is tried next, where the words do not say."""

    callback: Callback
    words: str
    tone: str
    error: str
    next_at: datetime | None
    team: str


@dataclass(frozen=True, slots=True)
class Target:
    """A host that answers or A2A pushes go to, by the newest of them; `latest` is the last that was
    tried."""

    host: str
    is_push: bool
    team: str
    latest: Standing
    delivered: int
    ended: int
    waiting: int
    next_at: datetime | None


def page(
    viewer: Viewer, asked: Asked, *, at: datetime, before: Cursor | None
) -> tuple[list[Standing], Cursor | None]:
    """Newest first, and where the next page begins; three queries."""
    lists = [
        older_than(_asked_for(team_id, asked).only("pk", "created_at"), "created_at", before)
        for team_id in viewer.team_ids
    ]
    found = sorted(first_of_each(lists), key=lambda row: (row.created_at, row.pk), reverse=True)
    shown = found[:PAGE]
    older = Cursor((shown[-1].created_at, shown[-1].pk)) if len(found) > PAGE else None
    return standings([row.pk for row in shown], viewer, at=at), older


def targets(viewer: Viewer, *, at: datetime) -> list[Target]:
    """What the newest callbacks of each team say about the hosts that they went to, the busiest
    first; three queries. Index: callbacks_of_a_team."""
    columns = ("pk", "team_id", "host", "relayed_task", "tries", "created_at")
    ends = ("due_at", "delivered_at", "given_up_at")
    recent = first_of_each(
        [_newest(team_id).only(*columns, *ends) for team_id in viewer.team_ids], LOOKED_AT
    )
    by_target: dict[tuple[int, str, bool], list[Callback]] = {}
    for row in sorted(recent, key=lambda row: row.created_at, reverse=True):
        by_target.setdefault(row.target, []).append(row)
    busiest = sorted(by_target.values(), key=len, reverse=True)[:MOST_TARGETS]
    tried = [next((row for row in rows if row.tries), rows[0]).pk for rows in busiest]
    return [
        _target(rows, latest)
        for rows, latest in zip(busiest, standings(tried, viewer, at=at), strict=True)
    ]


def standings(ids: list[UUID], viewer: Viewer, *, at: datetime) -> list[Standing]:
    """Of these callbacks, in this order; two queries."""
    rows = {row.pk: row for row in _with_last_try(Callback.objects.filter(pk__in=ids))}
    lines = _allowlists({row.team_id for row in rows.values()})
    return [_standing(rows[pk], viewer, lines, at=at) for pk in ids if pk in rows]


def resting(viewer: Viewer) -> list[FailingTarget]:
    """Targets to which nothing is sent until a person resumes them, the longest first."""
    mine = FailingTarget.objects.filter(team__in=viewer.team_ids)
    return list(mine.resting().select_related("team").order_by("rested_at")[:MOST_TARGETS])


def unfinished_of(agent_id: UUID, *, team_id: int, at_most: int) -> int:
    """How many callbacks of this agent still wait to be sent. Index: callbacks_not_delivered."""
    rows = Callback.objects.not_delivered().unfinished()
    return rows.filter(agent_id=agent_id, team_id=team_id)[:at_most].count()


def _newest(team_id: int) -> QuerySet[Callback]:
    return Callback.objects.filter(team_id=team_id).order_by("-created_at", "-pk")


def _asked_for(team_id: int, asked: Asked) -> CallbackQuerySet:
    """Index: callbacks_not_delivered where something is missing, else callbacks_of_a_team."""
    rows = Callback.objects.filter(team_id=team_id)
    if asked.agent_pk:
        rows = rows.filter(agent_id=asked.agent_pk)
    match asked.state:
        case "waiting":
            return rows.not_delivered().unfinished()
        case "stopped":
            return rows.not_delivered().filter(due_at__isnull=True)
        case "delivered":
            return rows.filter(delivered_at__isnull=False)
    return rows


def _with_last_try(rows: QuerySet[Callback]) -> QuerySet[Callback]:
    """Index: attempts_of_a_callback."""
    tries = CallbackAttempt.objects.filter(callback=OuterRef("pk")).order_by("-pk")
    return (
        rows.select_related("agent", "response__delivery")
        .annotate(
            last_code=Subquery(tries.values("status_code")[:1]),
            last_error=Subquery(tries.values("error")[:1]),
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


def _allowlists(team_ids: set[int]) -> set[tuple[int, str]]:
    rows = CallbackHost.objects.filter(team_id__in=team_ids)
    return set(rows.values_list("team_id", "pattern"))


def _standing(row: Any, viewer: Viewer, lines: set[tuple[int, str]], *, at: datetime) -> Standing:
    is_allowed = row.is_push or any(
        (row.team_id, pattern) in lines for pattern in patterns_of(row.host)
    )
    words, tone = _words(row, is_allowed=is_allowed, at=at)
    code = "" if row.last_code is None else f"Answered {row.last_code}. "
    is_later = row.due_at is not None and row.due_at > at and not words.startswith(TRYING)
    return Standing(
        callback=row,
        words=words,
        tone=tone,
        error="" if row.delivered_at else f"{code}{row.last_error or ''}".strip(),
        next_at=row.due_at if is_later else None,
        team=viewer.team_label(row.team_id),
    )


def _words(row: Any, *, is_allowed: bool, at: datetime) -> tuple[str, str]:
    if row.delivered_at is not None:
        return "Delivered", "approved"
    if row.due_at is None and row.given_up_at is None:
        return "Resting", "expired"
    if row.due_at is None:
        is_gone = row.last_code == GONE
        return ("Gone (410)" if is_gone else f"Stopped after {_tries(row.tries)}"), "rejected"
    if row.leased_until is not None and row.leased_until > at:
        return "On its way", ""
    if not is_allowed:
        return "Not on the allowlist", "expired"
    if row.due_at <= at:
        return "On its way", ""
    return f"{TRYING} {when(row.due_at, now=at)}", "expired"


def _tries(number: int) -> str:
    words = NUMBERS[number] if number < len(NUMBERS) else str(number)
    return f"{words} {'try' if number == 1 else 'tries'}"


def _target(rows: list[Callback], latest: Standing) -> Target:
    waiting = [row.due_at for row in rows if row.due_at is not None]
    next_at = min(waiting, default=None)
    return Target(
        host=rows[0].host,
        is_push=rows[0].is_push,
        team=latest.team,
        latest=latest,
        delivered=sum(row.delivered_at is not None for row in rows),
        ended=len(rows) - len(waiting),
        waiting=len(waiting),
        next_at=latest.next_at if next_at == latest.callback.due_at else next_at,
    )
