"""Puts deliveries off for one person, never so long that they would miss its window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from uuid import UUID

from django.db import transaction

from accounts.models import User
from inbox.models import Snooze
from inbox.moments import when
from inbox.own_clock import instant, zone_of
from inbox.rows import NOT_SHOWN
from wake.models import Delivery, DeliveryQuerySet

TITLES = {"hour": "In 1 hour", "afternoon": "This afternoon", "tomorrow": "Tomorrow at 9:00"}
AFTERNOON, MORNING = time(15), time(9)
# It comes back this long before its window closes, or with half of what is left of it.
TIME_TO_ANSWER = timedelta(minutes=15)


class NotLater(Exception):
    """That time has passed already: choose another."""


class NotWaiting(Exception):
    """This one no longer waits for anybody."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One line of the menu; `until` is where it really comes back."""

    name: str
    title: str
    until: datetime
    is_shortened: bool


def choices(delivery: Delivery, *, by: User, at: datetime) -> list[Choice]:
    """Those that lie ahead, each only once: a window that closes soon leaves one of them."""
    return choices_together([delivery], by=by, at=at)


def choices_together(deliveries: Sequence[Delivery], *, by: User, at: datetime) -> list[Choice]:
    """The same for several, where `until` is when the last of them comes back."""
    made: dict[tuple[datetime, ...], Choice] = {}
    for name, title in TITLES.items():
        wanted = _wanted(name, by, at)
        back = tuple(_in_time(delivery, wanted, at) for delivery in deliveries)
        if back and max(back) > at:
            made.setdefault(back, Choice(name, title, max(back), is_shortened=min(back) < wanted))
    return list(made.values())


def chosen(name: str, *, by: User, at: datetime) -> datetime:
    """When somebody who chose `name` from the menu wants it back; raises NotLater."""
    if name not in TITLES or (wanted := _wanted(name, by, at)) <= at:
        raise NotLater(NotLater.__doc__)
    return wanted


def snooze(delivery: Delivery, *, by: User, until: datetime, at: datetime) -> Snooze:
    """Hides it from this person's inbox, and nobody else's; raises NotLater and NotWaiting. Where
    its window closes earlier than asked for, so does `until` of what is returned."""
    if rows := snooze_together([delivery.pk], by=by, until=until, at=at):
        return rows[0]
    raise NotWaiting(NotWaiting.__doc__)


@transaction.atomic
def snooze_together(
    ids: Iterable[UUID], *, by: User, until: datetime, at: datetime
) -> list[Snooze]:
    """The same for several; what no longer waits is left out."""
    if until <= at:
        raise NotLater(NotLater.__doc__)
    rows = [
        Snooze(user=by, delivery=delivery, until=_in_time(delivery, until, at))
        for delivery in to_put_off(ids, by=by)
    ]
    Snooze.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["user", "delivery"],
        update_fields=["until"],
    )
    return rows


def to_put_off(ids: Iterable[UUID], *, by: User) -> list[Delivery]:
    """Those of them that still wait, in teams that they belong to."""
    waiting = Delivery.objects.for_person(by).awaiting_response().filter(pk__in=ids)
    return list(waiting.defer(*NOT_SHOWN).order_by("-created_at", "pk"))


def unsnooze(delivery: Delivery, *, by: User) -> None:
    Snooze.objects.filter(user=by, delivery=delivery).delete()


def without_snoozed(rows: DeliveryQuerySet, user: User, *, at: datetime) -> DeliveryQuerySet:
    """One subquery on snoozed_now, which is read once whatever the number of rows."""
    return rows.exclude(pk__in=Snooze.objects.of(user, at=at).delivery_ids())


def snoozed(user: User, *, at: datetime) -> list[Snooze]:
    """What comes back later, the soonest first, with its delivery; only what still waits, in teams
    that they still belong to."""
    waiting = Delivery.objects.for_person(user).awaiting_response()
    rows = Snooze.objects.of(user, at=at).filter(delivery__in=waiting)
    return list(
        rows.select_related("delivery__agent")
        .defer("delivery__details_json", "delivery__extensions")
        .order_by("until")[:200]
    )


def told(row: Snooze, *, at: datetime) -> str:
    """`Back tomorrow at 9:00.`, and why it is earlier than asked for where its window closes."""
    delivery = row.delivery
    back = f"Back {when(row.until, now=at)}."
    if delivery.expires_at is None or delivery.is_past_deadline(at):
        return back
    closes = when(delivery.expires_at, now=at)
    if delivery.expires_at - row.until <= TIME_TO_ANSWER:
        return f"{back} Its window closes {closes}, so it comes back before that."
    return back


def told_together(rows: Sequence[Snooze], *, until: datetime, at: datetime) -> str:
    """`told`, where it was one."""
    if len(rows) == 1:
        return f"Put off. {told(rows[0], at=at)}"
    if not rows:
        return "None of these waits for anybody any more."
    back = f"{len(rows)} are put off. They are back {when(until, now=at)}"
    if any(row.until < until for row in rows):
        return f"{back}; those whose window closes earlier, before it does."
    return f"{back}."


def _wanted(name: str, user: User, at: datetime) -> datetime:
    if name == "hour":
        return at + timedelta(hours=1)
    zone = zone_of(user)
    today = at.astimezone(zone).date()
    if name == "afternoon":
        return instant(today, AFTERNOON, zone)
    return instant(today + timedelta(days=1), MORNING, zone)


def _in_time(delivery: Delivery, wanted: datetime, at: datetime) -> datetime:
    """Once the window has passed there is nothing left to miss."""
    ends = delivery.expires_at
    if ends is None or delivery.is_past_deadline(at):
        return wanted
    return min(wanted, ends - min(TIME_TO_ANSWER, (ends - at) / 2))
