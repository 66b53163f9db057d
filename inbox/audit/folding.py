"""Groups the lines of the audit page by day, and folds equal consecutive events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import groupby

from django.utils import timezone

from accounts.audit.sentences import EVENTS
from inbox.audit.lines import AuditLine

FOLDED_FROM = 3
# A set-up script alternates between these events; the most important comes first.
SET_UP = (
    "agent.registered",
    "key.issued",
    "secret.issued",
    "claim.added",
    "callback_host.allowed",
    "membership.added",
    "team.added",
)
# Different events with a longer gap are not folded together.
LONGEST_GAP = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class AuditGroup:
    """Holds consecutive events of one actor, newest first; often there is only one. `words` is
    empty if the events are not folded."""

    lines: list[AuditLine]
    words: str

    @property
    def actor(self) -> str:
        return self.lines[0].event.actor_name


@dataclass(frozen=True, slots=True)
class AuditDay:
    title: str
    groups: list[AuditGroup]


def days_of(lines: Iterable[AuditLine], *, now: datetime) -> list[AuditDay]:
    """Groups lines that are sorted by time. Days are in the person's time zone."""
    today = timezone.localtime(now).date()
    return [
        AuditDay(_title(day, today), _groups(of_day))
        for day, of_day in groupby(lines, lambda line: timezone.localtime(line.event.at).date())
    ]


def _groups(lines: Iterable[AuditLine]) -> list[AuditGroup]:
    groups: list[AuditGroup] = []
    for _, equal in groupby(lines, _what_and_who):
        for burst in _bursts(list(equal)):
            counts = Counter(line.event.event for line in burst)
            if max(counts.values()) >= FOLDED_FROM and counts.keys() <= EVENTS.keys():
                groups.append(AuditGroup(burst, _in_words(counts)))
            else:
                groups.extend(AuditGroup([line], "") for line in burst)
    return groups


def _what_and_who(line: AuditLine) -> tuple[object, ...]:
    event = line.event
    what = "set up" if event.event in SET_UP else event.event
    return what, event.actor_kind, event.actor_id, event.actor_name, event.team_id


def _bursts(lines: list[AuditLine]) -> Iterator[list[AuditLine]]:
    """Splits lines where more than LONGEST_GAP passed; equal events stay together."""
    if len({line.event.event for line in lines}) == 1:
        yield lines
        return
    burst: list[AuditLine] = []
    for line in lines:
        if burst and burst[-1].event.at - line.event.at > LONGEST_GAP:
            yield burst
            burst = []
        burst.append(line)
    yield burst


def _in_words(counts: Counter[str]) -> str:
    """Returns `6 agents registered, 1 alias added`, in the order of SET_UP."""
    names = [name for name in SET_UP if counts[name]] or list(counts)
    return ", ".join(_counted(counts[name], name) for name in names)


def _counted(count: int, name: str) -> str:
    words = EVENTS[name]
    return f"{count} {words.plural if count > 1 else words.title.lower()}"


def _title(day: date, today: date) -> str:
    """Returns `Today`, `Yesterday`, `Friday 20 November` or `20 November 2025`."""
    match (today - day).days:
        case 0:
            return "Today"
        case 1:
            return "Yesterday"
    if day.year == today.year:
        return f"{day:%A} {day.day} {day:%B}"
    return f"{day.day} {day:%B %Y}"
