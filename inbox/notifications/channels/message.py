"""Holds the text of a notification, which never includes the details of a delivery."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo

from django.utils import timezone

from inbox.models import ChannelEvent
from inbox.rendering.blocks import cut
from pages.times import when

MAX_LISTED = 5
# Invisible characters are shown by their names, so 120 characters can become 1,000.
LONGEST_LINE = 400
WAITING = {ChannelEvent.QUESTION, ChannelEvent.ALERT, ChannelEvent.CLOSING, ChannelEvent.ASSIGNED}
ONE = {
    ChannelEvent.QUESTION: "{agent} needs an answer",
    ChannelEvent.ALERT: "Alert from {agent}",
    ChannelEvent.CLOSING: "{agent}: the deadline is close",
    ChannelEvent.ASSUMED: "{agent} went ahead without an answer",
    ChannelEvent.FAILED: "{agent} failed after an approval",
    ChannelEvent.ASSIGNED: "{agent}: assigned to you",
    ChannelEvent.MENTION: "A comment mentions you",
}
PASSED = "{agent}: the deadline has passed"
MANY = {
    ChannelEvent.ASSUMED: "{count} missed deadlines: the agents went ahead",
    ChannelEvent.FAILED: "{count} approved actions failed",
    ChannelEvent.MENTION: "{count} comments mention you",
}


@dataclass(frozen=True, slots=True)
class MessageItem:
    """Describes one delivery in a message. The agent chose `headline` and `agent`, so a kind
    escapes them for its format. `url` opens the delivery in Wake."""

    event: ChannelEvent
    headline: str
    agent: str
    deadline: datetime | None
    url: str
    delivery_id: str = ""
    content_hash: str = ""

    def title(self, *, at: datetime) -> str:
        is_over = self.event == ChannelEvent.CLOSING and self.deadline and self.deadline <= at
        return (PASSED if is_over else ONE[self.event]).format(agent=self.agent)


@dataclass(frozen=True, slots=True)
class ChannelMessage:
    """Holds the content of one message. `items` are the first few of `count` deliveries, and
    `counts` says how many there are for each event. `url` opens the one delivery, or the inbox.
    `code` is set only if `purpose` is CODE. If `purpose` is TEST, there are no items. `zone` is the
    person's time zone."""

    id: str
    at: datetime
    zone: tzinfo
    purpose: ChannelEvent
    url: str
    items: Sequence[MessageItem] = ()
    counts: Mapping[ChannelEvent, int] = field(default_factory=dict)
    count: int = 0
    code: str = ""
    summary: str = ""
    # The people of a team may be in other time zones.
    names_zone: bool = False

    @property
    def title(self) -> str:
        """Returns one line: `deploy-bot waits for an answer`, or `5 deliveries wait`."""
        return cut(self._title, LONGEST_LINE)

    @property
    def _title(self) -> str:
        if self.purpose == ChannelEvent.CODE:
            return f"Your code for Wake is {self.code}"
        if self.purpose == ChannelEvent.TEST:
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
        """Returns the lines below the title: one line for each item with its deadline, and the
        number of further items."""
        lines = [self.line(item) for item in self.items]
        if self.count > len(self.items):
            lines.append(f"and {self.count - len(self.items)} more")
        return lines

    @property
    def text(self) -> str:
        """Returns title, lines and address as plain text."""
        return "\n".join([self.title, *self.lines, self.url])

    def line(self, item: MessageItem) -> str:
        """Returns `deploy-bot: Ship 2.4? (deadline at 15:00)`. In a message of one item, the title
        names the agent, so the line leaves the agent out. A long line is cut, because a service
        would refuse a message that is too long."""
        agent = "" if self.count == 1 and item.event != ChannelEvent.MENTION else f"{item.agent}: "
        return cut(f"{agent}{item.headline}", LONGEST_LINE) + self.deadline(item)

    def deadline(self, item: MessageItem) -> str:
        """Returns ` (the deadline is at 15:00)`, in the person's time zone, or an empty text
        without a deadline."""
        if item.deadline is None:
            return ""
        with timezone.override(self.zone):
            passed = "was" if item.deadline <= self.at else "is"
            zone = f" {timezone.localtime(item.deadline):%Z}" if self.names_zone else ""
            return f" (the deadline {passed} {when(item.deadline, now=self.at)}{zone})"
