"""Notices events in the inboxes of teams, for all open pages of this process together."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q

from accounts.access.viewer import Viewer
from accounts.models import AuditEvent, Session, User
from database import notifications
from database.batched_queries import first_of_each
from database.clock import database_now
from inbox.reading.updates import ENDINGS, REOPENINGS
from wake.api.watches import Watch
from wake.models import Outcome
from wake.signals import inbox_topic

NEWS = Q(event__in=["delivery.received", *ENDINGS, *REOPENINGS]) | Q(
    event="delivery.outcome", detail__status=Outcome.Status.FAILED.value
)
# Each look reads the events of the last minute, even if an earlier look has read them, because a
# transaction may commit after one that began later. A minute is longer than the time between two
# looks, so no look misses an event.
RECENT = timedelta(minutes=1)
MAX_RECENT = 100
# Changes are also looked up at these intervals, because a notification may be lost, and because the
# end of a session sends no notification.
LOOK_EVERY_SECONDS, LOOK_OFTEN_SECONDS = 30.0, 2.0

Recent = Mapping[int, datetime]  # the time of each event, by the event's id


@dataclass(frozen=True, slots=True)
class Found:
    """Holds the recent events of each team, and the teams of each open session."""

    recent: Mapping[int, Recent]
    begin: datetime
    teams_of: Mapping[str, Collection[int]]


class PageFollower:
    """Describes an open page of a person. The page was made at `since`, and waits for news of some
    of the person's teams."""

    def __init__(self, viewer: Viewer, session_key: str, since: datetime) -> None:
        self.session_key = session_key
        self.auth_hash = viewer.user.get_session_auth_hash()
        self.keys = frozenset(viewer.team_ids)
        self.since = since
        self.is_admitted = True
        self._has_news = False
        self.woken = asyncio.Event()
        self._seen: dict[int, Collection[int]] = {}

    def notify(self, found: Found) -> None:
        """Wakes the stream if there is news of a team to which the person still belongs, or if the
        person may no longer see any of the teams."""
        own = self.keys & set(found.teams_of.get(self.session_key, ()))
        self.is_admitted = bool(own)
        for team_id in own & found.recent.keys():
            self._has_news |= self._is_news(team_id, found)
            self._seen[team_id] = found.recent[team_id].keys()
        if self._has_news or not self.is_admitted:
            self.woken.set()

    def take_news(self) -> bool:
        """Returns whether the page must be notified, and forgets the news."""
        has_news, self._has_news = self._has_news, False
        return has_news and self.is_admitted

    def _is_news(self, team_id: int, found: Found) -> bool:
        recent = found.recent[team_id]
        if team_id in self._seen:
            return not recent.keys() <= set(self._seen[team_id])
        # On the first look, a page that is older than the read events may have missed some.
        return self.since < found.begin or any(at > self.since for at in recent.values())


class InboxWatch(Watch[int, PageFollower]):
    # A page is notified at most this often, and events within this time are one notification.
    TOGETHER_SECONDS = 0.25

    def topic_of(self, key: int) -> str:
        return inbox_topic(key)

    def pause_seconds(self) -> float:
        is_told = notifications.watcher.hears.is_set()
        return LOOK_EVERY_SECONDS if is_told else LOOK_OFTEN_SECONDS

    def read(self, keys: set[int], followers: set[PageFollower]) -> Found:
        return look(keys, followers, at=database_now())


def look(team_ids: Iterable[int], followers: Iterable[PageFollower], *, at: datetime) -> Found:
    """Finds recent events and open sessions, with two queries for any number of teams and pages."""
    begin = at - RECENT
    return Found(_recent(sorted(team_ids), begin), begin, _teams_of(followers, at))


def _recent(team_ids: list[int], begin: datetime) -> dict[int, dict[int, datetime]]:
    events = first_of_each(
        [
            AuditEvent.objects.filter(NEWS, team_id=team_id, at__gt=begin)
            .only("id", "at", "team_id")
            .order_by("-at", "-id")
            for team_id in team_ids
        ],
        count=MAX_RECENT,
    )
    recent: dict[int, dict[int, datetime]] = {team_id: {} for team_id in team_ids}
    for event in events:
        if event.team_id is not None:
            recent[event.team_id][event.pk] = event.at
    return recent


def _teams_of(followers: Iterable[PageFollower], at: datetime) -> dict[str, set[int]]:
    """Returns the teams of each session that was not ended by a sign-out or a new password."""
    hashes = {each.session_key: each.auth_hash for each in followers}
    alive = Session.objects.filter(pk__in=hashes, expire_date__gt=at, user__is_active=True)
    teams_of: defaultdict[str, set[int]] = defaultdict(set)
    for key, password, epoch, team_id in alive.values_list(
        "pk", "user__password", "user__session_epoch", "user__memberships__team"
    ):
        person = User(password=password, session_epoch=epoch)
        if person.get_session_auth_hash() == hashes[key] and team_id is not None:
            teams_of[key].add(team_id)
    return teams_of
