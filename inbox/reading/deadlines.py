"""Describes what happens at a deadline, and when."""

from __future__ import annotations

from datetime import datetime, timedelta

from pages.times import amount, moment, when
from wake.models import Delivery

SOON = timedelta(hours=1)
CONTINUES = ("", Delivery.OnTimeout.PROCEED)

OPEN_TEXTS = {
    "proceed": "goes ahead without you {when}",
    "abort": "stops {when} unless you answer",
    "hold": "waiting for you; due {moment}",
}
PLANS = {
    "proceed": "goes ahead without you.",
    "abort": "stops.",
    "hold": "keeps waiting.",
}
GOES_AHEAD_WITH_PLAN = "goes ahead with its plan:"
PAST_TEXTS = {
    "proceed": "expired {when}",
    "abort": "expired {when}",
    "hold": "waiting for you since {moment}",
}
MISSED_TEXTS = {
    "proceed": "Deadline passed {when}. The agent may have gone ahead.",
    "abort": "Deadline passed {when}. The agent planned to stop.",
    "hold": "Deadline passed {when}. The agent keeps waiting for you.",
}


def deadline_text(delivery: Delivery, at: datetime) -> str:
    """Returns `goes ahead without you at 11:42`, or an empty text without a deadline."""
    if delivery.is_past_deadline(at):
        return _fill(PAST_TEXTS, delivery, at)
    return _fill(OPEN_TEXTS, delivery, at)


def plan(delivery: Delivery) -> str:
    """Returns `stops.` or similar; ends with a colon if the agent's own plan follows."""
    if delivery.assumption and delivery.on_timeout in CONTINUES:
        return GOES_AHEAD_WITH_PLAN
    return PLANS[delivery.on_timeout or Delivery.OnTimeout.PROCEED]


def time_left(delivery: Delivery, at: datetime) -> str:
    """Returns `in 25 min`. Returns an empty text if there is no deadline, or if it has passed."""
    ends = delivery.expires_at
    return f"in {amount(ends - at)}" if ends is not None and ends > at else ""


def missed_text(delivery: Delivery, at: datetime) -> str:
    """Returns the action that the agent was free to take, or an empty text before the deadline."""
    return _fill(MISSED_TEXTS, delivery, at) if delivery.is_past_deadline(at) else ""


def closes_soon(delivery: Delivery, at: datetime) -> bool:
    ends = delivery.expires_at
    return ends is not None and at < ends < at + SOON


def _fill(sentences: dict[str, str], delivery: Delivery, at: datetime) -> str:
    if delivery.expires_at is None:
        return ""
    sentence = sentences[delivery.on_timeout or Delivery.OnTimeout.PROCEED]
    ends = delivery.expires_at
    return sentence.format(when=when(ends, now=at), moment=moment(ends, now=at))
