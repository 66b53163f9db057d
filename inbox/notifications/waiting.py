"""Lists the deliveries that wait for one person in all of their teams, for digests and
reminders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Max

from accounts.models import ApiKey, User
from inbox.models import Comment, Mention, Reminder
from inbox.reading.rows import listed
from inbox.reading.snoozes import without_snoozed
from wake.models import Delivery, DeliveryQuerySet

MAX_LISTED = 10
COUNT_UP_TO = 500
LAST_HOUR = timedelta(hours=1)
CONTINUES = ("", Delivery.OnTimeout.PROCEED)


@dataclass(frozen=True, slots=True)
class WaitingDeliveries:
    """Holds the first few deliveries and their number, counted up to COUNT_UP_TO + 1."""

    rows: Sequence[Delivery]
    count: int

    @property
    def more(self) -> int:
        return self.count - len(self.rows)


@dataclass(frozen=True, slots=True)
class NewMentions:
    """Counts the mentions that a person has not seen; `newest_at` is None if there are none."""

    count: int
    newest_at: datetime | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """Holds the deliveries that wait for one person. `closing` has those of `needs_you` whose
    deadline is before `until`."""

    needs_you: WaitingDeliveries
    closing: WaitingDeliveries
    informs: WaitingDeliveries
    mentions: NewMentions
    until: datetime

    @property
    def is_nothing(self) -> bool:
        return not (self.needs_you.count or self.informs.count or self.mentions.count)

    @property
    def others(self) -> WaitingDeliveries:
        """Returns the deliveries that need the person and are not in `closing`."""
        listed = {row.pk for row in self.closing.rows}
        rows = [row for row in self.needs_you.rows if row.pk not in listed]
        return WaitingDeliveries(rows, self.needs_you.count - len(listed))

    def has_news(self, *, since: datetime | None) -> bool:
        newest = [group.rows[0] for group in (self.needs_you, self.informs) if group.rows]
        times = [row.created_at for row in newest]
        if self.mentions.newest_at is not None:
            times.append(self.mentions.newest_at)
        return bool(self.closing.count) or any(since is None or time > since for time in times)


def waiting_for(user: User, *, at: datetime, until: datetime) -> Waiting:
    """Returns only live deliveries, without snoozed ones. Index: waiting_of_a_team."""
    rows = without_snoozed(_live(Delivery.objects.for_person(user)), user, at=at)
    informs = rows.filter(type=Delivery.Type.UPDATE)
    needs_you = rows.that_may_be_answered_by(user).exclude(type=Delivery.Type.UPDATE)
    closing = needs_you.filter(expires_at__gt=at, expires_at__lte=until)
    return Waiting(
        needs_you=_group(needs_you.order_by("-created_at")),
        closing=_group(closing.order_by("expires_at")),
        informs=_group(informs.order_by("-created_at")),
        mentions=new_mentions(user),
        until=until,
    )


def new_mentions(user: User) -> NewMentions:
    unseen = Comment.objects.filter(mentions__in=Mention.objects.of_person(user).unseen())
    newest_at = unseen.aggregate(newest_at=Max("written_at"))["newest_at"]
    return NewMentions(unseen.count() if newest_at else 0, newest_at)


def due_reminders(user: User, *, at: datetime) -> list[Delivery]:
    """Returns deliveries whose agents would continue without the person within the hour, most
    urgent first. Leaves out deliveries with an earlier reminder."""
    reminded = Reminder.objects.filter(user=user).values("delivery")
    rows = about_to_continue(at).that_may_be_answered_by(user).exclude(pk__in=reminded)
    return list(listed(rows.order_by("expires_at"))[:COUNT_UP_TO])


def about_to_continue(at: datetime) -> DeliveryQuerySet:
    """Returns the deliveries whose agents continue within the hour. Index: open_deadlines."""
    return (
        _live(Delivery.objects.all())
        .filter(expires_at__gt=at, expires_at__lte=at + LAST_HOUR, timed_out_at__isnull=True)
        .filter(on_timeout__in=CONTINUES)
        .exclude(type=Delivery.Type.UPDATE)
    )


def people_to_remind(at: datetime) -> list[int]:
    """Returns the people who want reminders and may answer in a team where an agent is about to
    continue."""
    teams = about_to_continue(at).order_by().values("team")
    people = User.objects.filter(
        is_active=True, preferences__wants_reminders=True, memberships__team__in=teams
    )
    return list(people.distinct().values_list("pk", flat=True))


def _live(rows: DeliveryQuerySet) -> DeliveryQuerySet:
    return rows.awaiting_response().filter(mode=ApiKey.Mode.LIVE)


def _group(rows: DeliveryQuerySet) -> WaitingDeliveries:
    first = list(listed(rows)[:MAX_LISTED])
    count = len(first)
    return WaitingDeliveries(
        first, rows[: COUNT_UP_TO + 1].count() if count == MAX_LISTED else count
    )
