"""Erases old content as each team chose, and keeps ids, times, outcomes and hashes
(docs/decisions/0011-erased-is-gone.md)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef

from accounts.access.objects import NotAllowed, is_owner
from accounts.audit import SYSTEM, person, record
from accounts.models import Team, User
from database import sweeps
from wake import signals
from wake.blobs import removal
from wake.models import (
    Callback,
    CallbackAttempt,
    Delivery,
    DeliveryQuerySet,
    Draft,
    Response,
    Retention,
    Vote,
)
from wake.models.callbacks import CallbackQuerySet

ROWS_AT_ONCE = 200
SWEEP_SECONDS = 20.0
COUNT_LIMIT = 10_000


@transaction.atomic
def keep_content(
    team: Team, *, days: int | None, by: User, at: datetime, address: str = ""
) -> None:
    """Sets how many days after its last activity content is kept; None keeps it forever.
    Raises NotAllowed."""
    if not is_owner(by, team.pk):
        raise NotAllowed(NotAllowed.__doc__)
    Team.objects.select_for_update().get(pk=team.pk)
    before = days_kept([team]).get(team.pk)
    if days == before:
        return
    if days is None:
        Retention.objects.filter(team=team).delete()
    else:
        Retention.objects.update_or_create(team=team, defaults={"days": days})
    actor = person(by, address)
    record("retention.changed", by=actor, of=team, team=team, at=at, before=before, days=days)


def days_kept(teams: Iterable[Team]) -> dict[int, int]:
    """Returns the days by the id of the team, without teams that keep content forever."""
    return dict(Retention.objects.filter(team__in=teams).values_list("team_id", "days"))


def count_erasable(team: Team, *, days: int, at: datetime) -> int:
    """Counts the deliveries whose content would be erased now, up to COUNT_LIMIT."""
    return _to_erase(team.pk, before=_before(days, at))[:COUNT_LIMIT].count()


def erase_old(*, at: datetime, seconds: float = SWEEP_SECONDS) -> int:
    """Erases a batch for each team in turn, until nothing is left or the time is over; returns how
    many deliveries it erased. A team whose batch fails waits for the next sweep."""
    teams = deque(Retention.objects.order_by("team").values_list("team_id", "days"))

    def erase_next(team: tuple[int, int]) -> int:
        team_id, days = team
        count = _erase_next(team_id, before=_before(days, at), at=at)
        if count == ROWS_AT_ONCE:
            teams.append(team)
        return count

    turns = iter(lambda: teams.popleft() if teams else None, None)
    return sweeps.each(turns, erase_next, what="teams' old content", seconds=seconds)


def _to_erase(team_id: int, *, before: datetime) -> DeliveryQuerySet:
    """Selects old deliveries whose content no person, agent or callback needs any more. The lists
    of held responses and unsent callbacks are short, and each has its index."""
    held = Response.objects.held().filter(delivery=OuterRef("pk"))
    unsent = Callback.objects.not_delivered().filter(given_up_at__isnull=True)
    unsent = unsent.filter(response__delivery=OuterRef("pk"))
    old = Delivery.objects.for_team(team_id).with_content().done_before(before)
    return old.filter(~Exists(held), ~Exists(unsent))


def _before(days: int, at: datetime) -> datetime:
    return at - timedelta(days=days)


@transaction.atomic
def _erase_next(team_id: int, *, before: datetime, at: datetime) -> int:
    """Locks in the order that everything follows: delivery, callback, response."""
    old = _to_erase(team_id, before=before)
    oldest = old.order_by("activity_at").select_for_update(skip_locked=True, of=("self",))
    locked = list(oldest.values_list("pk", flat=True)[:ROWS_AT_ONCE])
    callbacks = Callback.objects.filter(response__delivery__in=locked).order_by("pk")
    list(callbacks.select_for_update(of=("self",)).values_list("pk"))
    responses = Response.objects.filter(delivery__in=locked).order_by("pk")
    list(responses.select_for_update(of=("self",)).values_list("pk"))
    # Selected again, because an answer or a callback sent again may have come before the lock.
    ids = list(old.filter(pk__in=locked).values_list("pk", flat=True))
    if ids:
        _erase(ids, at=at)
        team = Team.objects.get(pk=team_id)
        record("retention.erased", by=SYSTEM, of=team, team=team, at=at, count=len(ids))
        signals.erased.send(sender=Delivery, delivery_ids=ids)
    return len(ids)


def _erase(ids: list[UUID], *, at: datetime) -> None:
    # The ID that it was delivered as stays, because a sweep may ask for it (docs/protocol.md).
    Delivery.objects.filter(pk__in=ids).update(
        provider="",
        thread="",
        headline=f"Erased on {at.day} {at:%b %Y}",
        summary="",
        details_json=None,
        assumption="",
        withdrawn_reason="",
        extensions={},
        callback_webhook="",
        idempotency_key=None,
        idempotency_hash="",
        erased_at=at,
    )
    Response.objects.filter(delivery__in=ids).update(feedback="", edited_json=None, left_out="")
    Vote.objects.filter(delivery__in=ids).update(feedback="")
    Draft.objects.filter(delivery__in=ids).delete()
    removal.remove_with(ids)
    erase_callbacks(Callback.objects.filter(response__delivery__in=ids), at=at)


def erase_callbacks(callbacks: CallbackQuerySet, *, at: datetime) -> None:
    """Erases what callbacks carry and what came back. A callback that still waits is given up."""
    waiting = callbacks.not_delivered().filter(given_up_at__isnull=True)
    waiting.update(due_at=None, given_up_at=at)
    CallbackAttempt.objects.filter(callback__in=callbacks).update(answer="")
    callbacks.update(url="", headers_ciphertext="", body=b"", erased_at=at)
