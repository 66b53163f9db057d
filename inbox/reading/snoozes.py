"""Snoozes deliveries for one person, never past a delivery's deadline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from uuid import UUID

from django.db import transaction

from accounts.models import User
from inbox.models import Snooze
from inbox.reading.rows import UNUSED_COLUMNS
from pages.local_time import instant, zone_of
from pages.times import when
from wake.models import Delivery, DeliveryQuerySet

TITLES = {"hour": "In 1 hour", "afternoon": "This afternoon", "tomorrow": "Tomorrow at 9:00"}
AFTERNOON, MORNING = time(15), time(9)
# A snoozed delivery comes back this long before its deadline, or when half of the remaining time is
# left.
TIME_TO_ANSWER = timedelta(minutes=15)


class NotLater(Exception):
    """That time has already passed. Choose another."""


class NotWaiting(Exception):
    """This delivery no longer needs an answer."""


@dataclass(frozen=True, slots=True)
class SnoozeChoice:
    """Shows one line of the menu; `until` is when the delivery really comes back."""

    name: str
    title: str
    until: datetime
    is_shortened: bool


def choices(delivery: Delivery, *, by: User, at: datetime) -> list[SnoozeChoice]:
    """Returns the choices in the future, without duplicates: a close deadline shortens several to
    the same time."""
    return choices_for_many([delivery], by=by, at=at)


def choices_for_many(
    deliveries: Sequence[Delivery], *, by: User, at: datetime
) -> list[SnoozeChoice]:
    """Returns the choices for several deliveries. `until` is the time when the last delivery is
    back."""
    by_return: dict[tuple[datetime, ...], SnoozeChoice] = {}
    for name, title in TITLES.items():
        wanted = _wanted(name, by, at)
        back = tuple(_before_deadline(delivery, wanted, at) for delivery in deliveries)
        if back and max(back) > at:
            by_return.setdefault(
                back, SnoozeChoice(name, title, max(back), is_shortened=min(back) < wanted)
            )
    return list(by_return.values())


def chosen(name: str, *, by: User, at: datetime) -> datetime:
    """Returns the time for the menu's `name`; raises NotLater."""
    if name not in TITLES or (wanted := _wanted(name, by, at)) <= at:
        raise NotLater(NotLater.__doc__)
    return wanted


def snooze(delivery: Delivery, *, by: User, until: datetime, at: datetime) -> Snooze:
    """Hides the delivery from this person's inbox only; raises NotLater and NotWaiting. If the
    deadline is close, `until` of the returned row is earlier than requested."""
    if rows := snooze_many([delivery.pk], by=by, until=until, at=at):
        return rows[0]
    raise NotWaiting(NotWaiting.__doc__)


@transaction.atomic
def snooze_many(ids: Iterable[UUID], *, by: User, until: datetime, at: datetime) -> list[Snooze]:
    """Snoozes several deliveries; leaves out deliveries that no longer wait."""
    if until <= at:
        raise NotLater(NotLater.__doc__)
    rows = [
        Snooze(user=by, delivery=delivery, until=_before_deadline(delivery, until, at))
        for delivery in snoozable(ids, by=by)
    ]
    Snooze.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["user", "delivery"],
        update_fields=["until"],
    )
    return rows


def snoozable(ids: Iterable[UUID], *, by: User) -> list[Delivery]:
    """Returns the deliveries that still wait, in teams to which this person belongs."""
    waiting = Delivery.objects.for_person(by).awaiting_response().filter(pk__in=ids)
    return list(waiting.defer(*UNUSED_COLUMNS).order_by("-created_at", "pk"))


def unsnooze(delivery: Delivery, *, by: User) -> None:
    Snooze.objects.filter(user=by, delivery=delivery).delete()


def without_snoozed(rows: DeliveryQuerySet, user: User, *, at: datetime) -> DeliveryQuerySet:
    """Leaves out this person's snoozed deliveries. The one subquery, on the index snoozed_now, is
    read once for any number of rows."""
    return rows.exclude(pk__in=Snooze.objects.of(user, at=at).delivery_ids())


def snoozed(user: User, *, at: datetime) -> list[Snooze]:
    """Returns this person's snoozes with their deliveries, earliest first. Only includes deliveries
    that still wait, in teams to which the person still belongs."""
    waiting = Delivery.objects.for_person(user).awaiting_response()
    rows = Snooze.objects.of(user, at=at).filter(delivery__in=waiting)
    return list(
        rows.select_related("delivery__agent")
        .defer("delivery__details_json", "delivery__extensions")
        .order_by("until")[:200]
    )


def confirmation(row: Snooze, *, at: datetime) -> str:
    """Returns `Back tomorrow at 9:00.` If a close deadline brings the delivery back earlier, also
    returns this reason."""
    delivery = row.delivery
    text = f"Back {when(row.until, now=at)}."
    if delivery.expires_at is None or delivery.is_past_deadline(at):
        return text
    closes = when(delivery.expires_at, now=at)
    if delivery.expires_at - row.until <= TIME_TO_ANSWER:
        return f"{text} Its deadline is {closes}, so it comes back before that."
    return text


def confirmation_of_many(rows: Sequence[Snooze], *, until: datetime, at: datetime) -> str:
    """Returns the confirmation for several snoozes, or for one."""
    if len(rows) == 1:
        return f"Snoozed. {confirmation(rows[0], at=at)}"
    if not rows:
        return "These deliveries no longer need an answer."
    back = f"{len(rows)} snoozed. Back {when(until, now=at)}"
    if any(row.until < until for row in rows):
        return f"{back}; deliveries with an earlier deadline come back before it."
    return f"{back}."


def _wanted(name: str, user: User, at: datetime) -> datetime:
    if name == "hour":
        return at + timedelta(hours=1)
    zone = zone_of(user)
    today = at.astimezone(zone).date()
    if name == "afternoon":
        return instant(today, AFTERNOON, zone)
    return instant(today + timedelta(days=1), MORNING, zone)


def _before_deadline(delivery: Delivery, wanted: datetime, at: datetime) -> datetime:
    """Returns the requested time, or an earlier one that leaves time to answer. A passed deadline
    changes nothing."""
    ends = delivery.expires_at
    if ends is None or delivery.is_past_deadline(at):
        return wanted
    return min(wanted, ends - min(TIME_TO_ANSWER, (ends - at) / 2))
