"""Holds the text of a notification, which never includes the details of a delivery."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo

from django.utils import timezone

from inbox.models import Event
from inbox.rendering.blocks import cut
from pages.times import when

MOST_LISTED = 5
# Invisible characters are shown by their names, so that 120 characters can become 1,000.
LONGEST_LINE = 400
WAITING = {Event.QUESTION, Event.ALERT, Event.CLOSING, Event.ASSIGNED}
ONE = {
    Event.QUESTION: "{agent} needs an answer",
    Event.ALERT: "Alert from {agent}",
    Event.CLOSING: "{agent}: the deadline is close",
    Event.ASSUMED: "{agent} went ahead without an answer",
    Event.ASSIGNED: "{agent}: assigned to you",
    Event.MENTION: "A comment mentions you",
}
PASSED = "{agent}: the deadline has passed"
MANY = {
    Event.ASSUMED: "{count} missed deadlines: the agents went ahead",
    Event.MENTION: "{count} comments mention you",
}


@dataclass(frozen=True, slots=True)
class Item:
    """One delivery in a message. `headline` and `agent` are what an agent chose: a kind escapes
    them for its format. `url` opens the delivery in Wake."""

    event: Event
    headline: str
    agent: str
    deadline: datetime | None
    url: str
    delivery_id: str = ""
    content_hash: str = ""

    def title(self, *, at: datetime) -> str:
        is_over = self.event == Event.CLOSING and self.deadline and self.deadline <= at
        return (PASSED if is_over else ONE[self.event]).format(agent=self.agent)


@dataclass(frozen=True, slots=True)
class Message:
    """Everything that a channel is told at once. `items` are the first few of `count` deliveries,
    and `counts` says how many of each event. `url` opens the one delivery, or the inbox. `code` is
    set only where `purpose` is CODE; where it is TEST there are no items. `zone` is that of
    the person."""

    id: str
    at: datetime
    zone: tzinfo
    purpose: Event
    url: str
    items: Sequence[Item] = ()
    counts: Mapping[Event, int] = field(default_factory=dict)
    count: int = 0
    code: str = ""
    summary: str = ""
    # A team's people may be in other time zones.
    names_zone: bool = False

    @property
    def title(self) -> str:
        """Returns one line: `deploy-bot waits for an answer`, or `5 deliveries wait`."""
        return cut(self._title, LONGEST_LINE)

    @property
    def _title(self) -> str:
        if self.purpose == Event.CODE:
            return f"Your code for Wake is {self.code}"
        if self.purpose == Event.TEST:
            return "This is a test. Notifications arrive here."
        if self.summary:
            return self.summary
        if self.count == 1:
            return self.items[0].title(at=self.at)
        told = set(self.counts)
        many = MANY.get(min(told)) if len(told) == 1 else None
        waits = "deliveries wait" if told <= WAITING else "deliveries to look at"
        return many.format(count=self.count) if many else f"{self.count} {waits}"

    @property
    def lines(self) -> list[str]:
        """Returns the lines below the title: one for each item with its deadline, and how many
        more there are."""
        lines = [self.line(item) for item in self.items]
        if self.count > len(self.items):
            lines.append(f"and {self.count - len(self.items)} more")
        return lines

    @property
    def text(self) -> str:
        """Returns title, lines and address as plain text."""
        return "\n".join([self.title, *self.lines, self.url])

    def line(self, item: Item) -> str:
        """Returns `deploy-bot: Ship 2.4? (deadline at 15:00)`; without the agent in a message of
        one item, whose title names it. Services refuse a message that is too long, and then its
        other lines would be lost, too."""
        agent = "" if self.count == 1 and item.event != Event.MENTION else f"{item.agent}: "
        return cut(f"{agent}{item.headline}", LONGEST_LINE) + self.deadline(item)

    def deadline(self, item: Item) -> str:
        """Returns ` (the deadline is at 15:00)`, in the person's time zone; empty without one."""
        if item.deadline is None:
            return ""
        with timezone.override(self.zone):
            passed = "was" if item.deadline <= self.at else "is"
            zone = f" {timezone.localtime(item.deadline):%Z}" if self.names_zone else ""
            return f" (the deadline {passed} {when(item.deadline, now=self.at)}{zone})"
