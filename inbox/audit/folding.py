"""Groups the lines of the audit page by day, and folds equal events that follow each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import groupby

from django.utils import timezone

from inbox.audit.lines import Line
from inbox.audit.sentences import EVENTS

FOLDED_FROM = 3
# A script that sets up agents causes these by turns; the most telling first.
SET_UP = (
    *("agent.registered", "key.issued", "secret.issued", "claim.added"),
    *("callback_host.allowed", "membership.added", "team.added"),
)
ONE_RUN = timedelta(minutes=1)

# What several events are called together: `6 agents registered`.
MANY = {
    "delivery.received": "deliveries received",
    "delivery.answered": "deliveries answered",
    "blob.uploaded": "files uploaded",
    "response.taken_back": "answers undone",
    "response.picked_up": "answers fetched",
    "delivery.timed_out": "deliveries expired",
    "delivery.acknowledged": "deliveries acknowledged",
    "delivery.withdrawn": "deliveries withdrawn",
    "delivery.commented": "comments written",
    "delivery.comment_removed": "comments removed",
    "delivery.brought_back": "deliveries moved to the inbox",
    "delivery.voted": "approvals of several people",
    "vote.taken_back": "approvals undone",
    "delivery.taken": "deliveries taken",
    "delivery.escalated": "deliveries escalated",
    "callback.sent_again": "callbacks sent again",
    "callback.rehearsed": "test callbacks sent",
    "callback.given_up": "callbacks failed",
    "callbacks.rested": "targets suspended",
    "callbacks.resumed": "targets resumed",
    "callback_host.allowed": "callback hosts added",
    "callback_host.removed": "callback hosts removed",
    "callback_host.changed": "callback hosts changed",
    "agent.registered": "agents registered",
    "agent.paused": "agents paused",
    "agent.resumed": "agents resumed",
    "agent.archived": "agents archived",
    "agent.restored": "agents restored",
    "agent.limited": "rate limits changed",
    "agent.changed": "agents changed",
    "agent.removed": "agents removed",
    "claim.added": "aliases added",
    "claim.changed": "aliases changed",
    "claim.removed": "aliases removed",
    "key.issued": "keys created",
    "key.rotated": "keys rotated",
    "key.revoked": "keys revoked",
    "key.slowed_down": "rate limits exceeded",
    "secret.issued": "signing secrets created",
    "secret.rotated": "signing secrets rotated",
    "secret.switched": "old signing secrets retired",
    "card.published": "agents published",
    "card.changed": "cards changed",
    "card.unpublished": "agents unpublished",
    "caller_key.issued": "caller keys created",
    "caller_key.revoked": "caller keys revoked",
    "task.received": "tasks received",
    "task.continued": "messages to tasks",
    "task.completed": "tasks completed",
    "task.failed": "tasks failed",
    "task.canceled": "tasks canceled",
    "task.rejected": "tasks rejected",
    "task.answer_passed_over": "answers not used",
    "task.result_came_late": "late results",
    "channel.added": "channels added",
    "channel.changed": "channels changed",
    "channel.removed": "channels removed",
    "channel.renewed": "channels renewed",
    "channel.verified": "channels verified",
    "rule.added": "rules added",
    "rule.changed": "rules changed",
    "rule.moved": "rules moved",
    "rule.turned_on": "rules turned on",
    "rule.turned_off": "rules turned off",
    "rule.removed": "rules removed",
    "answering_rule.added": "answering rules added",
    "answering_rule.changed": "answering rules changed",
    "answering_rule.turned_on": "answering rules turned on",
    "answering_rule.turned_off": "answering rules turned off",
    "answering_rule.back_to_shadow": "answering rules back to shadow",
    "answering_rule.removed": "answering rules removed",
    "retention.changed": "changes of retention",
    "retention.erased": "erasures of content",
    "retention.erased_tasks": "erasures of task content",
    "team.added": "teams created",
    "team.changed": "teams changed",
    "team.renamed": "teams renamed",
    "team.second_factor_required": "teams required two-step sign-in",
    "team.second_factor_not_required": "teams stopped requiring two-step sign-in",
    "team.handed_over": "teams transferred",
    "membership.added": "members added",
    "membership.changed": "members changed",
    "membership.removed": "members removed",
    "membership.left": "members left",
    "membership.joined": "members joined",
    "invitation.made": "invitations created",
    "invitation.revoked": "invitations revoked",
}


@dataclass(frozen=True, slots=True)
class Group:
    """Events of one actor that follow each other, newest first; often only one. `words` is empty if
    they are not folded."""

    lines: list[Line]
    words: str

    @property
    def actor(self) -> str:
        return self.lines[0].event.actor_name


@dataclass(frozen=True, slots=True)
class Day:
    title: str
    groups: list[Group]


def days_of(lines: Iterable[Line], *, now: datetime) -> list[Day]:
    """Groups lines that are sorted by time. Days are in the person's time zone."""
    today = timezone.localtime(now).date()
    return [
        Day(_title(day, today), _groups(of_day))
        for day, of_day in groupby(lines, lambda line: timezone.localtime(line.event.at).date())
    ]


def _groups(lines: Iterable[Line]) -> list[Group]:
    groups: list[Group] = []
    for _, equal in groupby(lines, _what_and_who):
        for run in _runs(list(equal)):
            counts = Counter(line.event.event for line in run)
            if max(counts.values()) >= FOLDED_FROM and counts.keys() <= EVENTS.keys():
                groups.append(Group(run, _in_words(counts)))
            else:
                groups.extend(Group([line], "") for line in run)
    return groups


def _what_and_who(line: Line) -> tuple[object, ...]:
    event = line.event
    what = "set up" if event.event in SET_UP else event.event
    return what, event.actor_kind, event.actor_id, event.actor_name, event.team_id


def _runs(lines: list[Line]) -> Iterator[list[Line]]:
    """Splits different events where more than a minute passed between two of them."""
    if len({line.event.event for line in lines}) == 1:
        yield lines
        return
    run: list[Line] = []
    for line in lines:
        if run and run[-1].event.at - line.event.at > ONE_RUN:
            yield run
            run = []
        run.append(line)
    yield run


def _in_words(counts: Counter[str]) -> str:
    """Returns `6 agents registered, 1 alias added`, in the order of SET_UP."""
    names = [name for name in SET_UP if counts[name]] or list(counts)
    return ", ".join(
        f"{counts[name]} {MANY[name] if counts[name] > 1 else EVENTS[name][0].lower()}"
        for name in names
    )


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
