"""Erases old content as each team chose. Ids, times, outcomes and hashes stay
(docs/decisions/0011-erased-is-gone.md)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
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
    Outcome,
    Receipt,
    Response,
    Retention,
    Vote,
)
from wake.models.callbacks import CallbackQuerySet

ROWS_AT_ONCE = 200
SWEEP_SECONDS = 20.0
COUNT_LIMIT = 10_000


class BelowFloor(Exception):
    """This server keeps content longer than that (WAKE_RETENTION_FLOOR_DAYS)."""


@transaction.atomic
def keep_content(
    team: Team, *, days: int | None, by: User, at: datetime, address: str = ""
) -> None:
    """Sets for how many days after its last activity content stays; None means forever. Raises
    NotAllowed, or BelowFloor if the operator requires more days."""
    if days is not None and days < settings.WAKE_RETENTION_FLOOR_DAYS:
        raise BelowFloor(BelowFloor.__doc__)
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
    """Returns the days by the id of the team. Teams that keep content forever are left out."""
    return dict(Retention.objects.filter(team__in=teams).values_list("team_id", "days"))


def effective_days(days: int) -> int:
    """Returns after how many days content is erased. A team that chose fewer days before the
    operator set a floor keeps its content until the floor."""
    return max(days, settings.WAKE_RETENTION_FLOOR_DAYS)


def count_erasable(team: Team, *, days: int, at: datetime) -> int:
    """Counts the deliveries whose content would be erased now, up to COUNT_LIMIT."""
    return _to_erase(team.pk, before=_before(days, at))[:COUNT_LIMIT].count()


def erase_old(*, at: datetime, seconds: float = SWEEP_SECONDS, at_once: int = ROWS_AT_ONCE) -> int:
    """Erases a batch for each team in turn, until nothing is left or the time is over; returns how
    many deliveries it erased. A team whose batch fails waits for the next sweep."""
    kept = sweeps.to_work_on(Retention.objects.order_by("team"))
    teams = deque(kept.values_list("team_id", "days"))

    def erase_next(team: tuple[int, int]) -> int:
        team_id, days = team
        count = _erase_next(team_id, before=_before(days, at), at=at, at_once=at_once)
        if count == at_once:
            teams.append(team)
        return count

    turns = iter(lambda: teams.popleft() if teams else None, None)
    return sweeps.each(turns, erase_next, what="teams' old content", seconds=seconds)


def _to_erase(team_id: int, *, before: datetime) -> DeliveryQuerySet:
    """Selects old deliveries whose content is no longer needed by people, agents or callbacks. Held
    responses and unsent callbacks are few, and an index finds each of them."""
    held = Response.objects.held().filter(delivery=OuterRef("pk"))
    unsent = Callback.objects.not_delivered().filter(given_up_at__isnull=True)
    unsent = unsent.filter(response__delivery=OuterRef("pk"))
    old = Delivery.objects.for_team(team_id).with_content().done_before(before)
    return old.filter(~Exists(held), ~Exists(unsent))


def _before(days: int, at: datetime) -> datetime:
    return at - timedelta(days=effective_days(days))


@transaction.atomic
def _erase_next(team_id: int, *, before: datetime, at: datetime, at_once: int) -> int:
    """Locks in the order that all code follows: delivery, callback, response."""
    old = _to_erase(team_id, before=before)
    oldest = old.order_by("activity_at").select_for_update(skip_locked=True, of=("self",))
    locked = list(oldest.values_list("pk", flat=True)[:at_once])
    callbacks = Callback.objects.filter(response__delivery__in=locked).order_by("pk")
    list(callbacks.select_for_update(of=("self",)).values_list("pk"))
    responses = Response.objects.filter(delivery__in=locked).order_by("pk")
    list(responses.select_for_update(of=("self",)).values_list("pk"))
    # Selected again, because an answer may have come, or a callback may have been sent again,
    # before the lock.
    ids = list(old.filter(pk__in=locked).values_list("pk", flat=True))
    if ids:
        _erase(ids, at=at)
        team = Team.objects.get(pk=team_id)
        record("retention.erased", by=SYSTEM, of=team, team=team, at=at, count=len(ids))
        signals.erased.send(sender=Delivery, delivery_ids=ids)
    return len(ids)


def _erase(ids: list[UUID], *, at: datetime) -> None:
    # The id of the sending agent stays, because a sweep may ask for it (docs/protocol.md).
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
        traceparent=None,
        nonce="",
        erased_at=at,
    )
    Response.objects.filter(delivery__in=ids).update(
        feedback="", edited_json=None, left_out="", signature_json=""
    )
    Vote.objects.filter(delivery__in=ids).update(feedback="", signature_json="")
    Outcome.objects.filter(delivery__in=ids).update(
        summary="", details_json=None, idempotency_key=None, idempotency_hash=""
    )
    # The hashes in a signed statement would confirm a guess at the content.
    Receipt.objects.filter(response__delivery__in=ids).update(
        content_disclosures="", signature_disclosures=""
    )
    Draft.objects.filter(delivery__in=ids).delete()
    removal.remove_with(ids)
    erase_callbacks(Callback.objects.filter(response__delivery__in=ids), at=at)


def erase_callbacks(callbacks: CallbackQuerySet, *, at: datetime) -> None:
    """Erases the content of callbacks and of the answers to them. A callback that still waits is
    given up."""
    waiting = callbacks.not_delivered().filter(given_up_at__isnull=True)
    waiting.update(due_at=None, given_up_at=at)
    CallbackAttempt.objects.filter(callback__in=callbacks).update(answer="")
    callbacks.update(url="", headers_ciphertext="", body=b"", erased_at=at)
